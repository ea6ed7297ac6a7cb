// Congestion management and how often acknowledgements go: CNPs for marked packets, counters, acknowledge_every.
#include <boost/test/unit_test.hpp>

#include "emulator/fabric/alter_frame.h"
#include "tests/support/script.h"

using namespace verbena;
using namespace verbena::test;
using enum Counter;

namespace {

constexpr Duration kInterval = microseconds(4);
constexpr wire::Opcode kCnp = wire::Opcode::cnp;

struct Notifier : Script {
  explicit Notifier(const QpOptions& options = {.mtu = 256}, Duration interval = kInterval,
                    CnpScope scope = CnpScope::qp, bool on_nak = false)
      : Script(options, 1 << 16,
               {.latency = nanoseconds(0),
                .cnp_interval = interval,
                .congestion = {.cnp_scope = scope, .cnp_on_nak = on_nak}}) {}

  void marked(PacketSpec spec) {
    spec.dest_qp = end.qpn();
    auto frame = make_frame(2, 1, spec);
    BOOST_REQUIRE(fabric::mark_congestion(frame));
    raw(std::move(frame));
  }
  /// A part of a message that asks for no acknowledgement.
  PacketSpec write(std::uint32_t psn) const {
    PacketSpec spec{.opcode = rc(psn == 100 ? OperationCode::write_first : OperationCode::write_middle), .psn = psn};
    spec.reth = {buffer.address(), {buffer.rkey()}, 4096};
    spec.payload.resize(256);
    return spec;
  }
  std::uint64_t count(Counter counter) const { return end.counters().get(counter); }
};

}  // namespace

BOOST_AUTO_TEST_CASE(marked_packet_is_answered_with_a_cnp_to_its_sender_qp) {
  Notifier script;
  script.marked(script.write(100));
  BOOST_TEST(script.expect(kCnp, 0).dest_qp.value() == Script::kPeerQpn);
  const auto packet = wire::parse_frame(script.last_frame);
  BOOST_REQUIRE(packet.ok());
  BOOST_TEST(packet->bth().becn);
  BOOST_TEST(packet->bth().pkey == 0xffff);
  BOOST_TEST(packet->ip().traffic_class() == 0);
  BOOST_CHECK(packet->destination() == node_gid(2));
  BOOST_TEST(packet->payload().size() == 16u);
  for (const std::byte octet : packet->payload()) BOOST_CHECK(octet == std::byte{0});
  script.peer(script.write(101));
  script.expect_silence();
  BOOST_TEST(script.count(np_ecn_marked_roce_packets) == 1u);
  BOOST_TEST(script.count(np_cnp_sent) == 1u);
}

BOOST_AUTO_TEST_CASE(a_gap_is_answered_with_a_cnp_where_the_nic_is_told_to) {
  for (const bool on_nak : {true, false}) {
    Notifier script({.mtu = 256}, kInterval, CnpScope::qp, on_nak);
    script.peer(script.write(100));
    script.expect_silence();
    script.peer(script.write(102));
    if (on_nak) BOOST_TEST(script.expect(kCnp, 0).dest_qp.value() == Script::kPeerQpn);
    script.expect_nak(wire::NakCode::psn_sequence_error, 101);
    script.peer(script.write(103));
    script.expect_silence();
    BOOST_TEST(script.count(np_cnp_sent) == (on_nak ? 1u : 0u));
    BOOST_TEST(script.count(np_ecn_marked_roce_packets) == 0u);
  }
}

BOOST_AUTO_TEST_CASE(one_cnp_an_interval_stands_for_all_marks_of_a_qp) {
  Notifier script;
  script.marked(script.write(100));
  script.expect(kCnp, 0);
  script.world.run_for(kInterval - nanoseconds(1));
  script.marked(script.write(101));
  script.expect_silence();
  script.world.run_for(nanoseconds(1));
  script.marked(script.write(102));
  script.expect(kCnp, 0);
  script.expect_silence(milliseconds(1));
  BOOST_TEST(script.count(np_ecn_marked_roce_packets) == 3u);
  BOOST_TEST(script.count(np_cnp_sent) == 2u);
}

BOOST_AUTO_TEST_CASE(qps_are_notified_for_each_by_itself) {
  Notifier script;
  Endpoint other(script.end, {.mtu = 256});
  other.connect(2, wire::Qpn(0x020088));
  script.marked(script.write(100));
  script.expect(kCnp, 0);
  PacketSpec spec = script.write(100);
  spec.dest_qp = other.qpn();
  auto frame = make_frame(2, 1, spec);
  BOOST_REQUIRE(fabric::mark_congestion(frame));
  script.raw(std::move(frame));
  BOOST_TEST(script.expect(kCnp, 0).dest_qp.value() == 0x020088u);
}

BOOST_AUTO_TEST_CASE(one_interval_may_stand_for_a_destination_or_for_the_port) {
  // Marked, one after the other: a packet of a peer, one of the same peer's other QP, one of another peer.
  const std::pair<CnpScope, std::vector<std::uint32_t>> expected[] = {
      {CnpScope::qp, {Script::kPeerQpn, 0x020088, 0x030099}},
      {CnpScope::destination, {Script::kPeerQpn, 0x030099}},
      {CnpScope::port, {Script::kPeerQpn}}};
  for (const auto& [scope, told] : expected) {
    Notifier script({.mtu = 256}, kInterval, scope);
    Endpoint second(script.end, {.mtu = 256});
    second.connect(2, wire::Qpn(0x020088));
    Endpoint third(script.end, {.mtu = 256});
    third.connect(3, wire::Qpn(0x030099));
    const auto send_all = [&](std::uint32_t own_psn, std::uint32_t psn) {
      script.marked(script.write(own_psn));
      for (const auto& [from, to] : {std::pair{2u, &second}, std::pair{3u, &third}}) {
        PacketSpec spec = script.write(psn);
        spec.dest_qp = to->qpn();
        auto frame = make_frame(from, 1, spec);
        BOOST_REQUIRE(fabric::mark_congestion(frame));
        script.raw(std::move(frame));
      }
      for (const std::uint32_t qpn : told) BOOST_TEST(script.expect(kCnp, 0).dest_qp.value() == qpn);
      script.expect_silence();
    };
    send_all(100, 100);
    script.marked(script.write(101));
    script.expect_silence();
    script.world.run_for(kInterval);
    send_all(102, 101);
  }
}

BOOST_AUTO_TEST_CASE(cnp_interval_of_a_destination_outlives_its_qp) {
  Notifier script({.mtu = 256}, kInterval, CnpScope::destination);
  Endpoint second(script.end, {.mtu = 256});
  second.connect(2, wire::Qpn(0x020088));
  PacketSpec spec = script.write(100);
  spec.dest_qp = second.qpn();
  auto frame = make_frame(2, 1, spec);
  BOOST_REQUIRE(fabric::mark_congestion(frame));
  script.end.nic().receive(script.world.now(), frame);
  BOOST_REQUIRE(second.nic().destroy_qp(second.qp).ok());
  script.marked(script.write(100));
  BOOST_TEST(script.expect(kCnp, 0).dest_qp.value() == 0x020088u);
  script.marked(script.write(101));
  script.expect_silence();
}

BOOST_AUTO_TEST_CASE(without_an_interval_marks_are_counted_and_nothing_is_sent) {
  Notifier script({.mtu = 256}, {});
  script.marked(script.write(100));
  script.expect_silence();
  BOOST_TEST(script.count(np_ecn_marked_roce_packets) == 1u);
  BOOST_TEST(script.count(np_cnp_sent) == 0u);
}

BOOST_AUTO_TEST_CASE(marked_foreign_packets_and_marked_cnps_give_no_cnp) {
  Notifier script;
  PacketSpec spec = script.write(100);
  spec.dest_qp = wire::Qpn(script.end.qpn().value() + 1);
  auto stray = make_frame(2, 1, spec);
  BOOST_REQUIRE(fabric::mark_congestion(stray));
  script.raw(std::move(stray));
  script.marked({.opcode = kCnp, .payload = std::vector<std::byte>(16)});
  script.expect_silence();
  BOOST_TEST(script.count(np_ecn_marked_roce_packets) == 0u);
}

BOOST_AUTO_TEST_CASE(cnps_are_counted_by_whether_their_qp_is_there) {
  Notifier script;
  script.peer({.opcode = kCnp, .payload = std::vector<std::byte>(16)});
  BOOST_TEST(script.count(rp_cnp_handled) == 1u);
  script.raw(make_frame(
      2, 1,
      {.opcode = kCnp, .dest_qp = wire::Qpn(script.end.qpn().value() + 1), .payload = std::vector<std::byte>(16)}));
  BOOST_TEST(script.count(rp_cnp_handled) == 1u);
  BOOST_TEST(script.count(rp_cnp_ignored) == 1u);
  script.expect_silence();
}

BOOST_AUTO_TEST_CASE(a_marked_datagram_is_answered_to_its_source_qp) {
  Notifier script({.type = QpType::ud});
  PacketSpec spec{.opcode = ud(OperationCode::send_only), .deth = {.qkey = 0x11111111, .source_qp = wire::Qpn(0x4321)}};
  script.marked(spec);
  BOOST_TEST(script.expect(kCnp, 0).dest_qp.value() == 0x4321u);
  const auto packet = wire::parse_frame(script.last_frame);
  BOOST_CHECK(packet->destination() == node_gid(2));
  BOOST_CHECK(packet->ethernet().destination == node_mac(2));
}

BOOST_AUTO_TEST_CASE(a_marked_packet_of_an_unreliable_connection_is_answered) {
  Notifier script({.type = QpType::uc, .mtu = 256});
  PacketSpec spec = script.write(100);
  spec.opcode = uc(OperationCode::write_first);
  script.marked(spec);
  BOOST_TEST(script.expect(kCnp, 0).dest_qp.value() == Script::kPeerQpn);
}

BOOST_AUTO_TEST_CASE(a_marked_read_response_is_answered) {
  Notifier script;
  const Sge sge = script.buffer.sge(0, 256);
  script.end.post(
      {.opcode = SendOpcode::rdma_read, .sges = {&sge, 1}, .operand = {.remote = {.address = 0x1000, .rkey = 0x77}}});
  script.expect(rc(OperationCode::read_request), 100);
  script.marked({.opcode = rc(OperationCode::read_response_only),
                 .psn = 100,
                 .aeth = {wire::ack_syndrome(31), 1},
                 .payload = std::vector<std::byte>(256)});
  script.expect(kCnp, 0);
  check_statuses(script.end.poll_sent(), {CompletionStatus::success});
}

BOOST_AUTO_TEST_CASE(a_cnp_waits_for_room_and_leaves_once) {
  Notifier script;
  script.marked(script.write(100));
  script.expect(kCnp, 0);
  struct Full final : TransmitPort {
    std::span<std::byte> reserve(const Destination&, std::size_t) override { return {}; }
    void commit(std::size_t, wire::IcrcState) override { BOOST_ERROR("nothing was reserved"); }
    void cancel() override {}
  } full;
  script.world.run_for(kInterval);
  for (std::uint32_t psn = 101; psn < 104; ++psn) {
    PacketSpec spec = script.write(psn);
    spec.dest_qp = script.end.qpn();
    auto frame = make_frame(2, 1, spec);
    fabric::mark_congestion(frame);
    script.end.nic().receive(script.world.now(), frame);
    BOOST_TEST(script.end.nic().transmit(script.world.now(), full, 8) == 0u);
    BOOST_TEST(script.end.nic().has_work());
  }
  script.expect(kCnp, 0);
  script.expect_silence(kInterval + nanoseconds(1));
}

BOOST_AUTO_TEST_CASE(a_responder_acknowledges_every_nth_request_packet_unasked) {
  Script script({.mtu = 256}, 1 << 16, {.latency = nanoseconds(0), .acknowledge_every = 4});
  const auto write = [&](std::uint32_t psn, bool ack_request) {
    PacketSpec spec{.opcode = rc(psn == 100 ? OperationCode::write_first : OperationCode::write_middle),
                    .psn = psn,
                    .ack_request = ack_request};
    spec.reth = {script.buffer.address(), {script.buffer.rkey()}, 1 << 15};
    spec.payload.resize(256);
    script.peer(spec);
  };
  for (std::uint32_t psn = 100; psn < 103; ++psn) write(psn, false);
  script.expect_silence();
  write(103, false);
  script.expect_acknowledge(103);
  write(104, false);
  write(105, true);  // asked for: the count begins anew
  script.expect_acknowledge(105);
  for (std::uint32_t psn = 106; psn < 109; ++psn) write(psn, false);
  script.expect_silence();
  write(109, false);
  script.expect_acknowledge(109);
}

BOOST_AUTO_TEST_CASE(a_requester_asks_for_an_acknowledgement_every_nth_packet) {
  for (const std::uint32_t every : {3u, 100u}) {
    Script script({.mtu = 256}, 1 << 17, {.latency = nanoseconds(0), .port_frames = 512, .acknowledge_every = every});
    const Sge sge = script.buffer.sge(0, 300 * 256);
    script.end.post({.opcode = SendOpcode::rdma_write,
                     .sges = {&sge, 1},
                     .operand = {.remote = {.address = 0x1000, .rkey = 0x77}}});
    for (std::uint32_t i = 0; i < 300; ++i)
      BOOST_TEST_REQUIRE(script.next().ack_request == ((i + 1) % every == 0 || i == 299), every << ": packet " << i);
  }
}
