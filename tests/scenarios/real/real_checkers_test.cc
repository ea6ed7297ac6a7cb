// The checkers on what a fabric shows: they find out who talks with whom, and only judge what they may.
#include "scenarios/real/real_checkers.h"

#include <boost/test/unit_test.hpp>

#include "emulator/fabric/alter_frame.h"
#include "tests/support/frames.h"

using namespace verbena;
using namespace verbena::scenarios;
using test::rc;
using wire::OperationCode;

namespace {

constexpr unsigned kOne = 1;
constexpr unsigned kTwo = 2;

/// Frames between the two hosts of a star, each seen as it enters and, unless it is lost, as it arrives.
struct Watched {
  RealCheckers checkers{fabric::star(2, {})};
  Time now{1000};

  void frame(unsigned from, unsigned to, const test::PacketSpec& spec, bool arrives = true, bool is_marked = false) {
    auto octets = test::make_frame(from, to, spec);
    now = now + microseconds(1);
    checkers.observe({now, {from - 1, false}, fabric::FrameEvent::entered, octets, {}, false});
    if (is_marked) fabric::mark_congestion(octets);
    checkers.observe({now, {from - 1, false}, fabric::FrameEvent::delivered, octets, {}, false});  // at the switch
    if (arrives) checkers.observe({now, {to - 1, true}, fabric::FrameEvent::delivered, octets, {}, false});
  }
  void send(std::uint32_t psn, bool arrives = true, wire::Qpn qpn = wire::Qpn{0x22}) {
    test::PacketSpec spec{.opcode = rc(OperationCode::send_only), .psn = psn, .dest_qp = qpn, .ack_request = true};
    spec.payload.resize(64);
    frame(kOne, kTwo, spec, arrives);
  }
  void acknowledge(std::uint32_t psn, std::uint32_t msn, wire::Qpn qpn = wire::Qpn{0x11}) {
    test::PacketSpec spec{.opcode = rc(OperationCode::acknowledge), .psn = psn, .dest_qp = qpn};
    spec.aeth.syndrome = 31;
    spec.aeth.msn = msn;
    frame(kTwo, kOne, spec);
  }
  Outcome outcome() {
    Outcome outcome;
    reports = RealCheckers::read(checkers.verdict(), outcome);
    return outcome;
  }
  CheckerReports reports;
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_stream_that_keeps_to_the_rules_is_silent) {
  Watched watched;
  for (std::uint32_t psn = 100; psn < 120; ++psn) {
    watched.send(psn, psn != 110);
    if (psn == 110) watched.send(psn);  // again
    watched.acknowledge(psn, psn - 99);
  }
  const Outcome outcome = watched.outcome();
  BOOST_TEST(watched.reports.ran);
  BOOST_TEST(outcome.violations_total == 0u, watched.reports.first);
}

BOOST_AUTO_TEST_CASE(what_was_sent_before_the_first_answer_came_is_not_forgotten) {
  Watched watched;
  for (std::uint32_t psn = 100; psn < 112; ++psn) watched.send(psn, psn < 106);
  watched.acknowledge(101, 2);
  watched.acknowledge(105, 6);
  watched.send(106);  // goes back to what is missing, not to 102
  watched.acknowledge(106, 7);
  const Outcome outcome = watched.outcome();
  BOOST_TEST(outcome.violations_total == 0u, watched.reports.first);
}

BOOST_AUTO_TEST_CASE(connection_with_an_early_forged_packet_is_not_judged) {
  Watched watched;
  test::PacketSpec forged{.opcode = rc(OperationCode::send_only), .psn = 100, .dest_qp = wire::Qpn{0x22}};
  forged.payload.resize(64);
  const auto octets = test::make_frame(kOne, kTwo, forged);
  watched.checkers.observe({watched.now, {0, false}, fabric::FrameEvent::entered, octets, {}, false});
  watched.checkers.observe({watched.now, {1, true}, fabric::FrameEvent::delivered, octets, {}, true});
  for (std::uint32_t psn = 101; psn < 108; ++psn) watched.send(psn);
  watched.acknowledge(107, 8);
  for (std::uint32_t psn = 108; psn < 112; ++psn) watched.send(psn);
  const Outcome outcome = watched.outcome();
  BOOST_TEST(outcome.violations_total == 0u, watched.reports.first);
}

BOOST_AUTO_TEST_CASE(a_mark_that_came_before_the_first_answer_is_not_forgotten) {
  for (const bool was_marked : {true, false}) {
    Watched watched;
    watched.send(100);
    const test::PacketSpec request{.opcode = rc(OperationCode::send_only), .psn = 101, .dest_qp = wire::Qpn{0x22}};
    watched.frame(kOne, kTwo, request, true, was_marked);
    watched.send(102);
    test::PacketSpec echo{.opcode = rc(OperationCode::acknowledge), .psn = 102, .dest_qp = wire::Qpn{0x11}};
    echo.aeth.syndrome = 31;
    echo.aeth.msn = 3;
    echo.becn = true;
    watched.frame(kTwo, kOne, echo);
    const Outcome outcome = watched.outcome();
    BOOST_TEST(outcome.violations_total == (was_marked ? 0u : 1u), watched.reports.first);
  }
}

BOOST_AUTO_TEST_CASE(answer_to_a_lost_request_is_reported_on_paired_halves) {
  Watched watched;
  watched.send(100);
  watched.acknowledge(100, 1);
  watched.send(101);
  watched.acknowledge(101, 2);
  watched.send(102, false);
  watched.acknowledge(102, 3);
  const Outcome outcome = watched.outcome();
  BOOST_TEST(outcome.violations_total >= 1u);
  BOOST_REQUIRE(!outcome.violations.empty());
  BOOST_TEST((outcome.violations.front().text.find("127.47.91.2") != std::string::npos), outcome.violations[0].text);
  BOOST_TEST(outcome.violations.front().time.ns > 0);
}

BOOST_AUTO_TEST_CASE(answers_that_may_belong_to_several_are_not_held_against_any) {
  Watched watched;
  for (const wire::Qpn qpn : {wire::Qpn{0x22}, wire::Qpn{0x33}}) watched.send(100, true, qpn);
  watched.send(101, false);
  watched.send(101, false, wire::Qpn{0x33});
  watched.acknowledge(101, 2);
  BOOST_TEST(watched.outcome().violations_total == 0u);
}

BOOST_AUTO_TEST_CASE(qp_with_a_reused_number_is_paired_with_what_it_answers) {
  Watched watched;
  watched.send(100);
  watched.acknowledge(100, 1);
  watched.send(9000, true, wire::Qpn{0x33});
  watched.acknowledge(9000, 1);
  watched.send(9001, true, wire::Qpn{0x33});
  watched.acknowledge(9001, 2);
  const Outcome outcome = watched.outcome();
  BOOST_TEST(outcome.violations_total == 0u, watched.reports.first);
}

BOOST_AUTO_TEST_CASE(qp_with_a_reused_number_is_judged_by_what_it_answers) {
  Watched watched;
  watched.send(100);
  watched.acknowledge(100, 1);
  watched.send(9000, true, wire::Qpn{0x33});
  watched.acknowledge(9000, 1);
  watched.send(9001, false, wire::Qpn{0x33});
  watched.acknowledge(9001, 2);
  BOOST_TEST(watched.outcome().violations_total >= 1u);
}

BOOST_AUTO_TEST_CASE(repeated_answer_does_not_confirm_an_earlier_belief) {
  Watched watched;
  test::PacketSpec read{.opcode = rc(OperationCode::read_request), .psn = 100, .dest_qp = wire::Qpn{0x22}};
  read.reth.length = 10 * 1024;
  watched.frame(kOne, kTwo, read);
  const auto respond = [&](std::uint32_t from, std::uint32_t to) {
    for (std::uint32_t psn = from; psn < to; ++psn) {
      const OperationCode opcode =
          psn == 100 ? OperationCode::read_response_first : OperationCode::read_response_middle;
      test::PacketSpec spec{.opcode = rc(opcode), .psn = psn, .dest_qp = wire::Qpn{0x11}};
      spec.payload.resize(1024);
      watched.frame(kTwo, kOne, spec);
    }
  };
  respond(100, 103);
  watched.send(98);  // again, as the rest is: the responder has had it all long ago
  respond(103, 106);
  respond(105, 106);
  respond(106, 109);
  const Outcome outcome = watched.outcome();
  BOOST_TEST(outcome.violations_total == 0u, watched.reports.first);
}

BOOST_AUTO_TEST_CASE(a_skipped_psn_is_reported_without_any_answer) {
  Watched watched;
  watched.send(100);
  watched.send(101);
  watched.send(103);
  BOOST_TEST(watched.outcome().violations_total == 1u);
}

BOOST_AUTO_TEST_CASE(a_verdict_that_is_none_says_that_no_checker_ran) {
  Outcome outcome;
  BOOST_TEST(!RealCheckers::read("", outcome).ran);
  BOOST_TEST(!RealCheckers::read("{\"total\": 1", outcome).ran);
}
