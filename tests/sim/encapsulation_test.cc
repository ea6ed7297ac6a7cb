// NICs and switches with another encapsulation: transport, congestion control and network do their work as before.
#include <boost/test/unit_test.hpp>

#include "tests/support/toy_encapsulation.h"
#include "tests/support/traffic.h"

using namespace verbena;
using test::TrafficOptions;
using test::TrafficWorld;

namespace {

constexpr sim::HostId kHosts = 4;
constexpr std::uint32_t kMessages = 8;

/// Looks at each frame that leaves a NIC.
struct Watcher final : sim::Observer {
  void observe(const sim::ObservedFrame& frame) override {
    if (frame.event != sim::FrameEvent::sent) return;
    const auto packet = wire::parse_frame(frame.frame);
    BOOST_REQUIRE(packet.ok());
    BOOST_REQUIRE(packet->icrc_is_valid());
    frames += &packet->network().encapsulation() == encapsulation;
    others += &packet->network().encapsulation() != encapsulation;
  }
  const wire::Encapsulation* encapsulation = nullptr;
  std::uint64_t frames = 0;
  std::uint64_t others = 0;
};

/// The first host is written to by the others, through a switch that marks early and loses what its queue cannot hold.
struct Incast {
  explicit Incast(const wire::Encapsulation& encapsulation) : traffic(topology(), options(encapsulation), {}) {
    watcher.encapsulation = &encapsulation;
    traffic.world.observe(&watcher);
    for (test::TrafficHost& host : traffic.hosts) std::ranges::fill(host.memory(), std::byte{0x5a});
    std::ranges::fill(traffic.hosts[0].memory(), std::byte{});
    traffic.connect_incasts(kHosts);
    traffic.world.run_until(Time{} + seconds(10));
  }
  ~Incast() { traffic.world.observe(nullptr); }

  static fabric::Topology topology() {
    fabric::ShapeParameters parameters;
    parameters.host_cable.rate_bits_per_second = 10'000'000'000;
    parameters.host_cable.queue_bytes = 60'000;
    parameters.host_cable.ecn = {.kmin_bytes = 5'000, .kmax_bytes = 20'000, .pmax_ppb = 1'000'000'000};
    return fabric::star(kHosts, parameters);
  }
  static TrafficOptions options(const wire::Encapsulation& encapsulation) {
    TrafficOptions traffic{.message_bytes = 100'000, .messages = kMessages, .depth = 2, .timeout = 8};
    traffic.has_memory = true;
    traffic.cnp_interval = microseconds(4);
    traffic.congestion.policy = nic::CongestionPolicy::dcqcn;
    traffic.congestion.line_rate_bits_per_second = 10'000'000'000;
    traffic.encapsulation = &encapsulation;
    return traffic;
  }
  std::uint64_t sum(nic::Counter counter) {
    std::uint64_t total = 0;
    for (sim::HostId id = 0; id < kHosts; ++id) total += traffic.world.counters(id).get(counter);
    return total;
  }

  TrafficWorld traffic;
  Watcher watcher;
};

}  // namespace

BOOST_AUTO_TEST_CASE(nics_and_switches_take_each_encapsulation) {
  for (const wire::Encapsulation* const encapsulation : wire::encapsulations()) {
    BOOST_TEST_CONTEXT(encapsulation->name) {
      Incast incast(*encapsulation);
      BOOST_TEST(incast.traffic.done() == (kHosts - 1) * kMessages);
      BOOST_TEST(std::ranges::count(incast.traffic.hosts[0].memory(), std::byte{0x5a}) == 100'000);
      BOOST_TEST(incast.watcher.frames > 600u);
      BOOST_TEST(incast.watcher.others == 0u);
      BOOST_TEST(incast.sum(nic::Counter::np_ecn_marked_roce_packets) > 0u);
      BOOST_TEST(incast.sum(nic::Counter::np_cnp_sent) > 0u);
      BOOST_TEST(incast.sum(nic::Counter::rp_cnp_handled) > 0u);
      BOOST_TEST(incast.sum(nic::Counter::tx_retransmitted_packets) > 0u);
      BOOST_TEST(incast.sum(nic::Counter::rx_dropped_icrc) == 0u);
      BOOST_TEST(incast.sum(nic::Counter::rx_dropped_malformed) == 0u);
    }
  }
}
