// What programs ask the subnet administrator, through the process of their fabric. The administrator is the test's.
#include "emulator/host/subnet_process/sa_client.h"

#include <poll.h>
#include <sys/socket.h>

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <map>

#include "emulator/host/node/sa_messages.h"
#include "tests/host/fabric_process/served.h"
#include "tests/host/fabric_process/umad_program.h"
#include "tests/support/waiting.h"

using namespace verbena;
using namespace verbena::host;
using namespace verbena::host::test;
using wire::McMemberRecord;
using wire::McMemberRecordLayout;

namespace {

constexpr int kLongMs = 10'000;
constexpr std::uint16_t kManagerLid = 1;

fabric::Topology managed_star() {
  fabric::Topology topology = fabric::star(2, {});
  topology.medium = wire::Medium::infiniband;
  topology.is_managed = true;
  topology.qos = fabric::infiniband_qos();
  BOOST_REQUIRE(fabric::check(topology).ok());
  return topology;
}

/// Node 1 manages: both nodes and the switch have LIDs, and each reaches the other.
struct Managed {
  Managed() {
    BOOST_REQUIRE(manager.register_agent(0, wire::kClassSubnetDirected) == 0);
    give_lid({}, kManagerLid);
    give_lid({1, 2}, 2);
    auto info = manager.get<wire::SwitchInfoLayout>({1}, wire::kAttributeSwitchInfo, 0);
    info.linear_top = 2;
    const auto octets = wire::SwitchInfoLayout::emit(info);
    BOOST_REQUIRE(manager.ask({1}, wire::kMethodSet, wire::kAttributeSwitchInfo, 0, octets).has_value());
    std::array<std::byte, wire::kSmpDataBytes> table{};
    table.fill(std::byte{subnet::kNoPort});
    table[1] = std::byte{1};
    table[2] = std::byte{2};
    BOOST_REQUIRE(manager.ask({1}, wire::kMethodSet, wire::kAttributeLinearForwarding, 0, table).has_value());
    for (const wire::PortState state : {wire::PortState::armed, wire::PortState::active}) {
      for (const std::vector<std::uint8_t>& path : {std::vector<std::uint8_t>{}, {1, 2}})
        manager.set_port(path, 1, [&](wire::PortInfo& port) { port.state = state; });
      for (const std::uint32_t port : {1u, 2u})
        manager.set_port({1}, port, [&](wire::PortInfo& one) { one.state = state; });
    }
  }
  void give_lid(const std::vector<std::uint8_t>& path, std::uint32_t lid) {
    manager.set_port(path, 1, [&](wire::PortInfo& info) {
      info.base_lid = wire::Lid(lid);
      info.master_sm_lid = wire::Lid(kManagerLid);
    });
  }
  const Served fabric{managed_star()};
  UmadProgram manager{fabric.name, 0};
};

struct Request {
  std::vector<std::byte> message;  // header of umad and MAD
  std::uint8_t method = 0;
  std::uint16_t attribute = 0;
  std::uint64_t mask = 0;
  McMemberRecord member;
};

/// The program that answers what is asked of subnet administration at node 1.
class Administrator : public UmadProgram {
 public:
  explicit Administrator(const Managed& on) : UmadProgram(on.fabric.name, 0) {
    constexpr std::uint32_t kMethods = 1 << wire::kMethodGet | 1 << wire::kMethodSet | 1 << wire::kMethodDelete;
    BOOST_REQUIRE(register_agent(1, wire::kClassSubnetAdministration, wire::kAdministrationClassVersion, kMethods) ==
                  0);
  }
  /// Nothing comes: an error of the test.
  Request next(int wait_ms = kLongMs) {
    Request request;
    request.message = receive(wait_ms);
    BOOST_REQUIRE(!request.message.empty());
    const auto mad = std::span<const std::byte>(request.message).subspan(sizeof(ib_user_mad_hdr));
    const auto header = wire::AnyMadHeaderLayout::parse(mad.first<wire::AnyMadHeaderLayout::bytes>());
    request.method = header.method;
    request.attribute = header.attribute;
    request.mask = wire::AdministrationHeaderLayout::parse(
                       mad.subspan<wire::kAdministrationHeaderAt, wire::AdministrationHeaderLayout::bytes>())
                       .component_mask;
    request.member =
        McMemberRecordLayout::parse(mad.subspan<wire::kAdministrationDataAt, McMemberRecordLayout::bytes>());
    return request;
  }
  bool is_asked(int wait_ms) { return !receive(wait_ms).empty(); }
  void answer(Request to, std::uint16_t status = 0) {
    const auto mad = std::span(to.message).subspan(sizeof(ib_user_mad_hdr));
    auto header = wire::AnyMadHeaderLayout::parse(mad.first<wire::AnyMadHeaderLayout::bytes>());
    header.method = header.method == wire::kMethodSet ? wire::kMethodGet | wire::kMethodResponseBit
                                                      : header.method | wire::kMethodResponseBit;
    header.status = status;
    wire::AnyMadHeaderLayout::emit(header, mad.first<wire::AnyMadHeaderLayout::bytes>());
    McMemberRecord member = to.member;
    member.lid = wire::Lid(0xc005);
    if (to.attribute == wire::kAttributeMcMemberRecord)
      McMemberRecordLayout::emit(member, mad.subspan<wire::kAdministrationDataAt, McMemberRecordLayout::bytes>());
    respond(to.message);
  }
};

/// A program on a node that asks.
class Client {
 public:
  Client(const Managed& on, std::uint32_t host) : host_(host) {
    BOOST_REQUIRE(sa_address(on.fabric.name.c_str()).connect(socket_.get()));
  }
  void ask(SaRequest request) {
    request.host = host_;
    BOOST_REQUIRE(::send(socket_.get(), &request, sizeof request, 0) == sizeof request);
  }
  void get_path(std::uint64_t id, std::uint32_t timeout_ms = kLongMs) {
    ask({.operation = SaOperation::get_path, .id = id, .timeout_ms = timeout_ms, .component_mask = 0x0c});
  }
  void join(std::uint64_t id, std::uint32_t qkey = 7) {
    McMemberRecord record;
    record.group.octets = {0xff, 0x12, 0x40, 0x01};
    record.qkey = qkey;
    record.join_state = McMemberRecord::kFullMember;
    SaRequest request{.operation = SaOperation::join, .id = id};
    request.component_mask = McMemberRecord::kGroup | McMemberRecord::kQkey | McMemberRecord::kJoinState;
    std::ranges::copy(McMemberRecordLayout::emit(record), request.record.begin());
    ask(request);
  }
  void leave(std::uint64_t id) { ask({.operation = SaOperation::leave, .id = id}); }
  std::optional<SaAnswer> answer(int wait_ms = kLongMs) {
    pollfd ready{socket_.get(), POLLIN, 0};
    SaAnswer got;
    if (poll(&ready, 1, wait_ms) != 1 || ::recv(socket_.get(), &got, sizeof got, 0) != sizeof got) return std::nullopt;
    return got;
  }
  /// The status of the next answer, which is for this request; 1: none.
  int status_of(std::uint64_t id) {
    const auto got = answer();
    return got && got->id == id ? got->status : 1;
  }

 private:
  std::uint32_t host_;
  Descriptor socket_{::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)};
};

constexpr int kQuietMs = 200;

}  // namespace

BOOST_AUTO_TEST_CASE(a_path_is_what_the_administrator_answers) {
  Managed managed;
  Administrator administrator(managed);
  Client client(managed, 1);
  client.get_path(5);
  const Request request = administrator.next();
  BOOST_TEST((request.method == wire::kMethodGet && request.attribute == wire::kAttributePathRecord));
  BOOST_TEST(request.mask == 0x0cu);
  administrator.answer(request);
  const auto answer = client.answer();
  BOOST_REQUIRE(answer.has_value());
  BOOST_TEST((answer->id == 5 && answer->status == 0));
}

BOOST_AUTO_TEST_CASE(without_an_answer_it_asks_again_and_gives_up) {
  Managed managed;
  Administrator administrator(managed);
  Client client(managed, 1);
  client.get_path(5, 300);
  BOOST_TEST(client.status_of(5) == -ETIMEDOUT);
  for (std::uint32_t i = 0; i < SaTransactions::kTries; ++i) BOOST_TEST(administrator.is_asked(0));
  BOOST_TEST(!administrator.is_asked(kQuietMs));
}

BOOST_AUTO_TEST_CASE(a_busy_administrator_is_asked_again) {
  Managed managed;
  Administrator administrator(managed);
  Client client(managed, 1);
  client.get_path(5, 5000);
  administrator.answer(administrator.next(), wire::kStatusBusy);
  administrator.answer(administrator.next());
  BOOST_TEST(client.status_of(5) == 0);
}

BOOST_AUTO_TEST_CASE(a_refusal_is_an_invalid_argument) {
  Managed managed;
  Administrator administrator(managed);
  Client client(managed, 1);
  client.get_path(5);
  administrator.answer(administrator.next(), 0x0300);
  BOOST_TEST(client.status_of(5) == -EINVAL);
  Client nobody(managed, 2);  // a switch
  nobody.get_path(6);
  BOOST_TEST(nobody.status_of(6) == -EINVAL);
}

BOOST_AUTO_TEST_CASE(a_port_that_is_down_asks_nobody) {
  Managed managed;
  BOOST_TEST(managed.fabric.ask({"link-down", "n2-s1"}) == "");
  Client client(managed, 1);
  client.get_path(5);
  BOOST_TEST(client.status_of(5) == -EAGAIN);
}

BOOST_AUTO_TEST_CASE(programs_of_a_node_are_one_member) {
  Managed managed;
  Administrator administrator(managed);
  Client first(managed, 1);
  auto second = std::make_unique<Client>(managed, 1);
  first.join(1);
  const Request join = administrator.next();
  BOOST_TEST((join.method == wire::kMethodSet && join.member.join_state == McMemberRecord::kFullMember));
  second->join(2);  // while the first one is under way
  administrator.answer(join);
  BOOST_TEST(first.status_of(1) == 0);
  const auto joined = second->answer();
  BOOST_REQUIRE(joined.has_value());
  const auto record = McMemberRecordLayout::parse(std::span(joined->record).first<McMemberRecordLayout::bytes>());
  BOOST_TEST((joined->id == 2 && joined->status == 0 && record.lid == wire::Lid(0xc005)));
  first.leave(1);
  BOOST_TEST(!administrator.is_asked(kQuietMs));
  second.reset();  // as a program that is killed
  const Request leave = administrator.next();
  BOOST_TEST((leave.method == wire::kMethodDelete && leave.member.join_state == McMemberRecord::kFullMember));
  BOOST_TEST((leave.member.group.octets[1] == 0x12));
}

BOOST_AUTO_TEST_CASE(another_qkey_than_the_groups_is_refused) {
  Managed managed;
  Administrator administrator(managed);
  Client client(managed, 1);
  client.join(1, 7);
  administrator.answer(administrator.next());
  BOOST_TEST(client.status_of(1) == 0);
  client.join(2, 8);
  BOOST_TEST(client.status_of(2) == -EINVAL);
}

BOOST_AUTO_TEST_CASE(who_leaves_before_the_answer_is_no_member) {
  Managed managed;
  Administrator administrator(managed);
  Client client(managed, 1);
  client.join(1);
  const Request join = administrator.next();
  client.leave(1);
  client.get_path(9);  // the leave has been read once this is asked
  const Request path = administrator.next();
  administrator.answer(join);
  const Request leave = administrator.next();
  BOOST_TEST((leave.method == wire::kMethodDelete));
  administrator.answer(path);
  BOOST_TEST(client.status_of(9) == 0);
}

BOOST_AUTO_TEST_CASE(a_refused_join_can_be_tried_again) {
  Managed managed;
  Administrator administrator(managed);
  Client client(managed, 1);
  client.join(1);
  administrator.answer(administrator.next(), 0x0200);
  BOOST_TEST(client.status_of(1) == -EINVAL);
  client.join(2);
  administrator.answer(administrator.next());
  BOOST_TEST(client.status_of(2) == 0);
}

BOOST_AUTO_TEST_CASE(who_must_register_again_has_lost_its_groups) {
  Managed managed;
  Administrator administrator(managed);
  Client client(managed, 1);
  client.join(1);
  administrator.answer(administrator.next());
  BOOST_TEST(client.status_of(1) == 0);
  managed.manager.set_port({1, 2}, 1, [](wire::PortInfo& info) { info.client_reregister = true; });
  BOOST_TEST(client.status_of(1) == -ENETRESET);
  BOOST_TEST(!administrator.is_asked(kQuietMs));  // nothing is left where nobody knows it
  client.join(2);
  administrator.answer(administrator.next());
  BOOST_TEST(client.status_of(2) == 0);
  managed.give_lid({1, 2}, 9);
  BOOST_TEST(client.status_of(2) == -ENETRESET);
}
