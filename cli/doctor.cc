// `verbena doctor`: what this machine lets programs on nodes do, each thing tried, with what follows and what to do.
// The tries are doctor/'s; this is their report.
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/doctor/probes.h"
#include "cli/style.h"
#include "wire/printable.h"

namespace verbena::cli {
namespace {

using doctor::Finding;
using doctor::Group;
using doctor::State;

constexpr int kExitCannotRun = 1;

const char* name_of(State state) {
  switch (state) {
    case State::ok:
      return "ok";
    case State::limited:
      return "limited";
    case State::missing:
      return "missing";
  }
  return "";
}

std::string painted(const Style& style, State state) {
  std::string name = fmt::format("{:8}", name_of(state));
  switch (state) {
    case State::ok:
      return style.good(name);
    case State::limited:
      return style.doubt(name);
    case State::missing:
      return style.bad(name);
  }
  return name;
}

bool is_trouble(const Finding& finding) {
  return finding.is_vital && finding.state == State::missing;
}

void print(const Group& group) {
  const Style style(stdout);
  fmt::print("{}\n", style.strong(group.title));
  for (const Finding& finding : group.findings) {
    fmt::print("  {} {}: {}\n", painted(style, finding.state), wire::printable(finding.what),
               wire::printable(finding.found));
    if (!finding.follows.empty()) fmt::print("           so: {}\n", wire::printable(finding.follows));
    if (!finding.remedy.empty()) fmt::print("           do: {}\n", wire::printable(finding.remedy));
  }
  fmt::print("\n");
}

nlohmann::ordered_json to_json(const std::vector<Group>& groups, bool can_run) {
  nlohmann::ordered_json json{{"programs_can_run", can_run}, {"findings", nlohmann::ordered_json::array()}};
  for (const Group& group : groups)
    for (const Finding& finding : group.findings)
      json["findings"].push_back({{"group", group.title},
                                  {"what", finding.what},
                                  {"state", name_of(finding.state)},
                                  {"found", finding.found},
                                  {"follows", finding.follows},
                                  {"remedy", finding.remedy},
                                  {"vital", finding.is_vital}});
  return json;
}

}  // namespace

int run_doctor(const Arguments& arguments) {
  CommandLine line("verbena doctor", "verbena doctor [OPTIONS]",
                   "Tries what programs on nodes need of this machine, and says what follows from what does not work "
                   "and what to do about it.\n");
  Reporting reporting;
  line.reporting(reporting, "print only what keeps programs from running", "all findings as JSON, one line");
  line.exit_status("0", "programs can run over shared memory");
  line.exit_status("1", "they cannot");
  line.example("verbena doctor", "on a new machine, or in a container or CI runner that does not do what it should");
  if (const auto status = line.parse(arguments)) return *status;

  std::vector<Group> groups;
  bool can_run = true;
  for (Group (*const look)() :
       {doctor::look_at_links, doctor::look_at_memory, doctor::look_at_machine, doctor::look_at_libraries}) {
    groups.push_back(look());
    Group& group = groups.back();
    for (const Finding& finding : group.findings) can_run = can_run && !is_trouble(finding);
    if (reporting.quiet) std::erase_if(group.findings, [](const Finding& finding) { return !is_trouble(finding); });
    if (!reporting.json && !group.findings.empty()) print(group);
  }
  if (reporting.json)
    fmt::print("{}\n", to_json(groups, can_run).dump());
  else if (!can_run)
    fmt::print("{}\n", Style(stdout).bad("Programs cannot run on nodes here: see what is missing."));
  else if (!reporting.quiet)
    fmt::print("{}\n", Style(stdout).good("Programs can run on nodes here, over shared memory."));
  return can_run ? 0 : kExitCannotRun;
}

}  // namespace verbena::cli
