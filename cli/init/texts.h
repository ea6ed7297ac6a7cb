// What `verbena init` writes: a first scenario, and files for CI.
//
// Solely the texts; where they go, and that nothing is overwritten, is init.cc's.
// Tested by: tests/cli/init_test.cc
#pragma once

#include <string>

namespace verbena::cli::init {

/// Of programs: with ibv_rc_pingpong, which looks at its data, or else ib_write_bw.
std::string first_scenario(bool has_pingpong);
std::string github_workflow();
/// A job, for `include:`.
std::string gitlab_job();
/// A .gitlab-ci.yml that includes it, where a project has none.
std::string gitlab_includes();

}  // namespace verbena::cli::init
