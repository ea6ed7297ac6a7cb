// End-to-end credits (IBTA 9.7.7.2): every order in which packets leave and arrive and receives are posted, of short
// exchanges. Nobody may wait for what never comes: with the ACK timer off as long as no packet is lost or overtaken,
// with it in any case.
#include <bit>
#include <boost/test/unit_test.hpp>
#include <deque>
#include <string_view>
#include <unordered_set>

#include "emulator/fabric/chance.h"
#include "tests/support/script.h"

using namespace verbena;
using namespace verbena::test;
using enum CompletionStatus;

namespace {

constexpr std::uint32_t kMtu = 256;
constexpr std::size_t kStepsMax = 300;
constexpr std::uint32_t kPacketsAcknowledgedOneByOneMax = 3;  // more have too many orders
constexpr NicLimits kFewObjects = {.max_qp = 4, .max_cq = 4, .max_mr = 4, .max_ah = 4, .max_srq = 4};

struct Message {
  SendOpcode opcode;
  std::uint32_t packets;
  bool consumes_receive() const {
    return opcode == SendOpcode::send || opcode == SendOpcode::rdma_write_with_immediate;
  }
};

struct Exchange {
  std::vector<Message> messages;
  std::uint32_t posted_before = 0;  // receives; the others come at any time
  std::uint32_t window_packets = 2;
  std::uint32_t acknowledge_every = 0;
  std::uint32_t mishaps = 0;  // packets that may be lost, or overtaken by the next; if any, the ACK timer is on
  std::uint32_t receives() const {
    return static_cast<std::uint32_t>(std::ranges::count_if(messages, &Message::consumes_receive));
  }
};

std::ostream& operator<<(std::ostream& out, const Exchange& exchange) {
  for (const Message& message : exchange.messages)
    out << static_cast<int>(message.opcode) << 'x' << message.packets << ' ';
  return out << "before " << exchange.posted_before << " window " << exchange.window_packets << " every "
             << exchange.acknowledge_every << " mishaps " << exchange.mishaps;
}

using Frame = std::vector<std::byte>;

class QueuePort final : public TransmitPort {
 public:
  explicit QueuePort(std::deque<Frame>& to) : to_(to) {}
  std::span<std::byte> reserve(const Destination&, std::size_t bytes) override {
    frame_.resize(bytes);
    return frame_;
  }
  void commit(std::size_t bytes, wire::IcrcState) override {
    frame_.resize(bytes);
    to_.push_back(std::move(frame_));
  }
  void cancel() override {}

 private:
  std::deque<Frame>& to_;
  Frame frame_;
};

std::uint64_t hash_of(std::span<const std::byte> octets, std::uint64_t before) {
  const std::string_view text(reinterpret_cast<const char*>(octets.data()), octets.size());
  return fabric::mix_all({before, std::hash<std::string_view>()(text)});
}

std::uint64_t hash_of(const std::deque<Frame>& frames) {
  std::uint64_t hash = frames.size();
  for (const Frame& frame : frames) hash = hash_of(frame, hash);
  return hash;
}

/// One NIC with one QP. `history` is all that it was told and has said: two NICs of one history are in one state.
struct Side {
  static NicConfig config(unsigned node, const Exchange& exchange) {
    NicConfig config;
    config.limits = kFewObjects;
    config.qpn_base = wire::Qpn(node << 16);
    config.ports[0].mac = node_mac(node);
    config.gids[0] = node_gid(node);
    config.window_bytes = exchange.window_packets * kMtu;
    config.acknowledge_every = exchange.acknowledge_every;
    return config;
  }
  Side(unsigned node, const Exchange& exchange) : nic(config(node, exchange), memory, counters) {
    pd = Endpoint::take(nic.allocate_pd());
    cq = Endpoint::take(nic.create_cq(16, 0));
    mr = Endpoint::take(nic.register_memory({.pd = pd,
                                             .address = reinterpret_cast<std::uintptr_t>(octets.data()),
                                             .length = octets.size(),
                                             .iova = 0,
                                             .access = kLocalWrite | kRemoteWrite | kRemoteRead}));
    QpInit init{.pd = pd, .type = QpType::rc, .send_cq = cq, .recv_cq = cq};
    init.capabilities = {.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1};
    init.signal_all = true;
    qp = Endpoint::take(nic.create_qp(init));
  }
  void connect(unsigned peer, wire::Qpn peer_qpn, const Exchange& exchange) {
    QpAttributes attributes;
    attributes.access = kRemoteWrite | kRemoteRead;
    attributes.address_vector = Endpoint::path_to(peer);
    attributes.path_mtu_bytes = kMtu;
    attributes.dest_qpn = peer_qpn;
    attributes.rq_psn = attributes.sq_psn = wire::Psn(0xfffffe);
    attributes.retry_count = attributes.rnr_retry = 7;
    attributes.max_read_atomic = attributes.max_dest_read_atomic = 1;
    attributes.min_rnr_timer = 1;
    attributes.timeout = exchange.mishaps != 0 ? 8 : 0;
    const auto modify = [&](QpState state, std::uint32_t mask) {
      attributes.state = state;
      BOOST_REQUIRE(nic.modify_qp(qp, attributes, kQpState | mask, Time{}).ok());
    };
    modify(QpState::init, kQpPkeyIndex | kQpPort | kQpAccessFlags);
    modify(QpState::rtr, kQpAv | kQpPathMtu | kQpDestQpn | kQpRqPsn | kQpMaxDestReadAtomic | kQpMinRnrTimer);
    modify(QpState::rts, kQpTimeout | kQpRetryCount | kQpRnrRetry | kQpSqPsn | kQpMaxReadAtomic);
  }
  std::vector<Completion> poll() {
    std::array<Completion, 16> some;
    return {some.begin(), some.begin() + static_cast<std::ptrdiff_t>(nic.poll_cq(cq, some))};
  }

  std::array<std::byte, 4 * kMtu> octets{};
  PlainMemory memory;
  Counters counters;
  Nic nic;
  PdHandle pd;
  CqHandle cq;
  MemoryRegion mr;
  QpHandle qp;
  std::deque<Frame> outgoing;
  std::uint64_t history = 0xcbf29ce484222325u;
};

/// Requester a, responder b. What can happen next is a list of steps; who chooses among them is the test.
class Run {
 public:
  explicit Run(const Exchange& exchange) : exchange_(exchange), a_(1, exchange), b_(2, exchange) {
    a_.connect(2, b_.nic.qpn(b_.qp), exchange);
    b_.connect(1, a_.nic.qpn(a_.qp), exchange);
    receives_left_ = exchange.receives();
    mishaps_left_ = exchange.mishaps;
    for (std::uint32_t i = 0; i < exchange.posted_before; ++i) post_receive();
    for (const Message& message : exchange.messages) {
      const Sge sge{0, message.packets * kMtu, a_.mr.lkey};
      BOOST_REQUIRE(a_.nic
                        .post_send(a_.qp,
                                   {.opcode = message.opcode,
                                    .sges = {&sge, 1},
                                    .operand = {.remote = {.address = 0, .rkey = b_.mr.rkey}}},
                                   now_)
                        .ok());
    }
  }

  enum class Step : std::uint8_t {
    a_sends,
    b_sends,
    to_b,
    to_a,
    late_to_b,
    late_to_a,
    lost_to_b,
    lost_to_a,
    post,
    time
  };

  /// A bit for each.
  unsigned possible() const {
    const auto bit = [](Step step, bool is_possible) { return is_possible ? 1u << static_cast<unsigned>(step) : 0u; };
    const std::size_t to_b = a_.outgoing.size();
    const std::size_t to_a = b_.outgoing.size();
    const unsigned steps =
        bit(Step::a_sends, a_.nic.has_work()) | bit(Step::b_sends, b_.nic.has_work()) | bit(Step::to_b, to_b > 0) |
        bit(Step::to_a, to_a > 0) | bit(Step::late_to_b, mishaps_left_ > 0 && to_b > 1) |
        bit(Step::late_to_a, mishaps_left_ > 0 && to_a > 1) | bit(Step::lost_to_b, mishaps_left_ > 0 && to_b > 0) |
        bit(Step::lost_to_a, mishaps_left_ > 0 && to_a > 0) | bit(Step::post, receives_left_ > 0);
    if (steps != 0) return steps;
    return bit(Step::time, a_.nic.next_deadline().has_value());
  }

  void take(Step step) {
    act(step);
    a_.nic.check_invariants();
    b_.nic.check_invariants();
  }

  std::uint64_t state() const {
    // What is under way follows from the histories, unless something was lost.
    const std::uint64_t under_way =
        exchange_.mishaps != 0 ? fabric::mix_all({hash_of(a_.outgoing), hash_of(b_.outgoing)}) : 0;
    return fabric::mix_all(
        {a_.history, b_.history, a_.nic.has_work() ? 1u : 0u, b_.nic.has_work() ? 1u : 0u, under_way, mishaps_left_});
  }

  /// Nothing can happen any more: everything must have happened.
  bool is_complete() {
    const auto sent = a_.poll();
    const auto received = b_.poll();
    const auto succeeded = [](const Completion& completion) { return completion.status == success; };
    return sent.size() == exchange_.messages.size() && std::ranges::all_of(sent, succeeded) &&
           received.size() == exchange_.receives() && std::ranges::all_of(received, succeeded);
  }

 private:
  void act(Step step) {
    switch (step) {
      case Step::a_sends:
        return send(a_);
      case Step::b_sends:
        return send(b_);
      case Step::to_b:
        return deliver(a_, b_, 0);
      case Step::to_a:
        return deliver(b_, a_, 0);
      case Step::late_to_b:
        --mishaps_left_;
        return deliver(a_, b_, 1);
      case Step::late_to_a:
        --mishaps_left_;
        return deliver(b_, a_, 1);
      case Step::lost_to_b:
        --mishaps_left_;
        return a_.outgoing.pop_front();
      case Step::lost_to_a:
        --mishaps_left_;
        return b_.outgoing.pop_front();
      case Step::post:
        b_.history = fabric::mix_all({b_.history, 1});
        return post_receive();
      case Step::time:
        now_ = *a_.nic.next_deadline();
        a_.history = fabric::mix_all({a_.history, 2});
        return a_.nic.on_deadline(now_);
    }
  }

  void post_receive() {
    --receives_left_;
    const Sge sge{0, 4 * kMtu, b_.mr.lkey};
    BOOST_REQUIRE(b_.nic.post_receive(b_.qp, {0, {&sge, 1}}).ok());
  }
  void send(Side& side) {
    QueuePort port(side.outgoing);
    if (side.nic.transmit(now_, port, 1) != 0) side.history = hash_of(side.outgoing.back(), side.history);
  }
  void deliver(Side& from, Side& to, std::ptrdiff_t index) {
    const Frame frame = std::move(from.outgoing[static_cast<std::size_t>(index)]);
    from.outgoing.erase(from.outgoing.begin() + index);
    to.history = hash_of(frame, to.history);
    to.nic.receive(now_, frame);
  }

  Exchange exchange_;
  Side a_;
  Side b_;
  Time now_{1000};
  std::uint32_t receives_left_ = 0;
  std::uint32_t mishaps_left_ = 0;
};

/// Depth first; a NIC cannot be copied, so each branch is walked from its beginning. States seen before are not
/// entered again.
std::size_t explore(const Exchange& exchange) {
  std::vector<unsigned> path;  // at each step what was not tried yet, and the lowest bit is being tried
  std::unordered_set<std::uint64_t> seen;
  do {
    Run run(exchange);
    for (std::size_t depth = 0;; ++depth) {
      if (depth == path.size()) {
        const unsigned steps = run.possible();
        if (steps == 0 && !run.is_complete()) BOOST_FAIL("stalls after " << depth << " steps: " << exchange);
        if (depth == kStepsMax) BOOST_FAIL("goes on and on: " << exchange);
        if (steps == 0 || !seen.insert(run.state()).second) break;
        path.push_back(steps);
      }
      run.take(static_cast<Run::Step>(std::countr_zero(path[depth])));
    }
    while (!path.empty() && std::has_single_bit(path.back())) path.pop_back();
    if (!path.empty()) path.back() &= path.back() - 1;
  } while (!path.empty());
  return seen.size();
}

/// All sequences of `count` of these messages, of up to so many packets, in all windows and ways to acknowledge, with
/// any number of receives there at first.
void explore_all(std::span<const Message> kinds, std::size_t count, std::uint32_t packets_max,
                 std::uint32_t mishaps = 0) {
  std::size_t sequences = 1;
  for (std::size_t i = 0; i < count; ++i) sequences *= kinds.size();
  std::size_t states = 0;
  for (std::size_t number = 0; number < sequences; ++number) {
    Exchange exchange{.mishaps = mishaps};
    std::uint32_t packets = 0;
    for (std::size_t i = 0, rest = number; i < count; ++i, rest /= kinds.size()) {
      exchange.messages.push_back(kinds[rest % kinds.size()]);
      packets += exchange.messages.back().packets;
    }
    if (packets > packets_max) continue;
    for (exchange.posted_before = 0; exchange.posted_before <= exchange.receives(); ++exchange.posted_before)
      for (const auto& [window, every] : {std::pair{2u, 0u}, std::pair{4u, 0u}, std::pair{4u, 1u}}) {
        if (every != 0 && packets > kPacketsAcknowledgedOneByOneMax) continue;
        exchange.window_packets = window;
        exchange.acknowledge_every = every;
        states += explore(exchange);
      }
  }
  BOOST_TEST_MESSAGE(count << " messages: " << states << " states");
}

constexpr Message kShortSend{SendOpcode::send, 1};
constexpr Message kSend{SendOpcode::send, 2};
constexpr Message kLongSend{SendOpcode::send, 3};
constexpr Message kLongWrite{SendOpcode::rdma_write, 3};
constexpr Message kShortWrite{SendOpcode::rdma_write, 1};
constexpr Message kLongWriteWithImmediate{SendOpcode::rdma_write_with_immediate, 3};
constexpr Message kRead{SendOpcode::rdma_read, 2};

}  // namespace

BOOST_AUTO_TEST_CASE(one_message_never_stalls) {
  constexpr Message kKinds[] = {kShortSend, kLongSend, kLongWrite, kLongWriteWithImmediate, kRead};
  explore_all(kKinds, 1, 4);
}

BOOST_AUTO_TEST_CASE(lost_or_overtaken_packets_come_again_with_the_ack_timer_on) {
  constexpr Message kKinds[] = {kShortSend, kSend};
  explore_all(kKinds, 1, 2, 1);
  explore_all(kKinds, 2, 2, 1);
}

BOOST_AUTO_TEST_CASE(two_messages_never_stall) {
  constexpr Message kKinds[] = {kShortSend, kLongSend, kLongWrite, kLongWriteWithImmediate, kRead};
  explore_all(kKinds, 2, 4);
}

BOOST_AUTO_TEST_CASE(three_messages_never_stall) {
  constexpr Message kKinds[] = {kShortSend, kShortWrite};
  explore_all(kKinds, 3, 3);
}
