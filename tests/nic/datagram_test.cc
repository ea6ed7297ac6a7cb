// Unreliable datagrams: address handles, the GRH area, Q_Keys, what is dropped and what completes.
#include <boost/test/unit_test.hpp>

#include "tests/support/narrow_port.h"
#include "tests/support/script.h"

using namespace verbena;
using namespace verbena::test;
using enum CompletionStatus;

namespace {

constexpr std::uint32_t kQkey = 0x11111111;

struct Datagrams {
  explicit Datagrams(const QpOptions& options = {.type = QpType::ud, .qkey = kQkey})
      : a(world, 1, options),
        b(world, 2, options),
        a_buffer(a.nic(), a.pd, 8192),
        b_buffer(b.nic(), b.pd, 8192),
        ah(Endpoint::take(a.nic().create_ah(a.pd, Endpoint::path_to(2)))) {
    a.connect(2, {});
    b.connect(1, {});
    a_buffer.fill(1);
  }
  SendRequest request(const Sge& sge, std::uint32_t qkey = kQkey) {
    return {.wr_id = 4,
            .opcode = SendOpcode::send,
            .sges = {&sge, 1},
            .address_handle = ah,
            .remote_qpn = b.qpn(),
            .remote_qkey = qkey};
  }

  World world;
  Endpoint a, b;
  Buffer a_buffer, b_buffer;
  AhHandle ah;
};

std::uint32_t word_at(std::span<const std::byte> bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<std::uint32_t>(bytes[at + i]);
  return value;
}

}  // namespace

BOOST_AUTO_TEST_CASE(datagram_arrives_behind_forty_octets_with_the_ip_header) {
  for (const std::size_t bytes : {0u, 1u, 100u, 4095u, 4096u}) {
    Datagrams world;
    world.b.receive(9, {world.b_buffer.sge()});
    const Sge sge = world.a_buffer.sge(0, bytes);
    world.a.post(world.request(sge));
    world.world.run_to_rest();
    check_statuses(world.a.poll_sent(), {success});
    const auto received = world.b.poll_received();
    BOOST_TEST_REQUIRE(received.size() == 1u);
    BOOST_TEST(name_of(received[0].status) == "success");
    BOOST_TEST(received[0].wr_id == 9u);
    BOOST_TEST(received[0].byte_count == bytes + 40);
    BOOST_TEST(received[0].has_grh);
    BOOST_TEST(received[0].service_level == 2);  // an IPv4 header, as ConnectX says it
    BOOST_CHECK(received[0].source_qpn == world.a.qpn());
    BOOST_CHECK(received[0].qpn == world.b.qpn());
    const auto area = world.b_buffer.bytes();
    BOOST_TEST((static_cast<unsigned>(area[20]) == 0x45));  // annex A17.4.4: an IPv4 header in the last 20 octets
    BOOST_TEST(word_at(area, 32) == node_gid(1).ipv4());
    BOOST_TEST(word_at(area, 36) == node_gid(2).ipv4());
    BOOST_TEST(same_bytes(world.a_buffer.bytes().first(bytes), area.subspan(40, bytes)));
  }
}

BOOST_AUTO_TEST_CASE(a_posted_datagram_does_not_need_its_address_handle_any_more) {
  Datagrams world;
  Nic& nic = world.a.nic();
  for (int i = 0; i < 2; ++i) world.b.receive(9, {world.b_buffer.sge()});
  const Sge sge = world.a_buffer.sge(0, 10);
  world.a.post(world.request(sge));
  BOOST_TEST(nic.destroy_ah(world.ah).ok());
  BOOST_TEST(!nic.destroy_ah(world.ah).ok());
  BOOST_TEST(!nic.post_send(world.a.qp, world.request(sge), world.world.now()).ok());
  const AhHandle second = Endpoint::take(nic.create_ah(world.a.pd, Endpoint::path_to(2)));
  world.world.run_to_rest();
  check_statuses(world.a.poll_sent(), {success});
  BOOST_TEST(world.b.poll_received().size() == 1u);
  BOOST_TEST(nic.destroy_ah(second).ok());
  world.ah = Endpoint::take(nic.create_ah(world.a.pd, Endpoint::path_to(2)));
  world.a.post(world.request(sge));
  world.world.run_to_rest();
  BOOST_TEST(world.b.poll_received().size() == 1u);
}

BOOST_AUTO_TEST_CASE(immediate_arrives_with_its_datagram_without_acknowledgement) {
  Datagrams world;
  world.b.receive(9, {world.b_buffer.sge()});
  const Sge sge = world.a_buffer.sge(0, 10);
  SendRequest request = world.request(sge);
  request.opcode = SendOpcode::send_with_immediate;
  request.immediate = 0xabcd;
  world.a.post(request);
  world.world.run_to_rest();
  const auto received = world.b.poll_received();
  BOOST_TEST_REQUIRE(received.size() == 1u);
  BOOST_TEST(received[0].has_immediate);
  BOOST_TEST(received[0].immediate == 0xabcdu);
  BOOST_TEST(world.world.trace().size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_wrong_qkey_is_dropped_and_counted) {
  Datagrams world;
  world.b.receive(9, {world.b_buffer.sge()});
  const Sge sge = world.a_buffer.sge(0, 10);
  world.a.post(world.request(sge, kQkey + 1));
  world.world.run_to_rest();
  check_statuses(world.a.poll_sent(), {success});
  BOOST_TEST(world.b.poll_received().empty());
  BOOST_TEST(world.b.counters().get(Counter::rx_dropped_qkey) == 1u);
}

BOOST_AUTO_TEST_CASE(a_qkey_with_the_highest_bit_set_means_the_qps_own) {
  Datagrams world;
  world.b.receive(9, {world.b_buffer.sge()});
  const Sge sge = world.a_buffer.sge(0, 10);
  world.a.post(world.request(sge, 0x80000000));
  world.world.run_to_rest();
  BOOST_TEST(world.b.poll_received().size() == 1u);
}

BOOST_AUTO_TEST_CASE(without_a_receive_a_datagram_is_lost_and_counted) {
  Datagrams world;
  const Sge sge = world.a_buffer.sge(0, 10);
  world.a.post(world.request(sge));
  world.world.run_to_rest();
  BOOST_TEST(world.b.counters().get(Counter::ud_dropped_no_receive) == 1u);
  world.b.receive(1, {world.b_buffer.sge()});
  BOOST_TEST(world.b.poll_received().empty());
}

BOOST_AUTO_TEST_CASE(datagram_too_long_for_its_receive_leaves_it_to_the_next) {
  Datagrams world;
  world.b_buffer.clear();
  world.b.receive(1, {world.b_buffer.sge(0, 50)});
  const Sge sge = world.a_buffer.sge(0, 11);  // with 40 octets of the GRH one too many
  world.a.post(world.request(sge));
  const Sge fits = world.a_buffer.sge(0, 10);
  world.a.post(world.request(fits));
  world.world.run_to_rest();
  check_statuses(world.a.poll_sent(), {success, success});
  const auto received = world.b.poll_received();
  check_statuses(received, {success});
  BOOST_TEST(received[0].wr_id == 1u);
  BOOST_TEST(received[0].byte_count == 50u);
  BOOST_TEST(world.b.counters().get(Counter::ud_dropped_no_receive) == 1u);
  BOOST_TEST(std::all_of(world.b_buffer.bytes().begin() + 50, world.b_buffer.bytes().begin() + 100,
                         [](std::byte octet) { return octet == std::byte{0}; }));
  BOOST_CHECK(world.b.state() == QpState::rts);
}

BOOST_AUTO_TEST_CASE(datagram_too_long_for_an_srq_receive_ends_the_receive_alone) {
  Datagrams world;
  Nic& nic = world.b.nic();
  const SrqHandle srq = Endpoint::take(nic.create_srq({.pd = world.b.pd, .max_wr = 4, .max_sge = 1}));
  Endpoint shared(world.b, {.type = QpType::ud, .qkey = kQkey, .srq = srq});
  shared.connect(1, {});
  for (std::uint64_t i = 0; i < 2; ++i) {
    const Sge into = world.b_buffer.sge(i * 100, 50);
    BOOST_REQUIRE(nic.post_srq_receive(srq, {i, {&into, 1}}).ok());
  }
  for (const std::size_t bytes : {11u, 10u}) {
    const Sge sge = world.a_buffer.sge(0, bytes);
    SendRequest request = world.request(sge);
    request.remote_qpn = shared.qpn();
    world.a.post(request);
  }
  world.world.run_to_rest();
  const auto received = shared.poll_received();
  check_statuses(received, {remote_invalid_request, success});
  BOOST_TEST(received[0].wr_id == 0u);
  BOOST_TEST(received[1].wr_id == 1u);
  BOOST_CHECK(shared.state() == QpState::rts);
}

BOOST_AUTO_TEST_CASE(datagram_beyond_the_mtu_fails_here_and_rts_recovers_it) {
  Datagrams world;
  world.b.receive(1, {world.b_buffer.sge()});
  const Sge sge = world.a_buffer.sge(0, 4097);
  const Sge fits = world.a_buffer.sge(0, 10);
  world.a.post(world.request(sge));
  world.a.post(world.request(fits));
  world.world.run_to_rest();
  check_statuses(world.a.poll_sent(), {local_length_error, flushed});
  BOOST_CHECK(world.a.state() == QpState::sqe);
  world.a.to_state(QpState::rts);
  world.a.post(world.request(fits));
  world.world.run_to_rest();
  check_statuses(world.a.poll_sent(), {success});
  BOOST_TEST(world.b.poll_received().size() == 1u);
}

BOOST_AUTO_TEST_CASE(non_send_or_foreign_address_handle_completes_in_error) {
  using enum SendOpcode;
  for (const SendOpcode opcode : {send, rdma_write, rdma_read, fetch_and_add, send_with_invalidate, local_invalidate}) {
    Datagrams world;
    const Sge sge = world.a_buffer.sge(0, 8);
    SendRequest request = world.request(sge);
    request.opcode = opcode;
    if (opcode == local_invalidate) request.sges = {};
    if (opcode == send) {
      const PdHandle other = Endpoint::take(world.a.nic().allocate_pd());
      request.address_handle = Endpoint::take(world.a.nic().create_ah(other, Endpoint::path_to(2)));
    }
    world.a.post(request);
    world.world.run_to_rest();
    check_statuses(world.a.poll_sent(), {local_qp_operation_error});
    BOOST_CHECK(world.a.state() == QpState::sqe);
  }
}

BOOST_AUTO_TEST_CASE(an_address_handle_that_does_not_exist_is_refused) {
  Datagrams world;
  const Sge sge = world.a_buffer.sge(0, 8);
  SendRequest request = world.request(sge);
  request.address_handle = {};
  BOOST_TEST(!world.a.try_post(request).ok());
}

BOOST_AUTO_TEST_CASE(one_queue_pair_talks_to_many_and_hears_from_many) {
  World world({.nodes = 3});
  const QpOptions options{.type = QpType::ud, .qkey = kQkey};
  Endpoint center(world, 1, options), left(world, 2, options), right(world, 3, options);
  Buffer buffer(center.nic(), center.pd, 4096), left_buffer(left.nic(), left.pd, 256),
      right_buffer(right.nic(), right.pd, 256);
  for (Endpoint* end : {&center, &left, &right}) end->connect(1, {});
  for (std::uint64_t i = 0; i < 2; ++i) center.receive(i, {buffer.sge(i * 256, 256)});
  const auto send = [&](Endpoint& from, const Buffer& data) {
    const AhHandle ah = Endpoint::take(from.nic().create_ah(from.pd, Endpoint::path_to(1)));
    const Sge sge = data.sge(0, 16);
    from.post({.opcode = SendOpcode::send,
               .sges = {&sge, 1},
               .address_handle = ah,
               .remote_qpn = center.qpn(),
               .remote_qkey = kQkey});
    world.run_to_rest();
  };
  send(left, left_buffer);
  send(right, right_buffer);
  const auto received = center.poll_received();
  BOOST_TEST_REQUIRE(received.size() == 2u);
  BOOST_CHECK(received[0].source_qpn == left.qpn());
  BOOST_CHECK(received[1].source_qpn == right.qpn());
}

BOOST_AUTO_TEST_CASE(hop_limit_is_the_routes_and_the_senders_only_for_groups) {
  const wire::Gid group = wire::Gid::from_ipv4(0xef000001);
  for (const auto& [to, expected] : {std::pair{node_gid(2), 64u}, std::pair{group, 1u}}) {
    Script script({.type = QpType::ud});
    AddressVector path = Endpoint::path_to(2);
    path.destination = to;
    path.hop_limit = 1;
    const Sge sge = script.buffer.sge(0, 8);
    SendRequest request{.sges = {&sge, 1}};
    request.address_handle = Endpoint::take(script.end.nic().create_ah(script.end.pd, path));
    request.remote_qpn = wire::Qpn(Script::kPeerQpn);
    BOOST_REQUIRE(script.end.nic().post_send(script.end.qp, request, script.world.now()).ok());
    NarrowPort port(1);
    script.end.nic().transmit(script.world.now(), port, 1);
    BOOST_REQUIRE(port.left == 0u);
    BOOST_TEST(wire::parse_frame(port.frame)->ip().hop_limit() == expected);
  }
}
