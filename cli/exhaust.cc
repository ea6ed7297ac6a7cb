// `verbena exhaust`: lets each single verb, completion, message and packet of a program fail once, and says how it took
// it (exhaust/campaign.h does the running).
// Tested by: tests/programs/exhaust.py, tests/cli/exhaust_test.cc
#include <chrono>
#include <sstream>

#include "cli/command.h"
#include "cli/completion/split.h"
#include "cli/exec/personalities.h"
#include "cli/exec/program.h"
#include "cli/exhaust/campaign.h"
#include "cli/exhaust/exhaust_scenario.h"
#include "cli/exhaust/options.h"
#include "cli/exhaust/session.h"
#include "cli/progress_line.h"
#include "cli/run/interrupt.h"
#include "cli/run/options.h"
#include "emulator/host/config/nic_tuning.h"
#include "emulator/host/config/own_files.h"
#include "scenarios/outcome/shell_word.h"
#include "wire/counted.h"
#include "wire/printable.h"

namespace verbena::cli {
namespace {

using namespace exhaust;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

Duration seconds_in(const std::string& text) {
  return seconds(static_cast<std::int64_t>(parse_number(text, 0, INT64_MAX / 1'000'000'000).value_or(0)));
}

std::string command_of(const Setting& setting) {
  std::string text = scenarios::shell_words(setting.program);
  for (const auto& [words, role] : {std::pair{&setting.server, "server"}, {&setting.client, "client"}})
    if (!words->empty()) text += fmt::format(", {} {}", role, scenarios::shell_words(*words));
  return text;
}

std::vector<std::string> words_of(const std::string& command) {
  return command.empty() ? std::vector<std::string>{} : completion::as_shell(command);
}

/// What a program has printed, whatever that is.
std::string printable_lines(const std::string& text) {
  std::istringstream lines(text);
  std::string all;
  for (std::string line; std::getline(lines, line);) all += "  " + wire::printable(line) + "\n";
  return all;
}

std::string_view judged_output(const Clean& clean) {
  if (clean.prints_same) return "what it prints is the same each time, and is judged\n";
  if (clean.out.empty()) return "it prints nothing that could be judged (--check COMMAND judges its data)\n";
  return "what it prints differs from run to run, and is not judged (--check COMMAND judges its data)\n";
}

/// What --nic says of the devices, a personality among it. The error is one line.
Result<host::LaunchEnvironment, std::string> device_of(const Options& options) {
  ExecOptions exec;
  exec.nic = options.nic;
  const auto personalities = take_personalities(exec);
  if (!personalities) return Failure{personalities.error()};
  if (const auto tuning = host::parse_nic_tuning(exec.nic); !tuning) return Failure{"--nic: " + tuning.error()};
  host::LaunchEnvironment device{.node = "1", .devices = exec.devices, .link = "shm"};
  device.device_name = exec.device_name;
  device.nic = exec.nic;
  if (const auto error = put_on(*personalities, exec, device)) return Failure{*error};
  return device;
}

std::optional<std::string> missing_program(const Setting& setting) {
  for (const auto* const words : {&setting.program, &setting.server, &setting.client})
    if (!words->empty() && !find_program(words->front()))
      return fmt::format("program not found: {}: it is in no folder of PATH; install it, or give its path",
                         wire::printable(words->front()));
  return std::nullopt;
}

int merge_files(const CommandLine& line, const Options& options) {
  Results results("");
  for (const std::string& file : options.merge)
    if (const auto merged = results.merge(file); !merged) return line.fail(kExitUsage, "--merge " + merged.error());
  if (!options.reporting.json && !options.reporting.quiet) fmt::print("{}\n", wire::printable(results.program()));
  return conclude(line, options, results, 0);
}

}  // namespace

int run_exhaust(const Arguments& arguments) {
  CommandLine line(
      "verbena exhaust",
      "verbena exhaust [OPTIONS] [--] PROGRAM [ARGUMENTS ...]\n       verbena exhaust [OPTIONS] SCENARIO.yaml",
      "Lets each verb, completion, message of the connection manager and packet of a program fail once, one "
      "run each,\nand says how the program took it.\n");
  Options options;
  declare(line, options);
  const SplitArguments split = line.split_program(arguments);
  if (const auto status = line.parse(split.options)) return *status;
  if (const auto error = find_error(options)) return line.fail(kExitUsage, *error);
  if (!options.merge.empty()) {
    if (!split.program.empty()) return line.fail(kExitUsage, "--merge runs nothing: leave the program out");
    return merge_files(line, options);
  }
  if (split.program.empty()) return line.fail(kExitUsage, "the program to run is missing (see verbena exhaust --help)");
  if (is_scenario(split.program)) return exhaust_scenario(line, options, split.program.front());
  if (!options.row.empty())
    return line.fail(kExitUsage, "--row is for scenarios: a program's row has a command of its own");
  const auto libraries = host::find_library_directory();
  if (!libraries) return line.fail(kExitInternal, libraries.error());
  const auto device = device_of(options);
  if (!device) return line.fail(kExitUsage, device.error());
  const Setting setting{.program = split.program,
                        .server = words_of(options.server),
                        .client = words_of(options.client),
                        .nic = options.nic,
                        .device = *device,
                        .seed = options.seed,
                        .library_directory = *libraries};
  if (const auto error = missing_program(setting)) return line.fail(kExitNotFound, *error);
  Results results(command_of(setting));
  if (const auto status = keep_state(line, options, results)) return *status;
  if (const auto status = make_junit(line, options)) return *status;

  run::install_interrupt(run::Unseen::waits);
  Campaign campaign(setting, {.jobs = job_count(options),
                              .silence = seconds_in(options.silence),
                              .limit = seconds_in(options.limit),
                              .check = options.check});
  const auto clean = campaign.run_clean();
  if (run::interrupted()) return run::kExitInterrupted;
  if (!clean) {
    fmt::print(stderr, "{}", printable_lines(clean.error().last_lines));
    return line.fail(kExitNothing, clean.error().why);
  }
  const std::vector<Row> rows = rows_to_run(clean->census, options);
  const bool is_told = !options.reporting.quiet && !options.reporting.json;
  if (is_told)
    fmt::print(
        "without faults: {} in {:.2f} s\n{}{}{}, {} at one time; a run hangs that is silent for {:.1f} s, or not "
        "done after {:.0f} s\n",
        counts_text(clean->census), clean->seconds, left_out_text(clean->census, options), judged_output(clean->clean),
        wire::counted(rows.size(), "fault"), job_count(options), static_cast<double>(clean->patience.silence.ns) / 1e9,
        static_cast<double>(clean->patience.whole.ns) / 1e9);
  std::fflush(stdout);
  const auto begin = Clock::now();
  const TimeLeft time_left(rows.size(), std::nullopt);
  ProgressLine progress_line(options.reporting.quiet, stderr);
  const auto ran = campaign.run(*clean, rows, results, [&](std::size_t done) {
    if (progress_line.is_due())
      progress_line.show(fmt::format("{} of {}, {}", done, wire::counted(rows.size(), "fault"),
                                     time_left.text(done, seconds_since(begin))));
    return !run::interrupted();
  });
  progress_line.clear();
  const int status = conclude(line, options, results, seconds_since(begin));
  if (!ran) return line.fail(kExitInternal, ran.error());
  return run::interrupted() ? run::kExitInterrupted : status;
}

}  // namespace verbena::cli
