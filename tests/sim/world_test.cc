// NICs in a world: traffic runs to its end in every shape, the same each time, and through what goes wrong.
#include "emulator/sim/world.h"

#include <boost/test/unit_test.hpp>
#include <map>

#include "emulator/fabric/fault_plan.h"
#include "tests/support/traffic.h"

using namespace verbena;
using test::TrafficOptions;
using test::TrafficWorld;

namespace {

constexpr Time kLong{10'000'000'000};
constexpr std::uint64_t kTraceMarks = 1864832241965670602u;

fabric::ShapeParameters cables(std::uint64_t rate = 10'000'000'000) {
  fabric::ShapeParameters parameters;
  parameters.host_cable.rate_bits_per_second = parameters.trunk.rate_bits_per_second = rate;
  return parameters;
}
std::vector<fabric::FaultRule> rules(std::initializer_list<std::string_view> texts) {
  std::vector<fabric::FaultRule> all;
  for (const auto text : texts) all.push_back(*fabric::parse_fault(text));
  return all;
}
std::uint64_t sum(const TrafficWorld& traffic, nic::Counter counter) {
  std::uint64_t total = 0;
  for (sim::HostId id = 0; id < traffic.hosts.size(); ++id) total += traffic.world.counters(id).get(counter);
  return total;
}
TrafficOptions small(std::uint32_t messages = 20) {
  return {.message_bytes = 20'000, .messages = messages, .depth = 4, .mtu = 1024, .timeout = 8};
}

/// Counts what it sees.
struct Watcher final : sim::Observer {
  void observe(const sim::ObservedFrame& frame) override {
    ++events;
    is_ordered = is_ordered && frame.time >= last[{frame.link, frame.event}];
    last[{frame.link, frame.event}] = frame.time;
    delivered += frame.event == sim::FrameEvent::delivered;
    sent += frame.event == sim::FrameEvent::sent;
  }
  std::map<std::pair<sim::LinkId, sim::FrameEvent>, Time> last;
  std::uint64_t events = 0;
  std::uint64_t delivered = 0;
  std::uint64_t sent = 0;
  bool is_ordered = true;
};

/// Notes when it is called.
/// Their ids are not in use: those of a link follow its own number.
void add_rules(sim::World& world, fabric::LinkId link, const std::vector<fabric::FaultRule>& rules) {
  std::uint32_t id = (2 * link.cable + (link.backward ? 1 : 0)) * 16;
  for (const fabric::FaultRule& rule : rules) world.add_rule(id++, {link}, rule);
}

struct Called final : sim::Application {
  void run(Time now) override { times.push_back(now.ns); }
  std::vector<std::int64_t> times;
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_permutation_completes_in_every_shape) {
  for (const fabric::Topology& topology :
       {fabric::star(6, cables()), fabric::ring(6, cables()), fabric::line(6, cables()), fabric::full_mesh(6, cables()),
        fabric::dumbbell(3, cables()), fabric::fat_tree(4, cables()),
        fabric::leaf_spine({.leaves = 3, .spines = 2, .hosts_per_leaf = 2}, cables())}) {
    for (const bool payload : {true, false}) {
      TrafficOptions options = small();
      options.has_memory = payload;
      TrafficWorld traffic(topology, options, {.payload = payload, .checks_invariants = true});
      traffic.connect_permutation(1);
      traffic.world.run_until(kLong);
      BOOST_TEST(traffic.done() == 20 * traffic.hosts.size());
      BOOST_CHECK(traffic.world.now() == kLong);
      for (const auto& host : traffic.hosts) BOOST_TEST(host.failed == 0u);
    }
  }
}

BOOST_AUTO_TEST_CASE(payload_arrives_as_it_was_sent_through_faults) {
  TrafficOptions options = small(10);
  options.has_memory = true;
  TrafficWorld traffic(fabric::star(2, cables()), options);
  traffic.connect(0, 1);
  add_rules(traffic.world, {0, false}, rules({"drop 5%", "reorder by=3 5%", "duplicate 5%", "corrupt 5%"}));
  add_rules(traffic.world, {0, true}, rules({"drop 5%"}));
  fabric::Dice dice(5);
  for (std::byte& octet : traffic.hosts[0].memory()) octet = static_cast<std::byte>(dice.next());
  traffic.world.run_until(kLong);
  BOOST_TEST(traffic.done() == 10u);
  BOOST_CHECK(traffic.hosts[0].memory() == traffic.hosts[1].memory());
  BOOST_TEST(sum(traffic, nic::Counter::rx_dropped_icrc) > 0u);
  BOOST_TEST(sum(traffic, nic::Counter::tx_retransmitted_packets) > 0u);
}

BOOST_AUTO_TEST_CASE(corrupted_frames_without_payload_are_dropped_for_their_icrc) {
  TrafficWorld traffic(fabric::star(2, cables()), small(10), {.payload = false, .checks_invariants = true});
  traffic.connect(0, 1);
  add_rules(traffic.world, {0, false}, rules({"corrupt where=payload 10%"}));
  traffic.world.run_until(kLong);
  BOOST_TEST(traffic.done() == 10u);
  BOOST_TEST(sum(traffic, nic::Counter::rx_dropped_icrc) >= 10u);
}

BOOST_AUTO_TEST_CASE(world_repeats_by_seed_and_differs_with_another) {
  const auto run = [](std::uint64_t seed, bool payload) {
    TrafficOptions options = small();
    options.has_memory = payload;
    TrafficWorld traffic(fabric::fat_tree(4, cables()), options,
                         {.seed = seed, .payload = payload, .checks_invariants = true});
    traffic.connect_permutation(1);
    for (std::uint32_t cable = 0; cable < 20; ++cable)
      add_rules(traffic.world, {cable, false}, rules({"drop 1%", "delay by=20us 1%", "duplicate 1%"}));
    traffic.world.run_until(kLong);
    return std::pair(traffic.world.network().trace_hash(), traffic.world.statistics().events);
  };
  const auto first = run(1, true);
  BOOST_CHECK(run(1, true) == first);
  BOOST_CHECK(run(2, true) != first);
  BOOST_CHECK(run(1, false) == run(1, false));
}

BOOST_AUTO_TEST_CASE(the_trace_is_the_same_with_every_compiler) {
  // Made once; a change of behaviour changes it, a change of compiler or machine must not.
  TrafficWorld traffic(fabric::ring(5, cables()), small(), {.payload = false, .checks_invariants = true});
  traffic.connect_permutation(3);
  add_rules(traffic.world, {5, false}, rules({"drop 2%", "reorder by=4 2%", "corrupt where=header 1%"}));
  traffic.world.change(fabric::link_delay({6, false}, microseconds(1), microseconds(3)));
  traffic.world.run_until(kLong);
  BOOST_TEST(traffic.done() == 100u);
  std::uint64_t marks = 0;
  for (const std::uint64_t value : {traffic.world.network().trace_hash(), traffic.world.statistics().arrivals})
    marks ^= value;
  BOOST_TEST(marks == kTraceMarks);
}

BOOST_AUTO_TEST_CASE(a_large_world_completes_and_runs_the_same_each_time) {
  const auto run = [] {
    TrafficOptions options = small(3);
    options.timeout = 14;
    TrafficWorld traffic(fabric::fat_tree(8, cables()), options, {.payload = false, .checks_invariants = true});
    traffic.connect_permutation(1);
    add_rules(traffic.world, {300, false}, rules({"drop 5%"}));
    traffic.world.at(Time{20'000}, [&](Time) { traffic.world.change(fabric::switch_up(128 + 40, false)); });
    traffic.world.run_until(kLong);
    BOOST_TEST(traffic.done() == 3 * 128u);
    return traffic.world.network().trace_hash();
  };
  BOOST_TEST(run() == run());
}

BOOST_AUTO_TEST_CASE(a_hosts_port_is_back_pressure_and_loses_nothing) {
  TrafficWorld traffic(fabric::star(2, cables()), {.message_bytes = 1 << 20, .messages = 4, .depth = 4},
                       {.payload = false, .checks_invariants = true});
  traffic.connect(0, 1);
  traffic.world.run_until(kLong);
  BOOST_TEST(traffic.done() == 4u);
  BOOST_TEST(sum(traffic, nic::Counter::tx_retransmitted_packets) == 0u);
  const auto link = traffic.world.network().link_statistics(traffic.world.now(), {0, false});
  BOOST_TEST(link.queue_octets_max <= 6 * wire::kFrameBytesMax);
  // The wire is never idle: 4 MiB and headers at 10 Gbit/s are 3.4 ms.
  const std::int64_t least = static_cast<std::int64_t>(link.octets * 8 / 10);
  BOOST_TEST((traffic.hosts[0].last_completion.ns >= least && traffic.hosts[0].last_completion.ns < least + 20'000));
}

BOOST_AUTO_TEST_CASE(a_thousand_qps_of_one_node_share_its_cable) {
  TrafficWorld traffic(
      fabric::star(3, cables()),
      {.message_bytes = 8192, .messages = 2, .depth = 1, .mtu = 1024, .timeout = 18, .completions_max = 4096},
      {.payload = false, .checks_invariants = true});
  for (int i = 0; i < 1000; ++i) traffic.connect(0, 1 + static_cast<sim::HostId>(i % 2));
  traffic.world.run_until(kLong);
  BOOST_TEST(traffic.done() == 2000u);
  BOOST_TEST(sum(traffic, nic::Counter::tx_retransmitted_packets) == 0u);
}

BOOST_AUTO_TEST_CASE(hosts_joined_without_switches_use_the_cable_to_each_other) {
  fabric::Topology topology;
  topology.hosts = 3;
  for (const char* name : {"a", "b", "c"}) topology.vertices.push_back({name, fabric::VertexKind::host});
  topology.cables = {{0, 1, cables().trunk}, {1, 2, cables().trunk}, {2, 0, cables().trunk}};
  TrafficWorld traffic(topology, small(), {.payload = false, .checks_invariants = true});
  for (sim::HostId from = 0; from < 3; ++from)
    for (sim::HostId to = 0; to < 3; ++to) traffic.connect(from, to);  // itself included
  traffic.world.run_until(kLong);
  BOOST_TEST(traffic.done() == 9 * 20u);
  BOOST_TEST(sum(traffic, nic::Counter::tx_retransmitted_packets) == 0u);
}

BOOST_AUTO_TEST_CASE(short_outage_is_survived_and_a_long_one_ends_the_connection) {
  for (const std::int64_t outage_ms : {2, 2000}) {
    TrafficOptions options = small();
    options.retry_count = 3;
    TrafficWorld traffic(fabric::star(2, cables(1'000'000'000)), options,
                         {.payload = false, .checks_invariants = true});
    traffic.connect(0, 1);
    traffic.world.at(Time{500'000}, [&](Time) { traffic.world.change(fabric::link_up({1, true}, false)); });
    traffic.world.at(Time{500'000 + outage_ms * 1'000'000},
                     [&](Time) { traffic.world.change(fabric::link_up({1, true}, true)); });
    traffic.world.run_until(kLong);
    if (outage_ms == 2) {
      BOOST_TEST(traffic.done() == 20u);
    } else {
      BOOST_TEST(traffic.done() < 20u);
      BOOST_CHECK(traffic.hosts[0].first_failure == nic::CompletionStatus::retry_exceeded);
    }
    BOOST_TEST(sum(traffic, nic::Counter::local_ack_timeout_err) > 0u);
    BOOST_TEST(traffic.world.statistics().vanished > 0u);
  }
}

BOOST_AUTO_TEST_CASE(a_ring_with_a_dead_link_goes_on_after_the_detection) {
  TrafficOptions options = small(200);
  TrafficWorld traffic(fabric::ring(4, cables()), options,
                       {.payload = false, .detection = milliseconds(1), .checks_invariants = true});
  traffic.connect(0, 1);
  traffic.world.at(Time{300'000}, [&](Time) {
    for (const bool backward : {false, true}) traffic.world.change(fabric::link_up({4, backward}, false));
  });
  traffic.world.run_until(kLong);
  BOOST_TEST(traffic.done() == 200u);
  BOOST_TEST(traffic.world.network().link_statistics(traffic.world.now(), {7, true}).frames > 100u);  // s1 to s4
}

BOOST_AUTO_TEST_CASE(a_crashed_host_is_silent_and_a_restarted_one_starts_anew) {
  TrafficWorld traffic(fabric::star(3, cables()), small(1000), {.payload = false, .checks_invariants = true});
  traffic.connect(0, 1);
  traffic.connect(2, 0);
  Called called;
  traffic.world.at(Time{400'000}, [&](Time) {
    traffic.world.attach(1, &called);
    traffic.world.crash(1);
  });
  traffic.world.run_until(kLong);
  BOOST_TEST(!traffic.world.is_running(1));
  BOOST_TEST(called.times.empty());
  BOOST_TEST(traffic.hosts[0].done < 1000u);
  BOOST_CHECK(traffic.hosts[0].first_failure == nic::CompletionStatus::retry_exceeded);
  BOOST_TEST(traffic.hosts[2].done == 1000u);
  BOOST_TEST(traffic.world.statistics().vanished > 0u);
  traffic.world.restart(1);
  traffic.world.run_until(kLong + seconds(1));
  BOOST_TEST(traffic.world.is_running(1));
  BOOST_TEST(called.times.size() == 1u);
  BOOST_TEST(traffic.world.nic(1).allocate_pd().ok());
}

BOOST_AUTO_TEST_CASE(freeze_within_the_retries_is_survived_and_a_longer_one_not) {
  for (const std::int64_t freeze_ms : {3, 500}) {
    TrafficWorld traffic(fabric::star(2, cables(1'000'000'000)), small(),
                         {.payload = false, .checks_invariants = true});
    traffic.connect(0, 1);
    Called called;
    traffic.world.attach(1, &called);
    traffic.world.at(Time{500'000}, [&](Time) { traffic.world.freeze(1, true); });
    traffic.world.at(Time{600'000}, [&](Time) { traffic.world.wake_at(1, Time{700'000}); });
    const std::int64_t thaw = 500'000 + freeze_ms * 1'000'000;
    traffic.world.at(Time{thaw}, [&](Time) { traffic.world.freeze(1, false); });
    traffic.world.run_until(kLong);
    BOOST_TEST((traffic.done() == 20u) == (freeze_ms == 3));
    BOOST_TEST((traffic.hosts[0].failed != 0) == (freeze_ms != 3));
    BOOST_TEST(called.times.size() == 2u);  // at the start, and when it thawed: what it asked for was due
    BOOST_TEST(called.times.back() == thaw);
  }
}

BOOST_AUTO_TEST_CASE(applications_are_called_as_asked_and_tasks_first) {
  TrafficWorld traffic(fabric::star(2, cables()), small());
  Called called;
  traffic.world.attach(0, &called);
  std::vector<std::size_t> calls_before;
  traffic.world.wake_at(0, Time{2000});
  traffic.world.wake_at(0, Time{1000});
  traffic.world.wake_at(0, Time{2000});
  traffic.world.at(Time{2000}, [&](Time) { calls_before.push_back(called.times.size()); });
  traffic.world.at(Time{1500}, [&](Time now) {
    BOOST_TEST(now.ns == 1500);
    traffic.world.at(Time{10}, [&](Time late) { calls_before.push_back(static_cast<std::size_t>(late.ns)); });
  });
  traffic.world.run_until(Time{1999});
  BOOST_CHECK((called.times == std::vector<std::int64_t>{0, 1000}));
  traffic.world.run_until(Time{5000});
  BOOST_CHECK((called.times == std::vector<std::int64_t>{0, 1000, 2000}));
  BOOST_CHECK((calls_before == std::vector<std::size_t>{1500, 2}));
  BOOST_TEST(!traffic.world.step());
  BOOST_CHECK(traffic.world.now() == Time{5000});
}

BOOST_AUTO_TEST_CASE(latencies_of_a_nic_delay_its_acknowledgements_and_naks) {
  const auto run = [](sim::NicLatencies latencies, std::initializer_list<std::string_view> faults) {
    TrafficWorld traffic(fabric::star(2, cables()), {.message_bytes = 1024, .messages = 1, .mtu = 256},
                         {.payload = false, .checks_invariants = true});
    traffic.world.set_latencies(1, latencies);
    add_rules(traffic.world, {0, false}, rules(faults));
    traffic.connect(0, 1);
    traffic.world.run_until(kLong);
    BOOST_TEST(traffic.done() == 1u);
    return traffic.hosts[0].last_completion.ns;
  };
  const std::int64_t plain = run({}, {});
  BOOST_TEST(run({.acknowledge = microseconds(7)}, {}) == plain + 7000);
  BOOST_TEST(run({.nak = microseconds(7)}, {}) == plain);
  const std::int64_t again = run({}, {"drop psn=1"});
  BOOST_TEST(run({.nak = microseconds(7)}, {"drop psn=1"}) == again + 7000);
  BOOST_TEST(run({.nak = microseconds(7), .acknowledge = microseconds(2)}, {"drop psn=1"}) == again + 9000);
}

BOOST_AUTO_TEST_CASE(an_observer_sees_every_frame_and_changes_nothing) {
  const auto run = [](sim::Observer* observer) {
    TrafficWorld traffic(fabric::ring(4, cables()), small(), {.payload = false, .checks_invariants = true});
    traffic.world.observe(observer);
    traffic.connect_permutation(1);
    traffic.world.run_until(kLong);
    return std::pair(traffic.world.network().trace_hash(), traffic.world.statistics().arrivals);
  };
  Watcher watcher;
  const auto watched = run(&watcher);
  BOOST_CHECK(run(nullptr) == watched);
  BOOST_TEST(watcher.is_ordered);
  BOOST_TEST(watcher.delivered == watched.second);
  BOOST_TEST(watcher.sent == watched.second);  // on each cable
}

BOOST_AUTO_TEST_CASE(a_port_is_down_while_none_of_its_cables_has_a_signal) {
  // A triangle without switches: each host has a cable to both others.
  fabric::Topology triangle;
  triangle.hosts = 3;
  triangle.vertices = {{"n1", {}}, {"n2", {}}, {"n3", {}}};
  triangle.cables = {{0, 1, {}}, {0, 2, {}}, {1, 2, {}}};
  TrafficWorld traffic(triangle, {});
  sim::World& world = traffic.world;
  const auto events = [&](sim::HostId host) {
    std::vector<nic::AsyncEventType> types;
    while (const auto event = world.nic(host).poll_event()) types.push_back(event->type);
    return types;
  };
  using Events = std::vector<nic::AsyncEventType>;
  using enum nic::AsyncEventType;
  const auto set = [&](std::uint32_t number, bool up) {
    for (const bool backward : {false, true}) world.change(fabric::link_up({number, backward}, up));
  };
  set(0, false);
  world.change(fabric::link_up({1, true}, false));  // one way: nobody notices
  for (const sim::HostId host : {0u, 1u, 2u}) BOOST_CHECK(events(host).empty());
  set(1, false);
  BOOST_CHECK(events(0) == Events{port_error});
  BOOST_CHECK(events(1).empty());
  BOOST_TEST(!world.nic(0).config().port(1).is_up);
  world.restart(0);  // a NIC that comes up without a signal has lost none
  BOOST_CHECK(events(0).empty());
  BOOST_TEST(!world.nic(0).config().port(1).is_up);
  set(0, true);
  BOOST_CHECK(events(0) == Events{port_active});
  BOOST_TEST(world.nic(0).config().port(1).is_up);
}
