// CombiningGate: lets several threads ask for the same work while one of them does it for all.
//
// Solely responsible for who does it, and for getting the core to a thread that was preempted inside: what it has in
// hand can be neither sent nor received by anybody else, and a thread that spins until the gate is free may hold the
// core that it needs. try_enter() and leave() are totally ordered with FrameRing::publish() and waiting(): who
// publishes and then fails to enter may rely on the holder to see its frames when it looks again after leave().
#pragma once

#include <atomic>
#include <cstdint>

#include "wire/time.h"

namespace verbena::host {

class CombiningGate {
 public:
  bool try_enter() {
    State expected = State::free;
    if (!state_.compare_exchange_strong(expected, State::busy, std::memory_order_seq_cst)) return false;
    passers_by_.store(0, std::memory_order_relaxed);
    return true;
  }
  /// For who comes back again and again: many who find the same holder inside have found one that was preempted. Then,
  /// and only then, as wait_and_enter().
  bool enter_with_patience() {
    return try_enter() || (passers_by_.fetch_add(1, std::memory_order_relaxed) >= kPassersByMax && wait_and_enter());
  }
  /// Waits for the holder, in the kernel, at most kWaitMax. False: it is still inside, or another one is.
  bool wait_and_enter();
  void leave() {
    if (state_.exchange(State::free, std::memory_order_seq_cst) == State::awaited) wake();
  }
  /// Somebody is inside, perhaps with frames in hand that wait no longer.
  bool is_busy() const { return state_.load(std::memory_order_seq_cst) != State::free; }

  static constexpr std::uint32_t kPassersByMax = 100;  // of a poll each: longer than a batch takes
  static constexpr Duration kWaitMax = milliseconds(1);

 private:
  enum class State : std::uint32_t { free, busy, awaited };
  void wake();

  std::atomic<State> state_{State::free};  // a futex
  std::atomic<std::uint32_t> passers_by_{0};
};

}  // namespace verbena::host
