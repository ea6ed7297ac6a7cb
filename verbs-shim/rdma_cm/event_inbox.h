// EventInbox: the lock of /dev/infiniband/rdma_cm, and the connection manager's events until somebody holds it.
//
// Solely responsible for losing no event: they come from whichever thread runs the NIC, maybe one that is in a command
// already, so whoever holds the lock empties the inbox before it lets go. The endpoints know what an event means.
// Tested by: tests/shim/rdma_cm/rdma_cm_test.cc
#pragma once

#include <deque>
#include <mutex>
#include <variant>

#include "emulator/cm/connection.h"
#include "verbs-shim/rdma_cm/endpoints.h"

namespace verbena::shim::rdma_cm {

class EventInbox {
 public:
  /// The events are given to `endpoints`, which the lock guards.
  explicit EventInbox(Endpoints& endpoints) : endpoints_(endpoints) {}

  void lock();
  void unlock();
  /// Whether this thread holds the lock. There is one inbox in a process.
  static bool is_held_here();
  /// These two from any thread.
  void put(const SaSession::News& news);
  void put(const Device& from, std::uint32_t port, const cm::Event& event);
  /// For whoever holds the lock.
  void empty();

  void before_fork();
  void after_fork(bool in_child);

 private:
  struct OfPort {
    const Device* from;
    std::uint32_t port;
    cm::Event event;
  };
  using Waiting = std::variant<OfPort, SaSession::News>;
  void put(Waiting waiting);

  Endpoints& endpoints_;
  std::mutex mutex_;
  std::mutex inbox_mutex_;
  std::deque<Waiting> inbox_;
};

}  // namespace verbena::shim::rdma_cm
