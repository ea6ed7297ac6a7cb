#include "wire/frame_places.h"

#include "wire/flow_key.h"
#include "wire/headers.h"

namespace verbena::wire {
namespace {

std::uint32_t load_u16(const std::byte* at) {
  return static_cast<std::uint32_t>(layout_detail::load_big_endian<2>(at));
}

}  // namespace

bool has_bth(std::span<const std::byte> frame, const FramePlaces& places) {
  return frame.size() >= places.bth_at + BthLayout::bytes;
}

Gid source_of(std::span<const std::byte> frame, const FramePlaces& places) {
  return gid_at(frame.data() + places.addresses_at, places.address_bytes);
}

Gid destination_of(std::span<const std::byte> frame, const FramePlaces& places) {
  return gid_at(frame.data() + place_of_destination(places), places.address_bytes);
}

std::uint8_t traffic_class_of(std::span<const std::byte> frame, const FramePlaces& places) {
  return static_cast<std::uint8_t>(load_u16(frame.data() + places.network_at) >> places.class_shift);
}

void mark_congestion_at(std::span<std::byte> frame, const FramePlaces& places) {
  std::byte* const word_at = frame.data() + places.network_at;
  const std::uint32_t before = load_u16(word_at);
  const std::uint32_t after = before | std::uint32_t{kEcnCongestionExperienced} << places.class_shift;
  layout_detail::store_big_endian<2>(word_at, after);
  if (places.checksum_at == 0 || after == before) return;
  // RFC 1624: the new checksum is ~(~old + ~before + after), each a word.
  std::byte* const checksum_at = frame.data() + places.checksum_at;
  std::uint32_t sum = (~load_u16(checksum_at) & 0xffffu) + (~before & 0xffffu) + after;
  while (sum >> 16 != 0) sum = (sum & 0xffffu) + (sum >> 16);
  layout_detail::store_big_endian<2>(checksum_at, ~sum & 0xffffu);
}

std::optional<Qpn> find_destination_qpn(std::span<const std::byte> frame, Medium medium) {
  const auto places = find_places(frame, medium);
  if (!places || !has_bth(frame, *places)) return std::nullopt;
  return BthLayout::parse(frame.subspan(places->bth_at).first<BthLayout::bytes>()).dest_qp;
}

}  // namespace verbena::wire
