#include "emulator/host/udp_link.h"

#include <netinet/udp.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "emulator/host/socket_option.h"

namespace verbena::host {
namespace {

constexpr int kReceiveBufferBytes = 16 << 20;
constexpr int kSendBufferBytes = 4 << 20;
constexpr std::uint16_t kDiscardPort = 9;
// A socket buffer of the default limit (net.core.rmem_max 212,992) holds about this much of one flow, overhead
// included.
constexpr std::uint32_t kWindowBytes = 128 * 1024;
/// How soon to try again when the kernel took no more: about the time that 1 Gb/s needs for a handful of frames.
constexpr Duration kRetryInterval = microseconds(100);

void set_ipv4_options(int socket, bool loopback) {
  set_option(socket, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
  set_option(socket, IPPROTO_IP, IP_RECVTOS, 1);
  set_option(socket, IPPROTO_IP, IP_RECVTTL, 1);
  // Segmentation needs the checksum that RoCE v2 leaves out.
  if (!loopback) set_option(socket, SOL_SOCKET, SO_NO_CHECK, 1);
}

void set_ipv6_options(int socket, bool loopback) {
  set_option(socket, IPPROTO_IPV6, IPV6_V6ONLY, 1);
  set_option(socket, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO);
  set_option(socket, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
  set_option(socket, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1);
  constexpr int kNoCheckTx =
      101;  // UDP_NO_CHECK6_TX and UDP_NO_CHECK6_RX of linux/udp.h, which clashes with netinet/udp.h
  constexpr int kNoCheckRx = 102;
  set_option(socket, SOL_UDP, kNoCheckRx, 1);
  if (!loopback) set_option(socket, SOL_UDP, kNoCheckTx, 1);
}

std::string bind_error(const wire::Gid& address, int error) {
  const std::string text = address_text(address);
  if (error == EADDRNOTAVAIL) return text + " is not an address of this machine: the udp link needs a local one";
  if (error == EADDRINUSE)
    return "UDP port 4791 of " + text +
           " is taken by another user or program (soft-RoCE, for one, holds it on all addresses)";
  return "cannot bind UDP port 4791 of " + text + ": " + std::strerror(error);
}

}  // namespace

Result<std::unique_ptr<UdpLink>, std::string> UdpLink::open(const Options& options) {
  std::unique_ptr<UdpLink> link(new UdpLink);
  link->address_ = options.address;
  const bool loopback = is_loopback(options.address);
  const std::optional<LocalInterface> interface = interface_of(options.address);
  if (interface) {
    link->interface_index_ = interface->index;
    link->mtu_bytes_ = path_mtu_for(interface->mtu_bytes);
  }
  const int family = options.address.is_ipv4() ? AF_INET : AF_INET6;
  link->socket_ = ::socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (link->socket_ < 0) return Failure{std::string("cannot open a UDP socket: ") + std::strerror(errno)};
  options.address.is_ipv4() ? set_ipv4_options(link->socket_, loopback) : set_ipv6_options(link->socket_, loopback);
  set_option(link->socket_, SOL_SOCKET, SO_REUSEPORT, 1);
  enlarge_receive_buffer(link->socket_, kReceiveBufferBytes);
  enlarge_send_buffer(link->socket_, kSendBufferBytes);
  set_option(link->socket_, SOL_UDP, UDP_GRO, 1);
  const SocketAddress at = socket_address(options.address, wire::kRoceUdpPort, link->interface_index_);
  // The siblings' port comes first: from the moment of bind() on we may be given frames to pass on.
  auto siblings = SiblingPort::open(options.address, options.slot);
  if (!siblings) return Failure{siblings.error()};
  link->siblings_ = std::move(*siblings);
  if (::bind(link->socket_, &at.any, socket_address_bytes(at)) != 0) return Failure{bind_error(options.address, errno)};

  link->wait_ = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event interest{};
  interest.events = EPOLLIN;
  if (link->wait_ < 0 || ::epoll_ctl(link->wait_, EPOLL_CTL_ADD, link->socket_, &interest) != 0 ||
      ::epoll_ctl(link->wait_, EPOLL_CTL_ADD, link->siblings_->descriptor(), &interest) != 0)
    return Failure{std::string("cannot make an epoll descriptor: ") + std::strerror(errno)};

  link->transmitter_ = std::make_unique<UdpTransmitter>(UdpTransmitter::Options{
      .socket = link->socket_, .interface_index = link->interface_index_, .segmentation = loopback});
  link->receiver_ = std::make_unique<UdpReceiver>(UdpReceiver::Options{.socket = link->socket_,
                                                                       .address = options.address,
                                                                       .mac = node_mac(options.address),
                                                                       .slot = options.slot,
                                                                       .interface_index = link->interface_index_},
                                                  *link->siblings_);
  return link;
}

UdpLink::~UdpLink() {
  if (wait_ >= 0) ::close(wait_);
  if (socket_ >= 0) ::close(socket_);
}

std::span<std::byte> UdpLink::reserve(const nic::Destination& destination, std::size_t bytes) {
  reserved_in_ = &transmitter_->ring();
  if (destination.qpn == wire::kMulticastQpn || destination.address.is_multicast()) {
    // Sockets carry RoCE v2 between nodes, no other frames and no groups; the node's other processes get the latter.
    FrameRing& groups = receiver_->group_frames();
    const bool is_carried = destination.address.is_multicast() && groups.free_slots() != 0;
    reserved_in_ = is_carried ? &groups : nullptr;
  }
  return reserved_in_ == nullptr ? std::span(nowhere_).first(bytes) : reserved_in_->reserve(bytes);
}

void UdpLink::commit(std::size_t bytes) {
  if (reserved_in_ != nullptr) reserved_in_->commit(bytes);
}

void UdpLink::cancel() {}

void UdpLink::publish() {
  transmitter_->ring().publish();
  receiver_->group_frames().publish();
}

std::size_t UdpLink::receive(Time now, FrameSink& sink, std::size_t budget) {
  last_receive_ = now;
  return receiver_->receive(sink, budget);
}

std::optional<Time> UdpLink::next_deadline() const {
  if (!transmitter_->is_stuck()) return std::nullopt;
  return last_receive_ + kRetryInterval;
}

bool UdpLink::fetch() {
  return receiver_->fetch();
}

void UdpLink::flush() {
  transmitter_->flush();
  receiver_->pass_groups_on();
}

void UdpLink::abandon_after_fork() {
  for (int* descriptor : {&wait_, &socket_})
    if (*descriptor >= 0) ::close(std::exchange(*descriptor, -1));
  siblings_.reset();
  seat_.reset();
}

std::optional<wire::MacAddress> UdpLink::resolve(const wire::Gid& address) {
  if (address.is_ipv4() != address_.is_ipv4()) return std::nullopt;
  // Connecting a datagram socket asks for the route and sends nothing.
  const SocketAddress to = socket_address(address, kDiscardPort, interface_index_);
  const SocketAddress from = socket_address(address_, 0, interface_index_);
  const int probe = ::socket(to.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return std::nullopt;
  const bool has_route = address.is_multicast() || (::bind(probe, &from.any, socket_address_bytes(from)) == 0 &&
                                                    ::connect(probe, &to.any, socket_address_bytes(to)) == 0);
  ::close(probe);
  if (!has_route) return std::nullopt;
  return node_mac(address);
}

Result<OpenedLink, std::string> open_udp_link(const EngineConfig& config) {
  auto seat = NodeDirectory::join(config.fabric, config.address);
  if (!seat) return Failure{seat.error()};
  const std::uint8_t slot = seat->slot();
  auto link = UdpLink::open({.address = config.address, .slot = slot});
  if (!link) return Failure{link.error()};
  (*link)->hold(std::move(*seat));
  OpenedLink opened;
  opened.slot = slot;
  opened.mac = node_mac(config.address);
  opened.mtu_bytes = (*link)->mtu_bytes();
  // The ICRC covers the port that the socket sends from.
  opened.udp_source_port = wire::kRoceUdpPort;
  opened.window_bytes = kWindowBytes;
  opened.link = std::move(*link);
  return opened;
}

}  // namespace verbena::host
