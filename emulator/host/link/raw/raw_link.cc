#include "emulator/host/link/raw/raw_link.h"

#include <ifaddrs.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "emulator/host/link/raw/raw_filter.h"
#include "emulator/host/os/kernel_call.h"
#include "emulator/host/os/neighbour.h"
#include "emulator/host/os/socket_option.h"
#include "wire/headers.h"
#include "wire/roce_v1.h"

namespace verbena::host {
namespace {

constexpr int kReceiveBufferBytes = 16 << 20;
constexpr int kSendBufferBytes = 4 << 20;
constexpr std::uint32_t kSiblingPollInterval = 64;
constexpr Duration kRetryInterval = microseconds(100);

std::optional<wire::MacAddress> mac_of_interface(const std::string& name) {
  ifreq request{};
  name.copy(request.ifr_name, IFNAMSIZ - 1);
  const int any_socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (any_socket < 0) return std::nullopt;
  const bool known = ::ioctl(any_socket, SIOCGIFHWADDR, &request) == 0;
  ::close(any_socket);
  wire::MacAddress mac;
  if (!known || request.ifr_hwaddr.sa_family != 1) return std::nullopt;  // ARPHRD_ETHER
  std::memcpy(mac.octets.data(), request.ifr_hwaddr.sa_data, mac.octets.size());
  return mac;
}

/// The interface's first address of the family, for the message that tells the user what to write.
std::string address_hint(const std::string& name, bool ipv4) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
  for (const ifaddrs* item = list; item != nullptr; item = item->ifa_next) {
    if (item->ifa_addr == nullptr || name != item->ifa_name) continue;
    if (item->ifa_addr->sa_family != (ipv4 ? AF_INET : AF_INET6)) continue;
    SocketAddress here;
    std::memcpy(&here, item->ifa_addr, ipv4 ? sizeof here.ipv4 : sizeof here.ipv6);
    return ": use --node " + address_text(*gid_of(here));
  }
  return ": give it one first";
}

std::string system_error(const char* what) {
  return std::string("cannot ") + what + ": " + std::strerror(errno);
}

}  // namespace

namespace {
/// What the socket asks the kernel for: one EtherType, or all where there are two.
std::uint16_t packet_protocol(const RawLink::Options& options) {
  if (options.wire.has_v1) return options.wire.has_v2 ? ETH_P_ALL : wire::kEtherTypeRoceV1;
  return options.address.is_ipv4() ? ETHERTYPE_IP : ETHERTYPE_IPV6;
}
}  // namespace

struct RawLink::Batch {
  std::array<mmsghdr, kBatchMax> headers;
  std::array<iovec, kBatchMax> pieces;
  void set(std::size_t index, std::span<std::byte> bytes) {
    pieces[index] = {bytes.data(), bytes.size()};
    headers[index] = {};
    headers[index].msg_hdr.msg_iov = &pieces[index];
    headers[index].msg_hdr.msg_iovlen = 1;
  }
};

RawLink::RawLink()
    : outgoing_(kRingFrames),
      looped_(kRingFrames),
      incoming_(kRingFrames),
      from_forwarder_(kRingFrames),
      transmit_batch_(std::make_unique<Batch>()),
      receive_batch_(std::make_unique<Batch>()) {}

RawLink::~RawLink() {
  for (const int descriptor : {packets_, guard_})
    if (descriptor >= 0) ::close(descriptor);
}

void RawLink::abandon_after_fork() {
  doorbell_.close();
  signal_.close();
  for (int* descriptor : {&packets_, &guard_})
    if (*descriptor >= 0) ::close(std::exchange(*descriptor, -1));
  forwarder_.reset();
  seat_.reset();
}

Result<std::unique_ptr<RawLink>, std::string> RawLink::open(const Options& options) {
  const unsigned interface_index = ::if_nametoindex(options.interface.c_str());
  if (interface_index == 0) return Failure{"there is no interface " + options.interface};
  const auto mac = mac_of_interface(options.interface);
  if (!mac) return Failure{"interface " + options.interface + " is not Ethernet: the raw link needs whole frames"};
  const auto interface = interface_of(options.address);
  if (!interface || interface->index != interface_index)
    return Failure{"node " + address_text(options.address) + " is not an address of interface " + options.interface +
                   address_hint(options.interface, options.address.is_ipv4())};
  std::unique_ptr<RawLink> link(new RawLink);
  link->address_ = options.address;
  link->slot_ = options.slot;
  link->mac_ = *mac;
  link->interface_ = *interface;
  link->mtu_bytes_ = path_mtu_for(interface->mtu_bytes);
  link->signal_.watch(options.interface, interface_index);
  if (auto error = link->open_packet_socket(options, interface_index)) return Failure{std::move(*error)};
  if (auto error = link->open_guard_socket()) return Failure{std::move(*error)};
  auto siblings = NodeForwarder::open(options.address, options.slot);
  if (!siblings) return Failure{siblings.error()};
  link->forwarder_ = std::move(*siblings);
  if (!link->doorbell_.open({.frames = link->packets_, .others = link->forwarder_->descriptor()}))
    return Failure{system_error("make an epoll descriptor")};
  return link;
}

std::optional<std::string> RawLink::open_packet_socket(const Options& options, unsigned interface_index) {
  // Protocol 0: nothing arrives before the filter is in place and bind() names the protocol.
  packets_ = ::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (packets_ < 0 && errno == EPERM)
    return "the raw link on " + options.interface + " needs CAP_NET_RAW: run as root, or use --link udp";
  if (packets_ < 0) return system_error("open a packet socket");
  if (!attach_filter(packets_, frames_of_process(options.address, options.slot, options.wire)))
    return system_error("filter a packet socket");
  set_option(packets_, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1);
  enlarge_receive_buffer(packets_, kReceiveBufferBytes);
  enlarge_send_buffer(packets_, kSendBufferBytes);
  sockaddr_ll at{};
  at.sll_family = AF_PACKET;
  at.sll_protocol = htons(packet_protocol(options));
  at.sll_ifindex = static_cast<int>(interface_index);
  if (::bind(packets_, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0)
    return system_error("bind a packet socket");
  packet_mreq groups{};
  groups.mr_ifindex = static_cast<int>(interface_index);
  groups.mr_type = PACKET_MR_ALLMULTI;
  if (::setsockopt(packets_, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &groups, sizeof groups) != 0)
    return system_error("let frames to groups in");
  return std::nullopt;
}

std::optional<std::string> RawLink::open_guard_socket() {
  const SocketAddress at = socket_address(address_, wire::kRoceUdpPort, interface_.index);
  guard_ = ::socket(at.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (guard_ < 0) return system_error("open a UDP socket");
  if (!attach_filter(guard_, nothing_at_all())) return system_error("filter a UDP socket");
  if (!address_.is_ipv4()) set_option(guard_, IPPROTO_IPV6, IPV6_V6ONLY, 1);
  set_option(guard_, SOL_SOCKET, SO_REUSEPORT, 1);
  // Soft-RoCE or another program that holds the port silences the kernel just as well.
  if (::bind(guard_, &at.any, socket_address_bytes(at)) != 0 && errno != EADDRINUSE)
    return system_error("bind UDP port 4791");
  return std::nullopt;
}

// -- Out --------------------------------------------------------------------------------------------------------------

std::span<std::byte> RawLink::reserve(const nic::Destination& destination, std::size_t bytes) {
  const bool to_us =
      destination.address == address_ && destination.qpn.value() > 1 && slot_of(destination.qpn) == slot_;
  reserved_ = to_us ? &looped_ : &outgoing_;
  return reserved_->reserve(bytes);
}

void RawLink::commit(std::size_t bytes, wire::IcrcState icrc) {
  VERBENA_ASSERT(reserved_ != nullptr && icrc != wire::IcrcState::deferred);
  std::exchange(reserved_, nullptr)->commit(bytes);
}

void RawLink::publish() {
  outgoing_.publish();
  looped_.publish();
}

bool RawLink::flush() {
  doorbell_.apply();
  while (outgoing_.waiting() != 0) {
    if (!transmit_gate_.enter_with_patience()) break;
    const bool may_go_on = send_waiting();
    transmit_gate_.leave();
    if (!may_go_on) break;
  }
  return false;
}

namespace {
bool is_roce_v1(std::span<const std::byte> frame) {
  constexpr std::size_t kTypeAt = wire::EthernetLayout::bytes - 2;
  return frame.size() >= wire::EthernetLayout::bytes && frame[kTypeAt] == std::byte{wire::kEtherTypeRoceV1 >> 8} &&
         frame[kTypeAt + 1] == std::byte{wire::kEtherTypeRoceV1 & 0xff};
}
}  // namespace

bool RawLink::has_long_addresses(std::span<const std::byte> frame) const {
  return !address_.is_ipv4() || is_roce_v1(frame);
}

std::span<const std::byte> RawLink::destination_of(std::span<const std::byte> frame) const {
  const bool is_long = has_long_addresses(frame);
  const std::size_t at = wire::EthernetLayout::bytes + (is_long ? 24 : 16);
  const std::size_t bytes = is_long ? address_.octets.size() : sizeof(std::uint32_t);
  return frame.size() >= at + bytes ? frame.subspan(at, bytes) : std::span<const std::byte>();
}

bool RawLink::goes_to_ourselves(std::span<const std::byte> frame) const {
  const auto destination = destination_of(frame);
  return !destination.empty() &&
         std::ranges::equal(destination, std::as_bytes(std::span(address_.octets)).last(destination.size()));
}

bool RawLink::goes_to_a_group(std::span<const std::byte> frame) const {
  const auto destination = destination_of(frame);
  if (destination.empty()) return false;
  const auto first = std::to_integer<unsigned>(destination[0]);
  return has_long_addresses(frame) ? first == 0xff : first >> 4 == 0xe;
}

/// To another process of this node, or to all of them.
void RawLink::loop(std::span<const std::byte> frame) {
  // An IPv6 header and a GRH have the same size.
  const std::size_t bth = wire::EthernetLayout::bytes +
                          (has_long_addresses(frame) ? wire::Ipv6Layout::bytes : wire::Ipv4Layout::bytes) +
                          (is_roce_v1(frame) ? 0 : wire::UdpLayout::bytes);
  if (frame.size() < bth + wire::BthLayout::bytes) return;
  const wire::Qpn qpn = wire::BthLayout::parse(frame.subspan(bth).first<wire::BthLayout::bytes>()).dest_qp;
  if (qpn.value() > 1 && slot_of(qpn) < kSlots) return forwarder_->stage(slot_of(qpn), frame, {});
  forwarder_->stage_for_all(frame, {});
  forwarder_->stage(slot_, frame, {});
}

bool RawLink::send_waiting() {
  const std::size_t waiting = outgoing_.waiting();
  std::size_t done = 0;
  while (done < waiting) {
    // The ring's front moves as frames are released, so index 0 is always the next one.
    std::size_t looped = 0;
    while (done + looped < waiting && goes_to_ourselves(outgoing_.frame(looped))) loop(outgoing_.frame(looped++));
    if (looped != 0) {
      forwarder_->send_staged();
      outgoing_.release(looped);
      done += looped;
      continue;
    }
    if (goes_to_a_group(outgoing_.frame(0)) && !std::exchange(front_is_staged_, true))
      forwarder_->stage_for_all(outgoing_.frame(0), {});
    std::size_t batch = 0;
    const std::size_t most = std::min(waiting - done, kBatchMax);
    do {
      transmit_batch_->set(batch, outgoing_.frame(batch));
      ++batch;
    } while (batch < most && !goes_to_ourselves(outgoing_.frame(batch)) && !goes_to_a_group(outgoing_.frame(batch)));
    forwarder_->send_staged();
    if (!send_batch(batch)) return false;
    done += batch;
  }
  forwarder_->send_staged();
  return true;
}

bool RawLink::send_batch(std::size_t frames) {
  std::size_t done = 0;
  while (done < frames) {
    const int sent = send_messages(packets_, std::span(transmit_batch_->headers).subspan(done, frames - done),
                                   MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) {
      done += static_cast<std::size_t>(sent);
      outgoing_.release(static_cast<std::size_t>(sent));
      front_is_staged_ = false;
      stuck_.store(false, std::memory_order_relaxed);
    } else if (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM) {
      stuck_.store(true, std::memory_order_relaxed);
      return false;
    } else if (errno != EINTR) {
      // The interface is down, or the frame is longer than its MTU: it vanishes.
      frames_refused_.fetch_add(1, std::memory_order_relaxed);
      outgoing_.release(1);
      front_is_staged_ = false;
      ++done;
    }
  }
  return true;
}

std::optional<Time> RawLink::next_deadline() const {
  if (!stuck_.load(std::memory_order_relaxed)) return std::nullopt;
  return last_receive_ + kRetryInterval;
}

// -- In ---------------------------------------------------------------------------------------------------------------

bool RawLink::has_frames() const {
  return looped_.waiting() != 0 || incoming_.waiting() != 0 || from_forwarder_.waiting() != 0;
}

bool RawLink::arm() {
  if (has_frames()) return false;
  doorbell_.want(true);
  return true;
}

bool RawLink::fetch(std::size_t most) {
  if (receive_gate_.try_enter() || (!has_frames() && receive_gate_.enter_with_patience())) {
    read_socket(most);
    if (forwarder_->has_siblings() || ++fetches_since_forwarder_ >= kSiblingPollInterval) {
      fetches_since_forwarder_ = 0;
      forwarder_->receive(from_forwarder_);
    }
    receive_gate_.leave();
  }
  return has_frames();
}

bool RawLink::fetch_all() {
  if (!receive_gate_.wait_and_enter()) return false;
  bool is_all = false;
  for (std::size_t reads = 0; !is_all && reads < kRingFrames && incoming_.free_slots() != 0; ++reads) {
    errno = 0;
    // Anything else was a report about the interface, and is gone.
    is_all = read_socket(kAll) == 0 && errno == EAGAIN;
  }
  is_all = forwarder_->receive(from_forwarder_) && is_all;
  receive_gate_.leave();
  return is_all;
}

std::size_t RawLink::read_socket(std::size_t most) {
  const std::size_t wanted = std::min({incoming_.free_slots(), kBatchMax, most});
  if (wanted == 0) return 0;
  for (std::size_t i = 0; i < wanted; ++i) receive_batch_->set(i, incoming_.room(i));
  const int received = receive_messages(packets_, std::span(receive_batch_->headers).first(wanted), MSG_DONTWAIT);
  for (std::size_t i = 0; received > 0 && i < static_cast<std::size_t>(received); ++i) {
    // One that is longer than any frame keeps its slot and goes up cut: the NIC counts it as malformed.
    incoming_.commit(receive_batch_->headers[i].msg_len);
  }
  if (received <= 0) return 0;
  incoming_.publish();
  return static_cast<std::size_t>(received);
}

std::size_t RawLink::receive(Time now, FrameSink& sink, std::size_t budget) {
  last_receive_ = now;
  std::size_t frames = 0;
  for (FrameRing* ring : {&looped_, &incoming_, &from_forwarder_}) {
    for (std::size_t left = std::min(ring->waiting(), budget - frames); left != 0; --left, ++frames) {
      sink.frame(ring->frame(0), wire::IcrcState::present);
      ring->release(1);
    }
  }
  return frames;
}

std::optional<wire::PathAddress> RawLink::resolve(const wire::Gid& address) {
  if (address == address_) return mac_;
  if (address.is_ipv4() != address_.is_ipv4()) return std::nullopt;
  if (address.is_multicast()) return multicast_mac(address);
  return find_neighbour({.destination = address, .source = address_, .interface_index = interface_.index});
}

Result<OpenedLink, std::string> open_raw_link(const EngineConfig& config) {
  auto seat = NodeDirectory::join(config.fabric, config.address, config.slots);
  if (!seat) return Failure{seat.error()};
  const std::uint8_t slot = seat->slot();
  auto link = RawLink::open({.interface = std::string(interface_of(config.link)),
                             .address = config.address,
                             .slot = slot,
                             .wire = fabric::wire_of(config.nic)});
  if (!link) return Failure{link.error()};
  (*link)->hold(std::move(*seat));
  OpenedLink opened;
  opened.slot = slot;
  opened.address = (*link)->mac();
  opened.mtu_bytes = (*link)->mtu_bytes();
  opened.parts = (*link)->parts();
  opened.link = std::move(*link);
  return opened;
}

}  // namespace verbena::host
