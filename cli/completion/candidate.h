// Candidate: what a word of a command line may become, and what is said of it where the shell shows that.
// Tested by: tests/cli/completion_test.cc
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace verbena::cli::completion {

struct Candidate {
  std::string text;  // the whole word; one that ends in '/', '=' or ':' is not the end of it
  std::string note;
};
using Candidates = std::vector<Candidate>;

/// Those that begin with `prefix`, in their order.
Candidates matching(Candidates all, std::string_view prefix);
/// The same with `before` in front of each: of "--node=" and a value.
Candidates behind(std::string_view before, Candidates all);

}  // namespace verbena::cli::completion
