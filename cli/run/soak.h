// `verbena run --random`: one random scenario after the other, until one fails, the seeds are through, or time is up.
#pragma once

#include "cli/run/options.h"

namespace verbena::cli::run {

/// The exit status.
int soak(const CLI::App& app, const Options& options);

}  // namespace verbena::cli::run
