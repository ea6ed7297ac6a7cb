// Messages between two NICs over shared memory, step by step: the program whose memory accesses count.py counts.
//
// Solely responsible for the steps, and for saying on stdout what the accesses mean: first which addresses are shared
// memory and which are markers, to which it stores to say whose turn it is; then, once a line has come on stdin, how
// many messages and frames were in the part of each case that counts. One thread, virtual time: it cannot tell how long
// anything takes. Each case has rings of its own and stays within their first lap: lines that come back round are those
// of a cache that the cores share (shm_ring.h).
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "bench/cache_lines/exchange_side.h"
#include "bench/limits/measure.h"
#include "emulator/host/link/shm/shm_channel.h"

namespace verbena::bench {
namespace {

// -- Who is at it -----------------------------------------------------------------------------------------------------

enum Marker : std::size_t { kNobody, kSideA, kSideB, kBegin, kEnd, kMarkers };
constexpr std::array<const char*, kMarkers> kMarkerNames = {"nobody", "a", "b", "begin", "end"};
alignas(64) volatile std::uint64_t markers[kMarkers];

void mark(Marker marker) {
  asm volatile("" : : : "memory");
  markers[marker] = 1;
  asm volatile("" : : : "memory");
}

// -- Cases ------------------------------------------------------------------------------------------------------------

struct Case {
  const char* name;
  nic::SendOpcode opcode;
  std::uint32_t bytes;
  std::size_t batch;  // messages posted at once; 0: a ping-pong
  std::size_t warm_up;
  std::size_t rounds;  // counted
  Duration step;       // what a call takes: how often a peer is looked after depends on it
  bool is_ping_pong() const { return batch == 0; }
  bool is_send() const { return opcode == nic::SendOpcode::send; }
};
using enum nic::SendOpcode;
constexpr std::array kCases = {
    Case{"WRITE 8 B, ping-pong", rdma_write, 8, 0, 8, 32, nanoseconds(250)},
    Case{"SEND 8 B, ping-pong", send, 8, 0, 8, 32, nanoseconds(250)},
    Case{"WRITE 8 B, one by one", rdma_write, 8, 1, 8, 32, nanoseconds(250)},
    Case{"SEND 8 B, one by one", send, 8, 1, 8, 32, nanoseconds(250)},
    Case{"READ 8 B, one by one", rdma_read, 8, 1, 8, 32, nanoseconds(250)},
    Case{"WRITE 64 B, lists of 32", rdma_write, 64, 32, 1, 6, microseconds(4)},
    Case{"SEND 64 B, lists of 32", send, 64, 32, 1, 6, microseconds(4)},
    Case{"READ 64 B, lists of 32", rdma_read, 64, 32, 1, 6, microseconds(4)},
    Case{"WRITE 64 KiB, 2 at once", rdma_write, 65536, 2, 1, 3, microseconds(10)},
    Case{"SEND 64 KiB, 2 at once", send, 65536, 2, 1, 3, microseconds(10)},
    Case{"READ 64 KiB, 2 at once", rdma_read, 65536, 2, 1, 3, microseconds(10)},
};

class Exchange {
 public:
  Exchange(const Case& what, std::size_t number) : case_(what), name_(fabric_name(number)) {
    a_.connect(b_);
    b_.connect(a_);
    if (case_.is_send()) {
      b_.post_receives(ExchangeSide::kQueueDepth);
      if (case_.is_ping_pong()) a_.post_receives(ExchangeSide::kQueueDepth);
    }
    meet();
  }

  void run() {
    for (std::size_t round = 0; round < case_.warm_up; ++round) run_round();
    const std::uint64_t frames_of_a = a_.frames_sent();
    const std::uint64_t frames_of_b = b_.frames_sent();
    mark(kBegin);
    for (std::size_t round = 0; round < case_.rounds; ++round) run_round();
    mark(kEnd);
    const std::size_t messages = case_.rounds * (case_.is_ping_pong() ? 2 : case_.batch);
    std::printf("case %zu %" PRIu64 " %" PRIu64 " %d %s\n", messages, a_.frames_sent() - frames_of_a,
                b_.frames_sent() - frames_of_b, case_.is_ping_pong(), case_.name);
    VERBENA_ASSERT(a_.frames_resent() == 0 && b_.frames_resent() == 0);
  }

 private:
  static constexpr std::size_t kStepsMax = 1000;  // of one round

  static std::string fabric_name(std::size_t number) {
    return "lines." + std::to_string(getpid()) + "." + std::to_string(number);
  }

  template <class Call>
  auto turn(Marker whose, Call&& call) {
    clock_.now = clock_.now + case_.step;
    mark(whose);
    auto result = call();
    mark(kNobody);
    return result;
  }
  ExchangeSide::Polled poll(Marker whose) {
    ExchangeSide& side = whose == kSideA ? a_ : b_;
    const auto when = case_.is_ping_pong() ? nic::Nic::Acknowledge::with_answer : nic::Nic::Acknowledge::at_once;
    return turn(whose, [&] {
      const ExchangeSide::Polled polled = side.poll(when);
      side.post_receives(polled.received);
      return polled;
    });
  }
  void post(Marker whose) {
    ExchangeSide& side = whose == kSideA ? a_ : b_;
    turn(whose, [&] {
      side.post(case_.opcode, case_.bytes, std::max(case_.batch, std::size_t{1}));
      return true;
    });
  }

  /// The first messages, for which the two call each other; of a ping-pong until B has the ball.
  void meet() {
    post(kSideA);
    std::size_t done = 0;
    for (std::size_t step = 0; done < std::max(case_.batch, std::size_t{1}); ++step) {
      VERBENA_ASSERT(step < kStepsMax);
      const ExchangeSide::Polled at_a = a_.service();
      const ExchangeSide::Polled at_b = b_.service();
      b_.post_receives(at_b.received);
      done += case_.is_ping_pong() ? at_b.frames : at_a.sent;
    }
  }
  void run_round() {
    if (case_.is_ping_pong()) {
      answer(kSideB, kSideA);
      answer(kSideA, kSideB);
    } else {
      post(kSideA);
      finish();
    }
  }
  /// `whose` has taken the other's message. It answers, looks for the next one in vain, and the other takes the answer.
  void answer(Marker whose, Marker other) {
    post(whose);
    VERBENA_ASSERT(poll(whose).frames == 0);
    VERBENA_ASSERT(poll(other).frames != 0);
  }
  /// Until all that A has posted is complete; then both look for more in vain, as programs do that poll.
  void finish() {
    std::size_t done = 0;
    for (std::size_t step = 0; done < case_.batch; ++step) {
      VERBENA_ASSERT(step < kStepsMax);
      poll(kSideB);
      done += poll(kSideA).sent;
    }
    VERBENA_ASSERT(poll(kSideB).frames == 0 && poll(kSideA).frames == 0);
  }

  const Case& case_;
  const std::string name_;
  VirtualClock clock_;
  const std::size_t buffer_bytes_ = std::max<std::size_t>(4096, case_.bytes);
  ExchangeSide a_{1, name_, buffer_bytes_, clock_};
  ExchangeSide b_{2, name_, buffer_bytes_, clock_};
};

/// Which addresses are which octets of which memory of this process: both sides map the same.
void print_shared_memory() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t offset = 0;
    std::uint64_t inode = 0;
    std::array<char, 64> name{};
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %*4c %" SCNx64 " %*s %" SCNu64 " /memfd:%63s", &begin, &end,
                    &offset, &inode, name.data()) != 5)
      continue;
    std::printf("memory %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %s\n", begin, end, offset, inode, name.data());
  }
}

}  // namespace
}  // namespace verbena::bench

int main() {
  using namespace verbena::bench;
  pin(kCoreA);  // processes tell each other which core they run on
  std::vector<std::unique_ptr<Exchange>> exchanges;
  for (const Case& what : kCases) exchanges.push_back(std::make_unique<Exchange>(what, exchanges.size()));
  print_shared_memory();
  for (std::size_t marker = 0; marker < kMarkers; ++marker)
    std::printf("marker %" PRIu64 " %s\n",
                static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(&markers[marker])), kMarkerNames[marker]);
  std::printf("index_bytes %zu\n", verbena::host::kChannelHeaderBytes);
  std::fflush(stdout);
  if (std::getchar() == EOF) return 1;
  for (const auto& exchange : exchanges) exchange->run();
}
