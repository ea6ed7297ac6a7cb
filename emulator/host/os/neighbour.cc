#include "emulator/host/os/neighbour.h"

#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "emulator/host/os/clock.h"
#include "emulator/host/os/socket_address.h"

namespace verbena::host {
namespace {

constexpr std::size_t kAnswerBytesMax = 32 * 1024;  // the kernel's dumps come in pieces of at most this much
constexpr int kAnswerLimitMs = 1000;
constexpr int kPollIntervalMs = 5;
constexpr std::uint16_t kDiscardPort = 9;
constexpr std::uint16_t kUsableStates = NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_PROBE | NUD_STALE | NUD_DELAY;

std::span<const std::uint8_t> ip_octets(const wire::Gid& address) {
  return std::span(address.octets).subspan(address.is_ipv4() ? 12 : 0);
}
unsigned char ip_family(const wire::Gid& address) {
  return address.is_ipv4() ? AF_INET : AF_INET6;
}

/// Finds attribute `type` behind the fixed part of a message.
std::span<const std::byte> attribute(std::span<const std::byte> message, std::size_t fixed_bytes, unsigned short type) {
  std::size_t offset = NLMSG_LENGTH(0) + NLMSG_ALIGN(fixed_bytes);
  while (offset + sizeof(rtattr) <= message.size()) {
    rtattr head{};
    std::memcpy(&head, message.data() + offset, sizeof head);
    if (head.rta_len < sizeof head || offset + head.rta_len > message.size()) break;
    if (head.rta_type == type) return message.subspan(offset + RTA_LENGTH(0), head.rta_len - RTA_LENGTH(0));
    offset += RTA_ALIGN(head.rta_len);
  }
  return {};
}

class Netlink {
 public:
  Netlink() : socket_(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)) {}
  ~Netlink() {
    if (socket_ >= 0) ::close(socket_);
  }
  Netlink(const Netlink&) = delete;
  Netlink& operator=(const Netlink&) = delete;

  /// Sends one request and gives each message of the answer to `visit`.
  template <class Visit>
  void ask(std::span<const std::byte> request, Visit visit) {
    if (socket_ < 0 || ::send(socket_, request.data(), request.size(), 0) < 0) return;
    for (;;) {
      pollfd wait{socket_, POLLIN, 0};
      if (::poll(&wait, 1, kAnswerLimitMs) != 1) return;
      const ssize_t received = ::recv(socket_, answer_.data(), answer_.size(), 0);
      if (received <= 0) return;
      std::span<const std::byte> rest(answer_.data(), static_cast<std::size_t>(received));
      while (rest.size() >= sizeof(nlmsghdr)) {
        nlmsghdr head{};
        std::memcpy(&head, rest.data(), sizeof head);
        if (head.nlmsg_len < sizeof head || head.nlmsg_len > rest.size()) return;
        if (head.nlmsg_type == NLMSG_DONE || head.nlmsg_type == NLMSG_ERROR) return;
        visit(head.nlmsg_type, rest.first(head.nlmsg_len));
        if ((head.nlmsg_flags & NLM_F_MULTI) == 0) return;
        rest = rest.subspan(std::min<std::size_t>(NLMSG_ALIGN(head.nlmsg_len), rest.size()));
      }
    }
  }

 private:
  int socket_;
  alignas(nlmsghdr) std::array<std::byte, kAnswerBytesMax> answer_;
};

/// Where a packet to the destination goes first: the destination itself, or a gateway.
std::optional<wire::Gid> next_hop(const NeighbourQuery& query) {
  struct {
    nlmsghdr head{};
    rtmsg route{};
    std::array<std::byte, 128> attributes{};
  } request;
  std::size_t used = 0;
  const auto append = [&](unsigned short type, const void* value, std::size_t bytes) {
    const rtattr head{static_cast<unsigned short>(RTA_LENGTH(bytes)), type};
    std::memcpy(request.attributes.data() + used, &head, sizeof head);
    std::memcpy(request.attributes.data() + used + RTA_LENGTH(0), value, bytes);
    used += RTA_SPACE(bytes);
  };
  const auto octets = ip_octets(query.destination);
  const auto interface_index = static_cast<std::uint32_t>(query.interface_index);
  append(RTA_DST, octets.data(), octets.size());
  append(RTA_OIF, &interface_index, sizeof interface_index);
  request.route.rtm_family = ip_family(query.destination);
  request.route.rtm_dst_len = static_cast<unsigned char>(octets.size() * 8);
  request.head.nlmsg_type = RTM_GETROUTE;
  request.head.nlmsg_flags = NLM_F_REQUEST;
  request.head.nlmsg_len = static_cast<std::uint32_t>(NLMSG_LENGTH(sizeof(rtmsg)) + used);

  std::optional<wire::Gid> hop;
  Netlink netlink;
  netlink.ask({reinterpret_cast<const std::byte*>(&request), request.head.nlmsg_len},
              [&](unsigned type, std::span<const std::byte> message) {
                if (type != RTM_NEWROUTE) return;
                const auto through = attribute(message, sizeof(rtmsg), RTA_OIF);
                if (through.size() != sizeof interface_index ||
                    std::memcmp(through.data(), &interface_index, sizeof interface_index) != 0)
                  return;
                hop = query.destination;
                const auto gateway = attribute(message, sizeof(rtmsg), RTA_GATEWAY);
                if (gateway.size() != octets.size()) return;
                std::memcpy(hop->octets.data() + (query.destination.is_ipv4() ? 12 : 0), gateway.data(),
                            gateway.size());
              });
  return hop;
}

std::optional<wire::MacAddress> look_up(const wire::Gid& address, unsigned interface_index) {
  struct {
    nlmsghdr head{};
    ndmsg neighbour{};
  } request;
  request.head.nlmsg_type = RTM_GETNEIGH;
  request.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  request.head.nlmsg_len = sizeof request;
  request.neighbour.ndm_family = ip_family(address);

  std::optional<wire::MacAddress> found;
  const auto octets = ip_octets(address);
  Netlink netlink;
  netlink.ask({reinterpret_cast<const std::byte*>(&request), sizeof request},
              [&](unsigned type, std::span<const std::byte> message) {
                ndmsg entry{};
                if (type != RTM_NEWNEIGH || message.size() < NLMSG_LENGTH(sizeof entry)) return;
                std::memcpy(&entry, message.data() + NLMSG_LENGTH(0), sizeof entry);
                if (entry.ndm_ifindex != static_cast<int>(interface_index) || (entry.ndm_state & kUsableStates) == 0)
                  return;
                const auto ip = attribute(message, sizeof entry, NDA_DST);
                const auto mac = attribute(message, sizeof entry, NDA_LLADDR);
                if (ip.size() != octets.size() || std::memcmp(ip.data(), octets.data(), ip.size()) != 0) return;
                if (mac.size() != sizeof(wire::MacAddress::octets)) return;
                found.emplace();
                std::memcpy(found->octets.data(), mac.data(), mac.size());
              });
  return found;
}

/// Any datagram makes the kernel look for the next hop, through this interface: it may have others in the network.
void provoke(const NeighbourQuery& query, const wire::Gid& hop) {
  const SocketAddress from = socket_address(query.source, 0, query.interface_index);
  const SocketAddress to = socket_address(hop, kDiscardPort, query.interface_index);
  const int probe = ::socket(to.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return;
  const std::uint32_t interface_index = htonl(query.interface_index);
  if (query.destination.is_ipv4())
    ::setsockopt(probe, IPPROTO_IP, IP_UNICAST_IF, &interface_index, sizeof interface_index);
  else
    ::setsockopt(probe, IPPROTO_IPV6, IPV6_UNICAST_IF, &interface_index, sizeof interface_index);
  if (::bind(probe, &from.any, socket_address_bytes(from)) == 0)
    ::sendto(probe, nullptr, 0, MSG_DONTWAIT | MSG_NOSIGNAL, &to.any, socket_address_bytes(to));
  ::close(probe);
}

}  // namespace

std::optional<wire::MacAddress> find_neighbour(const NeighbourQuery& query) {
  const auto hop = next_hop(query);
  if (!hop) return std::nullopt;
  if (const auto known = look_up(*hop, query.interface_index)) return known;
  provoke(query, *hop);
  const Time end = clock_now() + query.limit;
  while (clock_now() < end) {
    ::poll(nullptr, 0, kPollIntervalMs);
    if (const auto known = look_up(*hop, query.interface_index)) return known;
  }
  return std::nullopt;
}

wire::MacAddress multicast_mac(const wire::Gid& address) {
  const auto& octets = address.octets;
  if (address.is_ipv4())
    return {{0x01, 0x00, 0x5e, static_cast<std::uint8_t>(octets[13] & 0x7f), octets[14], octets[15]}};
  return {{0x33, 0x33, octets[12], octets[13], octets[14], octets[15]}};
}

}  // namespace verbena::host
