#include "emulator/host/link/interface_signal.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "emulator/host/node/network_device.h"

namespace verbena::host {
namespace {
constexpr std::size_t kNewsBytes = 32768;  // what the kernel puts into one datagram
constexpr std::size_t kNoticesMax = 64;    // of who looks seldom; the state of now is told in any case
constexpr unsigned kActive = IFF_UP | IFF_RUNNING;
}  // namespace

void InterfaceSignal::watch(std::string interface, unsigned index) {
  interface_ = std::move(interface);
  index_ = index;
  Descriptor made(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE));
  sockaddr_nl group{};
  group.nl_family = AF_NETLINK;
  group.nl_groups = RTMGRP_LINK;
  if (made.get() >= 0 && ::bind(made.get(), reinterpret_cast<const sockaddr*>(&group), sizeof group) == 0)
    news_ = std::move(made);
  is_up_ = is_running(interface_.c_str());  // after the socket is there: no change is missed
}

void InterfaceSignal::close() {
  news_.reset();
}

void InterfaceSignal::service() {
  if (news_.get() < 0) return;
  alignas(nlmsghdr) std::array<std::byte, kNewsBytes> news;
  for (;;) {
    const ssize_t got = ::recv(news_.get(), news.data(), news.size(), MSG_DONTWAIT);
    if (got < 0 && errno == ENOBUFS) {  // the kernel has dropped some
      note(is_running(interface_.c_str()));
      continue;
    }
    if (got <= 0) return;
    auto left = static_cast<unsigned>(got);
    for (auto* message = reinterpret_cast<nlmsghdr*>(news.data()); NLMSG_OK(message, left);
         message = NLMSG_NEXT(message, left)) {
      if (message->nlmsg_type != RTM_NEWLINK && message->nlmsg_type != RTM_DELLINK) continue;
      ifinfomsg of{};
      std::memcpy(&of, NLMSG_DATA(message), sizeof of);
      if (of.ifi_index != static_cast<int>(index_)) continue;
      note(message->nlmsg_type == RTM_NEWLINK && (of.ifi_flags & kActive) == kActive);
    }
  }
}

void InterfaceSignal::note(bool is_up) {
  if (std::exchange(is_up_, is_up) == is_up || notices_.size() == kNoticesMax) return;
  notices_.push_back(is_up ? Notice::port_up : Notice::port_down);
}

std::optional<Notice> InterfaceSignal::take_notice() {
  if (notices_.empty()) return std::nullopt;
  const Notice first = notices_.front();
  notices_.pop_front();
  return first;
}

}  // namespace verbena::host
