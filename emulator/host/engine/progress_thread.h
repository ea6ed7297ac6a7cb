// ProgressThread: the thread that runs the NIC when no application thread does.
//
// Solely responsible for the thread: its signals, its sleep in ppoll over the link's descriptors and its own eventfd,
// its end. When it looks, spins and sleeps is wait_policy.h's to say; what a pass is belongs to Progress (engine.h).
#pragma once

#include <semaphore.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

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

class ProgressThread {
 public:
  /// `progress`, `clock` and `sleeper` outlive it.
  static Result<std::unique_ptr<ProgressThread>, std::string> create(Progress& progress,
                                                                     const Clock& clock = real_clock(),
                                                                     Sleeper& sleeper = real_sleeper());
  /// Once. All signals are blocked in the thread. A failure is one line.
  Result<void, std::string> start();
  /// Ends and joins it; once, and before the owner forgets this object.
  void stop();
  ~ProgressThread();
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

  /// Wakes it. Async-signal-safe, from any thread.
  void kick();
  /// Times it came back from ppoll.
  std::uint64_t wakes() const { return wakes_.load(std::memory_order_relaxed); }
  /// Lets the thread do `work(on)` and waits for its end, at most for `limit`. False: it has not come to it, and may
  /// still do it; or one such work is under way. The caller allocates nothing and takes no lock: it may stand in a
  /// handler of a signal that has interrupted anything but a call of ours.
  bool run_apart(void (*work)(void*), void* on, Duration limit);
  /// In the child of fork(), where the thread does not exist: closes the descriptor. The object must then be leaked.
  void abandon();

 private:
  ProgressThread(Progress& progress, const Clock& clock, Sleeper& sleeper, int kick_descriptor);
  void main();
  WaitPolicy::Wake sleep(Time until);
  void do_work();

  Progress& progress_;
  const Clock& clock_;
  Sleeper& sleeper_;
  int kick_;
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> wakes_{0};
  // run_apart(): the state says whose turn it is.
  enum class Work : std::uint8_t { none, being_given, given };
  std::atomic<Work> work_state_{Work::none};
  void (*work_)(void*) = nullptr;
  void* work_on_ = nullptr;
  sem_t work_done_{};
  std::thread thread_;
};

}  // namespace verbena::host
