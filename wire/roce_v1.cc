#include "wire/roce_v1.h"

#include <algorithm>
#include <array>

#include "wire/frame_template.h"
#include "wire/headers.h"
#include "wire/icrc.h"
#include "wire/packet_view.h"

namespace verbena::wire {
namespace {

constexpr std::size_t kLengthOffset = 4;  // in the GRH
constexpr std::size_t kHopLimitOffset = 7;
constexpr std::size_t kAddressesOffset = 8;
constexpr std::size_t kNextHeaderOffset = 6;

FramePlaces places_at(std::size_t network_at) {
  constexpr std::uint8_t kClassShift = 4;
  const auto at = [&](std::size_t offset) { return static_cast<std::uint8_t>(network_at + offset); };
  FramePlaces places;
  places.network_at = at(0);
  places.network_bytes = GrhLayout::bytes;
  places.addresses_at = at(kAddressesOffset);
  places.address_bytes = sizeof(Gid);
  places.bth_at = at(GrhLayout::bytes);
  places.class_shift = kClassShift;
  places.is_hidden = kRoceV1.is_hidden;
  return places;
}

/// Annex A16: eight octets of ones in the place of the LRH; what a router of InfiniBand changes in the GRH counts as
/// ones (IBTA 7.8.1).
std::uint32_t icrc_of_headers(std::span<const std::byte> frame, const FramePlaces& places) {
  constexpr std::size_t kLrhBytes = 8;
  constexpr std::byte kOnes{0xff};
  std::array<std::byte, kLrhBytes + GrhLayout::bytes> masked;
  std::ranges::fill(std::span(masked).first(kLrhBytes), kOnes);
  std::byte* const grh = masked.data() + kLrhBytes;
  std::copy_n(frame.begin() + places.network_at, GrhLayout::bytes, grh);
  grh[0] |= std::byte{0x0f};  // the traffic class; the version stays
  grh[1] = grh[2] = grh[3] = kOnes;
  grh[kHopLimitOffset] = kOnes;
  Icrc crc;
  crc.update(masked.data(), masked.size());
  return crc.value();
}

void begin(const FramePath& path, FrameHeaders& into) {
  begin_ethernet(path, kEtherTypeRoceV1, into);
  Grh grh;
  grh.traffic_class = path.traffic_class;
  grh.flow_label = path.flow_label;
  grh.hop_limit = path.hop_limit;
  grh.source = path.source;
  grh.destination = path.destination;
  into.class_shift = places_at(into.network_at).class_shift;
  into.append(GrhLayout::emit(grh));
}

void fit(FrameHeaders& headers, std::size_t transport_bytes) {
  layout_detail::store_big_endian<2>(headers.octets.data() + headers.network_at + kLengthOffset, transport_bytes);
  headers.icrc_until_bth = icrc_of_headers(headers.octets, places_at(headers.network_at));
}

Result<Carried, ParseError> parse(std::span<const std::byte> headers, std::size_t network_at) {
  if (headers.size() < network_at + GrhLayout::bytes) return Failure{ParseError::truncated};
  const Grh grh = GrhLayout::parse(headers.subspan(network_at).first<GrhLayout::bytes>());
  if (grh.version != kGrhVersion || grh.next_header != kGrhNextHeaderIba) return Failure{ParseError::bad_grh};
  FramePlaces places = places_at(network_at);
  places.carries_transport = true;
  return Carried{places, grh.payload_bytes};
}

std::optional<FramePlaces> find(std::span<const std::byte> frame, std::size_t network_at, std::uint16_t) {
  if (frame.size() < network_at + GrhLayout::bytes) return std::nullopt;
  FramePlaces places = places_at(network_at);
  places.carries_transport = frame[network_at + kNextHeaderOffset] == std::byte{kGrhNextHeaderIba};
  return places;
}

}  // namespace

constinit const Encapsulation kRoceV1{.name = "RoCE v1",
                                      .ether_types = {kEtherTypeRoceV1},
                                      .is_hidden = true,
                                      .begin = begin,
                                      .fit = fit,
                                      .parse = parse,
                                      .find = find,
                                      .icrc_until_bth = icrc_of_headers};

Grh grh_of(const PacketView& packet) {
  VERBENA_ASSERT(&packet.network().encapsulation() == &kRoceV1);
  return GrhLayout::parse(packet.frame().subspan(packet.network().places().network_at).first<GrhLayout::bytes>());
}

}  // namespace verbena::wire
