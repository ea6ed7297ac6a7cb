#include "scenarios/language/keys.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "emulator/fabric/qos_words.h"
#include "scenarios/language/fault_words.h"
#include "wire/assert.h"

namespace verbena::scenarios {
namespace {

using Word = std::string_view;

constexpr Word kScenario[] = {"name",    "description", "clock",     "seed",      "timeout", "real-timeout",
                              "payload", "capture",     "detection", "sockets",   "sample",  "topology",
                              "wire",    "nic",         "nics",      "workloads", "faults",  "expect"};
constexpr Word kCapture[] = {"snap", "limit"};
constexpr Word kTopology[] = {
    "shape",          "hosts",        "leaves", "spines", "hosts-per-leaf", "pods",     "racks",
    "hosts-per-rack", "aggregations", "cores",  "k",      "nodes",          "switches", "link",
    "trunk",          "links",        "qos",    "spread", "rails",          "planes",   "managed"};
constexpr Word kEcn[] = {"kmin", "kmax", "pmax"};
constexpr Word kCable[] = {"rate", "delay", "queue", "ecn", "mtu", "telemetry"};
constexpr Word kLink[] = {"between", "rate", "delay", "queue", "ecn", "mtu", "telemetry"};
constexpr Word kNic[] = {"profile"};
constexpr Word kProfile[] = {"name", "description"};
constexpr Word kWorkload[] = {"name",          "verb", "transport",     "pattern",  "from",  "to",
                              "among",         "size", "count",         "duration", "depth", "qps",
                              "rate",          "load", "qp-reuse",      "check",    "start", "receive-depth",
                              "receive-delay", "dscp", "service-level", "wire"};
constexpr Word kSize[] = {"size", "from", "to", "weight", "cdf"};
constexpr Word kProgram[] = {"name", "exec", "node", "nodes", "start", "after", "status", "background"};
constexpr Word kCondition[] = {"workload", "completed", "link", "carried", "fault", "hits"};
constexpr Word kPacketFault[] = {"packet", "link", "on", "from", "until", "for", "when", "after"};
constexpr Word kLuminaFault[] = {"data-pkt-events", "link", "on", "from", "until", "for", "when", "after"};
constexpr Word kVerbFault[] = {"verbs", "node", "on", "at", "until", "for", "when", "after"};
constexpr Word kLuminaEvent[] = {"qpn", "psn", "type", "iter", "dir", "opcode", "msg", "every", "count"};
constexpr Word kCompletions[] = {"completions", "status", "is", "min", "max", "from", "until", "name"};
constexpr Word kThroughput[] = {"throughput", "min", "max", "name"};
constexpr Word kLatency[] = {"latency", "size-from", "size-until", "percentile", "mean", "min", "max", "name"};
constexpr Word kSlowdown[] = {"slowdown", "size-from", "size-until", "percentile", "mean", "min", "max", "name"};
constexpr Word kRtt[] = {"rtt", "percentile", "mean", "min", "max", "name"};
constexpr Word kQueue[] = {"queue", "percentile", "from", "until", "min", "max", "name"};
constexpr Word kPauses[] = {"pauses", "is", "min", "max", "name"};
constexpr Word kCounter[] = {"counter", "of", "is", "min", "max", "name"};
constexpr Word kQpState[] = {"qp-state", "state", "side", "name"};
constexpr Word kDataIntact[] = {"data-intact", "name"};
constexpr Word kSilence[] = {"silence", "from", "until", "name"};
constexpr Word kFinished[] = {"finished", "within", "name"};
constexpr Word kProgramEnds[] = {"program", "status", "output", "is", "min", "max", "name"};
constexpr Word kChecker[] = {"checker", "is", "min", "max", "name"};
constexpr Word kSurvivors[] = {"survivors", "is", "min", "max", "name"};

std::vector<Word> with_settings(std::span<const Word> own, bool is_profile) {
  std::vector<Word> all(own.begin(), own.end());
  const std::vector<Word> settings = nic_keys(fabric::nic_words(), is_profile);
  all.insert(all.end(), settings.begin(), settings.end());
  return all;
}
const std::vector<Word> kWholeNic = with_settings(kNic, false);
const std::vector<Word> kWholeProfile = with_settings(kProfile, true);
std::vector<Word> names_of_qos() {
  std::vector<Word> all;
  for (const fabric::QosWord& word : fabric::qos_words()) all.push_back(word.name);
  return all;
}
const std::vector<Word> kQos = names_of_qos();

const std::array kOwnSections{
    SectionKeys{"scenario", kScenario},
    SectionKeys{"capture", kCapture},
    SectionKeys{"topology", kTopology},
    SectionKeys{"ecn", kEcn},
    SectionKeys{"qos", kQos},
    SectionKeys{"cable", kCable},
    SectionKeys{"link", kLink},
    SectionKeys{"nic", kWholeNic},
    SectionKeys{"profile", kWholeProfile},
    SectionKeys{"workload", kWorkload},
    SectionKeys{"size", kSize},
    SectionKeys{"exec", kProgram},
    SectionKeys{"condition", kCondition},
    SectionKeys{"packet", kPacketFault},
    SectionKeys{"data-pkt-events", kLuminaFault},
    SectionKeys{"verbs", kVerbFault},
    SectionKeys{"data-pkt-event", kLuminaEvent},
    SectionKeys{"completions", kCompletions},
    SectionKeys{"throughput", kThroughput},
    SectionKeys{"latency", kLatency},
    SectionKeys{"slowdown", kSlowdown},
    SectionKeys{"rtt", kRtt},
    SectionKeys{"queue", kQueue},
    SectionKeys{"pauses", kPauses},
    SectionKeys{"counter", kCounter},
    SectionKeys{"qp-state", kQpState},
    SectionKeys{"data-intact", kDataIntact},
    SectionKeys{"silence", kSilence},
    SectionKeys{"finished", kFinished},
    SectionKeys{"program", kProgramEnds},
    SectionKeys{"checker", kChecker},
    SectionKeys{"survivors", kSurvivors},
};

/// A fault of elements has the keys of its row.
const std::vector<std::vector<Word>> kKeysOfFaults = [] {
  std::vector<std::vector<Word>> all;
  for (const fabric::ElementRow& row : fabric::element_rows()) all.push_back(keys_of(row));
  return all;
}();
const std::vector<SectionKeys> kSections = [] {
  std::vector<SectionKeys> all(kOwnSections.begin(), kOwnSections.end());
  for (const std::vector<Word>& keys : kKeysOfFaults) all.push_back({keys.front(), keys});
  return all;
}();

}  // namespace

std::vector<std::string_view> nic_keys(std::span<const fabric::NicWord> words, bool is_profile) {
  std::vector<Word> keys;
  for (const fabric::NicWord& word : words)
    if (is_nic_key(word, is_profile)) keys.push_back(word.name);
  for (const Word name : fabric::policy_word_names()) keys.push_back(name);
  return keys;
}

std::span<const SectionKeys> all_sections() {
  return kSections;
}

std::span<const std::string_view> keys_of(std::string_view section) {
  const auto found = std::find_if(kSections.begin(), kSections.end(),
                                  [section](const SectionKeys& entry) { return entry.section == section; });
  VERBENA_ASSERT(found != kSections.end());
  return found->keys;
}

}  // namespace verbena::scenarios
