#include "emulator/host/link/udp/udp_groups.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "emulator/host/link/udp/udp_socket.h"
#include "emulator/host/os/cancellation_shield.h"
#include "emulator/host/os/socket_address.h"
#include "emulator/host/os/socket_option.h"

namespace verbena::host {

UdpGroups::~UdpGroups() {
  close_all();
}

void UdpGroups::want(const wire::Gid& group, bool member) {
  const std::lock_guard guard(changes_lock_);
  changes_.push_back({group, member});
  wanted_.store(wanted_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

void UdpGroups::apply_changes() {
  const CancellationShield shield;
  const std::lock_guard guard(sockets_lock_);
  std::vector<Change> changes;
  {
    const std::lock_guard handing_over(changes_lock_);
    changes.swap(changes_);
  }
  for (const Change& change : changes) change.member ? open_socket(change.group) : close_socket(change.group);
  joined_.store(sockets_.size(), std::memory_order_relaxed);
  applied_.fetch_add(changes.size(), std::memory_order_release);
}

void UdpGroups::open_socket(const wire::Gid& group) {
  const bool has_joined = std::ranges::any_of(sockets_, [&](const auto& item) { return item.second == group; });
  if (has_joined || group.is_ipv4() != options_.address.is_ipv4()) return;
  const int socket = open_udp_socket(options_.address);
  // The other processes and nodes of this machine bind the same.
  set_option(socket, SOL_SOCKET, SO_REUSEADDR, 1);
  const SocketAddress at = socket_address(group, wire::kRoceUdpPort, options_.interface_index);
  epoll_event interest{};
  interest.events = EPOLLIN;
  interest.data.fd = socket;
  const bool hears = socket >= 0 && ::bind(socket, &at.any, socket_address_bytes(at)) == 0 &&
                     join_group(socket, options_.address, group, options_.interface_index) &&
                     ::epoll_ctl(options_.wait, EPOLL_CTL_ADD, socket, &interest) == 0;
  if (hears) {
    sockets_.emplace(socket, group);
    return;
  }
  if (socket >= 0) ::close(socket);
  joins_refused_.fetch_add(1, std::memory_order_relaxed);
}

void UdpGroups::close_socket(const wire::Gid& group) {
  const auto found = std::ranges::find_if(sockets_, [&](const auto& item) { return item.second == group; });
  if (found == sockets_.end()) return;
  // close() alone leaves it there as long as a child that has not come to exec() yet holds it too.
  ::epoll_ctl(options_.wait, EPOLL_CTL_DEL, found->first, nullptr);
  ::close(found->first);
  sockets_.erase(found);
}

std::size_t UdpGroups::find_ready(int (&into)[kReadyMax]) const {
  const CancellationShield shield;
  epoll_event events[kReadyMax];
  const int count = ::epoll_wait(options_.wait, events, kReadyMax, 0);
  for (int i = 0; i < count; ++i) into[i] = events[i].data.fd;
  return static_cast<std::size_t>(std::max(count, 0));
}

void UdpGroups::hold() {
  sockets_lock_.lock();
  changes_lock_.lock();
}

void UdpGroups::release() {
  changes_lock_.unlock();
  sockets_lock_.unlock();
}

void UdpGroups::close_all() {
  for (const auto& [socket, group] : sockets_) ::close(socket);
  sockets_.clear();
}

}  // namespace verbena::host
