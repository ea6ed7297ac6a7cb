#include "verbs-shim/rdma_cm/channel_table.h"

#include <utility>

namespace verbena::shim::rdma_cm {

void ChannelTable::add(std::shared_ptr<Channel> channel) {
  const std::scoped_lock guard(mutex_);
  channels_[channel->inode()] = std::move(channel);
}

std::shared_ptr<Channel> ChannelTable::find(ino_t inode) {
  const std::scoped_lock guard(mutex_);
  const auto found = channels_.find(inode);
  return found != channels_.end() ? found->second : nullptr;
}

void ChannelTable::remove(const Channel& channel) {
  const std::scoped_lock guard(mutex_);
  channels_.erase(channel.inode());
}

std::vector<std::shared_ptr<Channel>> ChannelTable::over() const {
  std::vector<std::shared_ptr<Channel>> over;
  for (const auto& [inode, channel] : channels_)
    if (channel->is_over()) over.push_back(channel);
  return over;
}

void ChannelTable::after_fork(bool in_child) {
  if (in_child) {
    for (auto& [inode, channel] : channels_) channel->abandon();
    channels_.clear();
  }
  mutex_.unlock();
}

}  // namespace verbena::shim::rdma_cm
