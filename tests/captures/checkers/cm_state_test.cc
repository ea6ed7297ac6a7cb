// cm-state: the messages of the kernel's connection fit each other, and each way in which they may not is found.
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tests/captures/checkers/kernel_rping.h"

using namespace verbena;
using namespace verbena::test;
using checkers::Seen;

namespace {

constexpr std::size_t kReady = 2, kDisconnect = 63, kDisconnectReply = 64;  // behind kRequest and kReply
constexpr std::size_t kMessages = 5;
constexpr std::size_t kRemoteQpn = kMessage + 8;  // of DREQ

Judgement judge(const Trace& trace) {
  return judged_by("cm-state", trace);
}

bool says(const Judgement& judgement, const std::string& text) {
  for (const auto& one : judgement.violations) BOOST_TEST_MESSAGE(one.text);
  return judgement.violations.size() == 1 && judgement.violations.front().text.find(text) != std::string::npos;
}

void flip(Sighting& sighting, std::size_t at) {
  sighting.frame[at] ^= std::byte{1};
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_kernels_messages_fit_each_other) {
  for (const Trace& trace : {rping(), rping_at_server()}) {
    const Judgement verdict = judge(trace);
    BOOST_TEST(verdict.judged == kMessages);
    BOOST_TEST(verdict.unjudged == 0u);
    BOOST_TEST(verdict.violations.empty());
  }
}

BOOST_AUTO_TEST_CASE(every_message_may_come_twice) {
  Trace trace = rping();
  for (const std::size_t message : {kRequest, kReply, kReady, kDisconnect, kDisconnectReply})
    trace.push_back(rping()[message]);
  BOOST_TEST(judge(trace).violations.empty());
  BOOST_TEST(judge(trace).judged == 2 * kMessages);
}

BOOST_AUTO_TEST_CASE(another_id_than_the_announced_one_is_wrong) {
  // The later octet of each ID: the sender's own, and the receiver's.
  constexpr std::size_t kOwn = kMessage + 3, kOther = kMessage + 7;
  for (const std::size_t message : {kReady, kDisconnect, kDisconnectReply}) {
    Trace trace = rping();
    flip(trace[message], kOther);
    BOOST_TEST(says(judge(trace), "its receiver has announced"), message);
    trace = rping();
    flip(trace[message], kOwn);
    BOOST_TEST(says(judge(trace), "as its own connection"), message);
  }
}

BOOST_AUTO_TEST_CASE(a_dreq_names_the_qp_that_its_receiver_has_announced) {
  Trace trace = rping();
  flip(trace[kDisconnect], kRemoteQpn + 2);
  BOOST_TEST(says(judge(trace), "DREQ names QP"));
}

BOOST_AUTO_TEST_CASE(what_is_sent_again_is_the_same) {
  for (const std::size_t message : {kRequest, kReply}) {
    Trace trace = rping();
    Sighting again = trace[message];
    flip(again, kMessage + 100);
    trace.insert(trace.begin() + kReady, again);
    BOOST_TEST(says(judge(trace), "sent again with other octets"), message);
  }
}

BOOST_AUTO_TEST_CASE(an_id_may_be_used_again) {
  Trace trace = rping();
  constexpr std::size_t kTransaction = kMad + 15;
  for (const std::size_t message : {kRequest, kReply, kReady}) {
    Sighting next = trace[message];
    flip(next, kTransaction);
    if (message == kRequest) flip(next, kMessage + 100);
    trace.push_back(next);
  }
  BOOST_TEST(judge(trace).violations.empty());
  BOOST_TEST(judge(trace).judged == kMessages + 3);
}

BOOST_AUTO_TEST_CASE(whoever_has_ended_a_connection_does_not_make_it) {
  Trace trace = rping();
  for (Sighting& sighting : trace)
    sighting.seen = wire::parse_frame(sighting.frame)->source() == kServer ? Seen::delivered : Seen::sent;
  trace.push_back(trace[kReady]);
  const Judgement verdict = judge(trace);
  const bool client_has_ended = wire::parse_frame(trace[kDisconnect].frame)->source() != kServer ||
                                wire::parse_frame(trace[kDisconnectReply].frame)->source() != kServer;
  BOOST_TEST(client_has_ended);
  BOOST_TEST(says(verdict, "which its sender has ended"));
  // On the way another order may be the network's.
  for (Sighting& sighting : trace) sighting.seen = Seen::passing;
  BOOST_TEST(judge(trace).violations.empty());
}

BOOST_AUTO_TEST_CASE(a_rep_behind_a_refusal_is_wrong) {
  Trace trace = rping_at_server();
  Sighting refusal = trace[kReply];
  refusal.frame[kAttribute] = std::byte{0x12};
  trace.insert(trace.begin() + kReply, refusal);
  BOOST_TEST(says(judge(trace), "which its sender has refused"));
}

BOOST_AUTO_TEST_CASE(what_was_not_seen_binds_nobody) {
  for (const std::size_t missing : {kRequest, kReply}) {
    Trace trace = rping();
    trace.erase(trace.begin() + static_cast<std::ptrdiff_t>(missing));
    const Judgement verdict = judge(trace);
    BOOST_TEST(verdict.violations.empty());
    BOOST_TEST(verdict.unjudged == (missing == kRequest ? 4u : 3u));
  }
}
