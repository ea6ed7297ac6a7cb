// DeferredWork: what a link over shared memory has to do with the kernel, noted under the engine's lock and done
// outside of it, by whichever thread flushes next.
//
// Solely the queue; what each kind of work is about is ShmPeers::run() (shm_peers.h). A thread that waits for a way to
// a peer may find its work in another's hands: flush() then waits for that one.
// Tested by: tests/host/link/shm/shm_link_test.cc
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "emulator/host/link/shm/shm_channel.h"
#include "emulator/host/link/shm/shm_control.h"
#include "emulator/host/os/spin_lock.h"

namespace verbena::host {

class DeferredWork {
 public:
  struct Item {
    enum class Kind : std::uint8_t { ring, connect, hang_up, release, look_around };
    Kind kind{};
    PeerName peer;                        // of connect
    std::shared_ptr<ShmChannel> channel;  // of ring, hang_up and release
    bool makes_ways() const { return kind == Kind::connect || kind == Kind::look_around; }
  };
  class Runner {
   public:
    virtual ~Runner() = default;
    virtual void run(const Item& item) = 0;
  };

  DeferredWork();
  void add(Item item);
  void ring(ShmChannel& channel) { add({Item::Kind::ring, {}, channel.shared_from_this()}); }
  bool is_idle() const {
    return !has_items_.load(std::memory_order_acquire) && making_ways_.load(std::memory_order_acquire) == 0;
  }
  /// Outside of the engine's lock. Returns whether ways to peers were made meanwhile, here or in another thread.
  bool run_all(Runner& runner);

  // Around fork().
  void hold() { lock_.lock(); }
  void release() { lock_.unlock(); }
  void abandon();

 private:
  SpinLock lock_;  // guards items_
  std::vector<Item> items_;
  std::atomic<bool> has_items_{false};
  std::atomic<std::uint32_t> making_ways_{0};  // work of that kind that is not done yet, by whichever thread
};

}  // namespace verbena::host
