// Traffic classes of live programs: one that is paused waits in its NIC, the node's others go on, and the node sees the
// pause frames that its port sends.
#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "tests/host/fabric_process/plugged_in.h"
#include "wire/pause_frame.h"

using namespace verbena;
using namespace verbena::host;
using namespace verbena::host::test;

namespace {

constexpr std::uint8_t kClass3 = 3 << 5;  // the traffic class octet of an IP header
constexpr std::size_t kBytes = 2048;

fabric::Topology lossless_star() {
  constexpr fabric::CableParameters kCable{.rate_bits_per_second = 1'000'000'000, .propagation = Duration{1000}};
  fabric::Topology topology = fabric::star(3, {kCable, kCable});
  topology.qos.emplace();
  topology.qos->lossless = fabric::bit_of(3);
  topology.qos->xoff = {.alpha = 0, .bytes = 20'000};
  return topology;
}

FrameRequest request_of(const Uplink& from, const Uplink& to, std::uint32_t psn, std::uint8_t traffic_class) {
  FrameRequest request = from.request_to(to, psn, kBytes);
  request.traffic_class = traffic_class;
  return request;
}

/// How many of them leave before the NIC is told to wait for good, or more than could lie anywhere.
std::uint32_t send_until_held(Uplink& from, Uplink& to) {
  constexpr std::uint32_t kMoreThanRings = 3 * ShmUplink::kDepthBytes / kBytes;
  constexpr Duration kLong = milliseconds(50);
  std::uint32_t psn = 0;
  for (Time last = clock_now(); psn < kMoreThanRings && clock_now() < last + kLong;) {
    if (commit(*from.link, request_of(from, to, psn, kClass3))) {
      ++psn;
      last = clock_now();
    }
    from.pass(to);
  }
  return psn;
}

std::size_t pauses_in(const Collector& collector, const wire::MacAddress& source) {
  return static_cast<std::size_t>(std::ranges::count_if(collector.frames, [&](const auto& frame) {
    const auto pause = wire::parse_pause_frame(frame);
    return pause && pause->source == source && pause->classes == fabric::bit_of(3);
  }));
}

/// Those that are packets.
std::size_t packets_in(const Collector& collector) {
  return static_cast<std::size_t>(
      std::ranges::count_if(collector.frames, [](const auto& frame) { return !wire::parse_pause_frame(frame); }));
}

}  // namespace

BOOST_AUTO_TEST_CASE(paused_class_waits_without_holding_up_the_others) {
  const Served fabric(lossless_star());
  Uplink one(fabric, 1);
  Uplink two(fabric, 2);
  Uplink three(fabric, 3);
  BOOST_TEST(fabric.ask({"pause-storm", "n3", "3"}).find("refused") == std::string::npos);
  const std::uint32_t sent = send_until_held(one, three);
  BOOST_TEST(sent > 10u);
  BOOST_TEST(sent < 2 * ShmUplink::kDepthBytes / kBytes);
  const std::size_t before = packets_in(three.collector);
  BOOST_TEST(before < 10u);
  // The same process, another class.
  for (std::uint32_t psn = 0; psn < 100; ++psn)
    BOOST_TEST(until([&] { return commit(*one.link, request_of(one, two, psn, 0)); }, [&] { one.pass(two); }));
  BOOST_TEST(until([&] { return packets_in(two.collector) == 100; }, [&] { one.pass(two); }));
  BOOST_TEST(packets_in(three.collector) == before);
  BOOST_TEST(!commit(*one.link, request_of(one, three, sent, kClass3)));
  // Nothing was lost, and it goes on.
  BOOST_TEST(fabric.ask({"pause-calm", "n3", "3"}).find("refused") == std::string::npos);
  BOOST_TEST(until([&] { return commit(*one.link, request_of(one, three, sent, kClass3)); }, [&] { one.pass(three); }));
  BOOST_TEST(until([&] { return packets_in(three.collector) == sent + 1; }, [&] { one.pass(three); }));
  std::erase_if(three.collector.frames, [](const auto& frame) { return wire::parse_pause_frame(frame).has_value(); });
  BOOST_TEST(in_order(three));
  BOOST_TEST(fabric.stat().at("overflowed") == 0u);
}

BOOST_AUTO_TEST_CASE(a_node_is_shown_the_pause_frames_that_its_port_sends) {
  const Served fabric(lossless_star());
  Uplink one(fabric, 1);
  Uplink two(fabric, 2);
  BOOST_TEST(fabric.ask({"pause-storm", "n2", "3"}).find("refused") == std::string::npos);
  BOOST_TEST(until([&] { return pauses_in(two.collector, node_mac(two.address)) >= 3; }, [&] { one.pass(two); }));
  BOOST_TEST(pauses_in(one.collector, node_mac(one.address)) == 0u);
}
