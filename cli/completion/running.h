// What is there at the moment: fabrics, and the nodes, links, switches and faults of one.
//
// Solely looking; a fabric that does not answer at once has nothing.
// Tested by: tests/cli/completion_test.cc
#pragma once

#include <string>
#include <vector>

#include "cli/completion/candidate.h"

namespace verbena::cli::completion {

/// Served ones, and those on whose direct cables programs stand.
Candidates fabrics();
/// "1", "2", ... of a served fabric; of another one the first few.
Candidates node_numbers(const std::string& fabric);
/// "n1", "n2", ...
Candidates nodes(const std::string& fabric);
Candidates switches(const std::string& fabric);
/// "n1-s1", "n1->s1", ..., all.
Candidates links(const std::string& fabric);
/// Numbers of packet faults that are there.
Candidates faults(const std::string& fabric);
/// Network interfaces of this machine.
std::vector<std::string> interfaces();

}  // namespace verbena::cli::completion
