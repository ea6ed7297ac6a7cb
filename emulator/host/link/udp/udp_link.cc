#include "emulator/host/link/udp/udp_link.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "emulator/host/link/udp/udp_socket.h"
#include "emulator/host/os/neighbour.h"
#include "emulator/host/os/socket_option.h"

namespace verbena::host {
namespace {

constexpr std::uint16_t kDiscardPort = 9;
// A socket buffer of the default limit (net.core.rmem_max 212,992) holds about this much of one flow, overhead
// included. Beyond the largest window a stream gains nothing.
constexpr std::uint32_t kWindowMin = 128 * 1024;
constexpr std::uint32_t kWindowMax = 512 * 1024;
constexpr std::uint32_t kWindowsInBuffer = 3;
/// How soon to try again when the kernel took no more: about the time that 1 Gb/s needs for a handful of frames.
constexpr Duration kRetryInterval = microseconds(100);

std::string bind_error(const wire::Gid& address, int error) {
  const std::string text = address_text(address);
  if (error == EADDRNOTAVAIL) return text + " is not an address of this machine: the udp link needs a local one";
  if (error == EADDRINUSE)
    return "UDP port 4791 of " + text +
           " is taken by another user or program (soft-RoCE, for one, holds it on all addresses)";
  return "cannot bind UDP port 4791 of " + text + ": " + std::strerror(error);
}

}  // namespace

std::uint32_t udp_window_bytes(bool peers_share_machine, std::uint32_t receive_buffer_bytes) {
  if (!peers_share_machine) return kWindowMin;
  return std::clamp(receive_buffer_bytes / kWindowsInBuffer, kWindowMin, kWindowMax);
}

Result<std::unique_ptr<UdpLink>, std::string> UdpLink::open(const Options& options) {
  std::unique_ptr<UdpLink> link(new UdpLink);
  link->address_ = options.address;
  const std::optional<LocalInterface> interface = interface_of(options.address);
  if (interface) {
    link->interface_index_ = interface->index;
    link->limits_.mtu_bytes = path_mtu_for(interface->mtu_bytes);
    if (!is_loopback(options.address)) link->signal_.watch(interface->name, interface->index);
  }
  link->socket_ = open_udp_socket(options.address);
  if (link->socket_ < 0) return Failure{std::string("cannot open a UDP socket: ") + std::strerror(errno)};
  set_option(link->socket_, SOL_SOCKET, SO_REUSEPORT, 1);
  link->limits_.window_bytes = udp_window_bytes(is_loopback(options.address), receive_buffer_bytes(link->socket_));
  let_send_to_groups(link->socket_, options.address, link->interface_index_);
  const SocketAddress at = socket_address(options.address, wire::kRoceUdpPort, link->interface_index_);
  // The siblings' port comes first: from the moment of bind() on we may be given frames to pass on.
  auto siblings = NodeForwarder::open(options.address, options.slot);
  if (!siblings) return Failure{siblings.error()};
  link->forwarder_ = std::move(*siblings);
  if (::bind(link->socket_, &at.any, socket_address_bytes(at)) != 0) return Failure{bind_error(options.address, errno)};

  link->others_ = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event interest{};
  interest.events = EPOLLIN;
  interest.data.fd = link->forwarder_->descriptor();
  if (link->others_ < 0 || ::epoll_ctl(link->others_, EPOLL_CTL_ADD, interest.data.fd, &interest) != 0 ||
      !link->doorbell_.open({.frames = link->socket_, .others = link->others_}))
    return Failure{std::string("cannot make an epoll descriptor: ") + std::strerror(errno)};
  link->groups_ = std::make_unique<UdpGroups>(
      UdpGroups::Options{.address = options.address, .interface_index = link->interface_index_, .wait = link->others_});

  link->transmitter_ =
      std::make_unique<UdpTransmitter>(UdpTransmitter::Options{.socket = link->socket_,
                                                               .interface_index = link->interface_index_,
                                                               .segmentation = is_loopback(options.address)});
  link->receiver_ = std::make_unique<UdpReceiver>(UdpReceiver::Options{.socket = link->socket_,
                                                                       .address = options.address,
                                                                       .mac = node_mac(options.address),
                                                                       .slot = options.slot,
                                                                       .interface_index = link->interface_index_},
                                                  *link->forwarder_, *link->groups_);
  return link;
}

UdpLink::~UdpLink() {
  if (others_ >= 0) ::close(others_);
  if (socket_ >= 0) ::close(socket_);
}

std::span<std::byte> UdpLink::reserve(const nic::Destination& destination, std::size_t bytes) {
  copied_to_ = nullptr;
  reserved_in_ = &transmitter_->ring();
  if (destination.qpn == wire::kMulticastQpn || destination.address.is_multicast()) choose_rings(destination.address);
  return reserved_ = reserved_in_ == nullptr ? std::span(nowhere_).first(bytes) : reserved_in_->reserve(bytes);
}

/// Other nodes get a group's frame from the network, the node's other processes from us. Sockets carry RoCE v2 only:
/// frames that are neither to a group nor to a node vanish.
void UdpLink::choose_rings(const wire::Gid& group) {
  FrameRing& siblings = receiver_->group_frames();
  const bool is_group = group.is_multicast();
  FrameRing* const within = is_group && siblings.free_slots() != 0 ? &siblings : nullptr;
  const bool leaves = is_group && group.is_ipv4() == address_.is_ipv4();
  reserved_in_ = leaves ? &transmitter_->ring() : within;
  copied_to_ = leaves ? within : nullptr;
}

void UdpLink::commit(std::size_t bytes, wire::IcrcState icrc) {
  VERBENA_ASSERT(icrc != wire::IcrcState::deferred);
  if (copied_to_ != nullptr) {
    std::ranges::copy(reserved_.first(bytes), copied_to_->reserve(bytes).begin());
    copied_to_->commit(bytes);
  }
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

bool UdpLink::arm() {
  if (receiver_->has_frames()) return false;
  doorbell_.want(true);
  return true;
}

bool UdpLink::fetch(std::size_t most) {
  return receiver_->fetch(most);
}

bool UdpLink::fetch_all() {
  return receiver_->fetch_all();
}

bool UdpLink::flush() {
  doorbell_.apply();
  groups_->apply();
  transmitter_->flush();
  receiver_->pass_groups_on();
  return false;
}

void UdpLink::hold_for_fork() {
  groups_->hold();
}

void UdpLink::release_after_fork() {
  groups_->release();
}

void UdpLink::abandon_after_fork() {
  doorbell_.close();
  signal_.close();
  groups_->close_all();
  for (int* descriptor : {&others_, &socket_})
    if (*descriptor >= 0) ::close(std::exchange(*descriptor, -1));
  forwarder_.reset();
  seat_.reset();
}

std::optional<wire::PathAddress> UdpLink::resolve(const wire::Gid& address) {
  if (address.is_ipv4() != address_.is_ipv4()) return std::nullopt;
  if (address.is_multicast()) return multicast_mac(address);
  // Connecting a datagram socket asks for the route and sends nothing.
  const SocketAddress to = socket_address(address, kDiscardPort, interface_index_);
  const SocketAddress from = socket_address(address_, 0, interface_index_);
  const int probe = ::socket(to.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return std::nullopt;
  const bool has_route = ::bind(probe, &from.any, socket_address_bytes(from)) == 0 &&
                         ::connect(probe, &to.any, socket_address_bytes(to)) == 0;
  ::close(probe);
  if (!has_route) return std::nullopt;
  return node_mac(address);
}

Result<OpenedLink, std::string> open_udp_link(const EngineConfig& config) {
  auto seat = NodeDirectory::join(config.fabric, config.address, config.slots);
  if (!seat) return Failure{seat.error()};
  const std::uint8_t slot = seat->slot();
  auto link = UdpLink::open({.address = config.address, .slot = slot});
  if (!link) return Failure{link.error()};
  (*link)->hold(std::move(*seat));
  OpenedLink opened;
  opened.slot = slot;
  opened.address = identity_of(config).mac;
  opened.mtu_bytes = (*link)->limits().mtu_bytes;
  // The ICRC covers the port that the socket sends from.
  opened.udp_source_port = wire::kRoceUdpPort;
  opened.window_bytes = (*link)->limits().window_bytes;
  opened.parts = (*link)->parts();
  opened.link = std::move(*link);
  return opened;
}

}  // namespace verbena::host
