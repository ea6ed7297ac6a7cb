#include "scenarios/language/read_scenario.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "emulator/fabric/nearest_word.h"
#include "emulator/fabric/quantity.h"
#include "scenarios/language/parts.h"
#include "scenarios/language/yaml_value.h"
#include "wire/printable.h"
#include "wire/types.h"

namespace verbena::scenarios {
namespace {

constexpr std::uint64_t kSnapBytesMin = 128;
constexpr std::uint64_t kCaptureBytesMin = 4096;
constexpr std::uint64_t kCaptureBytesMax = std::uint64_t{1} << 40;
constexpr std::int64_t kSamplesMax = 10'000'000;
constexpr std::uint64_t kSeedMax = 999'999'999'999'999'999;
/// Nodes of the real clock have addresses 127.47.91.K.
constexpr std::uint32_t kRealNodesMax = 254;

/// Under the real clock a sample is a question to the fabric process, which frames wait for.
constexpr Duration kRealSampleMin = milliseconds(1);

/// Within the timeout, which is known by then.
void read_sample(const Value& value, Scenario& scenario) {
  scenario.sample = value.duration();
  if (scenario.clock == Clock::real_time && scenario.sample < kRealSampleMin)
    value.wrong("with clock: real 1ms at the least");
  if (scenario.sample.ns == 0 || scenario.timeout.ns / scenario.sample.ns > kSamplesMax)
    value.wrong("there are at most " + std::to_string(kSamplesMax) + " of them before the timeout: write more");
}

void read_frame(const Section& section, Scenario& scenario) {
  constexpr std::array<fabric::Named<Clock>, 2> kClocks{{{"virtual", Clock::virtual_time}, {"real", Clock::real_time}}};
  if (const auto value = section.find("name")) scenario.name = value->label();
  if (const auto value = section.find("description")) scenario.description = value->text();
  if (const auto value = section.find("clock")) scenario.clock = value->choice(kClocks);
  if (const auto value = section.find("seed")) scenario.seed = value->number(0, kSeedMax);
  if (const auto value = section.find("timeout")) {
    scenario.timeout = value->duration();
    if (scenario.timeout.ns == 0) value->wrong("write more than nothing");
  }
  if (const auto value = section.find("real-timeout")) {
    scenario.real_timeout = value->duration();
    if (scenario.real_timeout.ns == 0) value->wrong("write more than nothing");
  }
  if (const auto value = section.find("payload")) {
    scenario.payload = value->yes_no();
    if (!scenario.payload && scenario.clock == Clock::real_time)
      value->wrong("with clock: real programs see their data");
  }
  if (const auto value = section.find("detection")) scenario.detection = value->duration();
  if (const auto value = section.find("sample")) read_sample(*value, scenario);
}

/// `cut`, `uncut`, or for how long a connection over a dead cable goes on.
void read_sockets(const Section& section, Scenario& scenario) {
  const auto value = section.find("sockets");
  if (!value) return;
  if (scenario.clock != Clock::real_time) value->wrong("only with clock: real programs have sockets");
  const std::string word = value->text();
  scenario.cuts_sockets = word != "uncut";
  if (word == "cut" || word == "uncut") return;
  const auto timeout = fabric::parse_duration(word, kScenarioTimeMax);
  if (!timeout || *timeout < milliseconds(1))
    value->wrong("use cut, uncut or a time such as 30s" + fabric::did_you_mean(word, {"cut", "uncut"}));
  scenario.socket_timeout = *timeout;
}

void read_capture(const Value& value, CaptureLimits& capture) {
  const Section section(value, "capture");
  if (const auto snap = section.find("snap")) {
    const std::uint64_t octets = snap->size(0, wire::kFrameBytesMax);
    if (octets != 0 && octets < kSnapBytesMin)
      snap->wrong("the headers have up to " + std::to_string(kSnapBytesMin) + " octets: write as many, or 0 for all");
    capture.snap_bytes = static_cast<std::uint32_t>(octets);
  }
  if (const auto limit = section.find("limit")) capture.octets_max = limit->size(kCaptureBytesMin, kCaptureBytesMax);
}

void check_times(const Scenario& scenario) {
  for (const Workload& workload : scenario.workloads)
    if (workload.start + workload.duration >= scenario.timeout)
      complain(workload.place, "workload '" + workload.name + "' begins or ends after the scenario's timeout");
  for (const Program& program : scenario.programs)
    if (program.start >= scenario.timeout)
      complain(program.place, "program '" + program.name + "' begins after the scenario's timeout");
}

/// Who goes by what switches say, and no switch says anything, would never slow down.
void check_telemetry(const Scenario& scenario, Place topology) {
  const auto uses_it = [](const NicSettings& nic) { return nic.congestion.wants().telemetry; };
  const auto has_it = [](const fabric::Cable& cable) { return cable.parameters.telemetry; };
  if (scenario.topology.switches() == 0 || std::ranges::none_of(scenario.nics, uses_it)) return;
  if (std::ranges::none_of(scenario.topology.cables, has_it))
    complain(topology,
             "congestion-control: hpcc goes by what switches write into packets: say link: {telemetry: true}");
}

Scenario read(std::string_view text, const std::string& file_name, const ReadOptions& options) {
  const Section section(parse_text(text), "scenario");
  Scenario scenario;
  scenario.name = wire::printable(std::filesystem::path(file_name).stem().string());
  read_frame(section, scenario);
  read_sockets(section, scenario);
  if (const auto capture = section.find("capture")) read_capture(*capture, scenario.capture);
  const Value topology = section.need("topology", "{shape: star, hosts: 2}");
  scenario.topology = read_topology(topology, read_medium(section));
  if (scenario.clock != Clock::real_time && scenario.topology.is_managed)
    complain(topology.place(), "managed: the subnet manager is a program, which needs clock: real");
  if (scenario.clock == Clock::real_time && scenario.topology.nodes() > kRealNodesMax)
    complain(topology.place(), "with clock: real there are at most " + std::to_string(kRealNodesMax) + " nodes");
  const ElementNames names(scenario.topology);
  scenario.nics = read_nics(section, names, file_name, options);
  check_telemetry(scenario, topology.place());
  if (const auto at = section.find("nics") ? section.find("nics") : section.find("nic");
      scenario.clock != Clock::real_time &&
      std::ranges::any_of(scenario.nics, [](const NicSettings& nic) { return nic.numa_node.has_value(); }))
    complain(at->place(), "numa: only with clock: real there are programs that see it");
  read_workloads(section.need("workloads", "[{verb: write, from: n1, to: n2, size: 64KiB, count: 100}]"), names,
                 scenario);
  check_times(scenario);
  if (const auto faults = section.find("faults")) read_faults(*faults, names, scenario);
  if (const auto expect = section.find("expect")) read_expectations(*expect, names, scenario);
  return scenario;
}

}  // namespace

std::string ReadError::line() const {
  std::string whole = file_name;
  if (place.line != 0) whole += ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
  return wire::printable(whole + ": " + text);
}

Result<Scenario, ReadError> read_scenario(std::string_view text, std::string_view file_name,
                                          const ReadOptions& options) {
  const std::string name(file_name);
  try {
    return read(text, name, options);
  } catch (ReadError& error) {
    if (error.file_name.empty()) error.file_name = name;
    return Failure<ReadError>{error};
  } catch (const std::exception& error) {
    return Failure<ReadError>{{name, {}, std::string("cannot be read: ") + error.what()}};
  }
}

Result<Scenario, ReadError> read_scenario_file(const std::string& file_name, const ReadOptions& options) {
  std::error_code error;
  const auto status = std::filesystem::status(file_name, error);
  if (!std::filesystem::exists(status)) return Failure<ReadError>{{file_name, {}, "there is no such file", true}};
  if (std::filesystem::is_directory(status))
    return Failure<ReadError>{{file_name, {}, "is a directory, not a scenario"}};
  if (!std::filesystem::is_regular_file(status))
    return Failure<ReadError>{{file_name, {}, "is not a file with a scenario in it"}};
  std::ifstream file(file_name);
  if (!file) return Failure<ReadError>{{file_name, {}, std::string("cannot be read: ") + std::strerror(errno)}};
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return Failure<ReadError>{{file_name, {}, "cannot be read"}};
  return read_scenario(text.str(), file_name, options);
}

}  // namespace verbena::scenarios
