// An acknowledgement that waits for what else the NIC has to say (Nic::Acknowledge::with_answer).
#include <boost/test/unit_test.hpp>

#include "tests/support/narrow_port.h"
#include "tests/support/script.h"

using namespace verbena;
using namespace verbena::test;
using wire::Operation;

namespace {

constexpr auto kWithAnswer = Nic::Acknowledge::with_answer;
using Operations = std::vector<Operation>;

PacketSpec write_only(const Script& script, std::uint32_t psn) {
  return {.opcode = rc(OperationCode::write_only),
          .psn = psn,
          .ack_request = true,
          .reth = {script.buffer.address(), wire::Rkey{script.buffer.rkey()}, 8},
          .payload = std::vector<std::byte>(8)};
}

/// What the NIC sends when it is asked now.
Operations sent(Script& script, Nic::Acknowledge when = Nic::Acknowledge::at_once, std::size_t budget = 8) {
  NarrowPort port(budget);
  script.end.nic().transmit(script.world.now(), port, budget, when);
  return port.operations;
}

void answer(Script& script) {
  const Sge sge = script.buffer.sge(0, 8);
  const SendRequest request{
      .opcode = SendOpcode::rdma_write, .sges = {&sge, 1}, .operand = {.remote = {.address = 0x1000, .rkey = 1}}};
  BOOST_REQUIRE(script.end.nic().post_send(script.end.qp, request, script.world.now()).ok());
}

}  // namespace

BOOST_AUTO_TEST_CASE(it_leaves_behind_the_answer) {
  Script script;
  script.deliver(write_only(script, 100));
  BOOST_CHECK(sent(script, kWithAnswer).empty());
  BOOST_TEST(script.end.nic().holds_acknowledgements());
  BOOST_TEST(!script.end.nic().has_work());
  answer(script);
  BOOST_CHECK(sent(script, kWithAnswer) == Operations{Operation::write});
  BOOST_CHECK(sent(script) == Operations{Operation::acknowledge});
  BOOST_TEST(!script.end.nic().holds_acknowledgements());
  BOOST_CHECK(sent(script).empty());
}

BOOST_AUTO_TEST_CASE(requests_that_come_meanwhile_are_acknowledged_with_it) {
  Script script;
  script.deliver(write_only(script, 100));
  BOOST_CHECK(sent(script, kWithAnswer).empty());
  script.deliver(write_only(script, 101));
  BOOST_CHECK(sent(script, kWithAnswer).empty());
  NarrowPort port(8);
  script.end.nic().transmit(script.world.now(), port, 8);
  BOOST_CHECK(port.operations == Operations{Operation::acknowledge});
  BOOST_TEST(port.psns.front() == 101u);
}

BOOST_AUTO_TEST_CASE(a_nak_does_not_wait_and_takes_its_place) {
  Script script;
  script.deliver(write_only(script, 100));
  BOOST_CHECK(sent(script, kWithAnswer).empty());
  script.deliver(write_only(script, 102));
  NarrowPort port(8);
  script.end.nic().transmit(script.world.now(), port, 8, kWithAnswer);
  BOOST_CHECK(port.operations == Operations{Operation::acknowledge});
  BOOST_TEST(port.psns.front() == 101u);
  BOOST_CHECK(sent(script).empty());
  BOOST_TEST(!script.end.nic().holds_acknowledgements());
}

BOOST_AUTO_TEST_CASE(data_that_was_asked_for_does_not_wait) {
  Script script;
  script.deliver(write_only(script, 100));
  script.deliver({.opcode = rc(OperationCode::read_request),
                  .psn = 101,
                  .ack_request = true,
                  .reth = {script.buffer.address(), wire::Rkey{script.buffer.rkey()}, 8}});
  const Operations all = sent(script, kWithAnswer);
  BOOST_TEST(std::ranges::count(all, Operation::read_response) == 1);
}

BOOST_AUTO_TEST_CASE(it_outlasts_a_port_without_room) {
  Script script;
  script.deliver(write_only(script, 100));
  BOOST_CHECK(sent(script, kWithAnswer).empty());
  BOOST_CHECK(sent(script, Nic::Acknowledge::at_once, 0).empty());
  BOOST_CHECK(sent(script) == Operations{Operation::acknowledge});
}

BOOST_AUTO_TEST_CASE(a_queue_pair_that_ends_takes_it_along) {
  for (const bool is_reset : {false, true}) {
    Script script;
    script.deliver(write_only(script, 100));
    BOOST_CHECK(sent(script, kWithAnswer).empty());
    QpAttributes reset;
    reset.state = QpState::reset;
    if (is_reset)
      BOOST_TEST(script.end.nic().modify_qp(script.end.qp, reset, kQpState, script.world.now()).ok());
    else
      BOOST_TEST(script.end.nic().destroy_qp(script.end.qp).ok());
    BOOST_TEST(!script.end.nic().holds_acknowledgements());
    BOOST_CHECK(sent(script).empty());
  }
}

BOOST_AUTO_TEST_CASE(acknowledgements_of_few_qps_wait_and_the_next_leaves_at_once) {
  constexpr std::uint32_t kWaiting = 4;
  Script script;
  std::vector<Endpoint> more;
  for (std::uint32_t i = 1; i <= kWaiting; ++i) more.emplace_back(script.end, QpOptions{}).connect(2, wire::Qpn(i));
  script.deliver(write_only(script, 100));
  for (const Endpoint& end : more) {
    PacketSpec spec = write_only(script, 100);
    spec.dest_qp = end.qpn();
    script.end.nic().receive(script.world.now(), make_frame(2, 1, spec));
  }
  BOOST_TEST(sent(script, kWithAnswer).size() == 1u);
  BOOST_TEST(more.front().nic().destroy_qp(more.front().qp).ok());
  answer(script);
  BOOST_CHECK(sent(script, kWithAnswer) == Operations{Operation::write});
  BOOST_TEST(sent(script).size() == kWaiting - 1);
}
