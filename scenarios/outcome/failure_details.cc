#include "scenarios/outcome/failure_details.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "scenarios/outcome/report_words.h"
#include "scenarios/outcome/shell_word.h"
#include "wire/counted.h"
#include "wire/printable.h"

namespace verbena::scenarios {
namespace {

constexpr std::size_t kPairsShown = 10;  // of each workload
constexpr std::size_t kCaptureNameBytesMax = 200;

std::string pair_text(const Scenario& scenario, const Workload& workload, const Outcome& outcome,
                      const PairOutcome& pair) {
  const auto& vertices = scenario.topology.vertices;
  std::string text = fmt::format("pair      {}: {} -> {}, QP {:#x} -> {:#x}: ", workload.name, vertices[pair.from].name,
                                 vertices[pair.to].name, pair.from_qpn, pair.to_qpn);
  text += pair.failure ? fmt::format("{} at {}, ", name_of(static_cast<nic::CompletionStatus>(pair.failure->status)),
                                     time_text(pair.failure->time))
                       : "not finished, ";
  text += wire::counted(pair.succeeded, "message") + " done";
  if (workload.count != 0 && workload.load_ppb == 0) text += fmt::format(" of {}", workload.count);
  if (pair.to_qpn != 0) text += "; " + explain_command(scenario, outcome, pair);
  return text + "\n";
}

}  // namespace

std::string capture_name(std::string_view cable) {
  std::string name(cable.substr(0, kCaptureNameBytesMax));
  std::replace_if(
      name.begin(), name.end(),
      [](unsigned char c) { return std::isalnum(c) == 0 && c != '-' && c != '_' && c != '.'; }, '_');
  return name;
}

std::string explain_command(const Scenario& scenario, const Outcome& outcome, const PairOutcome& pair) {
  const auto cables = scenario.topology.cables_of(pair.from);
  if (cables.empty()) return {};
  const bool has_files = !outcome.out_directory.empty();
  const std::string file = (has_files ? outcome.out_directory : std::string("DIR")) + "/" +
                           capture_name(scenario.topology.cable_name(cables.front())) + ".pcapng";
  return fmt::format("{}verbena explain --qp {:#x} {}", has_files ? "" : "with --out DIR: ", pair.to_qpn,
                     shell_word(file));
}

std::string pairs_text(const Scenario& scenario, const Outcome& outcome) {
  std::string text;
  if (outcome.held()) return text;
  for (std::size_t i = 0; i < outcome.workloads.size() && i < scenario.workloads.size(); ++i) {
    const auto& pairs = outcome.workloads[i].by_pair;
    const auto unfinished = static_cast<std::size_t>(std::ranges::count(pairs, false, &PairOutcome::finished));
    for (std::size_t pair = 0; pair < std::min(unfinished, kPairsShown); ++pair)
      text += pair_text(scenario, scenario.workloads[i], outcome, pairs[pair]);
    if (unfinished > kPairsShown)
      text += fmt::format("pair      ... and {} more of {}; the summary of --json has them\n", unfinished - kPairsShown,
                          outcome.workloads[i].name);
  }
  return text;
}

std::string last_lines_text(const ProgramOutcome& program) {
  if (program.held || program.last_lines.empty()) return {};
  std::string text = fmt::format("          the end of its {}:\n", program.lines_from);
  for (std::string line : program.last_lines) {
    std::erase(line, '\r');
    std::ranges::replace(line, '\t', ' ');
    text += "          | " + wire::printable(line) + "\n";
  }
  return text;
}

std::string out_hint(const Outcome& outcome) {
  if (!outcome.out_directory.empty() || std::ranges::all_of(outcome.programs, &ProgramOutcome::held)) return {};
  return "          with --out DIR: all that programs wrote, and captures\n";
}

}  // namespace verbena::scenarios
