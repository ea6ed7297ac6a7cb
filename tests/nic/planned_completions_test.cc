// Completions that go wrong by a plan: what the program sees, what becomes of the QP, and what the peer hears.
#include "emulator/nic/state/planned_completions.h"

#include <boost/test/unit_test.hpp>
#include <deque>

#include "tests/support/script.h"

using namespace verbena;
using namespace verbena::test;
using enum CompletionStatus;

namespace {

/// Gives the verdicts in their order, then none; and remembers what it was asked.
class Judge final : public CompletionJudge {
 public:
  explicit Judge(std::optional<PlannedEvent> planned = {}, Time at = kNever) : event(planned), event_at(at) {}

  std::deque<CompletionVerdict> verdicts;
  std::vector<JudgedCompletion> asked;
  std::optional<PlannedEvent> event;
  Time event_at = kNever;

  CompletionVerdict judge(const JudgedCompletion& completion, Time) override {
    asked.push_back(completion);
    if (verdicts.empty()) return {};
    const CompletionVerdict next = verdicts.front();
    verdicts.pop_front();
    return next;
  }
  Time next_event() override { return event ? event_at : kNever; }
  std::optional<PlannedEvent> take_event(Time now) override {
    return event && event_at <= now ? std::exchange(event, std::nullopt) : std::nullopt;
  }
  void event_raised(const PlannedEvent&) override { ++raised; }
  int raised = 0;
};

/// Node 1 sends to node 2, and both have a judge. `event` is node 1's.
struct JudgedPair {
  explicit JudgedPair(const QpOptions& options = {}, std::optional<PlannedEvent> event = {}, Time event_at = kNever)
      : at_sender(event, event_at), pair(options, 1 << 16, {.judges = {&at_sender, &at_receiver}}) {}

  void post_receives(int count) {
    for (int i = 0; i < count; ++i) {
      const Sge sge = pair.b_buffer.sge(0, 64);
      pair.b.receive(std::uint64_t(100 + i), {sge});
    }
  }
  void send(std::uint64_t wr_id) {
    const Sge sge = pair.a_buffer.sge(0, 64);
    pair.a.post({.wr_id = wr_id, .opcode = SendOpcode::send, .sges = {&sge, 1}});
  }
  void send_several(int count) {
    post_receives(count);
    for (int i = 1; i <= count; ++i) send(i);
    pair.world.run_to_rest();
  }

  Judge at_sender;
  Judge at_receiver;
  Pair pair;
};

std::vector<std::uint64_t> ids(const std::vector<Completion>& completions) {
  std::vector<std::uint64_t> all;
  for (const Completion& completion : completions) all.push_back(completion.wr_id);
  return all;
}
using Ids = std::vector<std::uint64_t>;

}  // namespace

BOOST_AUTO_TEST_CASE(a_send_that_fails_takes_its_qp_along) {
  JudgedPair test;
  test.at_sender.verdicts = {{}, {.status = remote_operation_error}};
  test.send_several(4);
  check_statuses(test.pair.a.poll_sent(), {success, remote_operation_error, flushed, flushed});
  BOOST_CHECK(test.pair.a.state() == QpState::error);
}

BOOST_AUTO_TEST_CASE(a_send_that_only_reports_changes_nothing_else) {
  JudgedPair test;
  test.at_sender.verdicts = {{}, {.status = general_error, .is_report_only = true}};
  test.send_several(4);
  check_statuses(test.pair.a.poll_sent(), {success, general_error, success, success});
  BOOST_CHECK(test.pair.a.state() == QpState::rts);
}

BOOST_AUTO_TEST_CASE(the_send_queue_of_an_unreliable_qp_stops) {
  JudgedPair test({.type = QpType::uc});
  test.at_sender.verdicts = {{.status = local_protection_error}};
  test.send_several(1);
  check_statuses(test.pair.a.poll_sent(), {local_protection_error});
  BOOST_CHECK(test.pair.a.state() == QpState::sqe);
}

BOOST_AUTO_TEST_CASE(a_receive_that_fails_is_answered_with_a_nak) {
  for (const auto& [status, senders] : {std::pair(local_protection_error, remote_operation_error),
                                        std::pair(local_length_error, remote_invalid_request)}) {
    JudgedPair test;
    test.at_receiver.verdicts = {{}, {.status = status}};
    test.send_several(3);
    check_statuses(test.pair.b.poll_received(), {success, status, flushed});
    BOOST_CHECK(test.pair.b.state() == QpState::error);
    check_statuses(test.pair.a.poll_sent(), {success, senders, flushed});
  }
}

BOOST_AUTO_TEST_CASE(a_completion_is_lost_and_its_slot_comes_back_with_the_next) {
  JudgedPair test;
  test.at_sender.verdicts = {{}, {.is_lost = true}};
  test.send_several(4);
  BOOST_CHECK((ids(test.pair.a.poll_sent()) == Ids{1, 3, 4}));
  BOOST_CHECK(test.pair.a.state() == QpState::rts);
}

BOOST_AUTO_TEST_CASE(a_completion_that_comes_twice_frees_one_slot) {
  JudgedPair test;
  test.at_receiver.verdicts = {{.comes_twice = true}};
  test.send_several(2);
  BOOST_CHECK((ids(test.pair.b.poll_received()) == Ids{100, 100, 101}));
  test.pair.b.nic().check_invariants();
}

BOOST_AUTO_TEST_CASE(a_late_completion_keeps_the_order_of_its_queue_alone) {
  JudgedPair test;
  test.at_sender.verdicts = {{}, {.delay = milliseconds(5)}};
  test.post_receives(3);
  for (int i = 1; i <= 3; ++i) test.send(i);
  test.pair.world.run_for(milliseconds(1));
  BOOST_CHECK((ids(test.pair.a.poll_sent()) == Ids{1}));
  BOOST_TEST(test.pair.b.poll_received().size() == 3U);
  test.pair.world.run_for(milliseconds(5));
  BOOST_CHECK((ids(test.pair.a.poll_sent()) == Ids{2, 3}));
}

BOOST_AUTO_TEST_CASE(late_completions_of_a_qp_that_is_gone_never_come) {
  JudgedPair test;
  test.at_sender.verdicts = {{.delay = milliseconds(5)}};
  test.send_several(1);
  JudgedPair other;
  other.at_sender.verdicts = {{.delay = milliseconds(5)}};
  other.post_receives(1);
  other.send(1);
  other.pair.world.run_for(milliseconds(1));
  BOOST_TEST(other.pair.a.nic().destroy_qp(other.pair.a.qp).ok());
  other.pair.world.run_for(milliseconds(10));
  BOOST_CHECK((ids(test.pair.a.poll_sent()) == Ids{1}));
  BOOST_TEST(other.pair.a.poll_sent().empty());
}

BOOST_AUTO_TEST_CASE(what_is_undefined_of_a_failed_completion_is_spoiled) {
  JudgedPair test;
  test.at_sender.verdicts = {{.garbage = 0x12345}, {.status = retry_exceeded, .garbage = 0x12345}};
  test.send_several(2);
  const auto sent = test.pair.a.poll_sent();
  BOOST_REQUIRE(sent.size() == 2U);
  BOOST_CHECK(sent[0].opcode == CompletionOpcode::send);
  BOOST_CHECK(sent[1].opcode == CompletionOpcode::receive);
  BOOST_TEST(sent[1].byte_count == 0x12345U);
  BOOST_TEST(sent[1].wr_id == 2U);
  BOOST_CHECK(sent[1].qpn == test.pair.a.qpn());
}

BOOST_AUTO_TEST_CASE(a_queue_overruns_when_it_is_told_to) {
  JudgedPair test;
  test.at_sender.verdicts = {{}, {.overruns = true}};
  test.send_several(3);
  check_statuses(test.pair.a.poll_sent(), {success});
  const auto events = test.pair.a.poll_events();
  BOOST_REQUIRE(events.size() == 2U);
  BOOST_CHECK(events[0] == AsyncEventType::cq_error);
  BOOST_CHECK(events[1] == AsyncEventType::qp_fatal);
  BOOST_CHECK(test.pair.a.state() == QpState::error);
}

BOOST_AUTO_TEST_CASE(an_event_comes_when_it_is_planned) {
  JudgedPair test({}, PlannedEvent{.type = AsyncEventType::qp_fatal, .first = 11, .last = 11},
                  Time{0} + milliseconds(4));
  test.pair.world.run_for(milliseconds(2));
  BOOST_TEST(test.pair.a.poll_events().empty());
  test.pair.world.run_for(milliseconds(2));
  const auto events = test.pair.a.poll_events();
  BOOST_REQUIRE(events.size() == 1U);
  BOOST_CHECK(events[0] == AsyncEventType::qp_fatal);
  BOOST_CHECK(test.pair.a.state() == QpState::error);
  BOOST_TEST(test.at_sender.raised == 1);
}

BOOST_AUTO_TEST_CASE(an_event_of_another_qp_leaves_this_one_alone) {
  JudgedPair test({}, PlannedEvent{.type = AsyncEventType::qp_fatal, .first = 12, .last = 99}, Time{0});
  test.pair.world.run_for(milliseconds(1));
  BOOST_TEST(test.pair.a.poll_events().empty());
  BOOST_CHECK(test.pair.a.state() == QpState::rts);
  BOOST_CHECK(!test.at_sender.event);  // it was due, and found nothing
  BOOST_TEST(test.at_sender.raised == 0);
}

BOOST_AUTO_TEST_CASE(what_comes_for_the_second_time_goes_with_its_qp) {
  JudgedPair test;
  test.at_sender.verdicts = {{.comes_twice = true}};
  test.send_several(1);
  BOOST_TEST(test.pair.a.nic().destroy_qp(test.pair.a.qp).ok());
  BOOST_TEST(test.pair.a.poll_sent().empty());
}

BOOST_AUTO_TEST_CASE(a_judge_hears_which_completion_it_is) {
  JudgedPair test;
  test.send_several(1);
  BOOST_REQUIRE(test.at_sender.asked.size() == 1U);
  BOOST_TEST(test.at_sender.asked[0].qp == 11U);
  BOOST_TEST(test.at_sender.asked[0].cq == 21U);
  BOOST_TEST(!test.at_sender.asked[0].is_receive);
  BOOST_REQUIRE(test.at_receiver.asked.size() == 1U);
  BOOST_TEST(test.at_receiver.asked[0].cq == 32U);
  BOOST_TEST(test.at_receiver.asked[0].is_receive);
}
