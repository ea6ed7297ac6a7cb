#include "captures/findings/timeline.h"

#include <algorithm>

namespace verbena::captures {

namespace {

std::uint32_t span_of(const wire::PacketView& view, std::uint32_t path_mtu_bytes) {
  if (!view.opcode().has_reth || view.opcode().operation != wire::Operation::read_request || path_mtu_bytes == 0)
    return 1;
  const std::uint64_t packets = (std::uint64_t{view.reth().length} + path_mtu_bytes - 1) / path_mtu_bytes;
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, packets));
}

Moment::Kind kind_of(const wire::OpcodeInfo& info) {
  if (info.operation == wire::Operation::congestion_notification) return Moment::Kind::ignored;
  if (info.is_request) return Moment::Kind::request;
  return info.operation == wire::Operation::acknowledge ? Moment::Kind::acknowledge : Moment::Kind::data;
}

constexpr std::size_t kLookAheadMax = 4096;
constexpr std::int32_t kSpanMax = 1 << 21;  // the longest message, of packets with 1024 octets

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
  made.integrity = view.integrity();
  // What its sender has cut, and not the capture, no receiver takes.
  made.has_bad_icrc = packet.was_damaged() || (packet.is_whole() && made.integrity != wire::Integrity::right);
  made.has_bad_vcrc = wire::trailer_integrity(view) == wire::Integrity::wrong;
  const bool is_datagram = transport == wire::Transport::ud;
  made.kind = made.has_bad_icrc || made.has_bad_vcrc ? Moment::Kind::ignored
              : is_datagram && !info.has_deth        ? Moment::Kind::unread
                                                     : kind_of(info);
  made.span = span_of(view, conversation.path_mtu_bytes);
  made.is_dropped = packet.was_dropped();
  made.awaits_data = info.takes_resource;
  made.is_read = info.operation == wire::Operation::read_request;
  made.is_reliable = transport == wire::Transport::rc || transport == wire::Transport::xrc;
  made.is_datagram = is_datagram;
  made.ends = info.ends_message();
  made.span_is_guess = made.is_read && !info.has_reth;
  made.has_syndrome = info.has_aeth;
  const auto sack = sack_of(view);
  made.has_recovery_header = wire::recovery_header_bytes(info, view.bth()) != 0;
  made.has_sack = sack.has_value();
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
    Moment& made = moments_.emplace_back(moment_of(packet, packet.view(), conversation));
    made.index = static_cast<std::uint32_t>(moments_.size() - 1);
    if (made.kind != Moment::Kind::request && made.kind != Moment::Kind::data) continue;
    auto& stream = (made.kind == Moment::Kind::request ? requests_ : data_)[made.sender];
    made.order = static_cast<std::uint32_t>(stream.size());
    stream.push_back(made.index);
  }
  find_spans();
}

void Timeline::find_spans() {
  for (Moment& moment : moments_)
    if (moment.span_is_guess) find_span(moment);
}

/// The last response ends it; what is asked for next begins behind it. Neither may have passed the capture: then it
/// takes what nothing else takes.
void Timeline::find_span(Moment& read) const {
  const std::size_t end = std::min(moments_.size(), read.index + 1 + kLookAheadMax);
  const auto is_within = [&](const Moment& moment, std::int32_t limit) {
    const std::int32_t off = wire::distance(read.psn, moment.psn);
    return off >= 0 && off < limit;
  };
  std::int32_t limit = kSpanMax;
  std::int32_t highest_answer = 0;
  std::int32_t highest_request = 0;
  for (std::size_t i = read.index + 1; i < end; ++i) {
    const Moment& moment = moments_[i];
    const std::int32_t off = wire::distance(read.psn, moment.psn);
    if (moment.kind == Moment::Kind::data && moment.sender != read.sender && is_within(moment, limit)) {
      highest_answer = std::max(highest_answer, off);
      if (!moment.ends) continue;
      read.span = static_cast<std::uint32_t>(off) + 1;
      read.span_is_guess = false;
      return;
    }
    if (moment.kind != Moment::Kind::request || moment.sender != read.sender || off <= 0 || off >= limit) continue;
    // A READ of what has been answered, or lies before other requests, asks for the rest of this one again.
    const bool is_rest = moment.is_read && (off <= highest_answer || off < highest_request);
    highest_request = std::max(highest_request, off);
    if (!is_rest) limit = off;
  }
  read.span = static_cast<std::uint32_t>(limit != kSpanMax ? limit : highest_answer + 1);
}

}  // namespace verbena::captures
