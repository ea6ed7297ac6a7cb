// A second encapsulation: a toy that shares nothing with RoCE v2 but Ethernet. It shows that one file and one row are
// all that an encapsulation takes.
//
// Its network header has 16 octets: version, traffic class, the octets from BTH to ICRC, both addresses (IPv4), and
// four that are reserved. A sum of all octets follows the ICRC. The ICRC takes the traffic class for ones.
// Include it in one file of a test program: it defines the table of encapsulations, in place of wire/encapsulations.cc.
#pragma once

#include <algorithm>
#include <array>
#include <numeric>

#include "wire/encapsulation.h"
#include "wire/frame_template.h"
#include "wire/icrc.h"
#include "wire/packet_view.h"

namespace verbena::wire::toy {

struct Header {
  std::uint8_t version = 7;
  std::uint8_t traffic_class = 0;
  std::uint16_t transport_bytes = 0;
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  std::uint32_t reserved = 0;
};
using HeaderLayout =
    Layout<Field<&Header::version, 8>, Field<&Header::traffic_class, 8>, Field<&Header::transport_bytes, 16>,
           Field<&Header::source, 32>, Field<&Header::destination, 32>, Field<&Header::reserved, 32>>;

inline constexpr std::uint16_t kEtherType = 0x88b5;  // IEEE 802: local experiments
inline constexpr std::size_t kTrailerBytes = 2;

inline FramePlaces places_at(std::size_t network_at) {
  const auto at = [&](std::size_t offset) { return static_cast<std::uint8_t>(network_at + offset); };
  FramePlaces places;
  places.network_at = at(0);
  places.network_bytes = HeaderLayout::bytes;
  places.addresses_at = at(4);
  places.address_bytes = 4;
  places.bth_at = at(HeaderLayout::bytes);
  places.carries_transport = true;
  return places;
}

inline std::uint32_t icrc_of_headers(std::span<const std::byte> frame, const FramePlaces& places) {
  std::array<std::byte, 8 + HeaderLayout::bytes> masked;
  masked.fill(std::byte{0xff});
  std::copy_n(frame.begin() + places.network_at, HeaderLayout::bytes, masked.begin() + 8);
  masked[8 + 1] = std::byte{0xff};
  Icrc crc;
  crc.update(masked.data(), masked.size());
  return crc.value();
}

inline void begin(const FramePath& path, FrameHeaders& into) {
  begin_ethernet(path, kEtherType, into);
  into.append(HeaderLayout::emit(
      {.traffic_class = path.traffic_class, .source = path.source.ipv4(), .destination = path.destination.ipv4()}));
}

inline void fit(FrameHeaders& headers, std::size_t transport_bytes) {
  layout_detail::store_big_endian<2>(headers.octets.data() + headers.network_at + 2, transport_bytes);
  headers.icrc_until_bth = icrc_of_headers(headers.octets, places_at(headers.network_at));
}

inline std::uint16_t sum_of(std::span<const std::byte> octets) {
  return std::accumulate(octets.begin(), octets.end(), std::uint16_t{0}, [](std::uint16_t sum, std::byte octet) {
    return static_cast<std::uint16_t>(sum + std::to_integer<unsigned>(octet));
  });
}

inline void seal(std::span<std::byte> frame) {
  const auto covered = frame.first(frame.size() - kTrailerBytes);
  layout_detail::store_big_endian<2>(frame.data() + covered.size(), sum_of(covered));
}

inline Result<Carried, ParseError> parse(std::span<const std::byte> headers, std::size_t network_at) {
  if (headers.size() < network_at + HeaderLayout::bytes) return Failure{ParseError::truncated};
  const Header header = HeaderLayout::parse(headers.subspan(network_at).first<HeaderLayout::bytes>());
  if (header.version != 7) return Failure{ParseError::bad_ip_header};
  return Carried{places_at(network_at), header.transport_bytes};
}

inline std::optional<FramePlaces> find(std::span<const std::byte> frame, std::size_t network_at, std::uint16_t) {
  if (frame.size() < network_at + HeaderLayout::bytes) return std::nullopt;
  return places_at(network_at);
}

inline constinit const Encapsulation kToy{.name = "toy",
                                          .ether_types = {kEtherType},
                                          .trailer_bytes = kTrailerBytes,
                                          .begin = begin,
                                          .fit = fit,
                                          .seal = seal,
                                          .parse = parse,
                                          .find = find,
                                          .icrc_until_bth = icrc_of_headers};

}  // namespace verbena::wire::toy

namespace verbena::wire {

std::span<const Encapsulation* const> encapsulations() {
  static constexpr std::array kRows{&kRoceV2, &toy::kToy};
  return kRows;
}

}  // namespace verbena::wire
