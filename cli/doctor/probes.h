// The tries of `verbena doctor`, by what they touch. Each does the thing itself, in a process of its own where it could
// change this one, and leaves nothing behind. Showing what they find is report.h's.
// Tested by: tests/cli/doctor_test.cc
#pragma once

#include "cli/doctor/finding.h"

namespace verbena::cli::doctor {

Group look_at_links();
Group look_at_memory();
Group look_at_machine();
Group look_at_libraries();

/// The first line of a file, without its end; empty if it cannot be read.
std::string first_line_of(const std::string& path);
/// The exit status of `body` in a process of its own, which is killed after some seconds; negative: it was, or there is
/// none.
int in_child(int (*body)());

}  // namespace verbena::cli::doctor
