// The `expect:` of a scenario, and the names of statuses, states and counters.
// Tested by: tests/scenarios/language/read_scenario_test.cc
#include <algorithm>
#include <array>
#include <functional>
#include <regex>

#include "captures/checkers/checker.h"
#include "emulator/fabric/nearest_word.h"
#include "emulator/nic/objects/attributes.h"
#include "emulator/nic/objects/completion.h"
#include "emulator/nic/objects/counters.h"
#include "scenarios/language/keys.h"
#include "scenarios/language/parts.h"
#include "wire/printable.h"

namespace verbena::scenarios {
namespace {

using ExpectationKind = Expectation::Kind;
using nic::CompletionStatus;
using nic::QpState;

constexpr std::size_t kOutputPatternMax = 1000;

constexpr std::array<fabric::Named<CompletionStatus>, 18> kStatuses{
    {{"success", CompletionStatus::success},
     {"local_length_error", CompletionStatus::local_length_error},
     {"local_qp_operation_error", CompletionStatus::local_qp_operation_error},
     {"local_eec_operation_error", CompletionStatus::local_eec_operation_error},
     {"local_protection_error", CompletionStatus::local_protection_error},
     {"flushed", CompletionStatus::flushed},
     {"memory_window_bind_error", CompletionStatus::memory_window_bind_error},
     {"bad_response", CompletionStatus::bad_response},
     {"local_access_error", CompletionStatus::local_access_error},
     {"remote_invalid_request", CompletionStatus::remote_invalid_request},
     {"remote_access_error", CompletionStatus::remote_access_error},
     {"remote_operation_error", CompletionStatus::remote_operation_error},
     {"retry_exceeded", CompletionStatus::retry_exceeded},
     {"rnr_retry_exceeded", CompletionStatus::rnr_retry_exceeded},
     {"remote_aborted", CompletionStatus::remote_aborted},
     {"fatal_error", CompletionStatus::fatal_error},
     {"response_timeout", CompletionStatus::response_timeout},
     {"general_error", CompletionStatus::general_error}}};

constexpr std::array<fabric::Named<QpState>, 7> kQpStates{{{"reset", QpState::reset},
                                                           {"init", QpState::init},
                                                           {"rtr", QpState::rtr},
                                                           {"rts", QpState::rts},
                                                           {"sqd", QpState::sqd},
                                                           {"sqe", QpState::sqe},
                                                           {"error", QpState::error}}};

// -- Bounds

using Reading = std::function<double(const Value&)>;

double read_count(const Value& value) {
  return static_cast<double>(value.number(0, kCountMax));
}
double read_rate(const Value& value) {
  return static_cast<double>(value.rate());
}
double read_time(const Value& value) {
  return static_cast<double>(value.duration().ns);
}
double read_octets(const Value& value) {
  return static_cast<double>(value.size(0, UINT32_MAX));
}
double read_decimal(const Value& value) {
  return value.decimal();
}

Bounds read_bounds(const Section& section, std::string_view least, std::string_view most, const Reading& read) {
  Bounds bounds;
  if (const auto value = section.find(least)) bounds.least = read(*value);
  if (const auto value = section.find(most)) {
    bounds.most = read(*value);
    if (bounds.least && *bounds.most < *bounds.least) value->wrong("it is below " + std::string(least));
  }
  return bounds;
}

/// `is:`, or `min:` and `max:`; one at least.
Bounds read_number_bounds(const Section& section) {
  section.exclude("is", "min");
  section.exclude("is", "max");
  Bounds bounds = read_bounds(section, "min", "max", read_count);
  if (const auto value = section.find("is")) bounds.least = bounds.most = read_count(*value);
  if (!bounds.least && !bounds.most) complain(section.place(), "say how many: is: 100, or min: and max:");
  return bounds;
}

Bounds need_bounds(const Section& section, const Reading& read) {
  const Bounds bounds = read_bounds(section, "min", "max", read);
  if (!bounds.least && !bounds.most) complain(section.place(), "say how much: min: or max:");
  return bounds;
}

/// `percentile:` or `mean: yes`.
void read_statistic(const Section& section, Expectation& expectation) {
  section.exclude("percentile", "mean");
  if (const auto value = section.find("percentile")) expectation.percentile = value->percentile();
  if (const auto value = section.find("mean")) expectation.is_mean = value->yes_no();
}

/// Of what has a value for each workload, and none for all together.
std::string read_one_workload(const Value& name, const Scenario& scenario) {
  if (name.label() == "all") name.wrong("name one workload: write such a row for each");
  return read_workload_name(name, scenario);
}

// -- Kinds

void read_completions(const Section& section, const Value& subject, const ElementNames&, const Scenario& scenario,
                      Expectation& expectation) {
  expectation.workload = read_workload_name(subject, scenario);
  if (const auto value = section.find("status")) expectation.status = read_status(*value);
  expectation.value = read_number_bounds(section);
  expectation.time_ns = read_bounds(section, "from", "until", read_time);
}

void read_throughput(const Section& section, const Value& subject, const ElementNames&, const Scenario& scenario,
                     Expectation& expectation) {
  expectation.workload = read_one_workload(subject, scenario);
  expectation.value = need_bounds(section, read_rate);
}

void read_latency(const Section& section, const Value& subject, const ElementNames&, const Scenario& scenario,
                  Expectation& expectation) {
  expectation.workload = read_one_workload(subject, scenario);
  expectation.sizes = read_bounds(section, "size-from", "size-until", read_octets);
  read_statistic(section, expectation);
  expectation.value = need_bounds(section, read_time);
}

void read_slowdown(const Section& section, const Value& subject, const ElementNames&, const Scenario& scenario,
                   Expectation& expectation) {
  expectation.workload = read_one_workload(subject, scenario);
  const bool has_flows =
      std::any_of(scenario.workloads.begin(), scenario.workloads.end(), [&expectation](const Workload& workload) {
        return workload.name == expectation.workload && workload.load_ppb != 0;
      });
  if (!has_flows) subject.wrong("name one workload with load: 50%, whose flows have a slowdown");
  expectation.sizes = read_bounds(section, "size-from", "size-until", read_octets);
  read_statistic(section, expectation);
  expectation.value = need_bounds(section, read_decimal);
}

void read_rtt(const Section& section, const Value& subject, const ElementNames& names, const Scenario& scenario,
              Expectation& expectation) {
  expectation.hosts = names.hosts(subject);
  for (const std::uint32_t host : expectation.hosts)
    if (!scenario.nics[host].congestion.wants().measures_round_trips())
      subject.wrong("round trips are measured by congestion-control: timely and swift");
  read_statistic(section, expectation);
  expectation.value = need_bounds(section, read_time);
}

void read_queue(const Section& section, const Value& subject, const ElementNames& names, const Scenario& scenario,
                Expectation& expectation) {
  if (scenario.sample.ns == 0) subject.wrong("queues are known with sample: 10us at the scenario's top level");
  expectation.links = names.directions(subject, std::nullopt);
  if (const auto value = section.find("percentile")) expectation.percentile = value->percentile();
  expectation.time_ns = read_bounds(section, "from", "until", read_time);
  expectation.value = need_bounds(section, read_octets);
}

void read_pauses(const Section& section, const Value& subject, const ElementNames& names, const Scenario& scenario,
                 Expectation& expectation) {
  if (!scenario.topology.qos)
    subject.wrong("this topology has no traffic classes, and nobody pauses: write qos: in it");
  expectation.links = names.directions(subject, std::nullopt);
  expectation.value = read_number_bounds(section);
}

void read_counter(const Section& section, const Value& subject, const ElementNames& names, const Scenario&,
                  Expectation& expectation) {
  expectation.counter = subject.word();
  std::vector<std::string_view> known;
  for (std::size_t i = 0; i < nic::kCounters; ++i) known.push_back(nic::to_string(static_cast<nic::Counter>(i)));
  if (std::find(known.begin(), known.end(), expectation.counter) == known.end()) {
    const std::string_view like = fabric::nearest(expectation.counter, known);
    subject.wrong("there is no such counter" +
                  (like.empty() ? "; a node has tx_packets, rx_packets and others, as verbena stat shows"
                                : ", did you mean " + std::string(like) + "?"));
  }
  if (const auto value = section.find("of")) {
    expectation.hosts = names.hosts(*value);
  } else {
    for (std::uint32_t i = 0; i < names.topology().hosts; ++i) expectation.hosts.push_back(i);
  }
  expectation.value = read_number_bounds(section);
}

void read_qp_state(const Section& section, const Value& subject, const ElementNames&, const Scenario& scenario,
                   Expectation& expectation) {
  constexpr std::array<fabric::Named<bool>, 2> kSides{{{"initiator", false}, {"target", true}}};
  expectation.workload = read_one_workload(subject, scenario);
  expectation.qp_state = static_cast<std::uint8_t>(section.need("state", "rts").choice(kQpStates));
  if (const auto value = section.find("side")) expectation.target_side = value->choice(kSides);
}

void read_data_intact(const Section&, const Value& subject, const ElementNames&, const Scenario& scenario,
                      Expectation& expectation) {
  if (!scenario.payload) subject.wrong("with payload: false there are no data to compare");
  expectation.workload = read_workload_name(subject, scenario);
  for (const Workload& workload : scenario.workloads)
    if (workload.name == expectation.workload && !workload.check) subject.wrong("this workload has check: false");
}

void read_silence(const Section& section, const Value& subject, const ElementNames& names, const Scenario&,
                  Expectation& expectation) {
  expectation.links = names.directions(subject, std::nullopt);
  expectation.time_ns = read_bounds(section, "from", "until", read_time);
  expectation.value.most = 0;
}

void read_finished(const Section& section, const Value& subject, const ElementNames&, const Scenario& scenario,
                   Expectation& expectation) {
  expectation.workload = read_workload_name(subject, scenario);
  expectation.time_ns = read_bounds(section, "within", "within", read_time);
  expectation.time_ns.least.reset();
}

void read_program_end(const Section& section, const Value& subject, const ElementNames&, const Scenario& scenario,
                      Expectation& expectation) {
  expectation.workload = read_program_name(subject, scenario, "there is no program of this name");
  if (const auto value = section.find("status")) expectation.status = static_cast<std::uint8_t>(value->number(0, 255));
  bool is_bounded = false;
  for (const std::string_view key : {"is", "min", "max"}) is_bounded = is_bounded || section.find(key).has_value();
  if (is_bounded) expectation.value = read_number_bounds(section);
  const auto output = section.find("output");
  if (!output && is_bounded) complain(section.place(), "bounds are for a number in its output: write output: as well");
  if (!output) return;
  expectation.output = output->word();
  if (expectation.output.size() > kOutputPatternMax) output->wrong("the expression is too long");
  try {
    if (std::regex(expectation.output).mark_count() == 0 && is_bounded)
      output->wrong("put the number that is to be within bounds into parentheses");
  } catch (const std::regex_error&) {
    output->wrong("it is not a regular expression");
  }
}

void read_checker(const Section& section, const Value& subject, const ElementNames&, const Scenario&,
                  Expectation& expectation) {
  const std::string name = subject.word();
  expectation.value = read_number_bounds(section);
  if (name == "all") return;
  std::vector<std::string_view> known;
  for (const checkers::CheckerRow& row : checkers::all_checkers()) known.push_back(row.name);
  known.insert(known.end(), kFabricChecks.begin(), kFabricChecks.end());
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    const std::string_view like = fabric::nearest(name, known);
    subject.wrong("there is no such checker" + (like.empty() ? "; verbena check --list names them, or write all"
                                                             : ", did you mean " + std::string(like) + "?"));
  }
  expectation.checker = name;
}

void read_survivors(const Section& section, const Value& subject, const ElementNames&, const Scenario& scenario,
                    Expectation& expectation) {
  expectation.workload = read_one_workload(subject, scenario);
  expectation.value = read_number_bounds(section);
}

struct ExpectationWord {
  std::string_view key;
  ExpectationKind kind;
  void (*read)(const Section&, const Value&, const ElementNames&, const Scenario&, Expectation&);
};
constexpr std::array<ExpectationWord, 15> kExpectationWords{
    {{"completions", ExpectationKind::completions, read_completions},
     {"throughput", ExpectationKind::throughput, read_throughput},
     {"latency", ExpectationKind::latency, read_latency},
     {"slowdown", ExpectationKind::slowdown, read_slowdown},
     {"rtt", ExpectationKind::rtt, read_rtt},
     {"queue", ExpectationKind::queue, read_queue},
     {"pauses", ExpectationKind::pauses, read_pauses},
     {"counter", ExpectationKind::counter, read_counter},
     {"qp-state", ExpectationKind::qp_state, read_qp_state},
     {"data-intact", ExpectationKind::data_intact, read_data_intact},
     {"silence", ExpectationKind::silence, read_silence},
     {"finished", ExpectationKind::finished, read_finished},
     {"program", ExpectationKind::program, read_program_end},
     {"checker", ExpectationKind::checker, read_checker},
     {"survivors", ExpectationKind::survivors, read_survivors}}};

std::string bounds_text(const Section& section) {
  std::string text;
  for (const std::string_view key : keys_of(section.section())) {
    const auto value = key == section.section() || key == "name" ? std::nullopt : section.find(key);
    if (value && value->is_word()) text += ", " + std::string(key) + " " + wire::printable(value->text());
  }
  return text;
}

void read_name(const Section& section, const Scenario& scenario, Expectation& expectation) {
  const auto name = section.find("name");
  if (!name) return;
  expectation.name = name->label();
  for (const Expectation& other : scenario.expectations)
    if (other.name == expectation.name) name->wrong("two expectations have this name");
}

Expectation read_expectation(const Value& item, const ElementNames& names, const Scenario& scenario) {
  Expectation expectation;
  expectation.place = item.place();
  if (item.is_word()) {
    constexpr std::array<fabric::Named<ExpectationKind>, 2> kPlain{
        {{"data-intact", ExpectationKind::data_intact}, {"finished", ExpectationKind::finished}}};
    expectation.kind = item.choice(kPlain);
    if (expectation.kind == ExpectationKind::data_intact && !scenario.payload)
      item.wrong("with payload: false there are no data to compare");
    expectation.text = item.word();
    return expectation;
  }
  const auto keys = keys_written(item);
  std::string names_known;
  std::vector<std::string_view> kinds;
  for (const ExpectationWord& word : kExpectationWords) {
    names_known += (names_known.empty() ? "" : ", ") + std::string(word.key);
    kinds.push_back(word.key);
    if (std::find(keys.begin(), keys.end(), word.key) == keys.end()) continue;
    const Section section(item, word.key);
    const Value subject = *section.find(word.key);
    expectation.kind = word.kind;
    word.read(section, subject, names, scenario, expectation);
    expectation.text = std::string(word.key) + (subject.is_word() ? " " + subject.label() : "") + bounds_text(section);
    read_name(section, scenario, expectation);
    return expectation;
  }
  std::string like;
  for (const std::string& key : keys)
    if (like.empty()) like = fabric::did_you_mean(key, kinds);
  item.wrong("write data-intact, finished, or a map with one of the keys " + names_known + like);
}

}  // namespace

std::uint8_t read_status(const Value& name) {
  return static_cast<std::uint8_t>(name.choice(kStatuses));
}

std::string read_workload_name(const Value& name, const Scenario& scenario) {
  std::string word = name.label();
  if (word == "all") return {};
  std::vector<std::string_view> known;
  for (const Workload& workload : scenario.workloads) {
    if (workload.name == word) return word;
    known.push_back(workload.name);
  }
  const std::string_view like = fabric::nearest(word, known);
  name.wrong("there is no workload of this name" + (like.empty() ? "" : ", did you mean '" + std::string(like) + "'?"));
}

std::string read_program_name(const Value& name, const Scenario& scenario, const std::string& refusal) {
  std::string word = name.label();
  std::vector<std::string_view> known;
  for (const Program& program : scenario.programs) {
    if (program.name == word) return word;
    known.push_back(program.name);
  }
  name.wrong(refusal + fabric::did_you_mean(word, known));
}

void read_expectations(const Value& list, const ElementNames& names, Scenario& scenario) {
  std::size_t entries = 0;
  for (const Value& item : list.items()) {
    if (++entries > kEntriesMax)
      complain(item.place(), "there are more than " + std::to_string(kEntriesMax) + " expectations");
    scenario.expectations.push_back(read_expectation(item, names, scenario));
  }
}

}  // namespace verbena::scenarios
