// Channel: what lies behind a descriptor of /dev/infiniband/rdma_cm.
//
// Solely responsible for the promise that the descriptor makes: it is readable exactly when an event waits, and whoever
// takes one blocks or not as O_NONBLOCK says. The application's end of a socket pair is the descriptor, so that poll,
// epoll, dup and fork are the kernel's; a token lies in it as long as an event waits here. Once all copies of the
// application's end are closed, the channel is over. It does not know what an event means. Guarded by the device's
// lock, but for wait() and await_return(), which sleep.
// Tested by: tests/shim/rdma_cm/rdma_cm_channel_test.cc
#pragma once

#include <rdma/rdma_user_cm.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

namespace verbena::shim::rdma_cm {

struct Id;

struct ChannelEvent {
  std::uint64_t reporter = 0;  // serial number of the ID that the event counts for
  rdma_ucm_event_resp response{};
};

class Channel {
 public:
  static constexpr std::size_t kEventsMax = 1 << 16;

  /// Null: errno says why. `descriptor` becomes the application's.
  static std::shared_ptr<Channel> open(int flags, int& descriptor);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  ino_t inode() const { return inode_; }
  /// Nobody holds the application's end any more.
  bool is_over() const;
  void push(const ChannelEvent& event);
  /// The next event, and its token; nothing: none waits.
  std::optional<ChannelEvent> pop();
  bool empty() const { return events_.empty(); }
  /// Takes out what waits for an ID. `descriptor` is the application's.
  std::deque<ChannelEvent> withdraw(std::uint64_t reporter, int descriptor);
  /// Waits for a token and takes it. False: errno says why.
  bool wait(int descriptor);
  /// Programs close a channel as soon as its last ID is destroyed, while a thread of theirs is on its way back into it
  /// (rping's), and fail if it comes too late. The kernel destroys more slowly than that thread returns; we wait for
  /// it, for a few milliseconds at most.
  void await_return() const;
  /// How many IDs report here.
  std::size_t ids = 0;
  /// In the child after fork(): closes our end.
  void abandon();

 private:
  static constexpr std::size_t kTokensMax = 64;
  static constexpr unsigned kReturnTurnsMax = 100;
  static constexpr unsigned kReturnTurnUs = 50;
  Channel(int own_end, ino_t inode) : own_end_(own_end), inode_(inode) {}
  void refill();

  int own_end_;
  const ino_t inode_;
  std::size_t tokens_ = 0;  // given out and not known to be taken
  std::deque<ChannelEvent> events_;
  std::atomic<pid_t> taker_{0};  // the thread that took the last token
  std::atomic<unsigned> waiting_{0};
};

}  // namespace verbena::shim::rdma_cm
