// PollDoorbell: what a shared word and a bell are to shared memory, for frames that wait in the kernel.
//
// A descriptor that is readable while frames wait and somebody wants to be woken by them, and not readable otherwise:
// an epoll descriptor, in which the link's own are only while somebody does. Solely responsible for that switch; where
// frames come from is the link's (udp_link.h, raw_link.h). want() is for the engine's lock and enters no kernel;
// apply() does what was wanted last, outside of the lock, from any thread.
//
// Whoever sends to a socket that is in an epoll descriptor calls that one for every frame, whatever its interest. So
// the socket is taken out of it; of what has few frames the interest is switched, which is the cheaper system call.
#pragma once

#include <atomic>

#include "emulator/host/os/joint_rest.h"
#include "emulator/host/os/spin_lock.h"

namespace verbena::host {

class PollDoorbell {
 public:
  PollDoorbell() = default;
  ~PollDoorbell() { close(); }
  PollDoorbell(const PollDoorbell&) = delete;
  PollDoorbell& operator=(const PollDoorbell&) = delete;

  /// Readable while frames wait; both outlive this. `frames`: the socket of nearly all of them. `others`: the rest,
  /// an epoll descriptor perhaps. False: the kernel has no descriptor to give (errno).
  struct Watched {
    int frames = -1;
    int others = -1;
  };
  bool open(const Watched& watched);
  void close();
  int descriptor() const { return descriptor_; }

  /// Whether frames are to ring from the next apply() on. At first they are not.
  void want(bool rings) { wanted_.store(rings, std::memory_order_relaxed); }
  void apply() {
    if (wanted_.load(std::memory_order_relaxed) != rings_.load(std::memory_order_relaxed)) change();
  }
  /// Frames that wait end a rest, whoever else is to be woken by them.
  void end_rest_by_frames(RestSet& by) const {
    by.add_descriptor(watched_.frames);
    by.add_descriptor(watched_.others);
  }

 private:
  void change();

  Watched watched_;
  int descriptor_ = -1;
  std::atomic<bool> wanted_{false};
  std::atomic<bool> rings_{false};  // changed under:
  SpinLock lock_;
};

}  // namespace verbena::host
