// ProgressLoop: the thread that serves the engines of a process by turns.
//
// Solely responsible for the thread: its signals, its sleep in ppoll over the links' descriptors and an eventfd of each
// engine, its end. Engines that share a clock and a sleeper share it; it begins with the first one and ends with the
// last. It sleeps once each of them has said so, and each has its own WaitPolicy to say it: for one engine that is as
// if the thread were its alone. As long as it spins for one, it asks now and then whether others are to be woken.
// Tested by: tests/host/engine/progress_thread_test.cc
#pragma once

#include <poll.h>
#include <semaphore.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "emulator/host/engine/progress_thread.h"
#include "emulator/host/engine/thread_affinity.h"
#include "emulator/host/engine/wait_policy.h"

namespace verbena::host {

/// What there is of an engine in the thread that serves it.
struct ProgressSeat {
  ProgressSeat(Progress& of, int kick_descriptor);
  ~ProgressSeat();
  ProgressSeat(const ProgressSeat&) = delete;
  ProgressSeat& operator=(const ProgressSeat&) = delete;

  /// Async-signal-safe.
  void wake();
  /// As ProgressThread::run_apart().
  bool run_apart(void (*work)(void*), void* on, Duration limit);
  void close_kick();

  Progress& progress;
  int kick;  // an eventfd
  std::atomic<std::uint64_t> wakes{0};

  bool is_served = false;  // guarded by the loop's registry

  // -- The thread's --
  void do_work();
  std::optional<WaitPolicy> policy;  // from when it is served
  bool sleeps = false;               // until something is to be done for it
  Time until = kNever;               // ... or it is that late

 private:
  // run_apart(): the state says whose turn it is.
  enum class Work : std::uint8_t { none, being_given, given };
  std::atomic<Work> work_state_{Work::none};
  void (*work_)(void*) = nullptr;
  void* work_on_ = nullptr;
  sem_t work_done_{};
};

class ProgressLoop {
 public:
  /// From here on a thread serves the seat: one that runs with that clock and sleeper, or a new one.
  static Result<std::shared_ptr<ProgressLoop>, std::string> join(ProgressSeat& seat, const Clock& clock,
                                                                 Sleeper& sleeper);
  /// When it returns, nobody looks at the seat any more.
  void leave(ProgressSeat& seat);

  /// Around fork(): no thread is amid joining or leaving. In the child no loop runs any more.
  static void hold_for_fork();
  static void release_after_fork(bool in_child);

  static constexpr Duration kGlance = microseconds(20);  // between looks for who else is to be woken

 private:
  struct Registry;
  static Registry& registry();

  ProgressLoop(const Clock& clock, Sleeper& sleeper) : clock_(clock), sleeper_(sleeper), pass_clock_(clock) {}
  void main();
  bool take_changes();
  void serve(ProgressSeat& seat);
  enum class Wait : std::uint8_t { until_due, not_at_all };
  void wait(Wait how);
  void wake(ProgressSeat& seat, std::span<const pollfd> ready);
  std::uint64_t app_actions() const;

  const Clock& clock_;
  Sleeper& sleeper_;
  // Guarded by the registry's mutex.
  std::vector<ProgressSeat*> members_;
  std::condition_variable gone_;
  std::thread thread_;
  std::atomic<bool> has_changes_{true};  // of members_
  // The thread's own.
  std::vector<ProgressSeat*> seats_;
  std::vector<pollfd> descriptors_;
  PassClock pass_clock_;
  ThreadAffinity affinity_;
};

}  // namespace verbena::host
