// A managed subnet that a test programs by hand, and everything that arrives, for the tests of fabric::NetworkSubnet.
//
// Solely responsible for what these tests share; what is right is each test's own.
#pragma once

#include <boost/test/unit_test.hpp>

#include "emulator/fabric/network_subnet.h"
#include "tests/fabric/network_fixture.h"
#include "wire/encapsulation.h"
#include "wire/infiniband.h"

namespace verbena::fabric::test {

inline Topology managed(Topology topology, std::uint32_t buffer_bytes = 32 << 10) {
  topology.medium = wire::Medium::infiniband;
  topology.qos = infiniband_qos();
  topology.qos->lane_buffer_bytes = buffer_bytes;
  topology.is_managed = true;
  return topology;
}

/// A packet between LIDs.
struct PacketOf {
  std::uint32_t from;
  std::uint32_t to;
  std::uint32_t psn = 1;
  std::uint8_t level = 0;
  std::uint16_t pkey = 0xffff;
  std::size_t payload = 256;
  bool has_grh = false;
};

inline std::vector<std::byte> make_packet(const PacketOf& packet) {
  wire::FramePath path;
  path.encapsulation = &wire::kInfiniBand;
  path.from = wire::PathAddress(wire::Lid(packet.from), packet.level);
  path.to = wire::PathAddress(wire::Lid(packet.to), packet.level);
  path.source = wire::gid_of(wire::Lid(packet.from));
  path.destination = wire::gid_of(wire::Lid(packet.to));
  if (packet.has_grh) {
    path.source.octets = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 1};
    path.destination.octets = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 2};
  }
  return verbena::test::make_frame(wire::FrameTemplate(path),
                                   {.opcode = rc(OperationCode::write_middle),
                                    .psn = packet.psn,
                                    .pkey = packet.pkey,
                                    .payload = std::vector<std::byte>(packet.payload, std::byte{0x5a})});
}

/// Host I has the LID I + 1 once set_up() is done.
struct Managed : Sink, Observer {
  explicit Managed(const Topology& topology, NetworkOptions options = {}) : network(topology, options) {
    const auto checked = check(topology);
    BOOST_TEST_REQUIRE(checked.ok(), (checked.ok() ? "" : checked.error()));
    network.observe(this);
  }
  /// All ports are active and all hosts have their LIDs; no switch knows a way.
  void set_up() {
    const Topology& topology = network.topology();
    for (std::uint32_t vertex = 0; vertex < topology.vertices.size(); ++vertex)
      for (const std::uint32_t cable : topology.cables_of(vertex))
        set_state(vertex, topology.port_of(cable, vertex), wire::PortState::active);
    for (std::uint32_t host = 0; host < topology.hosts; ++host) subnet.set_lids(host, wire::Lid(host + 1), 0);
  }
  void set_state(std::uint32_t vertex, std::uint32_t port, wire::PortState state) {
    subnet.set_port_state(Time{now}, vertex, static_cast<std::uint8_t>(port), state);
  }
  /// Of a switch: the ports to LIDs from 1 on.
  void route(std::uint32_t vertex, std::initializer_list<std::uint8_t> ports) {
    subnet.set_forwarding(vertex, wire::Lid(1), std::vector<std::uint8_t>(ports));
  }
  void send(std::uint32_t host, const PacketOf& packet) { network.submit(Time{now}, host, make_packet(packet)); }
  void run(Duration longer = milliseconds(1)) {
    now += longer.ns;
    network.run(Time{now}, *this);
  }
  /// Sends and waits; where it has come to.
  std::vector<std::uint32_t> hosts_reached(std::uint32_t host, const PacketOf& packet) {
    got.clear();
    send(host, packet);
    run();
    std::vector<std::uint32_t> hosts;
    for (const Arrived& one : got) hosts.push_back(one.host);
    return hosts;
  }
  PortTraffic traffic(std::uint32_t vertex, std::uint8_t port) const { return subnet.traffic(Time{now}, vertex, port); }
  void set_faults(LinkId link, std::initializer_list<std::string_view> texts) {
    std::vector<FaultRule> rules;
    for (const auto text : texts) rules.push_back(*parse_fault(text));
    control.set_faults(link, rules);
  }
  void set_cable_up(std::uint32_t cable, bool up) {
    for (const bool backward : {false, true}) control.set_link_up(Time{now}, {cable, backward}, up);
  }

  bool arrived(const Arrival& arrival) override {
    if (arrival.frame.size() == wire::kLinkPacketBytes) return true;
    Arrived one{.host = arrival.host, .lane = lane_of(arrival.frame), .icrc = arrival.icrc};
    if (const auto packet = wire::parse_on(wire::Medium::infiniband, arrival.frame)) {
      one.psn = packet->bth().psn.value();
      one.is_right = packet->icrc_is_valid() && wire::trailer_integrity(*packet) == wire::Integrity::right;
    }
    got.push_back(one);
    return true;
  }
  void observe(const ObservedFrame& observed) override {
    if (observed.frame.size() == wire::kLinkPacketBytes) return;
    ++events[observed.event];
    if (!observed.comment.empty()) comments.emplace_back(observed.comment);
    const auto packet = wire::parse_on(wire::Medium::infiniband, observed.frame);
    const bool is_right = packet && packet->icrc_is_valid() && wire::kInfiniBand.is_sealed(observed.frame);
    if (!observed.corrupted && !is_right) ++seen_wrong;
    if (observed.corrupted && wire::kInfiniBand.is_sealed(observed.frame)) ++damaged_but_sealed;
    if (observed.event == FrameEvent::entered || observed.event == FrameEvent::sent)
      lanes_seen.push_back(lane_of(observed.frame));
  }
  static int lane_of(std::span<const std::byte> frame) { return std::to_integer<int>(frame[0]) >> 4; }

  struct Arrived {
    std::uint32_t host = 0;
    std::uint32_t psn = UINT32_MAX;
    int lane = -1;
    bool is_right = false;
    wire::IcrcState icrc{};
  };
  Network network;
  NetworkSubnet subnet{network};
  NetworkControl control{network};
  std::int64_t now = 0;
  std::vector<Arrived> got;
  std::map<FrameEvent, int> events;
  std::vector<std::string> comments;
  std::vector<int> lanes_seen;  // when a packet entered, then on each cable
  int seen_wrong = 0;
  int damaged_but_sealed = 0;
};
using Hosts = std::vector<std::uint32_t>;

/// n1 and n2 at s1, n3 and n4 at s2, in the ports 1 and 2 of their switch; the switches are joined by the ports 3.
struct Pair : Managed {
  static constexpr std::uint32_t s1 = 4;
  static constexpr std::uint32_t s2 = 5;
  static constexpr std::uint32_t kTrunk = 4;

  explicit Pair(NetworkOptions options = {}) : Pair(managed(dumbbell(2, slow())), options) {}
  explicit Pair(const Topology& topology, NetworkOptions options = {}) : Managed(topology, options) {
    set_up();
    route(s1, {1, 2, 3, 3});
    route(s2, {3, 3, 1, 2});
  }
};

}  // namespace verbena::fabric::test
