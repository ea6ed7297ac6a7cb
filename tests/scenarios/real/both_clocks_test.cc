// Each fault under virtual time and under the real clock: the nodes that are left see the same, and the run reports the
// same: when a fault began, and how many packets it hit.
//
// Three nodes send each other one datagram in each of four rounds, between which the faults begin and end. Under
// virtual time a scenario's workloads do so; under the real clock the same scenario's faults go to a fabric process,
// and processes that are plugged into it send frames. Such a process is the least that a program would be: one that is
// frozen neither sends nor hears until it goes on, one without a device loses what it sends, one that begins anew sends
// anew, and who sends to one that is down does so again when it is back. The faults' times are the scenario's, not the
// clock's: no waiting.
#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "emulator/host/link/shm/shm_uplink.h"
#include "scenarios/outcome/outcome.h"
#include "scenarios/outcome/report.h"
#include "scenarios/real/fault_schedule.h"
#include "scenarios/virtual/run_virtual.h"
#include "tests/host/fabric_process/served.h"
#include "tests/host/link/link_frames.h"
#include "tests/scenarios/language/reading.h"

using namespace verbena;
using namespace verbena::scenarios;

namespace {

constexpr std::uint32_t kNodes = 3;
constexpr std::array<int, 4> kRounds = {1, 4, 7, 10};  // seconds of the scenario; its faults change at 3, 6 and 9
constexpr Duration kLate = seconds(1);
constexpr std::size_t kBytes = 1024;

/// By round, for n1->n2, n1->n3, n2->n1, n2->n3, n3->n1, n3->n2: + it has arrived, l more than a second later, - never.
using Seen = std::vector<std::string>;

char mark(std::optional<Duration> taken) {
  return !taken ? '-' : *taken < kLate ? '+' : 'l';
}

std::string text_of(const std::string& shape, const std::string& faults) {
  std::string text = "name: t\ntimeout: 14s\ndetection: 1ms\ntopology: {shape: " + shape + ", hosts: 3}\nworkloads:\n";
  for (std::size_t round = 0; round < kRounds.size(); ++round)
    for (std::uint32_t from = 1; from <= kNodes; ++from)
      for (std::uint32_t to = 1; to <= kNodes; ++to)
        if (from != to)
          text += "  - {name: w" + std::to_string(round) + std::to_string(from) + std::to_string(to) + ", from: n" +
                  std::to_string(from) + ", to: n" + std::to_string(to) +
                  ", verb: send, transport: ud, size: " + std::to_string(kBytes) +
                  ", count: 1, start: " + std::to_string(kRounds[round]) + "s}\n";
  return text + "faults: [" + faults + "]\n";
}

struct Course {
  Seen seen;
  std::string faults;  // what a report says of them
};

std::string faults_of(const Scenario& scenario, const Outcome& outcome) {
  std::istringstream report(report_text(scenario, outcome));
  std::string faults;
  for (std::string line; std::getline(report, line);)
    if (line.starts_with("fault")) faults += line + "\n";
  return faults;
}

Course under_virtual_time(const Scenario& scenario) {
  const Outcome outcome = run_virtual(scenario, {});
  BOOST_TEST(outcome.error == "");
  Seen seen(kRounds.size());
  for (std::size_t i = 0; i < outcome.workloads.size(); ++i) {
    const std::size_t round = i / (kNodes * (kNodes - 1));
    const StatusCount& got = outcome.workloads[i].receive_statuses[0];
    seen[round] += mark(got.number == 0 ? std::nullopt : std::optional(got.first - seconds(kRounds[round])));
  }
  return {seen, faults_of(scenario, outcome)};
}

/// A process of a node, plugged into the fabric.
struct Plugged {
  Plugged(const host::test::Served& fabric, std::uint8_t number) : address(host::test::node(number)) {
    host::EngineConfig config;
    config.fabric = fabric.name;
    config.address = address;
    auto opened = host::open_fabric_link(config);
    BOOST_REQUIRE_MESSAGE(opened.ok(), (opened.ok() ? "" : opened.error()));
    slot = opened->slot;
    link = std::move(opened->link);
  }
  void pass() {
    link->service();
    while (const auto notice = link->take_notice()) has_device = has_device && *notice != host::Notice::device_removed;
    link->publish();
    link->flush();
    link->receive(host::clock_now(), collector, 64);
  }
  wire::Gid address;
  std::uint8_t slot = 0;
  std::unique_ptr<host::Link> link;
  host::test::Collector collector;
  bool is_frozen = false;
  bool has_device = true;
  std::uint64_t waiting = 0;  // frames at its port while it is frozen
};

/// What one node sends to another in one round.
struct Message {
  std::size_t round = 0;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  auto operator<=>(const Message&) const = default;
  std::uint32_t psn() const { return (static_cast<std::uint32_t>(round) * kNodes + from) * kNodes + to; }
  static Message of(std::uint32_t psn) { return {psn / (kNodes * kNodes), psn / kNodes % kNodes, psn % kNodes}; }
};

class Machine final : public FaultTarget {
 public:
  explicit Machine(const Scenario& scenario)
      : scenario_(scenario),
        fabric_(scenario.topology, scenario.detection, host::test::unique_name(), FaultSchedule::rules_of(scenario)),
        schedule_(scenario) {
    for (std::uint8_t number = 1; number <= kNodes; ++number)
      nodes_.push_back(std::make_unique<Plugged>(fabric_, number));
  }

  Course run() {
    for (round_ = 0; round_ < kRounds.size(); ++round_) {
      schedule_.run(seconds(kRounds[round_]), *this);
      fabric_.let_routes_follow();
      exchange();
      schedule_.run(seconds(kRounds[round_]), *this);  // what waits for packets has seen those of the round
    }
    Seen seen(kRounds.size());
    for (const Message& message : all_until(kRounds.size() - 1)) {
      const auto found = taken_.find(message);
      seen[message.round] += mark(found == taken_.end() ? std::nullopt : std::optional(found->second));
    }
    Outcome outcome;
    outcome.faults = schedule_.applied();
    for (AppliedFault& fault : outcome.faults)
      if (const auto number = schedule_.number(fault.index)) fault.hits = hits(*number);
    return {seen, faults_of(scenario_, outcome)};
  }

  std::optional<host::FabricReply> tell_fabric(const host::FabricRequest& request) override {
    auto reply = host::ask_fabric(fabric_.name, request);
    BOOST_REQUIRE_MESSAGE(reply.ok(), (reply.ok() ? "" : reply.error().text));
    if (std::holds_alternative<host::RemoveDevices>(request)) {
      const auto has_heard = [&] {
        return std::ranges::any_of(nodes_, [](const auto& node) { return node && !node->has_device; });
      };
      BOOST_TEST(host::test::until(has_heard, [&] { pass(); }));
    }
    return std::move(*reply);
  }
  std::uint64_t carried(const std::string&) override { return 0; }
  std::uint64_t hits(std::uint32_t number) override {
    const host::test::Json stat = fabric_.stat();
    for (const auto& fault : stat.at("faults"))
      if (fault.at("number") == number) return fault.at("hits");
    return 0;
  }
  void change_node(std::uint32_t host, fabric::NodeChange::Kind change) override {
    using enum fabric::NodeChange::Kind;
    switch (change) {
      case freeze:
        nodes_[host]->is_frozen = true;
        return;
      case thaw:
        nodes_[host]->is_frozen = false;
        nodes_[host]->waiting = 0;
        return;
      case crash:
        return kill(host);
      case restart:
        kill(host);
        nodes_[host] = std::make_unique<Plugged>(fabric_, static_cast<std::uint8_t>(host + 1));
        // It begins anew: with all that was to be sent before this round.
        std::erase_if(owed_, [&](const Message& message) { return message.from == host; });
        if (round_ > 0)
          for (const Message& message : all_until(round_ - 1))
            if (message.from == host) owed_.push_back(message);
        return;
    }
  }

 private:
  static std::vector<Message> all_until(std::size_t last_round) {
    std::vector<Message> all;
    for (std::size_t round = 0; round <= last_round; ++round)
      for (std::uint32_t from = 0; from < kNodes; ++from)
        for (std::uint32_t to = 0; to < kNodes; ++to)
          if (from != to) all.push_back({round, from, to});
    return all;
  }

  void kill(std::uint32_t host) {
    if (!nodes_[host]) return;
    gone_ += nodes_[host]->waiting;
    nodes_[host].reset();
    const auto is_gone = [&] { return fabric_.stat().at("nodes").at(host).at("processes") == 0; };
    BOOST_TEST(host::test::until(is_gone, [&] { pass(); }));
  }

  /// Frames that will not arrive any more, of all that were ever sent.
  std::uint64_t ended() {
    const host::test::Json stat = fabric_.stat();
    std::uint64_t frames = gone_;
    for (const char* const reason : {"vanished", "lost", "overflowed"}) frames += stat.value(reason, 0ULL);
    return frames;
  }
  std::uint64_t waiting() const {
    std::uint64_t frames = 0;
    for (const auto& node : nodes_)
      if (node) frames += node->waiting;
    return frames;
  }

  /// What each node owes the others; ends when each frame has arrived, has met its end or waits for a node to go on.
  void exchange() {
    for (const Message& message : all_until(round_))
      if (message.round == round_) owed_.push_back(message);
    began_at_ = host::clock_now();
    std::erase_if(owed_, [&](const Message& message) { return send(message); });
    BOOST_TEST(host::test::until([&] { return arrived_ + ended() + waiting() >= sent_; }, [&] { pass(); },
                                 std::chrono::seconds(20)));
  }

  /// False: it is to be sent again later, for its sender cannot now, or its receiver is not there.
  bool send(const Message& message) {
    const auto& from = nodes_[message.from];
    const auto& to = nodes_[message.to];
    if (!from || from->is_frozen) return false;
    if (!from->has_device) return true;
    const std::uint8_t slot = to ? to->slot : 0;
    const host::test::FrameRequest request{.source = from->address,
                                           .destination = host::test::node(static_cast<std::uint8_t>(message.to + 1)),
                                           .qpn = wire::Qpn(host::qpn_base_of(slot).value() + 0x11),
                                           .psn = message.psn(),
                                           .payload_bytes = kBytes};
    BOOST_TEST(host::test::until([&] { return commit(*from->link, request); }, [&] { pass(); }));
    ++sent_;
    if (to && to->is_frozen) ++to->waiting;
    return to && to->has_device;
  }

  void pass() {
    for (const auto& node : nodes_) {
      if (!node || node->is_frozen) continue;
      node->pass();
      arrived_ += node->collector.frames.size();
      if (node->has_device)
        for (const auto& frame : node->collector.frames) take(Message::of(host::test::psn_of(frame)));
      node->collector.frames.clear();
    }
    std::this_thread::yield();
  }

  void take(const Message& message) {
    // Between two rounds pass seconds of the scenario.
    const Duration taken = message.round == round_ ? host::clock_now() - began_at_
                                                   : seconds(kRounds.at(round_) - kRounds.at(message.round));
    taken_.try_emplace(message, taken);
  }

  const Scenario& scenario_;
  host::test::Served fabric_;
  FaultSchedule schedule_;
  std::vector<std::unique_ptr<Plugged>> nodes_;
  std::size_t round_ = 0;
  Time began_at_{};
  std::vector<Message> owed_;  // to be sent in the next round
  std::map<Message, Duration> taken_;
  std::uint64_t sent_ = 0;     // frames, all rounds together
  std::uint64_t arrived_ = 0;  // at a node's device or where it was
  std::uint64_t gone_ = 0;     // with the node at whose port they waited
};

struct Case {
  const char* shape;
  const char* faults;
  Seen seen;  // by both
};

const std::string kAll = "++++++";

const std::vector<Case> kCases = {
    {"star", "{link-down: n1-s1, at: 3s, for: 5s}", {kAll, "---+-+", "---+-+", kAll}},
    {"star", "{link-down: n1-s1, at: 3s}, {link-up: n1-s1, at: 6s}", {kAll, "---+-+", kAll, kAll}},
    {"ring", "{link-down: s1-s2, at: 3s, for: 5s}", {kAll, kAll, kAll, kAll}},  // led around
    {"star", "{link-flap: n2-s1, down: 2s, up: 1s, times: 2, at: 3s}", {kAll, "-+--+-", "-+--+-", kAll}},
    {"star", "{link-rate: n1-s1, rate: 8Kbps, at: 3s}, {link-rate: n1-s1, rate: 1Gbps, at: 6s}", {}},
    {"star",
     "{link-delay: n1-s1, delay: 1200ms, at: 3s}, {link-delay: n1-s1, delay: 1us, at: 6s}",
     {kAll, "lll+l+", kAll, kAll}},
    {"star", "{partition: n1, peers: n2, at: 3s, for: 5s}", {kAll, "-+-+++", "-+-+++", kAll}},
    {"star", "{partition: n1, peers: n2, one-way: true, at: 3s, for: 5s}", {kAll, "-+++++", "-+++++", kAll}},
    // A heal ends the partition that it names, and no other.
    {"star",
     "{partition: n1, peers: n2, at: 3s, for: 2s}, {partition: n3, peers: n2, at: 3s, for: 5s}",
     {kAll, "-+--+-", "+++-+-", kAll}},
    {"star", "{partition: n1, at: 3s, for: 2s}, {partition: [n1, n3], peers: n2, at: 3s}, {heal: all, at: 9s}", {}},
    {"star", "{partition: n1, at: 3s}, {partition: n1, peers: n2, at: 3s}, {heal: n1, at: 6s}", {}},
    {"star", "{switch-crash: s1, at: 3s, for: 5s}", {kAll, "------", "------", kAll}},
    {"line", "{switch-crash: s2, at: 3s}, {switch-restart: s2, at: 6s}", {kAll, "------", kAll, kAll}},
    {"star", "{port-error: n2, at: 3s, for: 5s}", {kAll, "-+--+-", "-+--+-", kAll}},
    {"star", "{link-down: all, at: 3s}, {port-active: n1, at: 3s}, {port-active: [n2, n3], at: 6s}", {}},
    {"star", "{node-crash: n2, at: 3s}", {kAll, "-+--+-", "-+--+-", "-+--+-"}},
    {"star", "{node-crash: n2, at: 3s, for: 5s}", {kAll, "l+ll+l", "l+ll+l", kAll}},
    {"star", "{node-crash: n2, at: 3s}, {node-restart: n2, at: 6s}", {kAll, "l+ll+l", kAll, kAll}},
    {"star", "{node-restart: n2, at: 3s}", {kAll, kAll, kAll, kAll}},
    {"star", "{node-freeze: n2, at: 3s}", {kAll, "-+--+-", "-+--+-", "-+--+-"}},
    {"star", "{node-freeze: n2, at: 3s, for: 5s}", {kAll, "l+ll+l", "l+ll+l", kAll}},
    {"star", "{node-freeze: n2, at: 3s}, {node-thaw: n2, at: 6s}", {kAll, "l+ll+l", kAll, kAll}},
    // What waited at its port is lost with it.
    {"star", "{node-freeze: n2, at: 3s}, {node-restart: n2, at: 6s}", {kAll, "-+ll+-", kAll, kAll}},
    {"star", "{device-removal: n2, at: 3s}", {kAll, "-+--+-", "-+--+-", "-+--+-"}},
    {"star", "{device-removal: n2, at: 3s, for: 5s}", {kAll, "l+ll+l", "l+ll+l", kAll}},
    {"star", "{device-removal: n2, at: 3s}, {node-restart: n2, at: 6s}", {kAll, "l+ll+l", kAll, kAll}},
    {"star", "{packet: drop, link: n1->s1, from: 3s, until: 6s}", {kAll, "--++++", kAll, kAll}},
    // Texts that begin alike are two faults, and a fault that has ended keeps its hits.
    {"star",
     "{packet: drop count=1, link: n1->s1, from: 3s, until: 6s}, "
     "{packet: drop count=10, link: n1->s1, from: 3s, until: 6s}, {packet: drop count=1, link: s1->n3, from: 6s}",
     {}},
    {"star",
     "{packet: drop, link: n1->s1, from: 3s, until: 6s}, "
     "{link-down: n3-s1, when: {fault: drop, hits: 2}, after: 1s}, "
     "{node-crash: n2, when: {fault: drop, hits: 3}}",
     {kAll, "--++++", "+-+---", "+-+---"}},
    // What is on a link together ends apart.
    {"star", "{packet: drop, link: n1-s1, from: 3s, until: 8s}, {link-down: n2-s1, at: 3s, for: 2s}", {}},
};

std::string joined(const Seen& seen) {
  std::string text;
  for (const std::string& round : seen) text += round + " ";
  return text;
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_fault_of_elements_does_the_same_under_both_clocks) {
  for (const Case& one : kCases) {
    BOOST_TEST_CONTEXT(one.shape << " " << one.faults) {
      const Scenario scenario = test::good(text_of(one.shape, one.faults));
      const Course by_simulation = under_virtual_time(scenario);
      const Course by_fabric = Machine(scenario).run();
      BOOST_TEST((by_fabric.seen == by_simulation.seen),
                 "real: " << joined(by_fabric.seen) << " virtual: " << joined(by_simulation.seen));
      if (!one.seen.empty()) BOOST_TEST((by_simulation.seen == one.seen), "virtual: " << joined(by_simulation.seen));
      BOOST_TEST(by_fabric.faults == by_simulation.faults);
      BOOST_TEST(by_simulation.faults != "");
    }
  }
}
