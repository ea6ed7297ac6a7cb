// RestWord, GuardedRest: words of memory that processes share, on which a thread rests until another one wakes it.
//
// A futex (futex(2)): 1 as long as somebody rests. Nobody can make whoever ends a rest wait. Solely that; who rests for
// whom is the word's owner's affair (core_rest.h, directed_yield.h). By system calls, so that no thread can be
// cancelled here.
// Tested by: tests/host/os/rest_word_test.cc
#pragma once

#include <atomic>
#include <cstdint>

#include "emulator/host/os/joint_rest.h"
#include "wire/time.h"

namespace verbena::host {

class RestWord {
 public:
  explicit RestWord(std::uint32_t& word) : word_(word) {}

  /// From now on end() ends the rest that follows. Sequentially consistent: what is looked at afterwards, and what
  /// whoever ends it has done before, cannot both be missed.
  void begin() { shared().store(1, std::memory_order_seq_cst); }
  /// It does not rest after all, and nobody else does.
  void cancel() { shared().store(0, std::memory_order_relaxed); }
  bool is_resting() const { return shared().load(std::memory_order_seq_cst) != 0; }
  /// After begin(), at most so long. False: nobody has ended it by then, and it is over for all who rest here.
  bool rest(Duration longest);
  /// Wakes all who rest here. False: nobody did.
  bool end();

 private:
  std::atomic_ref<std::uint32_t> shared() const { return std::atomic_ref<std::uint32_t>(word_); }

  std::uint32_t& word_;
};

/// The same where those who end a rest are not trusted. That somebody rests stands in a word that only the process of
/// those who do can write. A change of the other word ends the rest: whoever writes nonsense there ends it in vain, or
/// has it last as long as it may.
class GuardedRest {
 public:
  GuardedRest(std::uint32_t& resting, std::uint32_t& ended) : resting_(resting), ended_(ended) {}

  // -- Threads of the process that rests --
  /// From now on end() ends the rest that follows (JointRest), by what is added to `by`.
  void begin(RestSet& by) {
    by.add_word(ended_, of(ended_).load(std::memory_order_acquire));
    of(resting_).fetch_add(1, std::memory_order_seq_cst);
  }
  /// It is over, or does not take place.
  void finish() { of(resting_).fetch_sub(1, std::memory_order_relaxed); }

  // -- Anybody --
  bool is_resting() const { return of(resting_).load(std::memory_order_seq_cst) != 0; }
  /// Wakes all who rest here. False: nobody did.
  bool end();

 private:
  static std::atomic_ref<std::uint32_t> of(std::uint32_t& word) { return std::atomic_ref<std::uint32_t>(word); }

  std::uint32_t& resting_;  // threads
  std::uint32_t& ended_;    // rests, a count
};

}  // namespace verbena::host
