// Each invariant of a QP is broken in turn, and found; a QP in the midst of its work breaks none.
#include "emulator/nic/transport_ib/invariants.h"

#include <boost/test/unit_test.hpp>
#include <functional>
#include <string>
#include <vector>

#include "emulator/nic/transport_ib/modify_qp.h"
#include "emulator/nic/transport_ib/selective_repeat/selective_repeat.h"
#include "tests/support/frames.h"

namespace verbena::nic {
namespace {

constexpr std::uint8_t kResources = 4;
constexpr Time kNow{1'000'000};

/// A QP that reads, sends and answers: a READ with half of its responses, an atomic, a WRITE of which one packet has
/// left; two READs and an atomic to be answered.
struct Subject {
  explicit Subject(QpType type = QpType::rc)
      : nic({.qpn_base = wire::Qpn(0x10000), .gids = {test::node_gid(1)}}, memory, counters,
            find_loss_recovery(RecoveryPolicy::go_back_n)),
        qp(nic.qps.create()) {
    qp.service = find_service(type);
    qp.has_receive_queue = qp.service->has_receive_cq;
    qp.qpn = *nic.qpns.insert(qp);
    if (qp.service->has_send_queue) qp.send_cq = &cq;
    if (qp.service->has_receive_cq) qp.recv_cq = &cq;
    qp.send_queue.allocate(8, 1, 0);
    qp.receive_queue.allocate(8, 1);
    qp.timer_entry.owner = &qp;
    nic.timers.reserve(1);
    modify(QpState::init, kQpPkeyIndex | kQpPort | kQpAccessFlags);
    if (type == QpType::rc) work();
  }

  void modify(QpState state, std::uint32_t mask) {
    QpAttributes attributes;
    attributes.state = state;
    attributes.path_mtu_bytes = 256;
    attributes.address_vector.destination = test::node_gid(2);
    attributes.rq_psn = wire::Psn(50);
    attributes.sq_psn = wire::Psn(100);
    attributes.timeout = 10;
    attributes.retry_count = attributes.rnr_retry = 3;
    attributes.max_read_atomic = attributes.max_dest_read_atomic = kResources;
    BOOST_REQUIRE(modify_qp(nic, qp, attributes, mask | kQpState, kNow).ok());
  }

  void post(SendOpcode opcode, std::uint32_t packets) {
    Requester& requester = qp.requester;
    SendWork& work = qp.send_queue.at(qp.send_queue.tail++);
    work = {.length = packets * qp.mtu,
            .packets = packets,
            .ssn = requester.post_ssn++,
            .first_psn = requester.post_psn,
            .opcode = opcode};
    requester.post_psn = requester.post_psn + packets;
  }

  void work() {
    modify(QpState::rtr, kQpAv | kQpPathMtu | kQpDestQpn | kQpRqPsn | kQpMaxDestReadAtomic | kQpMinRnrTimer);
    modify(QpState::rts, kQpTimeout | kQpRetryCount | kQpRnrRetry | kQpSqPsn | kQpMaxReadAtomic);
    post(SendOpcode::rdma_read, 4);
    post(SendOpcode::fetch_and_add, 1);
    post(SendOpcode::rdma_write, 3);
    Requester& requester = qp.requester;
    qp.send_queue.at(0).received_packets = 2;
    requester.una_psn = wire::Psn(102);
    requester.next_psn = requester.sent_psn = wire::Psn(106);
    qp.send_queue.next = 2;
    requester.next_packet = 1;
    requester.outstanding_reads = 2;
    nic.start_timer(qp, Timer::ack, kNow + requester.ack_timeout);
    qp.responder.jobs = {};
    qp.responder.jobs.reserve(kResources + kDuplicateJobs);
    for (const std::uint32_t psn : {50u, 60u, 70u}) {
      ResponseJob job;
      job.psn = wire::Psn(psn);
      job.packets_left = 1;
      job.started = psn == 50;
      qp.responder.jobs.push_back(job);
    }
  }

  /// The same QP with selective repeat: the WRITE's packet has arrived, and one of the peer's is kept.
  SelectiveRepeat& repeat_selectively() {
    NicConfig config;
    config.loss_recovery = {.policy = RecoveryPolicy::selective_repeat, .negotiates = false};
    qp.recovery = make_selective_repeat(config, qp);
    auto& selective = dynamic_cast<SelectiveRepeat&>(*qp.recovery);
    selective.start_requester(nic, qp);
    selective.executed_before = wire::Psn(104);
    selective.sacked.set(wire::Psn(105));
    const auto packet = test::make_frame(2, 1, {.psn = 60});
    selective.kept.insert(wire::Psn(60), *wire::parse_frame(packet));
    BOOST_TEST(broken_invariant(nic, qp).value_or("") == "");
    return selective;
  }

  /// Back to INIT, by hand: all is as after modify_qp but for what a case then breaks.
  void empty(QpState state) {
    nic.unschedule(qp);
    qp.state = state;
    qp.send_queue.clear();
    qp.requester = {};
    qp.responder = {};
    qp.timers.stop_all();
  }

  PlainMemory memory;
  Counters counters;
  NicState nic;
  CompletionQueue cq;
  SharedReceiveQueue srq;
  Qp& qp;
};

struct Case {
  std::string_view broken;
  std::function<void(Subject&)> break_it;
  QpType type = QpType::rc;
};

const std::vector<Case> kCases{
    {"the QP is found by its handle and its number", [](Subject& s) { s.nic.qpns.remove(s.qp.qpn); }},
    {"it has a receive queue of its own, or uses another", [](Subject& s) { s.qp.srq = &s.srq; }},
    {"an SRQ that a request names brings its CQ", [](Subject& s) { s.qp.srq = &s.srq; }, QpType::xrc_receive},
    {"the MTU is one of the five, and fits the port", [](Subject& s) { s.qp.mtu = 1000; }},
    {"queues are empty in the states that keep nothing", [](Subject& s) { s.qp.state = QpState::error; }},
    {"queues are empty in the states that keep nothing",
     [](Subject& s) {
       s.empty(QpState::error);
       s.qp.receive_queue.push({});
     }},
    {"the send queue drains in SQD only", [](Subject& s) { s.qp.sq_draining = true; }},
    {"a drained send queue has nothing outstanding", [](Subject& s) { s.qp.state = QpState::sqd; }},
    {"positions: freed <= head <= next <= tail, within the capacity", [](Subject& s) { s.qp.send_queue.next = 4; }},
    {"positions: freed <= head <= next <= tail, within the capacity", [](Subject& s) { s.qp.send_queue.tail = 9; }},
    {"positions: freed <= head <= next <= tail, within the capacity", [](Subject& s) { s.qp.send_queue.freed = 1; }},
    {"PSNs: una <= next <= sent", [](Subject& s) { s.qp.requester.una_psn = wire::Psn(107); }},
    {"PSNs: una <= next <= sent", [](Subject& s) { s.qp.requester.sent_psn = wire::Psn(105); }},
    {"posted work requests follow one another in PSN and SSN", [](Subject& s) { ++s.qp.send_queue.at(2).first_psn; }},
    {"posted work requests follow one another in PSN and SSN", [](Subject& s) { ++s.qp.send_queue.at(1).ssn; }},
    {"posted work requests follow one another in PSN and SSN", [](Subject& s) { ++s.qp.requester.post_psn; }},
    {"the oldest work request is not done", [](Subject& s) { s.qp.requester.una_psn = wire::Psn(104); }},
    {"the oldest work request is not done", [](Subject& s) { s.qp.requester.una_psn = wire::Psn(99); }},
    {"the next PSN is that of the next work request's next packet", [](Subject& s) { ++s.qp.requester.next_packet; }},
    {"what is outstanding began within the window", [](Subject& s) { s.qp.requester.window_packets = 3; }},
    {"outstanding reads and atomics are counted", [](Subject& s) { --s.qp.requester.outstanding_reads; }},
    {"only the oldest read has responses, up to the acknowledged PSN",
     [](Subject& s) { ++s.qp.send_queue.at(1).received_packets; }},
    {"only the oldest read has responses, up to the acknowledged PSN",
     [](Subject& s) { ++s.qp.send_queue.at(0).received_packets; }},
    {"retries left are within the attributes", [](Subject& s) { s.qp.requester.retries_left = 4; }},
    {"acknowledgements are asked for in time",
     [](Subject& s) { s.qp.requester.packets_since_ack_request = s.qp.requester.ack_request_every; }},
    {"acknowledgements are asked for in time", [](Subject& s) { s.qp.requester.timed_batch = 2; }},
    {"the timer heap comes back by the earliest deadline", [](Subject& s) { s.nic.timers.remove(s.qp.timer_entry); }},
    {"the timer heap comes back by the earliest deadline",
     [](Subject& s) { s.qp.timers.start(Timer::ack, kNow + nanoseconds(1)); }},
    {"no timer runs in RESET and INIT",
     [](Subject& s) {
       s.empty(QpState::init);
       s.nic.start_timer(s.qp, Timer::pages, kNow);
     }},
    {"the ACK timer runs while something is outstanding", [](Subject& s) { s.qp.timers.stop(Timer::ack); }},
    {"the ACK timer runs while something is outstanding",
     [](Subject& s) {
       s.empty(QpState::rtr);
       s.qp.responder.jobs.reserve(kResources + kDuplicateJobs);
       s.nic.start_timer(s.qp, Timer::ack, kNow);
     }},
    {"the RNR timer holds back a requester with nothing sent",
     [](Subject& s) {
       s.qp.timers.stop(Timer::ack);
       s.nic.start_timer(s.qp, Timer::rnr, kNow);
     }},
    {"the pace timer runs only with a rate, until the next packet",
     [](Subject& s) { s.nic.start_timer(s.qp, Timer::pace, kNow); }},
    {"in RESET and INIT nothing is to be sent",
     [](Subject& s) {
       s.empty(QpState::init);
       s.nic.ready.push_back(s.qp);
     }},
    {"who owes a response is ready, held or waits for pages or for its rate",
     [](Subject& s) { s.nic.unschedule(s.qp); }},
    {"who may send is ready or waits for its rate or pages",
     [](Subject& s) {
       s.qp.responder.jobs.clear();
       s.nic.unschedule(s.qp);
     }},
    {"a response is owed only by a reliable QP that lives, or with a NAK",
     [](Subject& s) {
       const auto jobs = s.qp.responder.jobs;
       s.empty(QpState::error);
       s.qp.responder.jobs = jobs;
       s.nic.ready.push_back(s.qp);
     }},
    {"the responder keeps to its resources", [](Subject& s) { s.qp.responder.atomics.resize(kResources - 1); }},
    {"the responder keeps to its resources",
     [](Subject& s) {
       auto& jobs = s.qp.responder.jobs;
       while (jobs.size() <= kResources) jobs.push_back(jobs.back());
     }},
    {"responses are owed in the order of PSNs",
     [](Subject& s) { std::swap(s.qp.responder.jobs[1], s.qp.responder.jobs[2]); }},
    {"responses are owed in the order of PSNs", [](Subject& s) { s.qp.responder.jobs[1].started = true; }},
    {"responses are owed in the order of PSNs", [](Subject& s) { s.qp.responder.jobs[0].packets_left = 0; }},
    {"a message in progress has its receive or the rest of its WRITE",
     [](Subject& s) { s.qp.responder.message = Responder::Message::send; }},
    {"a message in progress has its receive or the rest of its WRITE",
     [](Subject& s) { s.qp.responder.message = Responder::Message::write; }},
    {"a message in progress has its receive or the rest of its WRITE",
     [](Subject& s) { s.qp.responder.message = Responder::Message::discard; }},
    {"what is known to have arrived, or to be lost, is outstanding",
     [](Subject& s) { s.repeat_selectively().executed_before = wire::Psn(107); }},
    {"what is known to have arrived, or to be lost, is outstanding",
     [](Subject& s) { s.repeat_selectively().lost_until = wire::Psn(101); }},
    {"what is known to have arrived, or to be lost, is outstanding",
     [](Subject& s) { s.repeat_selectively().sacked.set(wire::Psn(106)); }},
    {"what is kept lies ahead of the expected PSN",
     [](Subject& s) {
       s.repeat_selectively();
       s.qp.responder.expected_psn = wire::Psn(60);
     }},
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_qp_at_work_breaks_none) {
  Subject subject;
  BOOST_TEST(broken_invariant(subject.nic, subject.qp).value_or("") == "");
  BOOST_TEST(broken_invariant(subject.nic).value_or("") == "");
}

BOOST_AUTO_TEST_CASE(each_that_is_broken_is_found) {
  for (const Case& one : kCases) {
    Subject subject(one.type);
    BOOST_TEST(broken_invariant(subject.nic, subject.qp).value_or("") == "");
    one.break_it(subject);
    BOOST_TEST(broken_invariant(subject.nic, subject.qp).value_or("") == one.broken);
  }
}

BOOST_AUTO_TEST_CASE(there_is_a_case_for_each) {
  for (const QpInvariant& invariant : qp_invariants()) {
    const bool is_tried =
        std::any_of(kCases.begin(), kCases.end(), [&](const Case& one) { return one.broken == invariant.text; });
    BOOST_TEST(is_tried, invariant.text);
  }
}

BOOST_AUTO_TEST_CASE(the_lists_that_qps_share_are_looked_through) {
  const auto broken = [](auto&& break_it) {
    Subject subject;
    break_it(subject);
    return std::string(broken_invariant(subject.nic).value_or(""));
  };
  BOOST_TEST(broken([](Subject& s) {
               Qp& other = s.nic.qps.create();
               other.ready = true;
               s.qp.ready_next = &other;
             }) == "the list of ready QPs has its length and its end");
  BOOST_TEST(broken([](Subject& s) { s.qp.ready_next = &s.qp; }) == "the list of ready QPs has its length and its end");
  BOOST_TEST(broken([](Subject& s) { s.qp.ready = false; }) == "the list of ready QPs has only such");
  BOOST_TEST(broken([](Subject& s) { s.nic.qps.create().ready = true; }) == "a QP that is ready is in the list");
  BOOST_TEST(broken([](Subject& s) {
               static Qp stranger;
               s.nic.held[s.nic.held_count++] = &stranger;
             }) == "only QPs that live are held");
}

}  // namespace verbena::nic
