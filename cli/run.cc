// `verbena run`: scenarios from their files to their verdicts. Reads the options and puts the parts of run/ together.
#include "cli/command.h"
#include "cli/run/input.h"
#include "cli/run/library.h"
#include "cli/run/options.h"
#include "cli/run/run_files.h"
#include "cli/run/soak.h"
#include "cli/run/sweep_files.h"
#include "emulator/host/os/huge_pages.h"

namespace verbena::cli {

int run_run(const Arguments& arguments) {
  CommandLine line("verbena run", "verbena run [OPTIONS] FILE.yaml ...",
                   "Runs scenarios and says which of their expectations held.\n");
  run::Options options;
  run::declare(line, options);
  if (const auto status = line.parse(arguments)) return *status;
  if (const auto error = run::find_error(options)) return line.fail(kExitUsage, *error);
  if (options.list) return run::list_library(line, options);
  if (options.check) return run::check_files(line, options);
  host::prefer_huge_pages(host::kSimulationHeapBytes);
  if (options.soaks()) return run::soak(line, options);
  if (options.random) options.files = {run::random_name(*parse_number(options.seed, 0, UINT64_MAX))};
  return options.sweeps() ? run::sweep_files(line, options) : run::run_files(line, options);
}

}  // namespace verbena::cli
