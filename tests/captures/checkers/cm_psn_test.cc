// cm-psn: the PSNs that REQ and REP announce against those that data begins with, in the kernel's capture of rping and
// with what can be wrong, missing or different in it.
#include <boost/test/unit_test.hpp>
#include <functional>

#include "tests/captures/checkers/kernel_rping.h"
#include "wire/management.h"

using namespace verbena;
using namespace verbena::test;
using checkers::Seen;

namespace {

struct Verdict {
  std::uint64_t judged = 0, unjudged = 0, violations = 0;
  std::vector<std::uint64_t> numbers;  // of the violations
};
std::ostream& operator<<(std::ostream& out, const Verdict& verdict) {
  return out << verdict.judged << " judged, " << verdict.unjudged << " not, " << verdict.violations << " broken";
}

Verdict judge(const Trace& trace) {
  const Judgement found = judged_by("cm-psn", trace);
  Verdict verdict{found.judged, found.unjudged, found.violations.size(), {}};
  for (const auto& violation : found.violations) verdict.numbers.push_back(violation.number);
  return verdict;
}

void add24(Sighting& sighting, std::size_t at, std::uint32_t more) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 3; ++i) value = value << 8 | std::to_integer<std::uint32_t>(sighting.frame[at + i]);
  value += more;
  for (std::size_t i = 0; i < 3; ++i) sighting.frame[at + i] = static_cast<std::byte>(value >> (16 - 8 * i));
}
void swap24(Sighting& one, std::size_t at, Sighting& other, std::size_t other_at) {
  for (std::size_t i = 0; i < 3; ++i) std::swap(one.frame[at + i], other.frame[other_at + i]);
}
/// All requests and answers of a stream get other PSNs; behind the connection's messages.
void move_data(Trace& trace, std::uint32_t more) {
  for (Sighting& sighting : trace)
    if (wire::parse_frame(sighting.frame)->bth().dest_qp != wire::kGsiQpn) add24(sighting, kBth + 9, more);
}
bool is_attribute(const Sighting& sighting, wire::CmAttribute attribute) {
  return wire::parse_frame(sighting.frame)->bth().dest_qp == wire::kGsiQpn &&
         sighting.frame[kAttribute] == static_cast<std::byte>(attribute);
}
void append(Trace& trace, const Trace& more, Duration later) {
  for (Sighting sighting : more) {
    sighting.time = sighting.time + later;
    trace.push_back(std::move(sighting));
  }
}
Trace without(Trace trace, const std::function<bool(const Sighting&)>& is_missed) {
  std::erase_if(trace, is_missed);
  return trace;
}

}  // namespace

BOOST_AUTO_TEST_CASE(kernel_connections_keep_to_their_psns_on_the_way_and_at_ends) {
  for (const Trace& trace : {rping(), rping_at_server()}) {
    const Verdict verdict = judge(trace);
    BOOST_TEST(verdict.judged == 2u, verdict);
    BOOST_TEST(verdict.violations == 0u);
  }
}

BOOST_AUTO_TEST_CASE(announcing_ones_own_first_psn_is_wrong_in_both_directions) {
  for (Trace trace : {rping(), rping_at_server()}) {
    swap24(trace[kRequest], kRequestPsn, trace[kReply], kReplyPsn);
    const Verdict verdict = judge(trace);
    BOOST_TEST(verdict.violations == 2u, verdict);
    BOOST_REQUIRE(verdict.numbers.size() == 2u);
    BOOST_TEST(verdict.numbers[0] == kClientsFirst);
    BOOST_TEST(verdict.numbers[1] == kServersFirst);
  }
}

BOOST_AUTO_TEST_CASE(first_psn_off_by_one_is_wrong_if_nothing_was_missed) {
  for (const std::uint32_t more : {1u, wire::Psn::kMask}) {
    Trace trace = rping_at_server();
    move_data(trace, more);
    Verdict verdict = judge(trace);
    // The client's packets are seen as they arrive: one that is lost before the first looks the same as a PSN too many.
    BOOST_TEST(verdict.violations == (more == 1 ? 1u : 2u), verdict);
    BOOST_TEST(verdict.unjudged == (more == 1 ? 1u : 0u), verdict);
    trace = rping();
    move_data(trace, more);
    verdict = judge(trace);
    BOOST_TEST(verdict.violations == (more == 1 ? 0u : 2u), verdict);
  }
}

BOOST_AUTO_TEST_CASE(first_packets_that_were_missed_are_not_judged) {
  Trace trace = rping();
  trace.erase(trace.begin() + kServersFirst);
  trace.erase(trace.begin() + kClientsFirst);
  const Verdict verdict = judge(trace);
  BOOST_TEST(verdict.judged == 0u, verdict);
  BOOST_TEST(verdict.unjudged == 2u, verdict);
}

BOOST_AUTO_TEST_CASE(a_capture_that_begins_late_judges_what_it_knows) {
  Trace trace = rping();
  trace.erase(trace.begin());  // no REQ: nobody has said what the server begins with
  BOOST_TEST(judge(trace).judged == 1u, judge(trace));
  trace.erase(trace.begin());
  BOOST_TEST(judge(trace).judged + judge(trace).unjudged == 0u, judge(trace));
  // Of a REP that comes a second time it is not known whether data went before.
  trace = rping_at_server();
  for (Sighting& sighting : trace) sighting.seen = sighting.seen == Seen::sent ? Seen::delivered : Seen::sent;
  trace.erase(trace.begin());
  move_data(trace, 3);
  BOOST_TEST(judge(trace).violations == 0u, judge(trace));
  BOOST_TEST(judge(trace).unjudged == 1u, judge(trace));
}

BOOST_AUTO_TEST_CASE(messages_that_come_twice_change_nothing) {
  Trace trace;
  for (const Sighting& sighting : rping()) {
    trace.push_back(sighting);
    if (is_attribute(sighting, wire::CmAttribute::request) || is_attribute(sighting, wire::CmAttribute::reply))
      trace.push_back(sighting);
  }
  trace.insert(trace.begin() + 20, rping()[kReply]);
  BOOST_TEST(judge(trace).judged == 2u, judge(trace));
  BOOST_TEST(judge(trace).violations + judge(trace).unjudged == 0u, judge(trace));
}

BOOST_AUTO_TEST_CASE(what_was_refused_or_has_ended_binds_nobody) {
  for (const auto attribute : {wire::CmAttribute::reject, wire::CmAttribute::disconnect_request}) {
    Trace trace = rping();
    Sighting end = trace[kReply + 1];  // the client's RTU: both IDs
    end.frame[kAttribute] = static_cast<std::byte>(attribute);
    trace[kReply + 1] = end;
    move_data(trace, 0x400000);  // the QPs talk all the same, as they have agreed elsewhere
    const Verdict verdict = judge(trace);
    BOOST_TEST(verdict.judged + verdict.unjudged == 0u, verdict);
  }
}

BOOST_AUTO_TEST_CASE(another_first_psn_long_after_may_be_a_new_use_of_the_qps) {
  for (const Duration later : {milliseconds(500), seconds(2)}) {
    Trace trace = rping();
    move_data(trace, 0x400000);
    for (std::size_t i = kClientsFirst; i < trace.size(); ++i) trace[i].time = trace[i].time + later;
    const Verdict verdict = judge(trace);
    BOOST_TEST(verdict.violations == (later < seconds(1) ? 2u : 0u), verdict);
    BOOST_TEST(verdict.unjudged == (later < seconds(1) ? 0u : 2u), verdict);
  }
}

BOOST_AUTO_TEST_CASE(a_queue_pair_that_is_connected_again_is_judged_again) {
  for (const std::uint32_t more : {0u, 5u, 0x300000u}) {
    Trace trace = rping();
    Trace again = rping();
    for (const std::size_t message : {kRequest, kReply}) {
      const std::size_t psn_at = message == kRequest ? kRequestPsn : kReplyPsn;
      add24(again[message], psn_at, 0x200000);
      // Other communication IDs, as REQ and REP have them.
      again[message].frame[kMessage] ^= std::byte{1};
    }
    again[kReply].frame[kMessage + 4] ^= std::byte{1};
    move_data(again, 0x200000 + more);
    append(trace, again, seconds(2));
    const Verdict verdict = judge(trace);
    BOOST_TEST(verdict.violations == (more == 0x300000 ? 2u : 0u), verdict);
    BOOST_TEST(verdict.judged == (more == 5 ? 2u : 4u), verdict);
  }
}

BOOST_AUTO_TEST_CASE(packet_still_on_its_way_from_before_is_not_the_first) {
  Trace trace = without(rping(), [](const Sighting& sighting) {
    return is_attribute(sighting, wire::CmAttribute::disconnect_request) ||
           is_attribute(sighting, wire::CmAttribute::disconnect_reply);
  });
  Trace again = rping();
  const Sighting late = trace[trace.size() - 2];
  for (const std::size_t message : {kRequest, kReply}) {
    add24(again[message], message == kRequest ? kRequestPsn : kReplyPsn, 0x200000);
    again[message].frame[kMessage] ^= std::byte{1};
  }
  again[kReply].frame[kMessage + 4] ^= std::byte{1};
  move_data(again, 0x200000);
  again.insert(again.begin() + kReply + 1, late);
  append(trace, again, milliseconds(1));
  const Verdict verdict = judge(trace);
  BOOST_TEST(verdict.violations == 0u, verdict);
  BOOST_TEST(verdict.judged == 4u, verdict);
}

BOOST_AUTO_TEST_CASE(foreign_datagrams_to_qp1_are_ignored) {
  Trace trace = rping();
  trace[kReply].frame[kMad + 1] = std::byte{4};  // another management class
  BOOST_TEST(judge(trace).judged + judge(trace).unjudged == 0u, judge(trace));
  trace = rping();
  trace[kReply].frame.resize(trace[kReply].frame.size() - 4);  // cut
  BOOST_TEST(judge(trace).judged + judge(trace).unjudged == 0u, judge(trace));
}
