#include "emulator/fabric/telemetry_stamp.h"

#include <algorithm>
#include <optional>

#include "emulator/fabric/chance.h"
#include "wire/frame_places.h"
#include "wire/selective_repeat.h"
#include "wire/telemetry.h"

namespace verbena::fabric {
namespace {

using wire::Telemetry;
using wire::TelemetryHead;
using wire::TelemetryHeadLayout;
using wire::TelemetryHop;
using wire::TelemetryHopLayout;

/// Where the header lies, whole; nothing: there is none.
std::optional<std::size_t> find_telemetry(std::span<const std::byte> frame) {
  const auto places = wire::find_places(frame);
  if (!places || !places->carries_transport || !wire::has_bth(frame, *places)) return std::nullopt;
  const std::size_t bth = places->bth_at;
  const wire::Bth header = wire::BthLayout::parse(frame.subspan(bth).first<wire::BthLayout::bytes>());
  const wire::OpcodeInfo& info = wire::opcode_info(header.opcode);
  const std::size_t at =
      bth + wire::BthLayout::bytes + info.extension_bytes + wire::recovery_header_bytes(info, header);
  if (wire::telemetry_bytes(header) == 0 || frame.size() < at + wire::kTelemetryBytes) return std::nullopt;
  return at;
}

std::uint8_t rate_code(std::uint64_t bits_per_second) {
  constexpr std::uint64_t kMega = 1'000'000;
  for (std::size_t code = 1; code < wire::kTelemetryRates.size(); ++code)
    if (wire::kTelemetryRates[code] * kMega == bits_per_second) return static_cast<std::uint8_t>(code);
  return 0;
}

}  // namespace

void stamp_telemetry(std::span<std::byte> frame, const PortState& port) {
  const auto at = find_telemetry(frame);
  if (!at) return;
  const auto octets = frame.subspan(*at).first<wire::kTelemetryBytes>();
  TelemetryHead head = TelemetryHeadLayout::parse(octets.first<TelemetryHeadLayout::bytes>());
  if (head.is_echo || head.hops >= wire::kTelemetryHopsMax) return;
  constexpr std::uint64_t kPathMask = 0xfff;  // 12 bits; 0 would be no change
  constexpr std::uint64_t kQueueMax = UINT16_MAX;
  const TelemetryHop hop{
      .rate = rate_code(port.rate_bits_per_second),
      .time_ns = static_cast<std::uint32_t>(port.time.ns) & wire::kTelemetryTimeMask,
      .sent = static_cast<std::uint32_t>(port.sent_octets / wire::kTelemetrySentUnit) & wire::kTelemetrySentMask,
      .queue = static_cast<std::uint16_t>(std::min(port.queue_octets / wire::kTelemetryQueueUnit, kQueueMax))};
  const std::size_t hop_at = Telemetry::hop_offset(head.hops);
  ++head.hops;
  head.path = static_cast<std::uint16_t>(head.path ^ (1 + mix(port.port) % kPathMask));
  TelemetryHeadLayout::emit(head, octets.first<TelemetryHeadLayout::bytes>());
  TelemetryHopLayout::emit(hop, octets.subspan(hop_at).first<TelemetryHopLayout::bytes>());
}

}  // namespace verbena::fabric
