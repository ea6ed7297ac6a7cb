#include "emulator/host/link/udp/udp_receiver.h"

#include <netinet/udp.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "emulator/host/node/node_directory.h"
#include "emulator/host/os/kernel_call.h"
#include "emulator/host/os/neighbour.h"
#include "wire/icrc.h"
#include "wire/packet_view.h"

namespace verbena::host {
namespace {

constexpr std::size_t kSegmentBytesMin = wire::BthLayout::bytes + wire::kIcrcBytes;
constexpr std::size_t kHeaderBytesMax = wire::EthernetLayout::bytes + wire::Ipv6Layout::bytes + wire::UdpLayout::bytes;
constexpr std::size_t kSegmentBytesMax = wire::kFrameBytesMax - kHeaderBytesMax;

wire::Qpn destination_qpn(std::span<const std::byte> segment) {
  return wire::BthLayout::parse(segment.first<wire::BthLayout::bytes>()).dest_qp;
}

/// QP0, QP1 and the multicast QPN belong to the node, not to one process.
bool is_node_wide(wire::Qpn qpn) {
  return qpn.value() <= 1 || slot_of(qpn) == kSlots;
}

}  // namespace

struct UdpReceiver::Batch {
  std::array<mmsghdr, kBatchMax> headers;
  std::array<iovec, kBatchMax> pieces;
  std::array<SocketAddress, kBatchMax> from;
  struct Control {
    alignas(cmsghdr) std::array<std::byte, 4 * CMSG_SPACE(sizeof(int))> octets;
  };
  std::array<Control, kBatchMax> control;
};

UdpReceiver::UdpReceiver(const Options& options, NodeForwarder& siblings, UdpGroups& groups)
    : options_(options),
      solves_identification_(options.address.is_ipv4() && !is_loopback(options.address)),
      forwarder_(siblings),
      groups_(groups),
      storage_(std::make_unique_for_overwrite<std::byte[]>(kBuffers * kBufferBytes)),
      passed_on_(kPassedOnFrames),
      group_frames_(kGroupFrames),
      batch_(std::make_unique<Batch>()),
      steering_({.socket = options.socket,
                 .address = options.address,
                 .slot = options.slot,
                 .interface_index = options.interface_index},
                siblings) {
  static_assert(kHeaderBytesMax <= kHeadroomBytes);
  passing_header_.source = header_.source = options.address;
  refresh(header_, Datagram{.source = options.address, .destination = options.address});
  refresh(passing_header_, Datagram{.source = options.address, .destination = options.address});
}
UdpReceiver::~UdpReceiver() = default;

bool UdpReceiver::has_frames() const {
  return fetched_.load(std::memory_order_acquire) != consumed_.load(std::memory_order_acquire) ||
         passed_on_.waiting() != 0;
}

bool UdpReceiver::fetch(std::size_t most) {
  if (gate_.try_enter() || (!has_frames() && gate_.enter_with_patience())) {
    read_sockets(most);
    if (forwarder_.has_siblings() || ++fetches_since_forwarder_ >= kSiblingPollInterval) {
      fetches_since_forwarder_ = 0;
      forwarder_.receive(passed_on_, &steering_);
      steering_.step();
    }
    gate_.leave();
  }
  pass_groups_on();
  return has_frames();
}

bool UdpReceiver::fetch_all() {
  if (!gate_.wait_and_enter()) return false;
  const bool is_all = read_all();
  gate_.leave();
  pass_groups_on();
  return is_all;
}

/// Frames to groups are not among it: no timer waits for a datagram.
bool UdpReceiver::read_all() {
  for (std::size_t reads = 0; reads < kBuffers && free_buffers() != 0; ++reads) {
    errno = 0;
    if (read_node(Link::kAll) != 0) continue;
    // Anything else was a report about a frame of ours, and is gone.
    if (errno == EAGAIN) return forwarder_.receive(passed_on_, &steering_);
  }
  return false;
}

void UdpReceiver::pass_groups_on() {
  while (group_frames_.waiting() != 0 && gate_.try_enter()) {
    const std::size_t frames = group_frames_.waiting();
    for (std::size_t i = 0; i < frames; ++i) forwarder_.stage_for_all(group_frames_.frame(i), {});
    forwarder_.send_staged();
    group_frames_.release(frames);
    gate_.leave();
  }
}

/// In turns, so that a full receiver starves neither.
void UdpReceiver::read_sockets(std::size_t most) {
  const auto read_groups = [&] {
    groups_.for_each_ready([&](int socket, const wire::Gid& group) { read_group(socket, group, most); });
  };
  groups_first_ = !groups_first_;
  if (groups_first_) read_groups();
  read_node(most);
  if (!groups_first_) read_groups();
}

std::size_t UdpReceiver::free_buffers() const {
  const std::uint64_t fetched = fetched_.load(std::memory_order_relaxed);
  return kBuffers - static_cast<std::size_t>(fetched - consumed_.load(std::memory_order_acquire));
}

/// Into the buffers behind the fetched ones; returns how many datagrams came.
std::size_t UdpReceiver::read_socket(int socket, std::size_t most) {
  const std::uint64_t fetched = fetched_.load(std::memory_order_relaxed);
  const std::size_t wanted = std::min({free_buffers(), kBatchMax, most});
  if (wanted == 0) return 0;
  for (std::size_t i = 0; i < wanted; ++i) {
    batch_->pieces[i] = {payload_of((fetched + i) % kBuffers), kBufferBytes - kHeadroomBytes};
    msghdr& header = batch_->headers[i].msg_hdr;
    header = {};
    header.msg_name = &batch_->from[i];
    header.msg_namelen = sizeof batch_->from[i];
    header.msg_iov = &batch_->pieces[i];
    header.msg_iovlen = 1;
    header.msg_control = batch_->control[i].octets.data();
    header.msg_controllen = batch_->control[i].octets.size();
  }
  // An error is either "nothing there" or a pending ICMP report, which a wire would not give either.
  const int received = receive_messages(socket, std::span(batch_->headers).first(wanted), MSG_DONTWAIT);
  return static_cast<std::size_t>(std::max(received, 0));
}

void UdpReceiver::accept(std::size_t datagrams) {
  fetched_.store(fetched_.load(std::memory_order_relaxed) + datagrams, std::memory_order_release);
}

std::size_t UdpReceiver::read_node(std::size_t most) {
  const std::size_t received = read_socket(options_.socket, most);
  if (received == 0) return 0;
  for (std::size_t i = 0; i < received; ++i) {
    const std::size_t buffer = (fetched_.load(std::memory_order_relaxed) + i) % kBuffers;
    datagrams_[buffer] = describe(i, options_.address);
    if (datagrams_[buffer].bytes == 0) {
      if (!steering_.take_probe({payload_of(buffer), batch_->headers[i].msg_len}, batch_->from[i]))
        datagrams_dropped_.fetch_add(1, std::memory_order_relaxed);
      continue;
    }
    pass_on_others(datagrams_[buffer], payload_of(buffer));
  }
  forwarder_.send_staged();
  accept(received);
  return received;
}

/// Every process of the node has a socket of its own for the group: nothing is passed on.
void UdpReceiver::read_group(int socket, const wire::Gid& group, std::size_t most) {
  const std::size_t received = read_socket(socket, most);
  for (std::size_t i = 0; i < received; ++i) {
    Datagram& datagram = datagrams_[(fetched_.load(std::memory_order_relaxed) + i) % kBuffers];
    datagram = describe(i, group);
    // What the node itself sent came from process to process.
    if (datagram.source == options_.address)
      datagram.bytes = 0;
    else if (datagram.bytes == 0)
      datagrams_dropped_.fetch_add(1, std::memory_order_relaxed);
  }
  accept(received);
}

UdpReceiver::Datagram UdpReceiver::describe(std::size_t index, const wire::Gid& destination) const {
  const SocketAddress& from = batch_->from[index];
  const std::size_t bytes = batch_->headers[index].msg_len;
  Datagram datagram{.bytes = bytes, .segment_bytes = bytes, .source = gid_of(from).value_or(wire::Gid{})};
  datagram.destination = destination;
  datagram.source_port = port_of(from);
  msghdr& items = batch_->headers[index].msg_hdr;
  for (cmsghdr* item = CMSG_FIRSTHDR(&items); item != nullptr; item = CMSG_NXTHDR(&items, item)) {
    int value = 0;
    const std::size_t value_bytes = item->cmsg_len - CMSG_LEN(0);
    if (item->cmsg_level == IPPROTO_IP && item->cmsg_type == IP_TOS) {
      std::memcpy(&datagram.traffic_class, CMSG_DATA(item), 1);
      continue;
    }
    if (value_bytes < sizeof value) continue;
    std::memcpy(&value, CMSG_DATA(item), sizeof value);
    if (item->cmsg_level == SOL_UDP && item->cmsg_type == UDP_GRO && value > 0)
      datagram.segment_bytes = static_cast<std::size_t>(value);
    if (item->cmsg_level == IPPROTO_IPV6 && item->cmsg_type == IPV6_TCLASS)
      datagram.traffic_class = static_cast<std::uint8_t>(value);
    if ((item->cmsg_level == IPPROTO_IP && item->cmsg_type == IP_TTL) ||
        (item->cmsg_level == IPPROTO_IPV6 && item->cmsg_type == IPV6_HOPLIMIT))
      datagram.hop_limit = static_cast<std::uint8_t>(value);
  }
  const bool is_frame_size = datagram.segment_bytes >= kSegmentBytesMin && datagram.segment_bytes <= kSegmentBytesMax;
  const bool same_family = from.any.sa_family == (options_.address.is_ipv4() ? AF_INET : AF_INET6);
  if (!is_frame_size || !same_family) datagram.bytes = 0;
  return datagram;
}

void UdpReceiver::refresh(Header& header, const Datagram& datagram) const {
  if (header.source == datagram.source && header.destination == datagram.destination &&
      header.source_port == datagram.source_port && header.traffic_class == datagram.traffic_class &&
      header.hop_limit == datagram.hop_limit)
    return;
  header.source = datagram.source;
  header.destination = datagram.destination;
  header.source_port = datagram.source_port;
  header.traffic_class = datagram.traffic_class;
  header.hop_limit = datagram.hop_limit;
  const bool is_to_node = datagram.destination == options_.address;
  const wire::MacAddress group_mac = multicast_mac(datagram.destination);
  header.octets = wire::FrameTemplate(wire::FramePath{.from = node_mac(datagram.source),
                                                      .to = is_to_node ? options_.mac : group_mac,
                                                      .source = datagram.source,
                                                      .destination = datagram.destination,
                                                      .traffic_class = datagram.traffic_class,
                                                      .hop_limit = datagram.hop_limit,
                                                      .udp_source_port = datagram.source_port});
}

bool UdpReceiver::is_ours(std::span<const std::byte> segment) const {
  const wire::Qpn qpn = destination_qpn(segment);
  return is_node_wide(qpn) || slot_of(qpn) == options_.slot;
}

void UdpReceiver::pass_on_others(const Datagram& datagram, std::byte* payload) {
  for (std::size_t offset = 0; offset < datagram.bytes; offset += datagram.segment_bytes) {
    const std::span<const std::byte> segment(payload + offset,
                                             std::min(datagram.segment_bytes, datagram.bytes - offset));
    if (segment.size() < kSegmentBytesMin) {
      datagrams_dropped_.fetch_add(1, std::memory_order_relaxed);
      continue;
    }
    const wire::Qpn qpn = destination_qpn(segment);
    if (!is_node_wide(qpn) && slot_of(qpn) == options_.slot) continue;
    std::array<std::byte, kHeaderBytesMax> head;
    refresh(passing_header_, datagram);
    const std::size_t head_bytes = passing_header_.octets.header_bytes();
    passing_header_.octets.emit(std::span(head).first(head_bytes), segment.size());
    if (is_node_wide(qpn)) {
      forwarder_.stage_for_all(std::span(head).first(head_bytes), segment);
    } else {
      forwarder_.stage(slot_of(qpn), std::span(head).first(head_bytes), segment);
      steering_.note_misdelivery(slot_of(qpn));
      frames_passed_on_.fetch_add(1, std::memory_order_relaxed);
    }
  }
}

std::size_t UdpReceiver::receive(FrameSink& sink, std::size_t budget) {
  std::size_t frames = 0;
  while (frames < budget) {
    const std::uint64_t consumed = consumed_.load(std::memory_order_relaxed);
    if (consumed == fetched_.load(std::memory_order_acquire)) break;
    const std::size_t buffer = consumed % kBuffers;
    frames += hand_up(buffer, sink, budget - frames);
    if (segment_offset_ < datagrams_[buffer].bytes) return frames;
    segment_offset_ = 0;
    consumed_.store(consumed + 1, std::memory_order_release);
  }
  for (; frames < budget && passed_on_.waiting() != 0; ++frames) {
    hand_up_segment(passed_on_.frame(0), sink);
    passed_on_.release(1);
  }
  return frames;
}

std::size_t UdpReceiver::hand_up(std::size_t buffer, FrameSink& sink, std::size_t budget) {
  const Datagram& datagram = datagrams_[buffer];
  std::size_t frames = 0;
  while (segment_offset_ < datagram.bytes && frames < budget) {
    std::byte* const payload = payload_of(buffer) + segment_offset_;
    const std::size_t bytes = std::min(datagram.segment_bytes, datagram.bytes - segment_offset_);
    segment_offset_ += bytes;
    if (bytes < kSegmentBytesMin || !is_ours({payload, bytes})) continue;
    refresh(header_, datagram);
    // The headers overwrite the end of the segment before, which has been handed up.
    const std::size_t header_bytes = header_.octets.header_bytes();
    const std::span<std::byte> frame(payload - header_bytes, header_bytes + bytes);
    header_.octets.emit(frame.first(header_bytes), bytes);
    hand_up_segment(frame, sink);
    ++frames;
  }
  return frames;
}

void UdpReceiver::hand_up_segment(std::span<std::byte> frame, FrameSink& sink) const {
  // What comes to a loopback address was sent by one of us, with identification 0: the NIC checks the ICRC.
  if (!solves_identification_) return sink.frame(frame, wire::IcrcState::present);
  const auto view = wire::parse_frame(frame);
  if (!view) return sink.frame(frame, wire::IcrcState::present);
  if (view->icrc_is_valid()) return sink.frame(frame, wire::IcrcState::verified);
  if (const auto identification = wire::solve_ipv4_identification(frame)) {
    wire::set_ipv4_identification(frame, *identification);
    return sink.frame(frame, wire::IcrcState::verified);
  }
  sink.frame(frame, wire::IcrcState::present);
}

}  // namespace verbena::host
