// Progress and ProgressThread: what runs the NIC when no application thread does.
//
// Solely what an engine and the thread that serves it ask of each other. Several engines of a process share a thread
// (progress_loop.h); each has a ProgressThread of its own, by which it comes to it, wakes it and leaves it. When the
// thread looks, spins and sleeps is wait_policy.h's to say; what a pass is belongs to Progress (engine.h).
// Tested by: tests/host/engine/progress_thread_test.cc
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "emulator/host/engine/wait_policy.h"
#include "emulator/host/link/link.h"
#include "emulator/host/os/clock.h"
#include "emulator/host/os/sleeper.h"
#include "wire/result.h"
#include "wire/time.h"

namespace verbena::host {

class Progress {
 public:
  virtual ~Progress() = default;
  using Look = WaitPolicy::Look;
  using Activity = WaitPolicy::Activity;
  /// Takes and sends frames, runs timers.
  virtual Look pass() = 0;
  /// Whether one who may send us frames was last seen on the caller's core.
  virtual bool shares_core() = 0;
  virtual Activity activity() const = 0;
  /// Announces a sleep until the next deadline, at most until `longest`; returns the end. `listen`: asks the link to be
  /// woken by frames; `ready` becomes false when some wait already, then there is no sleep.
  virtual Time prepare_sleep(bool listen, Time longest, bool& ready) = 0;
  virtual void woke() = 0;
  /// Link::acknowledge_doorbell() and service().
  virtual void acknowledge_doorbell() = 0;
  virtual void service() = 0;
  virtual Link::WaitDescriptors wait_descriptors() const = 0;
  /// Frames come out of the kernel: no sender sees that nobody takes them.
  virtual bool frames_need_kernel() const = 0;
};

struct ProgressSeat;
class ProgressLoop;

class ProgressThread {
 public:
  /// `progress`, `clock` and `sleeper` outlive it.
  static Result<std::unique_ptr<ProgressThread>, std::string> create(Progress& progress,
                                                                     const Clock& clock = real_clock(),
                                                                     Sleeper& sleeper = real_sleeper());
  /// Once: from here on a thread serves it, that of the others with its clock and sleeper, or a new one. All signals
  /// are blocked in the thread. A failure is one line.
  Result<void, std::string> start();
  /// The thread serves it no more, and ends if it serves nobody else; once, and before the owner forgets this object.
  /// Not in the thread itself.
  void stop();
  ~ProgressThread();
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

  /// Wakes the thread for it. Async-signal-safe, from any thread.
  void kick();
  /// Times that the thread was woken for it.
  std::uint64_t wakes() const;
  /// Lets the thread do `work(on)` and waits for its end, at most for `limit`. False: it has not come to it, and may
  /// still do it; or one such work is under way. The caller allocates nothing and takes no lock: it may stand in a
  /// handler of a signal that has interrupted anything but a call of ours.
  bool run_apart(void (*work)(void*), void* on, Duration limit);
  /// In the child of fork(), where the thread does not exist: closes the descriptor. The object must then be leaked.
  void abandon();

 private:
  ProgressThread(std::unique_ptr<ProgressSeat> seat, const Clock& clock, Sleeper& sleeper);

  std::unique_ptr<ProgressSeat> seat_;
  const Clock& clock_;
  Sleeper& sleeper_;
  std::shared_ptr<ProgressLoop> loop_;  // null: it is not served
};

}  // namespace verbena::host
