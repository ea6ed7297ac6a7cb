// ProgressThread: the thread that runs the NIC when no application thread does.
//
// Solely responsible for when to look, when to spin and when to sleep; what a pass is belongs to Progress (engine.h).
// It sleeps in ppoll over the link's descriptors and its own eventfd until the next deadline. Three ways to sleep:
//   nobody polls        armed: peers ring the doorbell; for ever if there is no deadline
//   the app polls       not armed: the app serves the link, peers ring only when they see no progress; or armed by the
//                       app itself, which has polled for all that it posted and leaves frames to the thread
//   calls, but no polls armed, but not longer than a few milliseconds: deadlines made meanwhile need no wake-up each
#pragma once

#include <semaphore.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "emulator/host/link/link.h"
#include "wire/result.h"
#include "wire/time.h"

namespace verbena::host {

class Progress {
 public:
  virtual ~Progress() = default;
  /// Takes and sends frames, runs timers. kept_out: an application thread does that right now. in_the_way: nothing to
  /// do, and the thread keeps from its core who is to answer (Link::blocks_peer_cpu).
  enum class Look : std::uint8_t { worked, nothing, kept_out, in_the_way };
  virtual Look pass() = 0;
  /// Whether one who may send us frames was last seen on the caller's core.
  virtual bool shares_core() = 0;
  /// How often the application has polled and called; the values only change. On which core it did so last, and whether
  /// it has gone to sleep since, for a completion event.
  struct Activity {
    std::uint64_t polls = 0;
    std::uint64_t calls = 0;
    int core = -1;
    bool sleeps = false;
    bool operator==(const Activity&) const = default;
  };
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
  /// `progress` outlives it.
  static Result<std::unique_ptr<ProgressThread>, std::string> create(Progress& progress);
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

  static constexpr Duration kSpin = microseconds(20);
  // In a stream of frames to a passive application the thread spins longer, if on a core of its own: a peer that is
  // kept from its core for a moment goes on soon. Each pass that found frames earns so much, spinning in vain spends
  // it.
  static constexpr Duration kSpinEarned = microseconds(50);
  static constexpr Duration kSpinInStream = milliseconds(2);
  static constexpr Duration kSpinInStreamKernel = microseconds(100);  // who sends frames through the kernel is not seen
  // While the application polls: how long until the thread looks whether it still does. Nobody rings for frames that
  // wait in the kernel then, so there the first look comes early; finding any says that the application has left.
  static constexpr Duration kWatchMin = milliseconds(1);
  static constexpr Duration kWatchMinKernel = microseconds(100);
  static constexpr Duration kWatchMax = milliseconds(8);
  // An application that has polled so often meanwhile serves the link itself: a look would take its core and its frames
  // from under it. As the watch doubles, one that stops waits no longer for its first look than it has polled. For
  // links through the kernel: over shared memory peers see that nobody looks, and ring.
  static constexpr Duration kServedEvery = microseconds(200);

 private:
  ProgressThread(Progress& progress, int kick_descriptor);
  void main();
  /// What made it go on. control: whatever the link or kick() wants.
  enum class Wake : std::uint8_t { time, frames, control };
  Wake sleep(Time until);
  void do_work();

  Progress& progress_;
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
