// The instructions that one packet costs, phase by phase: the program that check.py runs under callgrind.
//
// Solely responsible for running the phases and for telling callgrind which of them to count; check.py sums up and
// compares. Every case is run once per phase, with only that phase counted, so that phases of one packet at a time and
// of a batch are told apart alike. Without valgrind the client requests are no-ops: then it only checks that every
// octet arrived. One thread, no clock, no chance: two runs execute the same instructions.
#include <fmt/format.h>
#include <valgrind/callgrind.h>

#include <algorithm>
#include <string>

#include "bench/instructions/pair.h"

namespace verbena::bench {
namespace {

constexpr std::size_t kPackets = 960;  // counted, per phase
constexpr std::size_t kBatch = 32;     // of 4 KiB frames fit into a ring
constexpr std::size_t kWarmUp = 2 * kBatch;
static_assert(kPackets % kBatch == 0 && kWarmUp % kBatch == 0 && 2 * kBatch <= End::kQueueDepth);

enum class Phase : std::uint8_t {
  post,         // the initiator's post_send
  transmit,     // builds the packet in the ring and publishes it
  receive,      // the target takes it off the ring, checks it and places the payload
  acknowledge,  // the target builds the ACK
  complete,     // the initiator takes the ACK off the ring, retires the work request and polls its CQ
  replenish,    // SEND: the target polls its CQ and posts the next receive
};
constexpr std::array kPhases = {Phase::post,        Phase::transmit, Phase::receive,
                                Phase::acknowledge, Phase::complete, Phase::replenish};

std::string_view name_of(Phase phase) {
  switch (phase) {
    case Phase::post:
      return "post";
    case Phase::transmit:
      return "transmit";
    case Phase::receive:
      return "receive";
    case Phase::acknowledge:
      return "acknowledge";
    case Phase::complete:
      return "complete";
    case Phase::replenish:
      return "replenish";
  }
  return "?";
}

struct Case {
  nic::SendOpcode opcode;
  std::uint32_t bytes;
  std::size_t batch;  // messages posted before the first is transmitted
  bool is_send() const { return opcode == nic::SendOpcode::send; }
  std::string name() const {
    return fmt::format("{} {} {}", is_send() ? "send" : "write", bytes, batch == 1 ? "single" : "batch");
  }
};
constexpr std::array kCases = {
    Case{nic::SendOpcode::rdma_write, 4096, 1},
    Case{nic::SendOpcode::rdma_write, 64, 1},
    Case{nic::SendOpcode::send, 4096, 1},
    Case{nic::SendOpcode::send, 64, 1},
    Case{nic::SendOpcode::rdma_write, 4096, kBatch},
    Case{nic::SendOpcode::rdma_write, 64, kBatch},
    Case{nic::SendOpcode::send, 4096, kBatch},
    Case{nic::SendOpcode::send, 64, kBatch},
};

class Runner {
 public:
  explicit Runner(const Case& what) : case_(what), pair_(what.bytes * kBatch) {
    request_.opcode = case_.opcode;
    request_.signaled = true;
    std::uint32_t value = 1;
    for (std::byte& octet : pair_.initiator.buffer.bytes())
      octet = static_cast<std::byte>((value = value * 1664525u + 1013904223u) >> 24);
    // Twice a batch, so that the initiator never runs out of credits.
    if (case_.is_send())
      for (std::size_t i = 0; i < 2 * kBatch; ++i) post_receive(i % kBatch);
  }

  void run(std::size_t packets) {
    for (std::size_t done = 0; done < packets; done += case_.batch) exchange();
  }
  /// Everything that `phase` costs in `packets` packets becomes one dump of callgrind's.
  void run_counted(Phase phase, std::size_t packets) {
    counted_ = phase;
    is_counting_ = true;
    run(packets);
    is_counting_ = false;
    const std::string label = fmt::format("{} {}", case_.name(), name_of(phase));
    CALLGRIND_DUMP_STATS_AT(label.c_str());
  }
  bool data_arrived() {
    const auto sent = pair_.initiator.buffer.bytes();
    const auto arrived = pair_.target.buffer.bytes();
    const bool is_equal = std::equal(sent.begin(), sent.end(), arrived.begin(), arrived.end());
    std::fill(arrived.begin(), arrived.end(), std::byte{0});
    return is_equal && frames_ == packets_ && acknowledged_ == packets_ &&
           received_ == (case_.is_send() ? packets_ : 0);
  }

 private:
  template <class Work>
  void phase(Phase phase, Work&& work) {
    now_ = now_ + nanoseconds(100);
    const bool counts = is_counting_ && phase == counted_;
    if (counts) CALLGRIND_TOGGLE_COLLECT;
    work();
    if (counts) CALLGRIND_TOGGLE_COLLECT;
  }

  void exchange() {
    End& initiator = pair_.initiator;
    End& target = pair_.target;
    const std::size_t batch = case_.batch;
    phase(Phase::post, [&] {
      for (std::size_t i = 0; i < batch; ++i) post_send((packets_ + i) % kBatch);
    });
    phase(Phase::transmit, [&] {
      initiator.nic.transmit(now_, initiator.out, kBudget);
      initiator.out.publish();
    });
    phase(Phase::receive, [&] { frames_ += initiator.out.deliver(target.nic, now_); });
    phase(Phase::acknowledge, [&] {
      target.nic.transmit(now_, target.out, kBudget);
      target.out.publish();
    });
    phase(Phase::complete, [&] {
      target.out.deliver(initiator.nic, now_);
      acknowledged_ += poll(initiator, [](const nic::Completion&) {});
    });
    if (case_.is_send())
      phase(Phase::replenish, [&] {
        received_ += poll(target, [&](const nic::Completion& completion) { post_receive(completion.wr_id); });
      });
    packets_ += batch;
  }

  void post_send(std::size_t slot) {
    End& initiator = pair_.initiator;
    const std::uint64_t offset = slot * case_.bytes;
    const nic::Sge sge{initiator.buffer.address() + offset, case_.bytes, initiator.mr.lkey};
    request_.wr_id = slot;
    request_.sges = {&sge, 1};
    request_.operand.remote = {.address = pair_.target.buffer.address() + offset, .rkey = pair_.target.mr.rkey};
    VERBENA_ASSERT(initiator.nic.post_send(initiator.qp, request_, now_).ok());
  }
  void post_receive(std::uint64_t slot) {
    End& target = pair_.target;
    const nic::Sge sge{target.buffer.address() + slot * case_.bytes, case_.bytes, target.mr.lkey};
    VERBENA_ASSERT(target.nic.post_receive(target.qp, {.wr_id = slot, .sges = {&sge, 1}}).ok());
  }
  /// Until the CQ is empty, as programs that poll in a loop do.
  template <class Each>
  std::size_t poll(End& end, Each&& each) {
    std::size_t total = 0;
    while (const std::size_t count = end.nic.poll_cq(end.cq, completions_)) {
      for (const nic::Completion& completion : std::span(completions_).first(count)) {
        VERBENA_ASSERT(completion.status == nic::CompletionStatus::success);
        each(completion);
      }
      total += count;
    }
    return total;
  }

  static constexpr std::size_t kBudget = 64;
  static constexpr std::size_t kPollEntries = 16;
  const Case& case_;
  Pair pair_;
  std::array<nic::Completion, kPollEntries> completions_;
  nic::SendRequest request_;  // what is the same of all of a case's
  Time now_{1'000'000};
  Phase counted_{};
  bool is_counting_ = false;
  std::size_t packets_ = 0;
  std::size_t frames_ = 0;
  std::size_t acknowledged_ = 0;
  std::size_t received_ = 0;
};

bool run_case(const Case& what) {
  Runner runner(what);
  runner.run(kWarmUp);
  for (const Phase phase : kPhases) {
    if (phase == Phase::replenish && !what.is_send()) continue;
    runner.run_counted(phase, kPackets);
    if (runner.data_arrived()) continue;
    fmt::print(stderr, "packet_cost: {}: what arrived is not what was sent\n", what.name());
    return false;
  }
  return true;
}

}  // namespace
}  // namespace verbena::bench

int main() {
#if defined(__OPTIMIZE__)
  constexpr bool kIsOptimised = true;
#else
  constexpr bool kIsOptimised = false;
#endif
#if defined(__clang__)
  constexpr std::string_view kCompiler = "clang";
#else
  constexpr std::string_view kCompiler = "g++";
#endif
  using namespace verbena::bench;
  CALLGRIND_START_INSTRUMENTATION;
  if (!std::all_of(kCases.begin(), kCases.end(), run_case)) return 1;
  CALLGRIND_STOP_INSTRUMENTATION;
  fmt::print("compiler {} {}\n", kCompiler, __VERSION__);
  fmt::print("flags {}\n", kIsOptimised ? VERBENA_COMPILE_FLAGS : "unoptimised");
  fmt::print("packets {}\n", kPackets);
  return 0;
}
