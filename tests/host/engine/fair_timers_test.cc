// A thread that stands still with frames in hand, at each step of the way in and out: no ACK timer runs out over them,
// and a request that is really lost is sent again all the same.
#include "emulator/host/engine/fair_timers.h"

#include <boost/test/unit_test.hpp>
#include <deque>

#include "emulator/fabric/fault_plan.h"
#include "emulator/host/link/in_process_link.h"
#include "emulator/host/link/shm/process_page.h"
#include "tests/host/engine/engine_node.h"
#include "tests/host/fabric_process/served.h"
#include "tests/host/link/link_frames.h"
#include "tests/support/waiting.h"

namespace {
using namespace verbena;
using namespace verbena::host;
using namespace verbena::host::test;
using nic::CompletionStatus;
using nic::Counter;
using nic::SendOpcode;
using verbena::waiting::let_time_pass;

constexpr std::uint8_t kTimeout = 9;
constexpr Duration kAckTimeout{std::int64_t{4096} << kTimeout};  // 2.1 ms
const wire::Gid kA = wire::Gid::from_ipv4(0x7f2f5b01);
const wire::Gid kB = wire::Gid::from_ipv4(0x7f2f5b02);

/// A cable whose frames pass through the hands of threads that can be stopped.
class HandledLink final : public Link {
 public:
  explicit HandledLink(std::unique_ptr<Link> inner) : inner_(std::move(inner)) {}

  bool reader_stands = false;       // inside fetch(), with what it took or is about to take
  bool sender_stands = false;       // with what it is to send
  bool loses = false;               // what is sent meanwhile
  bool keeps = false;               // a decorator has no room for what arrives
  Duration preempted_after_look{};  // in the next fetch()
  std::function<void()> meanwhile;  // what happens in that time

  std::span<std::byte> reserve(const nic::Destination& destination, std::size_t bytes) override {
    if (!sender_stands && !loses) return inner_->reserve(destination, bytes);
    to_ = {destination.address, destination.qpn};
    room_.resize(bytes);
    return room_;
  }
  void commit(std::size_t bytes, wire::IcrcState icrc) override {
    ++published_;
    if (loses) return;
    if (!sender_stands) return inner_->commit(bytes, icrc);
    room_.resize(bytes);
    in_hand_.push_back({to_, room_});
  }
  void cancel() override { BOOST_FAIL("nothing is cancelled here"); }
  void publish() override { inner_->publish(); }
  std::uint64_t published() override { return published_; }
  bool has_sent(std::uint64_t published) override {
    return in_hand_.empty() || published <= published_ - in_hand_.size();
  }
  /// The sender goes on.
  void send() {
    sender_stands = false;
    for (auto& [to, frame] : in_hand_) {
      std::uint32_t hint = 0;
      std::ranges::copy(frame, inner_->reserve({to.address, to.qpn, hint}, frame.size()).begin());
      inner_->commit(frame.size(), wire::IcrcState::present);
    }
    in_hand_.clear();
    inner_->publish();
  }

  bool fetch(std::size_t most) override {
    const Duration preempted = std::exchange(preempted_after_look, Duration{});
    has_looked_ = !reader_stands;
    const bool found = has_looked_ && inner_->fetch(most);
    if (preempted.ns != 0) {
      has_looked_ = false;  // what arrives from here on is not found by this look
      let_time_pass(preempted);
      meanwhile();
    }
    return found;
  }
  bool fetch_all() override {
    has_looked_ = !reader_stands;
    return has_looked_ && inner_->fetch_all();
  }
  std::size_t receive(Time now, FrameSink& sink, std::size_t budget) override {
    return has_looked_ && !keeps ? inner_->receive(now, sink, budget) : 0;
  }
  std::optional<Time> next_deadline() const override { return inner_->next_deadline(); }
  bool holds_back() const override { return keeps; }
  bool flush() override { return inner_->flush(); }
  void service() override {}
  WaitDescriptors wait_descriptors() const override { return inner_->wait_descriptors(); }
  bool arm() override { return inner_->arm(); }
  void disarm() override { inner_->disarm(); }
  std::optional<wire::PathAddress> resolve(const wire::Gid& address) override { return inner_->resolve(address); }

 private:
  struct To {
    wire::Gid address;
    wire::Qpn qpn;
  };
  std::unique_ptr<Link> inner_;
  bool has_looked_ = true;
  std::uint64_t published_ = 0;
  To to_;
  std::vector<std::byte> room_;
  std::deque<std::pair<To, std::vector<std::byte>>> in_hand_;
};

/// Node a behind such a link, its peer b behind a plain one. Nobody works but who is told to.
struct HandledPair {
  HandledPair() {
    auto ends = connect_in_process({.first = kA, .second = kB, .first_mac = node_mac(kA), .second_mac = node_mac(kB)});
    auto handled = std::make_unique<HandledLink>(std::move(ends.first));
    link = handled.get();
    a = node_on(1, std::move(handled));
    b = node_on(2, std::move(ends.second));
    connect(*a, *b, kTimeout);
  }
  static std::unique_ptr<EngineNode> node_on(std::uint8_t number, std::unique_ptr<Link> link) {
    OpenedLink opened;
    opened.link = std::move(link);
    opened.address = node_mac(number == 1 ? kA : kB);
    return std::make_unique<EngineNode>(number, std::move(opened), engine_config(number, "fair", false));
  }
  std::uint64_t count(Counter counter) const { return a->engine->counters().get(counter); }
  /// a's threads look again and again, each time long after the timer was due.
  void look_for_long() {
    for (int i = 0; i < 10; ++i) {
      let_time_pass(kAckTimeout * 2);
      for (int looks = 0; looks < 20; ++looks) {
        a->engine->progress();
        nic::Completion none;
        BOOST_TEST(a->engine->poll_cq(a->cq, {&none, 1}) == 0U);
      }
    }
  }
  void require_one_success() {
    const auto done = a->poll(1);
    BOOST_REQUIRE(done.size() == 1U);
    BOOST_TEST((done[0].status == CompletionStatus::success));
  }
  void require_no_timeout() {
    BOOST_TEST(count(Counter::local_ack_timeout_err) == 0U);
    BOOST_TEST(count(Counter::tx_retransmitted_packets) == 0U);
  }
  HandledLink* link = nullptr;
  std::unique_ptr<EngineNode> a;
  std::unique_ptr<EngineNode> b;
};

BOOST_AUTO_TEST_SUITE(fair_timers)

BOOST_AUTO_TEST_CASE(timer_waits_while_another_thread_has_the_answer) {
  HandledPair pair;
  pair.link->reader_stands = true;
  BOOST_REQUIRE(pair.a->post(SendOpcode::rdma_write, 64));
  BOOST_TEST(pair.b->engine->progress());
  pair.look_for_long();
  pair.require_no_timeout();
  pair.link->reader_stands = false;
  pair.require_one_success();
  pair.require_no_timeout();
}

BOOST_AUTO_TEST_CASE(timer_waits_for_an_answer_between_look_and_clock) {
  for (const bool polls : {false, true}) {
    HandledPair pair;
    BOOST_REQUIRE(pair.a->post(SendOpcode::rdma_write, 64));
    pair.a->engine->progress();  // sees that it has left
    pair.link->preempted_after_look = kAckTimeout * 5;
    pair.link->meanwhile = [&] { pair.b->engine->progress(); };
    nic::Completion none;
    if (polls)
      for (int i = 0; i < 16 && pair.link->preempted_after_look.ns != 0; ++i)
        BOOST_TEST(pair.a->engine->poll_cq(pair.a->cq, {&none, 1}) == 0U);
    else
      pair.a->engine->progress();
    pair.require_no_timeout();
    pair.require_one_success();
    pair.require_no_timeout();
  }
}

BOOST_AUTO_TEST_CASE(timer_waits_for_frames_that_a_decorator_has_no_room_for) {
  HandledPair pair;
  pair.link->keeps = true;
  BOOST_REQUIRE(pair.a->post(SendOpcode::rdma_write, 64));
  pair.b->engine->progress();
  pair.look_for_long();
  pair.require_no_timeout();
  pair.link->keeps = false;
  pair.require_one_success();
  pair.require_no_timeout();
}

BOOST_AUTO_TEST_CASE(timer_begins_when_its_request_has_left) {
  HandledPair pair;
  pair.link->sender_stands = true;
  BOOST_REQUIRE(pair.a->post(SendOpcode::rdma_write, 64));
  pair.look_for_long();
  pair.require_no_timeout();
  // It leaves, and is lost all the same: b does not look.
  const Time left = clock_now();
  pair.link->send();
  Time again = left;
  for (; pair.count(Counter::local_ack_timeout_err) == 0 && again < left + seconds(20); again = clock_now())
    pair.a->engine->progress();
  BOOST_TEST(pair.count(Counter::local_ack_timeout_err) == 1U);
  BOOST_TEST((again - left).ns >= kAckTimeout.ns);
  pair.b->engine->progress();
  pair.require_one_success();
}

BOOST_AUTO_TEST_CASE(request_that_leaves_late_has_its_whole_timeout_from_then) {
  HandledPair pair;
  pair.link->sender_stands = true;
  BOOST_REQUIRE(pair.a->post(SendOpcode::rdma_write, 64));
  let_time_pass(kAckTimeout);
  const Time left = clock_now();
  pair.link->send();
  for (Time now = left; pair.count(Counter::local_ack_timeout_err) == 0 && now < left + seconds(20); now = clock_now())
    pair.a->engine->progress();
  BOOST_TEST((clock_now() - left).ns >= kAckTimeout.ns);
  BOOST_TEST(pair.count(Counter::local_ack_timeout_err) == 1U);
}

BOOST_AUTO_TEST_CASE(lost_request_is_sent_again_although_others_are_always_late) {
  HandledPair pair;
  pair.link->loses = true;
  BOOST_REQUIRE(pair.a->post(SendOpcode::rdma_write, 64));
  pair.link->loses = false;
  // Another QP's frames, which need no answer, are in somebody's hands whenever the first one's timer is looked at.
  EngineNode& a = *pair.a;
  a.build();
  a.connect({0xabcdef, 0, 0, 2}, 0);
  const Time end = clock_now() + seconds(20);
  while (pair.count(Counter::local_ack_timeout_err) == 0 && clock_now() < end) {
    pair.link->sender_stands = true;
    a.post(SendOpcode::rdma_write, 0);
    a.engine->progress();
    pair.link->send();
  }
  BOOST_TEST(pair.count(Counter::local_ack_timeout_err) >= 1U);
}

BOOST_AUTO_TEST_CASE(timer_waits_for_a_fabric_process_that_is_not_run) {
  Served fabric(fabric::star(2, kFast));
  const auto plugged = [&](std::uint8_t number) {
    EngineConfig config = engine_config(number, fabric.name, false);
    config.link = "fabric";
    return config;
  };
  EngineNode a(1, plugged(1));
  EngineNode b(2, plugged(2));
  const auto frames_out = [&](std::size_t number) -> std::uint64_t {
    return fabric.stat().at("nodes").at(number - 1).at("frames_out");
  };
  connect(a, b, kTimeout);
  BOOST_REQUIRE(until([&] {
    for (EngineNode* node : {&a, &b}) node->engine->progress();
    return fabric.stat().at("nodes").at(0).at("processes") == 1 && fabric.stat().at("nodes").at(1).at("processes") == 1;
  }));
  const auto count = [&](Counter counter) { return a.engine->counters().get(counter); };

  BOOST_REQUIRE(a.post(SendOpcode::rdma_write, 8));
  BOOST_REQUIRE(until([&] { return frames_out(2) == 1; }));
  fabric.preempt();
  b.engine->progress();  // the acknowledgement lies in b's ring
  nic::Completion none;
  for (int i = 0; i < 10; ++i) {
    let_time_pass(kAckTimeout * 2);
    for (int looks = 0; looks < 5; ++looks) {
      a.engine->progress();
      BOOST_TEST(a.engine->poll_cq(a.cq, {&none, 1}) == 0U);
    }
  }
  BOOST_TEST(count(Counter::local_ack_timeout_err) == 0U);
  fabric.resume();
  BOOST_REQUIRE(a.poll(1).size() == 1U);
  BOOST_TEST(count(Counter::local_ack_timeout_err) == 0U);
  BOOST_TEST(count(Counter::tx_retransmitted_packets) == 0U);

  // A fabric process that stands still for good is a dead network.
  BOOST_REQUIRE(a.post(SendOpcode::rdma_write, 8));
  fabric.preempt();
  BOOST_TEST(until([&] {
    a.engine->progress();
    return count(Counter::local_ack_timeout_err) != 0;
  }));
  fabric.resume();
}

/// Two nodes on a direct cable over shared memory, without threads: each runs when it is told to.
struct CabledPair {
  explicit CabledPair(const EngineConfig& config_of_a) : a(1, config_of_a), b(2, config_of_a.fabric, false) {
    connect(a, b, kTimeout);
    // Ways between them, and all of it answered.
    BOOST_REQUIRE(a.post(SendOpcode::rdma_write, 8));
    BOOST_REQUIRE(until([&] {
      look(a);
      b.engine->progress();
      nic::Completion one;
      return a.engine->poll_cq(a.cq, {&one, 1}) == 1;
    }));
  }
  static EngineConfig config() { return engine_config(1, "cabled-" + std::to_string(getpid()), false); }
  static void look(EngineNode& node) { node.engine->progress(); }
  void look_for_long(EngineNode& node) const {
    nic::Completion none;
    for (int i = 0; i < 10; ++i) {
      let_time_pass(kAckTimeout * 2);
      for (int looks = 0; looks < 20; ++looks) {
        look(node);
        BOOST_TEST(node.engine->poll_cq(node.cq, {&none, 1}) == 0U);
      }
    }
  }
  std::uint64_t count(Counter counter) const { return a.engine->counters().get(counter); }
  EngineNode a;
  EngineNode b;
};

BOOST_AUTO_TEST_CASE(timer_waits_for_a_local_peer_that_is_not_run) {
  CabledPair pair(CabledPair::config());
  for (const SendOpcode opcode : {SendOpcode::rdma_write, SendOpcode::rdma_read}) {
    const std::uint64_t before = pair.count(Counter::local_ack_timeout_err);
    BOOST_REQUIRE(pair.a.post(opcode, 64));
    pair.look_for_long(pair.a);
    BOOST_TEST(pair.count(Counter::local_ack_timeout_err) == before);
    BOOST_TEST(pair.b.engine->progress());
    const auto done = pair.a.poll(1);
    BOOST_REQUIRE(done.size() == 1U);
    BOOST_TEST((done[0].status == CompletionStatus::success));
    BOOST_TEST(pair.count(Counter::local_ack_timeout_err) == before);
    BOOST_TEST(pair.count(Counter::tx_retransmitted_packets) == 0U);
  }
}

BOOST_AUTO_TEST_CASE(a_peer_that_stands_still_for_good_is_a_dead_network) {
  CabledPair pair(CabledPair::config());
  const Time posted = clock_now();
  BOOST_REQUIRE(pair.a.post(SendOpcode::rdma_write, 64));
  BOOST_REQUIRE(until([&] {
    pair.look(pair.a);
    return pair.count(Counter::local_ack_timeout_err) != 0;
  }));
  BOOST_TEST((clock_now() - posted).ns >= kRelayPatience.ns);
  // From then on its timers are late no more.
  BOOST_REQUIRE(until([&] {
    pair.look(pair.a);
    return pair.count(Counter::local_ack_timeout_err) >= 3;
  }));
}

BOOST_AUTO_TEST_CASE(request_lost_on_its_way_to_a_running_peer_comes_again) {
  EngineConfig lossy = CabledPair::config();
  lossy.faults = {*fabric::parse_fault("drop psn=1 count=1")};
  CabledPair pair(lossy);
  const Time posted = clock_now();
  BOOST_REQUIRE(pair.a.post(SendOpcode::rdma_write, 64));
  BOOST_REQUIRE(until([&] {
    pair.look(pair.a);
    pair.look(pair.b);
    return pair.count(Counter::local_ack_timeout_err) != 0;
  }));
  // The patience with one that is not run has no part in it.
  BOOST_TEST((clock_now() - posted).ns < kRelayPatience.ns + kAckTimeout.ns);
  BOOST_TEST((clock_now() - posted).ns >= kAckTimeout.ns);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace
