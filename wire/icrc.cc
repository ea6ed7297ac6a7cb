#include "wire/icrc.h"

#include <algorithm>
#include <cstring>

#include "wire/assert.h"
#include "wire/crc32.h"
#include "wire/crc32_polynomial.h"
#include "wire/packet_view.h"

namespace verbena::wire {
namespace {

constexpr std::byte kOnes{0xff};
constexpr std::size_t kLinkOnes = 8;

}  // namespace

void Icrc::update(const void* bytes, std::size_t size) {
  state_ = crc32(state_, static_cast<const std::byte*>(bytes), size);
}

std::size_t mask_headers(std::span<const std::byte> ip_header, bool is_ipv4,
                         std::span<std::byte, kMaskedBytesMax> into) {
  const std::size_t ip_bytes = is_ipv4 ? Ipv4Layout::bytes : Ipv6Layout::bytes;
  const std::size_t header_bytes = ip_bytes + UdpLayout::bytes + BthLayout::bytes;
  VERBENA_ASSERT(ip_header.size() >= header_bytes);
  std::byte* const ip = into.data() + kLinkOnes;
  std::memset(into.data(), 0xff, kLinkOnes);
  if (is_ipv4) {
    std::memcpy(ip, ip_header.data(), Ipv4Layout::bytes + UdpLayout::bytes + BthLayout::bytes);
    ip[1] = ip[8] = ip[10] = ip[11] = kOnes;  // TOS, TTL, checksum
  } else {
    std::memcpy(ip, ip_header.data(), Ipv6Layout::bytes + UdpLayout::bytes + BthLayout::bytes);
    ip[0] |= std::byte{0x0f};  // the version stays
    ip[1] = ip[2] = ip[3] = ip[7] = kOnes;
  }
  ip[ip_bytes + 6] = ip[ip_bytes + 7] = kOnes;
  ip[ip_bytes + UdpLayout::bytes + kBthMaskedOctet] = kOnes;
  return kLinkOnes + header_bytes;
}

std::uint32_t icrc_until_bth(std::span<const std::byte> ip_header, bool is_ipv4) {
  const std::size_t bytes = (is_ipv4 ? Ipv4Layout::bytes : Ipv6Layout::bytes) + UdpLayout::bytes;
  // mask_headers() wants a BTH behind, which does not count here.
  std::array<std::byte, kMaskedBytesMax> packet{};
  std::copy_n(ip_header.begin(), bytes, packet.begin());
  std::array<std::byte, kMaskedBytesMax> masked;
  mask_headers(packet, is_ipv4, masked);
  Icrc crc;
  crc.update(masked.data(), kLinkOnes + bytes);
  return crc.value();
}

namespace {
// A short packet goes through the CRC in one piece: a second call costs more than the copy.
constexpr std::size_t kOnePieceBytes = 192;
constexpr std::array<std::byte, kTelemetryBytes> kNoTelemetry{};
}  // namespace

std::uint32_t icrc_from_bth(std::uint32_t until_bth, std::span<const std::byte> transport,
                            std::span<const std::byte> payload, std::size_t telemetry_bytes) {
  constexpr std::size_t kTransportBytesMax = 52;
  VERBENA_ASSERT(transport.size() >= BthLayout::bytes && transport.size() <= kTransportBytesMax);
  std::array<std::byte, kTransportBytesMax + kOnePieceBytes> masked;
  std::memcpy(masked.data(), transport.data(), transport.size());
  masked[kBthMaskedOctet] = kOnes;
  Icrc crc(until_bth);
  if (telemetry_bytes != 0) [[unlikely]] {
    crc.update(masked.data(), transport.size());
    crc.update(kNoTelemetry.data(), telemetry_bytes);
    crc.update(payload.data(), payload.size());
  } else if (payload.size() <= kOnePieceBytes) {
    if (!payload.empty()) std::memcpy(masked.data() + transport.size(), payload.data(), payload.size());
    crc.update(masked.data(), transport.size() + payload.size());
  } else {
    crc.update(masked.data(), transport.size());
    crc.update(payload.data(), payload.size());
  }
  return crc.value();
}

std::uint32_t compute_icrc(std::span<const std::byte> packet, bool is_ipv4, const ZeroedOctets& zeroed) {
  std::array<std::byte, kMaskedBytesMax + kOnePieceBytes> masked;
  const std::size_t masked_bytes = mask_headers(packet, is_ipv4, std::span(masked).first<kMaskedBytesMax>());
  const std::span<const std::byte> rest = packet.subspan(masked_bytes - kLinkOnes);
  Icrc crc;
  if (zeroed.bytes != 0) [[unlikely]] {
    const std::size_t before = zeroed.at - (packet.size() - rest.size());
    crc.update(masked.data(), masked_bytes);
    crc.update(rest.data(), before);
    crc.update(kNoTelemetry.data(), zeroed.bytes);
    crc.update(rest.data() + before + zeroed.bytes, rest.size() - before - zeroed.bytes);
  } else if (rest.size() <= kOnePieceBytes) {
    std::memcpy(masked.data() + masked_bytes, rest.data(), rest.size());
    crc.update(masked.data(), masked_bytes + rest.size());
  } else {
    crc.update(masked.data(), masked_bytes);
    crc.update(rest.data(), rest.size());
  }
  return crc.value();
}

namespace {

// Running the CRC backwards. In the reflected order bit 31 is x^0 and bit 0 is x^31.
constexpr std::uint32_t back_one_bit(std::uint32_t state) {
  return (state & 0x80000000) != 0 ? ((state ^ kCrc32Polynomial) << 1 | 1) : state << 1;
}
static_assert(back_one_bit(kCrc32Polynomial) == 1 && back_one_bit(1) == 2);

/// x^(-8 n) for each number of octets n that can follow the identification.
constexpr auto kBackOctets = [] {
  std::array<std::uint32_t, kFrameBytesMax> table{};
  std::uint32_t factor = 0x80000000;  // x^0
  for (std::uint32_t& entry : table) {
    entry = factor;
    for (int bit = 0; bit < 8; ++bit) factor = back_one_bit(factor);
  }
  return table;
}();

}  // namespace

std::optional<std::uint16_t> solve_ipv4_identification(std::span<const std::byte> frame) {
  const auto view = parse_frame(frame);
  if (!view || view->network().header() != NetworkHeader::ipv4) return std::nullopt;
  const std::uint32_t difference = computed_icrc(*view) ^ view->icrc();
  // The difference that the identification makes, taken back to where its two octets enter the CRC: they are its low
  // half.
  constexpr std::size_t kIdentificationOffset = 4;
  const std::size_t octets_back =
      view->frame().size() - view->network().places().network_at - kIcrcBytes - kIdentificationOffset;
  if (octets_back >= kBackOctets.size()) return std::nullopt;
  const std::uint32_t entered = crc32_multiply(difference, kBackOctets[octets_back]);
  if (entered >> 16 != 0) return std::nullopt;
  return static_cast<std::uint16_t>(view->ip().v4().identification ^ ((entered & 0xff) << 8 | entered >> 8));
}

void complete_icrc(std::span<std::byte> frame, Medium medium) {
  const auto view = parse_on(medium, frame);
  if (!view) return;
  const std::size_t icrc_at = view->frame().size() - kIcrcBytes;
  layout_detail::store_icrc(frame.data() + icrc_at, computed_icrc(*view));
  const Encapsulation& encapsulation = view->network().encapsulation();
  if (encapsulation.trailer_bytes != 0)
    encapsulation.seal(frame.first(view->frame().size() + encapsulation.trailer_bytes));
}

std::span<const std::byte> CompletedFrame::copy_of(std::span<const std::byte> frame, Medium medium) {
  VERBENA_ASSERT(frame.size() <= octets_.size());
  std::ranges::copy(frame, octets_.begin());
  const std::span<std::byte> copy = std::span(octets_).first(frame.size());
  complete_icrc(copy, medium);
  return copy;
}

void set_ipv4_identification(std::span<std::byte> frame, std::uint16_t identification) {
  if (frame.size() < EthernetLayout::bytes + Ipv4Layout::bytes) return;
  const Ethernet ethernet = EthernetLayout::parse(frame.first<EthernetLayout::bytes>());
  std::uint16_t ether_type = ethernet.ether_type;
  std::span<std::byte> rest = frame.subspan(EthernetLayout::bytes);
  if (ether_type == kEtherTypeVlan) {
    ether_type = VlanLayout::parse(rest.first<VlanLayout::bytes>()).ether_type;
    rest = rest.subspan(VlanLayout::bytes);
  }
  if (ether_type != kEtherTypeIpv4 || rest.size() < Ipv4Layout::bytes) return;
  const std::span<std::byte, Ipv4Layout::bytes> header = rest.first<Ipv4Layout::bytes>();
  Ipv4 ip = Ipv4Layout::parse(header);
  // RFC 1624, equation 3: HC' = ~(~HC + ~m + m').
  std::uint32_t sum = static_cast<std::uint16_t>(~ip.checksum);
  sum += static_cast<std::uint16_t>(~ip.identification);
  sum += identification;
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  ip.checksum = static_cast<std::uint16_t>(~sum);
  ip.identification = identification;
  Ipv4Layout::emit(ip, header);
}

}  // namespace verbena::wire
