#include "cli/explain/timeline.h"

#include <algorithm>

namespace verbena::explain {

namespace {

std::uint32_t span_of(const wire::PacketView& view, std::uint32_t path_mtu_bytes) {
  if (view.opcode().operation != wire::Operation::read_request || path_mtu_bytes == 0) return 1;
  const std::uint64_t packets = (std::uint64_t{view.reth().length} + path_mtu_bytes - 1) / path_mtu_bytes;
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, packets));
}

Moment::Kind kind_of(const wire::OpcodeInfo& info) {
  if (info.operation == wire::Operation::congestion_notification) return Moment::Kind::ignored;
  if (info.is_request) return Moment::Kind::request;
  return info.operation == wire::Operation::acknowledge ? Moment::Kind::acknowledge : Moment::Kind::data;
}

/// The ICRC is over all that a copy has in common; a snap length may have cut it off, the headers never.
std::uint64_t content_of(const Packet& packet, const wire::PacketView& view) {
  const wire::Bth& bth = view.bth();
  std::uint64_t content = (std::uint64_t{bth.ack_request} << 16) | (std::uint64_t{bth.solicited} << 17);
  content |= static_cast<std::uint64_t>(bth.opcode) & 0xff;
  if (view.opcode().has_aeth)
    content |= (std::uint64_t{view.aeth().syndrome} << 8) ^ (std::uint64_t{view.aeth().msn} << 32);
  return packet.is_whole() ? content ^ (std::uint64_t{view.icrc()} << 32) : content;
}

Moment moment_of(const Packet& packet, const wire::PacketView& view, const Conversation& conversation) {
  const wire::OpcodeInfo& info = view.opcode();
  const wire::Transport transport = wire::transport_of(view.bth().opcode);
  Moment made;
  made.time = packet.time;
  made.content = content_of(packet, view);
  made.number = packet.number;
  made.psn = view.bth().psn;
  made.sender = static_cast<std::uint8_t>(conversation.sender_of(view));
  made.has_bad_icrc = packet.is_whole() && !view.icrc_is_valid();
  made.kind = made.has_bad_icrc ? Moment::Kind::ignored : kind_of(info);
  made.span = span_of(view, conversation.path_mtu_bytes);
  made.is_dropped = packet.was_dropped();
  made.awaits_data = info.takes_resource;
  made.is_read = info.operation == wire::Operation::read_request;
  made.is_reliable = transport == wire::Transport::rc || transport == wire::Transport::xrc;
  made.is_datagram = transport == wire::Transport::ud;
  made.ends = info.ends_message();
  made.has_syndrome = info.has_aeth;
  const auto sack = sack_of(view);
  made.has_recovery_header = sack || placement_of(view);
  if (sack) {
    made.sack_highest = sack->highest;
    made.sack_below = sack->below;
  }
  if (info.has_aeth) {
    made.syndrome = view.aeth().syndrome;
    made.msn = view.aeth().msn;
  }
  return made;
}

}  // namespace

Timeline::Timeline(const Capture& capture, const Conversation& conversation) {
  moments_.reserve(conversation.packets.size());
  for (const std::uint32_t index : conversation.packets) {
    const Packet& packet = capture.packets()[index];
    const auto view = packet.view();
    if (!view) continue;  // parsed before, and the file may have changed under us
    Moment& made = moments_.emplace_back(moment_of(packet, *view, conversation));
    made.index = static_cast<std::uint32_t>(moments_.size() - 1);
    if (made.kind != Moment::Kind::request && made.kind != Moment::Kind::data) continue;
    auto& stream = (made.kind == Moment::Kind::request ? requests_ : data_)[made.sender];
    made.order = static_cast<std::uint32_t>(stream.size());
    stream.push_back(made.index);
  }
}

}  // namespace verbena::explain
