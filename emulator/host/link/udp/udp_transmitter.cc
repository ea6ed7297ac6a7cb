#include "emulator/host/link/udp/udp_transmitter.h"

#include <netinet/udp.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "emulator/host/os/kernel_call.h"
#include "wire/headers.h"

namespace verbena::host {
namespace {

constexpr std::size_t kSegmentsMax = 64;          // UDP_MAX_SEGMENTS of linux/udp.h
constexpr std::size_t kMessageBytesMax = 65'000;  // below 65535 less IP and UDP headers
constexpr std::uint8_t kDefaultHopLimit = 64;

/// What a socket needs to know of a frame.
struct Datagram {
  wire::Gid destination;
  std::byte process{};  // of the node: the receiver is steered by it (udp_steering.h)
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = kDefaultHopLimit;
  std::span<std::byte> payload;
  bool goes_with(const Datagram& other) const {
    return destination == other.destination && process == other.process && traffic_class == other.traffic_class &&
           hop_limit == other.hop_limit;
  }
};

/// Nothing: not a frame that a UDP socket could send (a VLAN tag, a broken header). Frames come from our own NIC.
std::optional<Datagram> datagram_of(std::span<std::byte> frame) {
  using namespace wire;
  constexpr std::size_t kIp = EthernetLayout::bytes;
  if (frame.size() < kIp + Ipv4Layout::bytes + UdpLayout::bytes) return std::nullopt;
  const auto ether_type = static_cast<std::uint16_t>(std::to_integer<unsigned>(frame[kIp - 2]) << 8 |
                                                     std::to_integer<unsigned>(frame[kIp - 1]));
  Datagram datagram;
  if (ether_type == kEtherTypeIpv4) {
    const Ipv4 ip = Ipv4Layout::parse(frame.subspan(kIp).first<Ipv4Layout::bytes>());
    datagram.destination = Gid::from_ipv4(ip.destination);
    datagram.traffic_class = static_cast<std::uint8_t>(ip.dscp << 2 | ip.ecn);
    datagram.hop_limit = ip.time_to_live;
    datagram.payload = frame.subspan(kIp + Ipv4Layout::bytes + UdpLayout::bytes);
  } else if (ether_type == kEtherTypeIpv6 && frame.size() >= kIp + Ipv6Layout::bytes + UdpLayout::bytes) {
    const Ipv6 ip = Ipv6Layout::parse(frame.subspan(kIp).first<Ipv6Layout::bytes>());
    datagram.destination = ip.destination;
    datagram.traffic_class = ip.traffic_class;
    datagram.hop_limit = ip.hop_limit;
    datagram.payload = frame.subspan(kIp + Ipv6Layout::bytes + UdpLayout::bytes);
  } else {
    return std::nullopt;
  }
  constexpr std::size_t kQpnHighOctet = 5;  // of the BTH
  if (datagram.payload.size() > kQpnHighOctet) datagram.process = datagram.payload[kQpnHighOctet];
  return datagram;
}

}  // namespace

struct UdpTransmitter::Message {
  SocketAddress to;
  Datagram first;  // its payload is unused
  std::size_t segment_bytes = 0;
  std::size_t frames = 0;    // of the ring, the unsendable ones included
  std::size_t segments = 0;  // pieces in the iovec
  alignas(cmsghdr) std::array<std::byte, 2 * CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(std::uint16_t))> control;
};

struct UdpTransmitter::Batch {
  std::array<Message, kMessagesMax> messages;
  std::array<mmsghdr, kMessagesMax> headers;
  std::array<iovec, kRingFrames> pieces;
  std::size_t pieces_used = 0;
};

UdpTransmitter::UdpTransmitter(const Options& options)
    : options_(options), ring_(kRingFrames), batch_(std::make_unique<Batch>()) {}
UdpTransmitter::~UdpTransmitter() = default;

void UdpTransmitter::flush() {
  while (ring_.waiting() != 0) {
    if (!gate_.enter_with_patience()) return;
    const bool may_go_on = send_waiting();
    gate_.leave();
    if (!may_go_on) return;
  }
}

std::size_t UdpTransmitter::fill_message(std::size_t first, std::size_t waiting, std::size_t index) {
  Message& message = batch_->messages[index];
  message.frames = message.segments = message.segment_bytes = 0;
  const std::size_t pieces_begin = batch_->pieces_used;
  std::size_t message_bytes = 0;
  for (std::size_t i = first; i < waiting; ++i) {
    const std::optional<Datagram> next = datagram_of(ring_.frame(i));
    if (!next) {
      ++message.frames;  // vanishes together with what goes
      continue;
    }
    const std::size_t bytes = next->payload.size();
    if (message.segments == 0) {
      message.first = *next;
      message.segment_bytes = bytes;
    } else if (!options_.segmentation || bytes > message.segment_bytes || message.segments == kSegmentsMax ||
               message_bytes + bytes > kMessageBytesMax || !next->goes_with(message.first)) {
      break;
    }
    batch_->pieces[batch_->pieces_used++] = {next->payload.data(), bytes};
    message_bytes += bytes;
    ++message.frames;
    ++message.segments;
    if (bytes < message.segment_bytes) break;  // only the last segment may be shorter
  }
  msghdr& header = batch_->headers[index].msg_hdr;
  std::memset(&header, 0, sizeof header);
  if (message.segments == 0) return message.frames;
  message.to = socket_address(message.first.destination, wire::kRoceUdpPort, options_.interface_index);
  header.msg_name = &message.to;
  header.msg_namelen = socket_address_bytes(message.to);
  header.msg_iov = &batch_->pieces[pieces_begin];
  header.msg_iovlen = message.segments;
  write_control(message, header);
  return message.frames;
}

void UdpTransmitter::write_control(Message& message, msghdr& header) const {
  const bool is_ipv4 = message.to.any.sa_family == AF_INET;
  std::size_t used = 0;
  const auto append = [&](int level, int type, const auto& value) {
    cmsghdr item{};
    item.cmsg_level = level;
    item.cmsg_type = type;
    item.cmsg_len = CMSG_LEN(sizeof value);
    std::memcpy(message.control.data() + used, &item, sizeof item);
    std::memcpy(message.control.data() + used + CMSG_LEN(0), &value, sizeof value);
    used += CMSG_SPACE(sizeof value);
  };
  if (message.first.traffic_class != 0)
    append(is_ipv4 ? IPPROTO_IP : IPPROTO_IPV6, is_ipv4 ? IP_TOS : IPV6_TCLASS, int{message.first.traffic_class});
  // The kernel refuses a TTL of 0.
  if (message.first.hop_limit != kDefaultHopLimit && message.first.hop_limit != 0)
    append(is_ipv4 ? IPPROTO_IP : IPPROTO_IPV6, is_ipv4 ? IP_TTL : IPV6_HOPLIMIT, int{message.first.hop_limit});
  if (message.segments > 1) append(SOL_UDP, UDP_SEGMENT, static_cast<std::uint16_t>(message.segment_bytes));
  header.msg_control = used == 0 ? nullptr : message.control.data();
  header.msg_controllen = used;
}

bool UdpTransmitter::send_waiting() {
  const std::size_t waiting = ring_.waiting();
  batch_->pieces_used = 0;
  std::size_t messages = 0;
  for (std::size_t i = 0; i < waiting && messages < kMessagesMax;) {
    const std::size_t frames = fill_message(i, waiting, messages);
    i += frames;
    if (batch_->messages[messages].segments != 0) {
      ++messages;
    } else {
      // Nothing but unsendable frames up to the end of what waits.
      if (messages == 0) discard(frames);
      break;
    }
  }
  std::size_t done = 0;
  while (done < messages) {
    const int sent = send_messages(options_.socket, std::span(batch_->headers).subspan(done, messages - done),
                                   MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) {
      std::size_t frames = 0;
      for (int i = 0; i < sent; ++i) frames += batch_->messages[done++].frames;
      ring_.release(frames);
      stuck_.store(false, std::memory_order_relaxed);
      continue;
    }
    switch (after_error(errno, batch_->messages[done])) {
      case AfterError::again:
        break;
      case AfterError::discard:
        discard(batch_->messages[done++].frames);
        break;
      case AfterError::rebuild:
        return true;
      case AfterError::stop:
        return false;
    }
  }
  return true;
}

void UdpTransmitter::discard(std::size_t frames) {
  frames_refused_.fetch_add(frames, std::memory_order_relaxed);
  ring_.release(frames);
}

UdpTransmitter::AfterError UdpTransmitter::after_error(int error, const Message& message) {
  if (error == EINTR) return AfterError::again;
  if (error == EAGAIN || error == EWOULDBLOCK || error == ENOBUFS || error == ENOMEM) {
    stuck_.store(true, std::memory_order_relaxed);
    return AfterError::stop;
  }
  if (message.segments > 1 && (error == EINVAL || error == EIO || error == EOPNOTSUPP)) {
    options_.segmentation = false;
    return AfterError::rebuild;
  }
  return AfterError::discard;
}

}  // namespace verbena::host
