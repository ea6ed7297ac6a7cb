// A network of test nodes and everything that arrives, for the tests of emulator/fabric's Network.
//
// Solely responsible for what these tests share; what is right is each test's own.
#pragma once

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <map>

#include "emulator/fabric/fault_plan.h"
#include "emulator/fabric/network_control.h"
#include "tests/support/frames.h"

namespace verbena::fabric::test {

using verbena::test::node_gid;
using verbena::test::rc;
using wire::OperationCode;

inline constexpr std::size_t kAckBytes = 62;  // Ethernet, IPv4, UDP, BTH, AETH, ICRC

struct Got {
  std::int64_t ns;
  std::uint32_t host;
  std::uint32_t psn;
  bool operator==(const Got&) const = default;
};
inline std::ostream& operator<<(std::ostream& out, const Got& got) {
  return out << got.ns << " ns: psn " << got.psn << " at host " << got.host;
}

/// A network whose host I is test node I + 1, and everything that arrives.
struct Net final : Sink, Observer {
  explicit Net(const Topology& topology, NetworkOptions options = {}) : network(topology, options) {
    BOOST_TEST_REQUIRE(check(topology).ok());
    for (std::uint32_t host = 0; host < topology.hosts; ++host) network.add_address(host, node_gid(host + 1));
    network.observe(this);
  }
  static std::vector<std::byte> frame(std::uint32_t from, std::uint32_t to, std::uint32_t psn, std::size_t payload = 0,
                                      std::uint8_t traffic_class = 0, std::uint16_t port = 0xc000) {
    wire::FramePath path;
    return frame_by(path, from, to, psn, payload, traffic_class, port);
  }
  /// The same with the rest of its path: VLAN tag, version of RoCE.
  static std::vector<std::byte> frame_by(wire::FramePath path, std::uint32_t from, std::uint32_t to, std::uint32_t psn,
                                         std::size_t payload = 0, std::uint8_t traffic_class = 0,
                                         std::uint16_t port = 0xc000) {
    path.source = node_gid(from + 1);
    path.destination = node_gid(to + 1);
    path.traffic_class = traffic_class;
    path.udp_source_port = port;
    verbena::test::PacketSpec spec{.psn = psn};
    if (payload == 0) {
      spec.opcode = rc(OperationCode::acknowledge);
    } else {
      spec.opcode = rc(OperationCode::write_middle);
      spec.payload = std::vector<std::byte>(payload, std::byte{0x5a});
    }
    return verbena::test::make_frame(wire::FrameTemplate(path), spec);
  }
  void send(std::int64_t ns, std::uint32_t from, std::uint32_t to, std::uint32_t psn, std::size_t payload = 0) {
    network.submit(Time{ns}, from, frame(from, to, psn, payload));
  }
  bool arrived(const Arrival& arrival) override {
    const auto packet = wire::parse_frame(arrival.frame);
    got.push_back({arrival.time.ns, arrival.host, packet ? packet->bth().psn.value() : UINT32_MAX});
    icrc_ok.push_back(packet && packet->icrc_is_valid());
    flagged.push_back(arrival.corrupted);
    ecn.push_back(packet ? packet->ip().traffic_class() & 3 : 9);
    last.assign(arrival.frame.begin(), arrival.frame.end());
    return takes;
  }
  void observe(const ObservedFrame& observed) override {
    ++events[observed.event];
    if (!observed.comment.empty()) comments.emplace_back(observed.comment);
  }
  void run(std::int64_t until_ns = 1'000'000'000) { network.run(Time{until_ns}, *this); }
  void set_faults(LinkId link, std::initializer_list<std::string_view> texts) {
    std::vector<FaultRule> rules;
    for (const auto text : texts) rules.push_back(*parse_fault(text));
    control.set_faults(link, rules);
  }
  std::vector<std::uint32_t> psns() const {
    std::vector<std::uint32_t> all;
    for (const Got& one : got) all.push_back(one.psn);
    return all;
  }

  Network network;
  NetworkControl control{network};
  std::vector<Got> got;
  std::vector<bool> icrc_ok;
  std::vector<bool> flagged;
  std::vector<int> ecn;
  std::vector<std::byte> last;
  std::map<FrameEvent, int> events;
  std::vector<std::string> comments;
  bool takes = true;
};
using Psns = std::vector<std::uint32_t>;

/// 1 Gbit/s: 8 ns an octet.
inline ShapeParameters slow(std::uint32_t queue_bytes = 1 << 20, std::uint32_t ecn = 0) {
  const CableParameters cable{.rate_bits_per_second = 1'000'000'000,
                              .propagation = nanoseconds(1000),
                              .queue_bytes = queue_bytes,
                              .ecn = {ecn, ecn}};
  return {cable, cable};
}
inline constexpr std::int64_t kAckNs = kAckBytes * 8;

}  // namespace verbena::fabric::test
