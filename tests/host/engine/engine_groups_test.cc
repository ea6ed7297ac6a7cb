// Engine: its link joins a group with the first member and leaves it with the last; datagrams between two nodes.
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "emulator/host/os/neighbour.h"
#include "tests/host/engine/engine_node.h"

using namespace verbena;
using namespace verbena::host;
using namespace verbena::host::test;

namespace {

const wire::Gid kGroup = wire::Gid::from_ipv4(0xef2f5b11);
constexpr std::uint32_t kQkey = 0x11111111;
constexpr std::uint32_t kDatagramBytes = 100;
constexpr int kDescriptorsMax = 1024;

EngineConfig over_udp(std::uint8_t number) {
  EngineConfig config = engine_config(number, "engine-groups-test");
  config.link = "udp";
  return config;
}

struct Member : EngineNode {
  explicit Member(std::uint8_t number) : Member(number, over_udp(number)) {}
  Member(std::uint8_t number, const EngineConfig& config) : EngineNode(number, config) {}
  nic::QpHandle make_datagram_qp() {
    const nic::QpHandle made = make([&](nic::Nic& nic) {
      nic::QpInit init;
      init.pd = pd;
      init.type = nic::QpType::ud;
      init.send_cq = init.recv_cq = cq;
      init.capabilities = {.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1};
      init.signal_all = true;
      return nic.create_qp(init);
    });
    const bool ready = engine->run([&](nic::Nic& nic, Time now) {
      using namespace verbena::nic;
      QpAttributes attributes;
      attributes.state = QpState::init;
      attributes.qkey = kQkey;
      if (!nic.modify_qp(made, attributes, kQpState | kQpPkeyIndex | kQpPort | kQpQkey, now).ok()) return false;
      attributes.state = QpState::rtr;
      if (!nic.modify_qp(made, attributes, kQpState, now).ok()) return false;
      attributes.state = QpState::rts;
      return nic.modify_qp(made, attributes, kQpState | kQpSqPsn, now).ok();
    });
    BOOST_REQUIRE(ready);
    return made;
  }
  void receive(nic::QpHandle into, std::uint64_t wr_id) {
    const nic::Sge sge{address + 4096 * wr_id, kDatagramBytes + 40, mr.lkey};
    nic::ReceiveRequest request;
    request.wr_id = wr_id;
    request.sges = {&sge, 1};
    BOOST_REQUIRE(engine->run([&](nic::Nic& nic, Time) { return nic.post_receive(into, request).ok(); }));
  }
  /// Its octets are its number.
  void send_to_group(nic::QpHandle from, std::uint64_t wr_id) {
    nic::AddressVector path;
    path.destination = kGroup;
    path.next_hop = multicast_mac(kGroup);
    const auto ah = make([&](nic::Nic& nic) { return nic.create_ah(pd, path); });
    std::fill_n(bytes() + 256 * wr_id, kDatagramBytes, static_cast<std::byte>(wr_id));
    const nic::Sge sge{address + 256 * wr_id, kDatagramBytes, mr.lkey};
    nic::SendRequest request;
    request.wr_id = wr_id;
    request.opcode = nic::SendOpcode::send;
    request.sges = {&sge, 1};
    request.address_handle = ah;
    request.remote_qpn = wire::kMulticastQpn;
    request.remote_qkey = kQkey;
    BOOST_REQUIRE(engine->post([&](nic::Nic& nic, Time now) { return nic.post_send(from, request, now).ok(); }));
  }
  bool attach(nic::QpHandle which) { return engine->attach_group(which, kGroup).ok(); }
  bool detach(nic::QpHandle which) { return engine->detach_group(which, kGroup).ok(); }
};

/// UDP sockets that this process has bound to the group.
int group_sockets() {
  int count = 0;
  for (int descriptor = 0; descriptor < kDescriptorsMax; ++descriptor) {
    sockaddr_in at{};
    socklen_t bytes = sizeof at;
    if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&at), &bytes) != 0 || at.sin_family != AF_INET) continue;
    count += at.sin_addr.s_addr == htonl(kGroup.ipv4());
  }
  return count;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_link_is_a_member_from_the_first_qp_to_the_last) {
  Member a(234);
  const nic::QpHandle first = a.make_datagram_qp();
  const nic::QpHandle second = a.make_datagram_qp();
  BOOST_TEST(!a.attach(a.qp));  // connected
  BOOST_TEST(group_sockets() == 0);
  BOOST_TEST(a.attach(first));
  BOOST_TEST(a.attach(second));
  BOOST_TEST(group_sockets() == 1);
  BOOST_TEST(a.detach(first));
  BOOST_TEST(!a.detach(first));
  BOOST_TEST(group_sockets() == 1);
  BOOST_TEST(a.detach(second));
  BOOST_TEST(group_sockets() == 0);
  BOOST_TEST(a.attach(second));
  a.engine.reset();
  BOOST_TEST(group_sockets() == 0);
}

BOOST_AUTO_TEST_CASE(every_member_gets_one_copy_on_whatever_node) {
  Member a(235), b(236);
  const nic::QpHandle sender = a.make_datagram_qp();
  const nic::QpHandle one = b.make_datagram_qp();
  const nic::QpHandle two = b.make_datagram_qp();
  for (const nic::QpHandle qp : {one, two}) BOOST_REQUIRE(b.attach(qp));
  BOOST_REQUIRE(a.attach(sender));
  for (std::uint64_t wr_id = 1; wr_id <= 3; ++wr_id) {
    b.receive(one, wr_id);
    b.receive(two, 10 + wr_id);
    a.receive(sender, wr_id);
  }
  // One that came twice would take the place of the next.
  for (std::uint64_t number = 1; number <= 3; ++number) {
    a.send_to_group(sender, number);
    const auto away = b.poll(2);
    const auto home = a.poll(2);  // sent, and received
    BOOST_TEST(away.size() == 2);
    BOOST_TEST(home.size() == 2);
    for (const nic::Completion& completion : away) {
      BOOST_TEST((completion.status == nic::CompletionStatus::success));
      BOOST_TEST(completion.byte_count == kDatagramBytes + 40);
      BOOST_TEST(completion.wr_id % 10 == number);
      BOOST_TEST((b.bytes()[4096 * completion.wr_id + 40] == static_cast<std::byte>(number)));
    }
    BOOST_TEST((a.bytes()[4096 * number + 40] == static_cast<std::byte>(number)));
  }
  BOOST_TEST(a.poll(1, milliseconds(20)).empty());
  BOOST_TEST(b.poll(1, milliseconds(20)).empty());
}

BOOST_AUTO_TEST_CASE(first_datagram_to_a_group_leaves_with_the_posting_call) {
  Member a(235, engine_config(235, "engine-groups-first", false));
  Member b(236, engine_config(236, "engine-groups-first"));
  const nic::QpHandle sender = a.make_datagram_qp();
  const nic::QpHandle receiver = b.make_datagram_qp();
  BOOST_REQUIRE(b.attach(receiver));
  b.receive(receiver, 1);
  a.send_to_group(sender, 1);
  BOOST_REQUIRE(a.engine->run([&](nic::Nic& nic, Time) { return nic.destroy_qp(sender).ok(); }));
  BOOST_TEST(b.poll(1).size() == 1);
}

BOOST_AUTO_TEST_CASE(a_forked_child_holds_no_group_and_its_parent_keeps_it) {
  Member a(237), b(238);
  const nic::QpHandle sender = a.make_datagram_qp();
  const nic::QpHandle member = b.make_datagram_qp();
  BOOST_REQUIRE(b.attach(member));
  const pid_t child = ::fork();
  if (child == 0) ::_exit(group_sockets() + (b.detach(member) ? 0 : 10) + (a.attach(sender) ? 0 : 20));
  int status = -1;
  BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
  BOOST_TEST(WIFEXITED(status));
  BOOST_TEST(WEXITSTATUS(status) == 0);
  b.receive(member, 1);
  a.send_to_group(sender, 2);
  const auto received = b.poll(1);
  BOOST_TEST_REQUIRE(received.size() == 1);
  BOOST_TEST((received[0].status == nic::CompletionStatus::success));
  BOOST_TEST((b.bytes()[4096 + 40] == std::byte{2}));
}
