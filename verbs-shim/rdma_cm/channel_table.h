// ChannelTable: the channels that a process has open, by the number of their file.
//
// Solely responsible for finding them. It has a lock of its own, which is taken last: to find out that a write() of the
// program is no command must not wait for one that is. Whoever changes the table holds the device's lock as well.
// Tested by: tests/shim/rdma_cm/rdma_cm_channel_test.cc
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "verbs-shim/rdma_cm/channel.h"

namespace verbena::shim::rdma_cm {

class ChannelTable {
 public:
  void add(std::shared_ptr<Channel> channel);
  /// Null: there is none.
  std::shared_ptr<Channel> find(ino_t inode);
  void remove(const Channel& channel);
  /// Those that nobody holds any more.
  std::vector<std::shared_ptr<Channel>> over() const;

  void before_fork() { mutex_.lock(); }
  void after_fork(bool in_child);

 private:
  std::mutex mutex_;
  std::map<ino_t, std::shared_ptr<Channel>> channels_;
};

}  // namespace verbena::shim::rdma_cm
