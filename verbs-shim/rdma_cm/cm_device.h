// CmDevice: /dev/infiniband/rdma_cm as the kernel's ucma offers it, for the distribution's own librdmacm.
//
// Solely responsible for the device as a file: its channels are opened, a command is read, waits where it has to and is
// run under the lock, and at fork() and exit() all of it is as a kernel would leave it. What the commands mean is in
// commands.h, the IDs with their ports and connections in endpoints.h, descriptors in channel.h. Which write() of the
// program is a command the path shim finds out (verbs-shim/sysfs/rdma_cm.cc).
//
// One lock guards all (event_inbox.h), but for the table of channels, which has its own.
// Tested by: tests/shim/rdma_cm/rdma_cm_commands_test.cc
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>

#include "emulator/cm/connection.h"
#include "verbs-shim/rdma_cm/channel_table.h"
#include "verbs-shim/rdma_cm/commands.h"
#include "verbs-shim/rdma_cm/endpoints.h"
#include "verbs-shim/rdma_cm/event_inbox.h"

namespace verbena::shim::rdma_cm {

class CmDevice {
 public:
  static CmDevice& instance();

  // What the path shim calls.
  int open_channel(int flags);
  bool is_channel(ino_t inode);
  ssize_t command(int descriptor, ino_t inode, const void* data, std::size_t bytes);

  /// From the device's engine, in any thread; of the communication manager of a port, from 1.
  void connection_event(const Device& from, std::uint32_t port, const cm::Event& event);
  /// A removed device may be opened anew: nobody has it open, or only we have. Not from the engine's threads.
  void device_is_free();

 private:
  CmDevice() = default;
  static void before_fork();
  static void after_fork(bool in_child);
  static void at_exit();
  void disconnect_all();
  void hear_again();

  Endpoints endpoints_{[this](const SaSession::News& news) { inbox_.put(news); }};
  EventInbox inbox_{endpoints_};
  ChannelTable channels_;
  Commands commands_{endpoints_, channels_, inbox_};
  std::atomic<bool> follows_forks_{false};  // a channel was opened
  bool tells_at_exit_ = false;
};

}  // namespace verbena::shim::rdma_cm
