// The faults of `verbena exec`: those of --fault, and the file of --fault-plan.
//
// Solely what is right as such an argument or file; what a fault means is fabric/fault_rows.h's and verb_rule.h's.
// Tested by: tests/cli/faults_test.cc
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/result.h"

namespace verbena::cli {

/// What is wrong with one fault, in one line; nothing: it is right. `said_by`: where it stands, "--fault". What is odd
/// about it, and is done all the same, is told on stderr.
std::optional<std::string> wrong_fault(const std::string& fault, std::string_view said_by);

/// The faults of a file: one a line, without blank lines and those that begin with '#'. The error is one line,
/// FILE:LINE: what is wrong. A file without any fault is wrong.
Result<std::vector<std::string>, std::string> read_fault_plan(const std::string& path);

}  // namespace verbena::cli
