// What `verbena run` writes for programs: to a file, or to standard output.
// Tested by: tests/cli/run_test.cc
#pragma once

#include <optional>
#include <string>

#include "cli/command.h"
#include "cli/run/options.h"
#include "emulator/host/os/shortage.h"

namespace verbena::cli::run {

/// A full disk is no wrong command line. The exit status.
int fail_to_write(const CommandLine& line, const std::string& option, const host::FileError& error);
/// Makes the file anew; "-": prints it. A value: it could not be done, and the process ends with it.
std::optional<int> write_output(const CommandLine& line, const std::string& option, const std::string& file,
                                const std::string& text);

/// The files of --json and --junit, empty: whether they can be written is said before anything runs. A value: they
/// cannot.
std::optional<int> make_report_files(const CommandLine& line, const Options& options);

}  // namespace verbena::cli::run
