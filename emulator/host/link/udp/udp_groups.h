// UdpGroups: the multicast groups that a process of a udp node hears.
//
// Solely responsible for one socket for each group, bound to (group, 4791) and joined through the node's interface,
// from its first local member to its last. Every process has its own, so that the kernel gives each one copy. Sending
// and reading are not done here (udp_transmitter.h, udp_receiver.h), nor is it known which QPs are members
// (emulator/nic/transport_ib/groups.cc). A group that the kernel does not let us join is heard within the node only.
//
// Thread rules: join() and leave() under the engine's lock, without the kernel; apply() outside of it, any thread; it
// returns when everything wanted before is done. for_each_ready() outside of the engine's lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "emulator/host/link/group_membership.h"
#include "wire/types.h"

namespace verbena::host {

class UdpGroups final : public GroupMembership {
 public:
  struct Options {
    wire::Gid address;
    unsigned interface_index = 0;
    int wait = -1;  // an epoll descriptor that becomes readable with our sockets; outlives them
  };
  explicit UdpGroups(const Options& options) : options_(options) {}
  ~UdpGroups() override;
  UdpGroups(const UdpGroups&) = delete;
  UdpGroups& operator=(const UdpGroups&) = delete;

  // Done with the next apply().
  void join(const wire::Gid& group) override { want(group, true); }
  void leave(const wire::Gid& group) override { want(group, false); }
  void apply() {
    if (wanted_.load(std::memory_order_relaxed) != applied_.load(std::memory_order_acquire)) apply_changes();
  }
  /// Calls `read(socket, group)` for the sockets that have datagrams, at most kReadyMax of them.
  template <class Read>
  void for_each_ready(Read&& read) {
    if (joined_.load(std::memory_order_relaxed) == 0) return;
    const std::lock_guard guard(sockets_lock_);
    int ready[kReadyMax];
    const std::size_t count = find_ready(ready);
    for (std::size_t i = 0; i < count; ++i)
      if (const auto found = sockets_.find(ready[i]); found != sockets_.end()) read(found->first, found->second);
  }

  /// Groups that the kernel lets us hear.
  std::size_t joined() const { return joined_.load(std::memory_order_relaxed); }
  std::uint64_t joins_refused() const { return joins_refused_.load(std::memory_order_relaxed); }

  // Around fork(), see fork_guard.h.
  void hold();
  void release();
  void close_all();

 private:
  static constexpr std::size_t kReadyMax = 16;
  struct Change {
    wire::Gid group;
    bool member = false;
  };
  void apply_changes();
  void want(const wire::Gid& group, bool member);
  void open_socket(const wire::Gid& group);
  void close_socket(const wire::Gid& group);
  std::size_t find_ready(int (&into)[kReadyMax]) const;

  const Options options_;
  std::atomic<std::uint64_t> wanted_{0};   // changes, since the beginning; written under the engine's lock
  std::atomic<std::uint64_t> applied_{0};  // as many of them are done
  std::atomic<std::size_t> joined_{0};
  std::atomic<std::uint64_t> joins_refused_{0};
  std::mutex sockets_lock_;  // before changes_lock_
  std::map<int, wire::Gid> sockets_;
  std::mutex changes_lock_;  // never held across a system call
  std::vector<Change> changes_;
};

}  // namespace verbena::host
