#include "captures/render/words/packet_words.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <iterator>

#include "wire/counted.h"
#include "wire/mad.h"
#include "wire/packet_text.h"

namespace verbena::captures {

namespace {

/// In the short form that everybody uses.
std::string_view cm_attribute(unsigned attribute) {
  switch (attribute) {
    case 0x01:
      return "ClassPortInfo";
    case 0x10:
      return "REQ";
    case 0x11:
      return "MRA";
    case 0x12:
      return "REJ";
    case 0x13:
      return "REP";
    case 0x14:
      return "RTU";
    case 0x15:
      return "DREQ";
    case 0x16:
      return "DREP";
    case 0x17:
      return "SIDR_REQ";
    case 0x18:
      return "SIDR_REP";
    case 0x19:
      return "LAP";
    case 0x1a:
      return "APR";
    default:
      return "";
  }
}

using Out = std::back_insert_iterator<std::string>;

void add_extensions(Out out, const wire::PacketView& packet) {
  const wire::OpcodeInfo& info = packet.opcode();
  if (info.has_reth) {
    const wire::Reth& reth = packet.reth();
    fmt::format_to(out, "  va {:#x} rkey {:#x} length {}", reth.address, reth.rkey.value, reth.length);
  }
  if (info.has_atomic_eth) {
    const wire::AtomicEth& atomic = packet.atomic_eth();
    fmt::format_to(out, "  va {:#x} rkey {:#x}", atomic.address, atomic.rkey.value);
    if (info.operation == wire::Operation::compare_swap)
      fmt::format_to(out, " compare {:#x} swap {:#x}", atomic.compare, atomic.swap_or_add);
    else
      fmt::format_to(out, " add {}", atomic.swap_or_add);
  }
  if (info.has_atomic_ack_eth) fmt::format_to(out, "  was {}", packet.atomic_ack_eth().original);
  if (info.has_immediate) fmt::format_to(out, "  immediate {:#x}", packet.immediate().data);
  if (info.has_invalidate) fmt::format_to(out, "  invalidate rkey {:#x}", packet.ieth().rkey.value);
  if (info.has_deth) fmt::format_to(out, "  qkey {:#x}", packet.deth().qkey);
}

void add_answer(Out out, const wire::PacketView& packet, const Judged& step) {
  const wire::Aeth& aeth = packet.aeth();
  fmt::format_to(out, "  {}, msn {}", wire::to_text(wire::Syndrome::decode(aeth.syndrome)), aeth.msn);
  if (step.acknowledged > 1) fmt::format_to(out, ", {} packets", step.acknowledged);
  if (const auto sack = sack_of(packet))
    fmt::format_to(out, ", SACK psn {} and {} below", sack->highest.value(), std::popcount(sack->below));
}

/// The headers that its opcode says it has, and the capture does not.
std::string cut_headers(const wire::PacketView& packet) {
  const wire::OpcodeInfo& has = packet.opcode();
  const wire::OpcodeInfo& had = wire::opcode_info(packet.bth().opcode);
  std::string text;
  const auto look = [&](bool is_there, bool was_there, std::string_view name) {
    if (was_there && !is_there) text += (text.empty() ? "" : ", ") + std::string(name);
  };
  look(has.has_xrceth, had.has_xrceth, "XRCETH");
  look(has.has_deth, had.has_deth, "DETH");
  look(has.has_reth, had.has_reth, "RETH");
  look(has.has_atomic_eth, had.has_atomic_eth, "AtomicETH");
  look(has.has_aeth, had.has_aeth, "AETH");
  look(has.has_atomic_ack_eth, had.has_atomic_ack_eth, "AtomicAckETH");
  look(has.has_immediate, had.has_immediate, "immediate");
  look(has.has_invalidate, had.has_invalidate, "IETH");
  look(sack_of(packet) || placement_of(packet), wire::recovery_header_bytes(had, packet.bth()) != 0,
       "selective repeat's header");
  return text;
}

}  // namespace

std::string_view operation_name(const wire::PacketView& packet) {
  std::string_view name = packet.opcode().name;
  const std::size_t space = name.find(' ');
  if (space != name.npos && packet.opcode().operation != wire::Operation::congestion_notification)
    name.remove_prefix(space + 1);
  return name;
}

std::string management_name(const wire::PacketView& packet) {
  const auto payload = packet.payload();
  const wire::Qpn qp = packet.bth().dest_qp;
  constexpr std::size_t kHeaderBytes = wire::AnyMadHeaderLayout::bytes;
  if ((qp != wire::kGsiQpn && qp != wire::kSmiQpn) || payload.size() < kHeaderBytes) return {};
  const wire::AnyMadHeader header = wire::AnyMadHeaderLayout::parse(payload.first<kHeaderBytes>());
  const bool is_cm = header.management_class == wire::kClassCommunication;
  const std::string_view name = is_cm ? cm_attribute(header.attribute) : "";
  return name.empty() ? wire::mad_name(header) : fmt::format("CM {}", name);
}

std::string words(const wire::PacketView& packet, const Judged& step) {
  const wire::OpcodeInfo& info = packet.opcode();
  std::string text(operation_name(packet));
  const Out out = std::back_inserter(text);
  if (info.operation == wire::Operation::congestion_notification) return text;
  if (const std::string management = management_name(packet); !management.empty())
    text = fmt::format("{} ({})", management, text);
  fmt::format_to(out, "  psn {}", packet.bth().psn.value());
  if (step.relative) fmt::format_to(out, " ({:+})", *step.relative);
  add_extensions(out, packet);
  if (info.has_aeth) add_answer(out, packet, step);
  if (packet.payload_bytes() != 0) fmt::format_to(out, "  {} B", packet.payload_bytes());
  if (packet.bth().solicited) text += "  solicited";
  if (packet.bth().ack_request && !info.ends_message()) text += "  ack-request";
  if (packet.bth().becn) text += "  BECN";
  if (wire::has_telemetry(packet)) {
    const wire::Telemetry telemetry = wire::telemetry_of(packet);
    std::uint32_t queue = 0;
    for (std::size_t i = 0; i < telemetry.head.hops; ++i)
      queue = std::max(queue, telemetry.hops[i].queue * wire::kTelemetryQueueUnit);
    fmt::format_to(out, "  telemetry{}: {}, queue {} B", telemetry.head.is_echo ? " echo" : "",
                   wire::counted(telemetry.head.hops, "switch", "switches"), queue);
  }
  if (step.is_again) text += "  again";
  if (const std::string cut = cut_headers(packet); !cut.empty()) text += "  " + cut + " cut off";
  return text;
}

std::string_view transport_name(wire::Transport transport) {
  switch (transport) {
    case wire::Transport::rc:
      return "RC";
    case wire::Transport::uc:
      return "UC";
    case wire::Transport::rd:
      return "RD";
    case wire::Transport::ud:
      return "UD";
    case wire::Transport::cnp:
      return "CNP";
    case wire::Transport::xrc:
      return "XRC";
  }
  return "?";
}

std::string to_text(const End& end) {
  const std::string address = wire::to_text(end.address);
  return end.qpn ? fmt::format("{} qp {:#x}", address, end.qpn->value()) : fmt::format("{} qp unknown", address);
}

}  // namespace verbena::captures
