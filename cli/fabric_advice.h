// What somebody is told who asks a fabric that nobody serves: which are there, and how to start one.
// Tested by: tests/cli/stat_test.cc
#pragma once

#include <string>

#include "emulator/host/fabric_client/fabric_client.h"

namespace verbena::cli {

/// The error in one line, with what to do about it.
std::string with_advice(const host::FabricError& error, const std::string& fabric);

}  // namespace verbena::cli
