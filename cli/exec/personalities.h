// The personalities of `verbena exec --nic personality=NAME,NAME`: which NICs the devices are like.
//
// Solely taking them out of the settings, and putting their words where own ones do not go before. What a personality
// is: host/config/personality.h.
// Tested by: tests/cli/personality_test.cc
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/exec/options.h"
#include "emulator/host/config/launch_environment.h"
#include "emulator/host/config/personality.h"

namespace verbena::cli {

using Personalities = std::vector<host::Personality>;

/// Takes them out of --nic. Several are one of each device, and the node then has so many. An error is one line.
Result<Personalities, std::string> take_personalities(ExecOptions& options);

/// Gives the devices their words and, unless the user has named them, their names. An error is one line.
std::optional<std::string> put_on(const Personalities& personalities, const ExecOptions& options,
                                  host::LaunchEnvironment& plan);

}  // namespace verbena::cli
