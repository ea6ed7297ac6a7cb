#include "emulator/fabric/flow_dissector.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "emulator/fabric/chance.h"
#include "wire/frame_places.h"
#include "wire/headers.h"
#include "wire/infiniband.h"
#include "wire/selective_repeat.h"
#include "wire/telemetry.h"

namespace verbena::fabric {
namespace {

/// In an order of octets that is the same on every machine.
std::uint64_t load_u64(const std::byte* at) {
  static_assert(std::endian::native == std::endian::little);
  std::uint64_t value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

std::uint32_t digest_of(std::span<const std::byte> headers) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15u;
  std::uint64_t state = headers.size();
  std::size_t done = 0;
  for (; done + 8 <= headers.size(); done += 8) {
    state = (state ^ load_u64(headers.data() + done)) * kOdd;
    state ^= state >> 29;
  }
  if (done < headers.size()) {
    std::uint64_t rest = 0;
    for (std::size_t i = headers.size(); i-- > done;) rest = rest << 8 | std::to_integer<std::uint64_t>(headers[i]);
    state = (state ^ rest) * kOdd;
  }
  return static_cast<std::uint32_t>((state ^ state >> 32) * kOdd >> 32);
}

/// Up to the payload.
std::size_t header_bytes(std::span<const std::byte> stored, std::size_t bth) {
  if (stored.size() < bth + wire::BthLayout::bytes) return stored.size();
  constexpr std::size_t kReserved7At = 8;  // in the BTH
  const wire::Bth header{.opcode = static_cast<wire::Opcode>(stored[bth]),
                         .reserved7 = std::to_integer<std::uint8_t>(stored[bth + kReserved7At])};
  const wire::OpcodeInfo& info = wire::opcode_info(header.opcode);
  const std::size_t added_bytes = wire::recovery_header_bytes(info, header) + wire::telemetry_bytes(header);
  return std::min(stored.size(), bth + wire::BthLayout::bytes + info.extension_bytes + added_bytes);
}

/// Of both addresses.
std::uint64_t hash_of_addresses(const std::byte* at, std::size_t address_bytes) {
  constexpr std::size_t kIpv4Bytes = 4;
  if (address_bytes == kIpv4Bytes) return load_u64(at);
  return mix_all({load_u64(at), load_u64(at + 8), load_u64(at + 16), load_u64(at + 24)});
}

/// Of what a switch tells flows apart by. Of a frame whose network header it does not read: both Ethernet addresses.
std::uint64_t hash_of_ends(std::span<const std::byte> frame, const wire::FramePlaces& places) {
  if (!places.is_hidden) return hash_of_addresses(frame.data() + places.addresses_at, places.address_bytes);
  constexpr std::size_t kLastFourAt = 8;  // of the twelve octets
  return mix_all({load_u64(frame.data()), load_u64(frame.data() + kLastFourAt) & UINT32_MAX});
}

std::uint32_t load_entropy(std::span<const std::byte> frame, const wire::FramePlaces& places) {
  if (places.entropy_at == 0) return 0;
  const std::byte* const at = frame.data() + places.entropy_at;
  return std::to_integer<std::uint32_t>(at[0]) << 8 | std::to_integer<std::uint32_t>(at[1]);
}

/// InfiniBand's switches forward by the destination's LID, so that all packets for one port go the same way. A group's
/// packets go by the GID for which its LID stands.
void find_way(std::span<const std::byte> packet, FlowDissector& into) {
  const wire::Lid to =
      wire::LocalRouteHeaderLayout::parse(packet.first<wire::LocalRouteHeaderLayout::bytes>()).destination;
  if (!to.is_multicast()) into.destination = wire::gid_of(to);
  into.flow_hash = static_cast<std::uint32_t>(mix(to.value()));
}

}  // namespace

FlowDissector look_at(std::span<const std::byte> stored, std::size_t bytes, bool with_digest, wire::Medium medium) {
  constexpr std::size_t kUnknownDigested = 64;
  FlowDissector look;
  stored = stored.first(std::min(stored.size(), bytes));
  const auto places = wire::find_places(stored, medium);
  if (!places || stored.size() < places->bth_at) {
    look.header_bytes = stored.size();
    if (with_digest) look.digest = digest_of(stored.first(std::min(stored.size(), kUnknownDigested)));
    return look;
  }
  look.is_known = true;
  const unsigned ecn = wire::traffic_class_of(stored, *places) & wire::kEcnMask;
  look.ecn_capable = !places->is_hidden && ecn != 0 && ecn != wire::kEcnCongestionExperienced;
  look.destination = wire::destination_of(stored, *places);
  look.flow_hash = static_cast<std::uint32_t>(mix(mix(hash_of_ends(stored, *places)) ^ load_entropy(stored, *places)));
  if (medium == wire::Medium::infiniband) find_way(stored, look);
  look.header_bytes = header_bytes(stored, places->bth_at);
  if (with_digest) look.digest = digest_of(stored.first(look.header_bytes).subspan(places->network_at));
  return look;
}

FrameMarking look_at_marking(std::span<const std::byte> frame) {
  constexpr unsigned kDscpShift = 2;
  const auto places = wire::find_places(frame);
  if (!places) return {};
  if (places->is_hidden) return {0, places->priority};
  return {static_cast<std::uint8_t>(wire::traffic_class_of(frame, *places) >> kDscpShift), places->priority};
}

std::optional<wire::Gid> look_at_source(std::span<const std::byte> frame, wire::Medium medium) {
  const auto places = wire::find_places(frame, medium);
  if (places && medium == wire::Medium::infiniband)
    return wire::gid_of(wire::LocalRouteHeaderLayout::parse(frame.first<wire::LocalRouteHeaderLayout::bytes>()).source);
  return places ? std::optional(wire::source_of(frame, *places)) : std::nullopt;
}

}  // namespace verbena::fabric
