// The rules of congestion: the time between CNPs, the rate that they leave a QP, what BECN in acknowledgements says.
#include <boost/test/unit_test.hpp>

#include "emulator/fabric/alter_frame.h"
#include "tests/captures/checkers/checked_traffic.h"

using namespace verbena;
using namespace verbena::test;
using checkers::CheckedCongestion;
using checkers::Seen;
using Scope = CheckedCongestion::CnpScope;

namespace {

constexpr Duration kInterval = microseconds(50);
constexpr Time kBegin{1'000'000};

std::vector<std::byte> cnp(unsigned from, unsigned to, std::uint32_t qpn) {
  PacketSpec spec{.opcode = wire::Opcode::cnp, .dest_qp = wire::Qpn(qpn), .becn = true};
  spec.payload.resize(16);
  return make_frame(from, to, spec);
}

/// Two CNPs of host 1, the second one so long after the first: how many are too early.
std::uint64_t early(Scope scope, Duration after, unsigned to, std::uint32_t qpn) {
  checkers::Checkers checkers;
  checkers.congestion({.host = node_gid(1), .cnp_interval = kInterval, .cnp_scope = scope});
  observe(checkers, {kBegin, cnp(1, 2, 0x11), Seen::sent});
  observe(checkers, {kBegin + after, cnp(1, to, qpn), Seen::sent});
  observe(checkers, {kBegin + after, cnp(2, 1, 0x11), Seen::sent});  // of somebody whose interval is not known
  BOOST_TEST(checkers.violation_count() == violations_of(checkers, "cnp-interval"));
  return checkers.violation_count();
}

}  // namespace

BOOST_AUTO_TEST_CASE(cnp_within_the_interval_breaks_the_rule_of_its_scope) {
  constexpr Duration kEarly = kInterval - nanoseconds(1);
  for (const Scope scope : {Scope::qp, Scope::destination, Scope::port}) {
    BOOST_TEST(early(scope, kInterval, 2, 0x11) == 0u);
    BOOST_TEST(early(scope, kEarly, 2, 0x11) == 1u);
    BOOST_TEST(early(scope, kEarly, 2, 0x12) == (scope == Scope::qp ? 0u : 1u));
    BOOST_TEST(early(scope, kEarly, 3, 0x11) == (scope == Scope::port ? 1u : 0u));
  }
}

BOOST_AUTO_TEST_CASE(a_host_that_has_begun_anew_knows_of_no_interval) {
  checkers::Checkers checkers;
  checkers.congestion({.host = node_gid(1), .cnp_interval = kInterval});
  observe(checkers, {kBegin, cnp(1, 2, 0x11), Seen::sent});
  checkers.restart(node_gid(1));
  observe(checkers, {kBegin + nanoseconds(1), cnp(1, 2, 0x11), Seen::sent});
  BOOST_TEST(checkers.violation_count() == 0u, violations_text(checkers));
}

namespace {

constexpr std::uint32_t kQpn = 0x21;      // of host 1, which sends
constexpr std::uint32_t kPeerQpn = 0x22;  // of host 2

/// 1 Gb/s: an octet takes 8 ns, and 16 after the first CNP.
struct Sender {
  Sender() {
    checkers::CheckedDcqcn dcqcn{.line_rate = 1e9,
                                 .g = 1.0 / 256,
                                 .additive_increase = 40e6,
                                 .hyper_increase = 200e6,
                                 .min_rate = 100e6,
                                 .alpha_timer = microseconds(55),
                                 .timer = microseconds(55),
                                 .byte_counter = 10'000'000,
                                 .fast_recovery = 5};
    checkers.congestion({.host = node_gid(1), .dcqcn = dcqcn});
    checkers.connect({.ends = {checkers::CheckedEnd{.address = node_gid(1), .qpn = wire::Qpn(kQpn)},
                               checkers::CheckedEnd{.address = node_gid(2), .qpn = wire::Qpn(kPeerQpn)}}});
  }
  /// Octets of the frame.
  std::size_t send(Time at) {
    PacketSpec spec{.opcode = rc(OperationCode::write_only), .psn = psn++, .dest_qp = wire::Qpn(kPeerQpn)};
    spec.reth.length = 200;
    spec.payload.resize(200);
    auto frame = make_frame(1, 2, spec);
    const std::size_t octets = frame.size();
    observe(checkers, {at, std::move(frame), Seen::sent});
    return octets;
  }
  void notify(Time at) { observe(checkers, {at, cnp(2, 1, kQpn), Seen::delivered}); }
  std::uint64_t broken() {
    BOOST_TEST(checkers.violation_count() == violations_of(checkers, "qp-rate"), violations_text(checkers));
    return checkers.violation_count();
  }

  checkers::Checkers checkers;
  std::uint32_t psn = 100;
};

Duration at_half_rate(std::size_t octets) {
  return nanoseconds(static_cast<std::int64_t>(octets) * 16);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_qp_keeps_to_half_of_the_line_after_its_first_cnp) {
  Sender sender;
  sender.send(kBegin);
  sender.send(kBegin);  // at line rate: the port's matter
  sender.notify(kBegin + nanoseconds(1));
  Time at = kBegin + nanoseconds(2);
  for (int i = 0; i < 5; ++i) at = at + at_half_rate(sender.send(at));
  BOOST_TEST(sender.broken() == 0u);
  const Duration takes = at_half_rate(sender.send(at));
  sender.send(at + nanoseconds(takes.ns * 9 / 10));
  BOOST_TEST(sender.broken() == 1u);
}

BOOST_AUTO_TEST_CASE(the_rate_comes_back_with_the_timer_and_not_before) {
  for (const bool waits : {false, true}) {
    Sender sender;
    sender.send(kBegin);
    sender.notify(kBegin);
    // Half way back to the line with each round of 55 us; after three it is fifteen sixteenths.
    const Time at = kBegin + (waits ? microseconds(55 * 3) : microseconds(54));
    const auto octets = static_cast<std::int64_t>(sender.send(at));
    sender.send(at + nanoseconds(octets * 8 * 16 / 15));
    BOOST_TEST(sender.broken() == (waits ? 0u : 1u));
  }
}

BOOST_AUTO_TEST_CASE(a_cnp_after_a_long_silence_takes_nothing_that_could_be_seen) {
  Sender sender;
  sender.send(kBegin);
  sender.notify(kBegin);
  const Time later = kBegin + seconds(1);
  sender.send(later);
  sender.notify(later);  // alpha is 0, or all but
  for (int i = 0; i < 5; ++i) sender.send(later + nanoseconds(i));
  BOOST_TEST(sender.broken() == 0u);
}

BOOST_AUTO_TEST_CASE(cnp_for_another_qp_or_lost_slows_nobody_down) {
  Sender sender;
  sender.send(kBegin);
  observe(sender.checkers, {kBegin, cnp(2, 1, kQpn + 1), Seen::delivered});
  observe(sender.checkers, {kBegin, cnp(2, 1, kQpn), Seen::lost});
  sender.send(kBegin + nanoseconds(1));
  sender.send(kBegin + nanoseconds(2));
  BOOST_TEST(sender.broken() == 0u);
}

BOOST_AUTO_TEST_CASE(becn_in_an_acknowledgement_needs_a_marked_request) {
  for (const bool is_marked : {false, true}) {
    Sender sender;
    for (const std::uint32_t psn : {100u, 101u}) {
      PacketSpec spec{.opcode = rc(OperationCode::send_only), .psn = psn, .dest_qp = wire::Qpn(kPeerQpn)};
      auto frame = make_frame(1, 2, spec);
      observe(sender.checkers, {kBegin, frame, Seen::sent});
      if (is_marked && psn == 100) BOOST_REQUIRE(fabric::mark_congestion(frame));
      observe(sender.checkers, {kBegin, std::move(frame), Seen::delivered});
    }
    const auto acknowledge = [&](std::uint32_t psn, std::uint32_t msn) {
      observe(sender.checkers, {kBegin,
                                make_frame(2, 1,
                                           {.opcode = rc(OperationCode::acknowledge),
                                            .psn = psn,
                                            .dest_qp = wire::Qpn(kQpn),
                                            .becn = true,
                                            .aeth = {wire::ack_syndrome(31), msn}}),
                                Seen::sent});
      return violations_of(sender.checkers, "mark-echo");
    };
    BOOST_TEST(acknowledge(100, 1) == (is_marked ? 0u : 1u));
    BOOST_TEST(acknowledge(101, 2) == (is_marked ? 1u : 2u));
    BOOST_TEST(acknowledge(100, 1) == (is_marked ? 1u : 2u));  // its node has held it back
  }
}
