// A port that has no room for a while: timers run for what has left, and responses stay in one piece.
#include <boost/test/unit_test.hpp>

#include "tests/support/narrow_port.h"
#include "tests/support/script.h"

using namespace verbena;
using namespace verbena::test;

namespace {

constexpr std::uint32_t kMtu = 256;
constexpr std::uint8_t kTimeout = 8;
constexpr Duration kAckTimeout{std::int64_t{4096} << kTimeout};

PacketSpec read_request(const Script& script, std::uint32_t psn, std::uint32_t bytes) {
  return {.opcode = rc(OperationCode::read_request),
          .psn = psn,
          .reth = {script.buffer.address(), {script.buffer.rkey()}, bytes}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_ack_timer_waits_until_what_is_sent_again_has_left) {
  Script script({.mtu = kMtu, .timeout = kTimeout, .retry_count = 1});
  Nic& nic = script.end.nic();
  const Sge sge = script.buffer.sge(0, 8);
  script.end.post(
      {.opcode = SendOpcode::rdma_write, .sges = {&sge, 1}, .operand = {.remote = {.address = 0x1000, .rkey = 1}}});
  script.expect(rc(OperationCode::write_only), 100);
  const Time late = script.world.now() + kAckTimeout;
  nic.on_deadline(late);
  BOOST_TEST(script.end.counters().get(Counter::local_ack_timeout_err) == 1u);
  NarrowPort full(0);
  BOOST_TEST(nic.transmit(late, full, 8) == 0u);
  BOOST_TEST(!nic.next_deadline().has_value());
  BOOST_TEST(nic.has_work());
  const Time later = late + kAckTimeout + kAckTimeout;
  NarrowPort open(8);
  BOOST_TEST(nic.transmit(later, open, 8) == 1u);
  BOOST_REQUIRE(nic.next_deadline().has_value());
  BOOST_TEST((*nic.next_deadline() - later).ns == kAckTimeout.ns);
  BOOST_TEST(script.end.counters().get(Counter::retry_exceeded_err) == 0u);
}

BOOST_AUTO_TEST_CASE(replayed_read_response_does_not_interrupt_one_under_way) {
  Script script({.mtu = kMtu});
  Nic& nic = script.end.nic();
  script.peer(read_request(script, 100, 1));
  script.expect(rc(OperationCode::read_response_only), 100);
  script.deliver(read_request(script, 101, 4 * kMtu));
  script.deliver(read_request(script, 105, 1));
  NarrowPort narrow(2);
  nic.transmit(script.world.now(), narrow, 8);
  script.deliver(read_request(script, 100, 1));  // a duplicate
  NarrowPort wide(8);
  nic.transmit(script.world.now(), wide, 8);
  const std::vector<std::uint32_t> begun{101, 102};
  const std::vector<std::uint32_t> rest{103, 104, 100, 105};
  BOOST_TEST(narrow.psns == begun, boost::test_tools::per_element());
  BOOST_TEST(wide.psns == rest, boost::test_tools::per_element());
}
