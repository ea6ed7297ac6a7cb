// NICs with GIDs of RoCE v1, of v2, and of both: what is sent by which, and who hears it.
#include <boost/test/unit_test.hpp>

#include "tests/support/script.h"
#include "wire/roce_v1.h"

using namespace verbena;
using namespace verbena::test;
using enum CompletionStatus;

namespace {

const wire::WireKind kV1 = *wire::find_wire_kind("roce-v1");
const wire::WireKind kV2 = *wire::find_wire_kind("roce-v2");
const wire::WireKind kBoth = *wire::find_wire_kind("roce");
constexpr std::uint8_t kV1OfBoth = 0;
constexpr std::uint8_t kV2OfBoth = 1;
constexpr std::uint32_t kQkey = 0x11111111;

/// What each frame on the wire was carried by.
struct Versions {
  explicit Versions(World& world) {
    world.filter = [this](const Traced&, std::vector<std::byte>& frame) {
      const auto packet = wire::parse_frame(frame);
      BOOST_REQUIRE(packet.ok());
      ++(&packet->network().encapsulation() == &wire::kRoceV1 ? v1 : v2);
      classes.push_back(packet->network().traffic_class());
      return true;
    };
  }
  std::size_t v1 = 0;
  std::size_t v2 = 0;
  std::vector<std::uint8_t> classes;
};

struct Ends {
  Ends(WorldOptions options, QpOptions of_a, QpOptions of_b)
      : world(std::move(options)),
        versions(world),
        a(world, 1, of_a),
        b(world, 2, of_b),
        a_buffer(a.nic(), a.pd, 100'000),
        b_buffer(b.nic(), b.pd, 100'000) {
    a.connect(2, b.qpn());
    b.connect(1, a.qpn());
    a_buffer.fill(1);
  }
  void write() {
    const Sge from = a_buffer.sge();
    a.post({.wr_id = 5,
            .opcode = SendOpcode::rdma_write,
            .sges = {&from, 1},
            .operand = {.remote = {.address = b_buffer.address(), .rkey = b_buffer.rkey()}}});
    world.run_to_rest();
  }
  bool is_there() const { return same_bytes(a_buffer.bytes(), b_buffer.bytes()); }

  World world;
  Versions versions;
  Endpoint a, b;
  Buffer a_buffer, b_buffer;
};

QpOptions by(std::uint8_t gid_index) {
  return {.source_gid_index = gid_index};
}

WorldOptions with(const wire::WireKind& a, const wire::WireKind& b) {
  return {.wires = {a, b}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(connection_goes_by_the_version_of_its_gid) {
  struct Row {
    wire::WireKind wire;
    std::uint8_t index;
    bool is_v1;
  };
  for (const Row& row :
       {Row{kV1, 0, true}, Row{kV2, 0, false}, Row{kBoth, kV1OfBoth, true}, Row{kBoth, kV2OfBoth, false}}) {
    BOOST_TEST_CONTEXT(row.wire.name << " " << unsigned{row.index}) {
      Ends ends(with(row.wire, row.wire), by(row.index), by(row.index));
      ends.write();
      check_statuses(ends.a.poll_sent(), {success});
      BOOST_TEST(ends.is_there());
      BOOST_TEST(ends.versions.v1 > 0 == row.is_v1);
      BOOST_TEST(ends.versions.v2 > 0 == !row.is_v1);
    }
  }
}

BOOST_AUTO_TEST_CASE(v1_recovers_from_loss_as_v2_does) {
  WorldOptions options = with(kV1, kV1);
  options.faults = {"drop 3%"};
  Ends ends(std::move(options), {}, {});
  ends.write();
  check_statuses(ends.a.poll_sent(), {success});
  BOOST_TEST(ends.is_there());
  BOOST_TEST(ends.a.counters().get(Counter::tx_retransmitted_packets) > 0u);
}

BOOST_AUTO_TEST_CASE(ends_of_different_versions_do_not_hear_each_other) {
  for (const bool a_is_v1 : {true, false}) {
    Ends ends(with(kBoth, kBoth), by(a_is_v1 ? kV1OfBoth : kV2OfBoth), by(a_is_v1 ? kV2OfBoth : kV1OfBoth));
    ends.write();
    check_statuses(ends.a.poll_sent(), {retry_exceeded});
    BOOST_TEST(!ends.is_there());
    BOOST_TEST(ends.b.counters().get(Counter::rx_dropped_wrong_source) > 0u);
    BOOST_TEST(ends.b.counters().get(Counter::tx_packets) == 0u);
  }
}

BOOST_AUTO_TEST_CASE(nic_without_a_gid_of_the_version_takes_no_packet) {
  for (const bool a_is_v1 : {true, false}) {
    Ends ends(a_is_v1 ? with(kV1, kV2) : with(kV2, kV1), {}, {});
    ends.write();
    check_statuses(ends.a.poll_sent(), {retry_exceeded});
    BOOST_TEST(!ends.is_there());
    BOOST_TEST(ends.b.counters().get(Counter::rx_dropped_wrong_destination) > 0u);
    BOOST_TEST(ends.b.counters().get(Counter::tx_packets) == 0u);
  }
}

BOOST_AUTO_TEST_CASE(datagrams_of_either_version_reach_one_qp) {
  World world(with(kBoth, kBoth));
  Endpoint a(world, 1, {.type = QpType::ud, .qkey = kQkey});
  Endpoint b(world, 2, {.type = QpType::ud, .qkey = kQkey});
  Buffer from(a.nic(), a.pd, 100);
  Buffer to(b.nic(), b.pd, 4096);
  a.connect(2, {});
  b.connect(1, {});
  from.fill(3);
  for (const std::uint8_t index : {kV1OfBoth, kV2OfBoth}) {
    AddressVector path = Endpoint::path_to(2);
    path.source_gid_index = index;
    path.traffic_class = 0x60;
    path.flow_label = 0x12345;
    const AhHandle ah = Endpoint::take(a.nic().create_ah(a.pd, path));
    to.clear();
    b.receive(9, {to.sge()});
    const Sge sge = from.sge();
    a.post({.wr_id = 4,
            .opcode = SendOpcode::send,
            .sges = {&sge, 1},
            .address_handle = ah,
            .remote_qpn = b.qpn(),
            .remote_qkey = kQkey});
    world.run_to_rest();
    const auto received = b.poll_received();
    BOOST_TEST_REQUIRE(received.size() == 1u);
    BOOST_TEST(received[0].byte_count == 140u);
    const std::span<const std::byte> area = std::as_const(to).bytes().first(40);
    if (index == kV1OfBoth) {
      // The GRH as it was on the wire: version 6, class, label; BTH, DETH, payload and ICRC; 0x1b.
      const std::array<unsigned, 8> grh{0x66, 0x01, 0x23, 0x45, 0, 12 + 8 + 100 + 4, 0x1b, 64};
      for (std::size_t i = 0; i < grh.size(); ++i) BOOST_TEST(std::to_integer<unsigned>(area[i]) == grh[i], i);
      BOOST_TEST(
          (wire::gid_at(area.data() + 8, 16) == node_gid(1) && wire::gid_at(area.data() + 24, 16) == node_gid(2)));
    } else {
      BOOST_TEST((area[20] == std::byte{0x45} && area[21] == std::byte{0x60}));
      BOOST_TEST(
          (wire::gid_at(area.data() + 32, 4) == node_gid(1) && wire::gid_at(area.data() + 36, 4) == node_gid(2)));
    }
    BOOST_TEST(same_bytes(std::as_const(to).bytes().subspan(40, 100), from.bytes()));
  }
}

/// No switch reads a GRH: nothing there asks for a mark, and what looks like one is none.
BOOST_AUTO_TEST_CASE(v1_has_no_congestion_marks) {
  for (const bool is_v1 : {true, false}) {
    WorldOptions options = is_v1 ? with(kV1, kV1) : with(kV2, kV2);
    options.congestion.policy = CongestionPolicy::dcqcn;
    options.congestion.line_rate_bits_per_second = 10'000'000'000;
    options.cnp_interval = microseconds(4);
    Ends ends(std::move(options), {}, {});
    auto watch = std::move(ends.world.filter);
    ends.world.filter = [&](const Traced& traced, std::vector<std::byte>& frame) {
      watch(traced, frame);
      frame[14 + 1] |=
          (is_v1 ? std::byte{0x30} : std::byte{0x03});  // a mark, by hand, where either version has its class
      return true;
    };
    ends.write();
    check_statuses(ends.a.poll_sent(), {success});
    const std::uint8_t ecn = ends.versions.classes.front() & wire::kEcnMask;
    BOOST_TEST(ecn == (is_v1 ? 0 : wire::kEcnCapable));
    BOOST_TEST((ends.b.counters().get(Counter::np_ecn_marked_roce_packets) == 0u) == is_v1);
    BOOST_TEST((ends.b.counters().get(Counter::np_cnp_sent) == 0u) == is_v1);
  }
}

/// A group of RoCE v1 is an IPv6 one, also for a NIC whose own address is IPv4.
BOOST_AUTO_TEST_CASE(group_of_v1_is_joined_from_an_ipv4_address) {
  const wire::Gid group{{0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xef, 1, 2, 3}};
  World world(with(kV1, kV2));
  Endpoint a(world, 1, {.type = QpType::ud, .qkey = kQkey});
  Endpoint b(world, 2, {.type = QpType::ud, .qkey = kQkey});
  AddressVector path = Endpoint::path_to(2);
  path.destination = group;
  BOOST_TEST(a.nic().create_ah(a.pd, path).ok());
  BOOST_TEST(!b.nic().create_ah(b.pd, path).ok());
}
