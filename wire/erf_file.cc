// Files that are nothing but Endace's records ("ERF types"): each a header of 16 octets, of which the time is
// little-endian and all else big-endian, further headers of 8, one that the type has, and the packet.
// Tested by: tests/wire/erf_file_test.cc, tests/captures/layers.py
#include <algorithm>

#include "wire/pcap_file.h"

namespace verbena::wire {
namespace {

constexpr std::uint64_t kHeaderBytes = 16;
constexpr std::uint64_t kExtensionBytes = 8;
constexpr std::uint8_t kTypePadding = 48;
constexpr int kRecordsTried = 20;
constexpr int kRecordsNeeded = 3;  // before a file that ends within a record is believed

bool is_known(std::uint8_t type) {
  constexpr std::uint8_t kTypeMax = 30;  // Omni-Path's
  return (type != 0 && type <= kTypeMax) || type == kTypePadding;
}

/// Of the header that stands between the others and the packet.
std::uint64_t own_bytes(std::uint8_t type) {
  switch (type) {
    case 2:  // Ethernet, in four ways
    case 11:
    case 16:
    case 20:
      return 2;
    case 5:  // of channels
    case 6:
    case 7:
    case 8:
    case 9:
    case 12:
    case 17:
    case 18:
      return 4;
    default:
      return 0;
  }
}

}  // namespace

struct CaptureReader::ErfRecord {
  std::uint8_t type = 0;
  std::uint8_t interface = 0;
  std::uint64_t bytes = 0;  // of all of it; 0: its header is not there, or cannot be one
  std::uint64_t original_bytes = 0;
  std::uint64_t time = 0;  // in units of 2^-32 s
};

/// Its header must be there; the rest may be cut off.
CaptureReader::ErfRecord CaptureReader::erf_record(std::uint64_t offset) const {
  ErfRecord record;
  if (file_.size() - offset < kHeaderBytes) return record;
  const auto octet = [&](std::uint64_t at) { return std::to_integer<std::uint8_t>(file_[offset + at]); };
  const auto big_u16 = [&](std::uint64_t at) { return std::uint64_t{octet(at)} << 8 | octet(at + 1); };
  constexpr std::uint8_t kHasExtension = 0x80;
  for (std::uint64_t i = 0; i < 8; ++i) record.time |= std::uint64_t{octet(i)} << 8 * i;
  record.type = octet(8) & 0x7f;
  record.interface = octet(9) & 3;
  const std::uint64_t bytes = big_u16(10);
  if (bytes < kHeaderBytes || !is_known(record.type)) return record;
  std::uint64_t packet_at = kHeaderBytes;
  bool has_more = (octet(8) & kHasExtension) != 0;
  const std::uint64_t there = std::min<std::uint64_t>(bytes, file_.size() - offset);
  while (has_more && packet_at + kExtensionBytes <= there) {
    has_more = (octet(packet_at) & kHasExtension) != 0;
    packet_at += kExtensionBytes;
  }
  packet_at += own_bytes(record.type);
  record.bytes = bytes;
  record.original_bytes = std::max(bytes, packet_at + big_u16(14));
  return record;
}

/// There is no magic number: the first records must be what records are, one behind the other, and in the order of
/// time (within a second, for a card's ports need not agree).
bool CaptureReader::is_erf() const {
  constexpr std::uint64_t kSecond = std::uint64_t{1} << 32;
  constexpr std::uint64_t kYear = 365 * 86'400 * kSecond;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> before;
  for (int i = 0; i < kRecordsTried && offset < file_.size(); ++i) {
    const ErfRecord record = erf_record(offset);
    const bool is_cut = file_.size() - offset < std::max(record.bytes, kHeaderBytes);
    if (is_cut) return i >= kRecordsNeeded;
    if (record.bytes == 0) return false;
    offset += record.bytes;
    if (record.type == kTypePadding) continue;
    if (before && record.time + kSecond < *before) return false;
    if (before && record.time > *before && record.time - *before > kYear) return false;
    before = record.time;
  }
  return before.has_value();
}

/// The record is the packet, as in a pcap with the link type of ERF. Padding between records is none.
CaptureReader::Packet CaptureReader::next_erf() {
  while (left() != 0) {
    const std::uint64_t offset = position_;
    const ErfRecord record = erf_record(offset);
    if (record.bytes == 0 || record.bytes > left()) {
      fail(offset, record.bytes == 0 && left() >= kHeaderBytes ? "what follows is no ERF record"
                                                               : "packet is cut off or its length is wrong");
      return std::nullopt;
    }
    position_ += record.bytes;
    if (record.type == kTypePadding) continue;
    CapturedPacket packet;
    constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
    const std::uint64_t fraction_ns = ((record.time & 0xffffffff) * kNsPerSecond + (1u << 31)) >> 32;
    packet.time.ns = static_cast<std::int64_t>((record.time >> 32) * kNsPerSecond + fraction_ns);
    packet.bytes = file_.subspan(offset, record.bytes);
    packet.original_bytes = record.original_bytes;
    packet.link_type = LinkType::erf;
    packet.interface = record.interface;
    packet.file_offset = offset;
    return packet;
  }
  return std::nullopt;
}

std::size_t encode_erf_record(std::span<std::byte> into, const PacketRecord& packet, ErfType type) {
  constexpr std::byte kVaryingLength{0x04};
  constexpr std::size_t kLengthMax = 0xffff;
  const std::size_t kept =
      packet.snap_bytes == 0 ? packet.bytes.size() : std::min(packet.snap_bytes, packet.bytes.size());
  const std::size_t bytes = (kHeaderBytes + kept + 7) / 8 * 8;
  if (into.size() < bytes || bytes > kLengthMax || packet.bytes.size() > kLengthMax) return 0;
  std::ranges::fill(into.first(bytes), std::byte{0});
  constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
  const auto ns = static_cast<std::uint64_t>(std::max<std::int64_t>(packet.time.ns, 0));
  const std::uint64_t fraction = ((ns % kNsPerSecond << 32) + kNsPerSecond / 2) / kNsPerSecond;
  const std::uint64_t time = (ns / kNsPerSecond << 32) + fraction;
  for (std::size_t i = 0; i < 8; ++i) into[i] = static_cast<std::byte>(time >> 8 * i);
  into[8] = static_cast<std::byte>(type);
  into[9] = kVaryingLength | static_cast<std::byte>(packet.interface & 3);
  layout_detail::store_big_endian<2>(into.data() + 10, bytes);
  layout_detail::store_big_endian<2>(into.data() + 14, packet.bytes.size());
  std::ranges::copy(packet.bytes.first(kept), into.begin() + kHeaderBytes);
  return bytes;
}

}  // namespace verbena::wire
