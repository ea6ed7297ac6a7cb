// Frames whose ICRC is deferred in a network: whoever sees one sees its ICRC, whoever changes one changes a whole one,
// and what nobody looks at arrives as it was.
#include "emulator/fabric/chance.h"
#include "tests/fabric/network_fixture.h"
#include "wire/icrc.h"

namespace verbena::fabric::test {
namespace {

constexpr std::int64_t kLateNs = 1'000'000'000;

/// Everything that a network shows or hands over, with the octets.
struct Watcher final : Sink, Observer {
  bool arrived(const Arrival& arrival) override {
    arrivals.push_back({arrival.icrc, arrival.corrupted, {arrival.frame.begin(), arrival.frame.end()}});
    return true;
  }
  void observe(const ObservedFrame& observed) override {
    const auto packet = wire::parse_frame(observed.frame);
    ++seen;
    if (!observed.corrupted && !(packet && packet->icrc_is_valid())) ++seen_wrong;
  }
  struct One {
    wire::IcrcState icrc;
    bool corrupted;
    std::vector<std::byte> octets;
  };
  std::vector<One> arrivals;
  std::size_t seen = 0;
  std::size_t seen_wrong = 0;
};

std::vector<std::byte> without_icrc(std::vector<std::byte> frame) {
  std::fill(frame.end() - wire::kIcrcBytes, frame.end(), std::byte{0});
  return frame;
}

struct Wires {
  explicit Wires(const Topology& of) : network(of, {}) {
    for (std::uint32_t host = 0; host < of.hosts; ++host) network.add_address(host, node_gid(host + 1));
  }
  void set_faults(std::initializer_list<std::string_view> texts) {
    std::vector<FaultRule> rules;
    for (const auto text : texts) rules.push_back(*parse_fault(text));
    for (std::uint32_t cable = 0; cable < network.topology().cables.size(); ++cable)
      for (const bool backward : {false, true}) NetworkControl(network).set_faults({cable, backward}, rules);
  }
  void send(std::uint32_t psn, std::size_t payload) {
    network.submit(Time{psn * 1000}, 0, without_icrc(Net::frame(0, 1, psn, payload)), wire::IcrcState::deferred);
  }
  void run() { network.run(Time{kLateNs}, watcher); }

  Network network;
  Watcher watcher;
};

}  // namespace

BOOST_AUTO_TEST_CASE(nobody_looks_and_the_frame_arrives_as_it_was) {
  Wires wires(star(2, {}));
  wires.send(1, 1000);
  wires.run();
  BOOST_REQUIRE(wires.watcher.arrivals.size() == 1U);
  BOOST_TEST((wires.watcher.arrivals[0].icrc == wire::IcrcState::deferred));
  BOOST_TEST(wires.watcher.arrivals[0].octets == without_icrc(Net::frame(0, 1, 1, 1000)));
}

BOOST_AUTO_TEST_CASE(an_observer_sees_the_icrc_on_every_cable) {
  Wires wires(star(2, {}));
  wires.network.observe(&wires.watcher);
  wires.send(1, 1000);
  wires.send(2, 0);
  wires.run();
  BOOST_TEST(wires.watcher.seen >= 4U);
  BOOST_TEST(wires.watcher.seen_wrong == 0U);
  BOOST_REQUIRE(wires.watcher.arrivals.size() == 2U);
  BOOST_TEST(wires.watcher.arrivals[0].octets == Net::frame(0, 1, 1, 1000));
  BOOST_TEST((wires.watcher.arrivals[0].icrc == wire::IcrcState::present));
}

BOOST_AUTO_TEST_CASE(frame_changed_by_a_fault_is_refused_by_the_receiver) {
  for (const std::string_view fault : {"corrupt where=payload", "truncate to=200"}) {
    Wires wires(star(2, {}));
    wires.set_faults({fault});
    wires.send(1, 1000);
    wires.run();
    BOOST_REQUIRE(wires.watcher.arrivals.size() == 1U);
    const auto& one = wires.watcher.arrivals[0];
    BOOST_TEST(one.corrupted);
    BOOST_TEST((one.icrc == wire::IcrcState::present));
    const auto packet = wire::parse_frame(one.octets);
    BOOST_TEST(!(packet && packet->icrc_is_valid()));
  }
}

BOOST_AUTO_TEST_CASE(any_frames_through_any_faults) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    std::uint64_t state = seed;
    Wires wires(star(2, {}));
    if (seed % 3 != 0) wires.network.observe(&wires.watcher);
    wires.set_faults({"corrupt 10%", "duplicate 10%", "delay by=5us 10%", "reorder by=2 10%", "drop 5%", "mark 20%"});
    for (std::uint32_t psn = 1; psn <= 200; ++psn) {
      state = mix(state);
      wires.send(psn, state % 3 == 0 ? 0 : state % 4096 + 1);
    }
    wires.run();
    BOOST_TEST(wires.watcher.seen_wrong == 0U);
    for (auto& one : wires.watcher.arrivals) {
      const bool is_deferred = one.icrc == wire::IcrcState::deferred;
      BOOST_REQUIRE_MESSAGE(!(is_deferred && one.corrupted), "seed " << seed);
      if (is_deferred) wire::complete_icrc(one.octets);
      const auto packet = wire::parse_frame(one.octets);
      const bool is_right = packet && packet->icrc_is_valid();
      BOOST_REQUIRE_MESSAGE(is_right || one.corrupted, "seed " << seed);
    }
  }
}

}  // namespace verbena::fabric::test
