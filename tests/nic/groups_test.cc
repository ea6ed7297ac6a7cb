// Multicast of datagrams: members get one copy each, at home and over the wire; who may join; what blocks.
#include <boost/test/unit_test.hpp>

#include "tests/support/endpoint.h"

using namespace verbena;
using namespace verbena::test;
using enum CompletionStatus;

namespace {

const wire::Gid kGroup = wire::Gid::from_ipv4(0xefc00101);
const QpOptions kDatagram{.type = QpType::ud};

struct Members {
  Members() : a(world, 1, kDatagram), sibling(a, kDatagram), b(world, 2, kDatagram), memory(a.nic(), a.pd, 4096) {
    a.connect(2, {});
    sibling.connect(2, {});
    b.connect(1, {});
    memory.fill(5);
    AddressVector path = Endpoint::path_to(2);
    path.destination = kGroup;
    ah = Endpoint::take(a.nic().create_ah(a.pd, path));
  }
  void send(std::uint32_t qkey = 0x11111111) {
    const Sge sge = memory.sge(0, 100);
    a.post({.sges = {&sge, 1}, .address_handle = ah, .remote_qpn = wire::kMulticastQpn, .remote_qkey = qkey});
    world.run_to_rest();
    check_statuses(a.poll_sent(), {success});
  }

  World world;
  Endpoint a, sibling, b;
  Buffer memory;
  AhHandle ah;
};

}  // namespace

BOOST_AUTO_TEST_CASE(every_member_gets_one_copy_the_sender_included) {
  Members m;
  Buffer far(m.b.nic(), m.b.pd, 256);
  for (Endpoint* end : {&m.a, &m.sibling, &m.b}) BOOST_TEST(end->nic().attach_group(end->qp, kGroup).ok());
  BOOST_TEST(m.b.nic().attach_group(m.b.qp, kGroup).ok());  // once more is still once
  m.a.receive(1, {m.memory.sge(1024, 256)});
  m.sibling.receive(2, {m.memory.sge(2048, 256)});
  m.b.receive(3, {far.sge()});
  m.b.receive(4, {far.sge()});
  m.send();
  const auto home = m.a.poll_received();
  BOOST_TEST_REQUIRE(home.size() == 2u);
  BOOST_TEST(home[0].wr_id == 1u);
  BOOST_TEST(home[1].wr_id == 2u);
  const auto away = m.b.poll_received();
  BOOST_TEST_REQUIRE(away.size() == 1u);
  BOOST_TEST(away[0].byte_count == 140u);
  BOOST_TEST(away[0].has_grh);
  BOOST_TEST((away[0].source_qpn == m.a.qpn()));
  for (const auto copy : {m.memory.bytes().subspan(1024 + 40, 100), m.memory.bytes().subspan(2048 + 40, 100),
                          far.bytes().subspan(40, 100)})
    BOOST_TEST(same_bytes(copy, m.memory.bytes().first(100)));
}

BOOST_AUTO_TEST_CASE(who_left_gets_nothing_and_wrong_keys_are_dropped) {
  Members m;
  Buffer far(m.b.nic(), m.b.pd, 256);
  m.b.receive(3, {far.sge()});
  BOOST_TEST(m.b.nic().attach_group(m.b.qp, kGroup).ok());
  m.send(0x2222);
  BOOST_TEST(m.b.counters().get(Counter::rx_dropped_qkey) == 1u);
  BOOST_TEST(m.b.nic().detach_group(m.b.qp, kGroup).ok());
  m.send();
  BOOST_TEST(m.b.poll_received().empty());
  BOOST_TEST(m.b.counters().get(Counter::rx_dropped_no_qp) == 1u);
}

BOOST_AUTO_TEST_CASE(a_qp_that_blocks_gets_its_own_datagrams_not_back) {
  Members m;
  QpInit init{.pd = m.a.pd,
              .type = QpType::ud,
              .send_cq = m.a.send_cq,
              .recv_cq = m.a.recv_cq,
              .capabilities = kDatagram.capabilities,
              .signal_all = true,
              .blocks_own_groups = true};
  m.a.qp = Endpoint::take(m.a.nic().create_qp(init));
  m.a.connect(2, {});
  for (Endpoint* end : {&m.a, &m.sibling}) BOOST_TEST(end->nic().attach_group(end->qp, kGroup).ok());
  m.a.receive(1, {m.memory.sge(1024, 256)});
  m.sibling.receive(2, {m.memory.sge(2048, 256)});
  m.send();
  const auto received = m.a.poll_received();
  BOOST_TEST_REQUIRE(received.size() == 1u);
  BOOST_TEST(received[0].wr_id == 2u);
}

BOOST_AUTO_TEST_CASE(only_datagram_qps_join_and_only_groups) {
  Members m;
  Nic& nic = m.a.nic();
  Endpoint connected(m.a, QpOptions{});
  BOOST_CHECK(nic.attach_group(connected.qp, kGroup).error() == VerbsError::invalid_argument);
  BOOST_CHECK(nic.attach_group(m.a.qp, node_gid(2)).error() == VerbsError::invalid_argument);
  BOOST_CHECK(nic.detach_group(m.a.qp, kGroup).error() == VerbsError::invalid_argument);
  BOOST_TEST(nic.attach_group(m.a.qp, kGroup).ok());
  BOOST_CHECK(nic.destroy_qp(m.a.qp).error() == VerbsError::busy);
  BOOST_TEST(nic.detach_group(m.a.qp, kGroup).ok());
  BOOST_TEST(nic.destroy_qp(m.a.qp).ok());
}

BOOST_AUTO_TEST_CASE(a_burst_longer_than_the_loop_holds_loses_nothing) {
  Members m;
  BOOST_TEST(m.a.nic().attach_group(m.a.qp, kGroup).ok());
  for (std::uint64_t i = 0; i < 64; ++i) m.a.receive(i, {m.memory.sge(1024, 256)});
  const Sge sge = m.memory.sge(0, 16);
  for (int i = 0; i < 64; ++i)
    m.a.post({.sges = {&sge, 1}, .address_handle = m.ah, .remote_qpn = wire::kMulticastQpn, .remote_qkey = 0x11111111});
  m.world.run_to_rest();
  BOOST_TEST(m.a.poll_sent().size() == 64u);
  BOOST_TEST(m.a.poll_received().size() == 64u);
}
