#include "wire/pcap_file.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace verbena::wire {
namespace {

__extension__ using Wide = __int128;

constexpr std::uint32_t kPcapMicroseconds = 0xa1b2c3d4;
constexpr std::uint32_t kPcapNanoseconds = 0xa1b23c4d;
constexpr std::uint32_t kPcapModified = 0xa1b2cd34;  // Kuznetzov's: more in each record's header
constexpr std::uint32_t kPcapIxiaNanoseconds = 0x1c0001ac;
constexpr std::uint32_t kPcapIxiaMicroseconds = 0x1c0001ab;
constexpr std::uint64_t kPcapHeaderBytes = 24;
constexpr std::uint64_t kPcapIxiaHeaderBytes = 28;
constexpr std::uint64_t kPcapRecordBytes = 16;
constexpr std::uint64_t kPcapModifiedRecordBytes = 24;
constexpr std::uint32_t kPcapKeptMax = 1 << 28;  // of a record; nobody captures more

constexpr std::uint32_t kSectionBlock = 0x0a0d0d0a;  // reads the same in both byte orders
constexpr std::uint32_t kByteOrderMagic = 0x1a2b3c4d;
constexpr std::uint32_t kInterfaceBlock = 1;
constexpr std::uint32_t kObsoletePacketBlock = 2;
constexpr std::uint32_t kSimplePacketBlock = 3;
constexpr std::uint32_t kEnhancedPacketBlock = 6;
constexpr std::uint64_t kBlockBytesMin = 12;
constexpr std::uint64_t kSectionBytesMin = 28;

constexpr std::uint16_t kOptionEnd = 0;
constexpr std::uint16_t kOptionComment = 1;
constexpr std::uint16_t kOptionInterfaceName = 2;
constexpr std::uint16_t kOptionPacketFlags = 2;
constexpr std::uint16_t kOptionTimeResolution = 9;
constexpr std::uint16_t kOptionCheckBytes = 13;
constexpr std::uint16_t kOptionTimeOffset = 14;

constexpr std::int64_t kNsPerSecond = 1'000'000'000;

/// if_tsresol: 10^-n seconds a tick, or 2^-n with the top bit set.
Time to_time(std::uint64_t ticks, std::uint8_t resolution, std::int64_t offset_seconds) {
  Wide ns = ticks;
  const unsigned exponent = resolution & 0x7f;
  if ((resolution & 0x80) != 0) {
    ns = ns * kNsPerSecond >> exponent;
  } else {
    for (unsigned i = exponent; i < 9; ++i) ns *= 10;
    for (unsigned i = 9; i < exponent && ns != 0; ++i) ns /= 10;
  }
  ns += Wide{offset_seconds} * kNsPerSecond;
  constexpr Wide kMax = std::numeric_limits<std::int64_t>::max();
  return {static_cast<std::int64_t>(std::clamp(ns, -kMax, kMax))};
}

/// A frame check sequence is not a frame's own.
void drop_check_bytes(CapturedPacket& packet, std::size_t bytes) {
  if (bytes == 0 || packet.original_bytes < bytes) return;
  packet.original_bytes -= bytes;
  packet.bytes = packet.bytes.first(std::min(packet.bytes.size(), packet.original_bytes));
}

}  // namespace

/// A pcapng block whose two lengths agree and which lies within the file.
struct CaptureReader::Block {
  std::uint32_t type = 0;
  std::uint64_t offset = 0;  // of the block
  std::uint64_t body = 0;    // of what is behind type and length
  std::uint64_t end = 0;     // of the body
};

std::uint16_t CaptureReader::u16(std::uint64_t offset) const {
  const auto octet = [&](std::size_t i) { return std::to_integer<unsigned>(file_[offset + i]); };
  return static_cast<std::uint16_t>(swapped_ ? octet(0) << 8 | octet(1) : octet(1) << 8 | octet(0));
}
std::uint32_t CaptureReader::u32(std::uint64_t offset) const {
  const std::uint32_t first = u16(offset);
  const std::uint32_t second = u16(offset + 2);
  return swapped_ ? first << 16 | second : second << 16 | first;
}
std::uint64_t CaptureReader::u64(std::uint64_t offset) const {
  const std::uint64_t first = u32(offset);
  const std::uint64_t second = u32(offset + 4);
  return swapped_ ? first << 32 | second : second << 32 | first;
}
std::string_view CaptureReader::text(std::uint64_t offset, std::size_t bytes) const {
  std::string_view all(reinterpret_cast<const char*>(file_.data()) + offset, bytes);
  return all.substr(0, all.find('\0'));
}

bool CaptureReader::fail(std::uint64_t offset, std::string_view what) {
  error_ = CaptureError{offset, what};
  return false;
}

Result<CaptureReader, CaptureError> CaptureReader::open(std::span<const std::byte> file) {
  CaptureReader reader(file);
  if (file.size() < 4) return Failure{CaptureError{0, "too short for a capture file"}};
  if (reader.u32(0) == kSectionBlock) {
    reader.form_ = Form::pcapng;
    Block section;
    if (!reader.read_block(section)) return Failure{*reader.error_};
    reader.position_ = 0;
    return reader;
  }
  for (const bool swapped : {false, true}) {
    reader.swapped_ = swapped;
    const std::uint32_t magic = reader.u32(0);
    constexpr std::array kMagics{kPcapMicroseconds, kPcapNanoseconds, kPcapModified, kPcapIxiaNanoseconds,
                                 kPcapIxiaMicroseconds};
    if (std::find(kMagics.begin(), kMagics.end(), magic) == kMagics.end()) continue;
    if (!reader.read_pcap_header(magic)) return Failure{*reader.error_};
    return reader;
  }
  if (reader.is_erf()) {
    reader.form_ = Form::erf;
    return reader;
  }
  return Failure{CaptureError{0, "neither pcap, pcapng nor ERF"}};
}

/// The field of the link type: the type in the lower 16 bits, a class above it (NetBSD's), then how many octets of
/// check sequence each frame ends with, in words of 16 bits, if bit 26 says so.
bool CaptureReader::read_pcap_header(std::uint32_t magic) {
  const bool is_ixia = magic == kPcapIxiaNanoseconds || magic == kPcapIxiaMicroseconds;
  const std::uint64_t header_bytes = is_ixia ? kPcapIxiaHeaderBytes : kPcapHeaderBytes;
  if (file_.size() < header_bytes) return fail(file_.size(), "pcap header is cut off");
  nanoseconds_ = magic == kPcapNanoseconds || magic == kPcapIxiaNanoseconds;
  const std::uint32_t minor = u16(6);
  may_be_swapped_ = u16(4) == 2 && minor <= 3;
  const std::uint32_t field = u32(20);
  constexpr std::uint32_t kHasCheckBytes = 1 << 26;
  std::uint32_t type = field & 0x03ffffff;
  if ((field & kHasCheckBytes) != 0) check_bytes_ = (field >> 28) * 2;
  // AIX writes version 2.2, nanoseconds and the types of RFC 1573.
  constexpr std::uint32_t kAixEthernet = 6;
  constexpr std::uint32_t kAixLoopback = 24;
  if (u16(4) == 2 && minor == 2 && (type == kAixEthernet || type == kAixLoopback)) {
    nanoseconds_ = true;
    type = type == kAixEthernet ? 1 : 0;
  }
  link_type_ = static_cast<LinkType>(type);
  position_ = header_bytes;
  record_bytes_ = record_bytes(magic == kPcapModified ? kPcapModifiedRecordBytes : kPcapRecordBytes);
  return true;
}

/// Whether a record with a header of so many octets can be there.
bool CaptureReader::is_record(std::uint64_t offset, std::uint64_t header_bytes, std::uint64_t& end) const {
  if (offset + header_bytes > file_.size()) return offset == file_.size();
  const std::uint32_t fraction = u32(offset + 4);
  const std::uint32_t kept = u32(offset + 8);
  const std::uint32_t original = u32(offset + 12);
  if (fraction >= (nanoseconds_ ? 1'000'000'000u : 1'000'000u) || kept > kPcapKeptMax || original > kPcapKeptMax)
    return false;
  if (kept > original && !may_be_swapped_) return false;
  end = offset + header_bytes + std::min(kept, original);
  return end <= file_.size();
}

/// Patched libpcaps wrote longer headers under the usual magic (Nokia's, and Linux distributions of 1999): whichever
/// fits the first records where the usual one does not.
std::uint64_t CaptureReader::record_bytes(std::uint64_t usual) const {
  constexpr int kRecordsTried = 4;
  for (const std::uint64_t header_bytes : {usual, std::uint64_t{20}, std::uint64_t{24}, std::uint64_t{28}}) {
    std::uint64_t at = position_;
    bool fits = true;
    for (int i = 0; i < kRecordsTried && fits && at < file_.size(); ++i) fits = is_record(at, header_bytes, at);
    if (fits) return header_bytes;
  }
  return usual;
}

Result<std::optional<CapturedPacket>, CaptureError> CaptureReader::next() {
  if (!error_) {
    const Packet packet = form_ == Form::pcapng ? next_pcapng() : form_ == Form::erf ? next_erf() : next_pcap();
    if (!error_) return packet;
  }
  return Failure{*error_};
}

CaptureReader::Packet CaptureReader::next_pcap() {
  if (left() == 0) return std::nullopt;
  if (left() < record_bytes_) {
    fail(position_, "packet header is cut off");
    return std::nullopt;
  }
  std::uint32_t kept = u32(position_ + 8);
  std::uint32_t original = u32(position_ + 12);
  if (may_be_swapped_ && kept > original) std::swap(kept, original);
  if (left() - record_bytes_ < kept) {
    fail(position_, "packet is cut off or its length is wrong");
    return std::nullopt;
  }
  CapturedPacket packet;
  const std::int64_t fraction = u32(position_ + 4);
  packet.time.ns = u32(position_) * kNsPerSecond + fraction * (nanoseconds_ ? 1 : 1000);
  packet.bytes = file_.subspan(position_ + record_bytes_, kept);
  packet.original_bytes = std::max(kept, original);
  packet.link_type = link_type_;
  packet.file_offset = position_;
  drop_check_bytes(packet, check_bytes_);
  position_ += record_bytes_ + kept;
  return packet;
}

CaptureReader::Packet CaptureReader::next_pcapng() {
  while (left() != 0) {
    Block block;
    if (!read_block(block)) return std::nullopt;
    switch (block.type) {
      case kSectionBlock:
        interfaces_.clear();
        break;
      case kInterfaceBlock:
        if (!read_interface(block)) return std::nullopt;
        break;
      case kEnhancedPacketBlock:
        return read_enhanced_packet(block);
      case kObsoletePacketBlock:
        return read_obsolete_packet(block);
      case kSimplePacketBlock:
        return read_simple_packet(block);
      default:  // names, statistics, whatever comes later
        break;
    }
  }
  return std::nullopt;
}

/// Moves behind the block. A section header sets the byte order before its own length is read.
bool CaptureReader::read_block(Block& block) {
  const std::uint64_t offset = position_;
  if (left() < kBlockBytesMin) return fail(offset, "block header is cut off");
  if (u32(offset) == kSectionBlock) {
    swapped_ = false;
    if (u32(offset + 8) != kByteOrderMagic) swapped_ = true;
    if (u32(offset + 8) != kByteOrderMagic) return fail(offset + 8, "section without byte order magic");
  }
  block.type = u32(offset);
  const std::uint64_t total = u32(offset + 4);
  const std::uint64_t least = block.type == kSectionBlock ? kSectionBytesMin : kBlockBytesMin;
  if (total < least || total % 4 != 0) return fail(offset + 4, "block length is wrong");
  if (total > left()) return fail(offset, "block is cut off or its length is wrong");
  if (u32(offset + total - 4) != total) return fail(offset + total - 4, "the two lengths of a block disagree");
  block.offset = offset;
  block.body = offset + 8;
  block.end = offset + total - 4;
  position_ = offset + total;
  return true;
}

template <class Visit>
void CaptureReader::for_each_option(std::uint64_t begin, std::uint64_t end, Visit visit) const {
  while (end - begin >= 4) {
    const std::uint16_t code = u16(begin);
    const std::uint64_t bytes = u16(begin + 2);
    begin += 4;
    if (code == kOptionEnd || bytes > end - begin) return;
    visit(code, begin, static_cast<std::size_t>(bytes));
    begin += std::min((bytes + 3) / 4 * 4, end - begin);
  }
}

bool CaptureReader::read_interface(const Block& block) {
  constexpr std::uint64_t kFixedBytes = 8;
  if (block.end - block.body < kFixedBytes) return fail(block.offset, "interface description is too short");
  Interface interface;
  interface.link_type = static_cast<LinkType>(u16(block.body));
  interface.snap_bytes = u32(block.body + 4);
  for_each_option(block.body + kFixedBytes, block.end, [&](std::uint16_t code, std::uint64_t at, std::size_t bytes) {
    if (code == kOptionInterfaceName) interface.name = text(at, bytes);
    if (code == kOptionCheckBytes && bytes >= 1) interface.check_bytes = std::to_integer<std::uint32_t>(file_[at]);
    if (code == kOptionTimeResolution && bytes >= 1) interface.resolution = std::to_integer<std::uint8_t>(file_[at]);
    if (code == kOptionTimeOffset && bytes >= 8) interface.time_offset_seconds = static_cast<std::int64_t>(u64(at));
  });
  interfaces_.push_back(interface);
  return true;
}

/// `header_bytes` of the block stand before the packet's data, the last 16 of them time, kept and original length.
CaptureReader::Packet CaptureReader::make_packet(const Block& block, std::uint32_t interface,
                                                 std::uint64_t header_bytes) {
  if (interface >= interfaces_.size()) {
    fail(block.offset, "packet of an interface that is not described");
    return std::nullopt;
  }
  const std::uint64_t data = block.body + header_bytes;
  const std::uint32_t kept = u32(data - 8);
  if (kept > block.end - data) {
    fail(block.offset, "packet is longer than its block");
    return std::nullopt;
  }
  const Interface& from = interfaces_[interface];
  CapturedPacket packet;
  packet.time =
      to_time(std::uint64_t{u32(data - 16)} << 32 | u32(data - 12), from.resolution, from.time_offset_seconds);
  packet.bytes = file_.subspan(data, kept);
  packet.original_bytes = std::max(kept, u32(data - 4));
  packet.link_type = from.link_type;
  packet.interface = interface;
  packet.interface_name = from.name;
  packet.file_offset = block.offset;
  std::uint32_t check_bytes = from.check_bytes;
  read_packet_options(packet, std::min(data + (std::uint64_t{kept} + 3) / 4 * 4, block.end), block.end, check_bytes);
  drop_check_bytes(packet, check_bytes);
  return packet;
}

void CaptureReader::read_packet_options(CapturedPacket& packet, std::uint64_t begin, std::uint64_t end,
                                        std::uint32_t& check_bytes) const {
  for_each_option(begin, end, [&](std::uint16_t code, std::uint64_t at, std::size_t bytes) {
    if (code == kOptionComment && packet.comment.empty()) packet.comment = text(at, bytes);
    if (code == kOptionPacketFlags && bytes == 4) {
      const std::uint32_t direction = u32(at) & 3;
      if (const std::uint32_t said = u32(at) >> 5 & 0xf; said != 0) check_bytes = said;
      if (direction != 3) packet.direction = static_cast<Direction>(direction);
    }
  });
}

CaptureReader::Packet CaptureReader::read_enhanced_packet(const Block& block) {
  constexpr std::uint64_t kFixedBytes = 20;
  if (block.end - block.body < kFixedBytes) {
    fail(block.offset, "packet block is too short");
    return std::nullopt;
  }
  return make_packet(block, u32(block.body), kFixedBytes);
}

CaptureReader::Packet CaptureReader::read_obsolete_packet(const Block& block) {
  constexpr std::uint64_t kFixedBytes = 20;
  if (block.end - block.body < kFixedBytes) {
    fail(block.offset, "packet block is too short");
    return std::nullopt;
  }
  return make_packet(block, u16(block.body), kFixedBytes);
}

/// Its kept length is not stored: the original one, or the snap length of interface 0 where that is less.
CaptureReader::Packet CaptureReader::read_simple_packet(const Block& block) {
  constexpr std::uint64_t kFixedBytes = 4;
  if (block.end - block.body < kFixedBytes || interfaces_.empty()) {
    fail(block.offset,
         interfaces_.empty() ? "packet of an interface that is not described" : "packet block is too short");
    return std::nullopt;
  }
  CapturedPacket packet;
  packet.has_time = false;
  packet.original_bytes = u32(block.body);
  std::uint64_t kept = packet.original_bytes;
  if (interfaces_[0].snap_bytes != 0) kept = std::min<std::uint64_t>(kept, interfaces_[0].snap_bytes);
  kept = std::min(kept, block.end - block.body - kFixedBytes);
  packet.bytes = file_.subspan(block.body + kFixedBytes, kept);
  packet.link_type = interfaces_[0].link_type;
  packet.interface_name = interfaces_[0].name;
  packet.file_offset = block.offset;
  drop_check_bytes(packet, interfaces_[0].check_bytes);
  return packet;
}

Result<PacketView, ParseError> parse_captured(const CapturedPacket& packet, HeadersNeeded needed) {
  constexpr std::size_t kSllBytes = 16;
  constexpr std::size_t kSll2Bytes = 20;
  const auto behind = [&](std::size_t link_bytes) -> Result<PacketView, ParseError> {
    if (packet.bytes.size() < link_bytes) return Failure{ParseError::truncated};
    return parse_cut_ip_packet(packet.bytes.subspan(link_bytes), needed);
  };
  const auto protocol_is_ip = [&](std::size_t offset) {
    if (packet.bytes.size() < offset + 2) return false;
    const auto protocol = static_cast<std::uint16_t>(std::to_integer<unsigned>(packet.bytes[offset]) << 8 |
                                                     std::to_integer<unsigned>(packet.bytes[offset + 1]));
    return protocol == kEtherTypeIpv4 || protocol == kEtherTypeIpv6;
  };
  switch (packet.link_type) {
    case LinkType::erf:
      return Failure{ParseError::not_ip};  // what it carries, captures/ says
    case LinkType::ethernet:
      return parse_cut_frame(packet.bytes, needed);
    case LinkType::infiniband:
      return parse_cut_packet(kInfiniBand, packet.bytes, needed);
    case LinkType::raw_ip:
    case LinkType::ipv4:
    case LinkType::ipv6:
      return behind(0);
    case LinkType::linux_sll:
      if (!protocol_is_ip(14)) return Failure{ParseError::not_ip};
      return behind(kSllBytes);
    case LinkType::linux_sll2:
      if (!protocol_is_ip(0)) return Failure{ParseError::not_ip};
      return behind(kSll2Bytes);
  }
  return Failure{ParseError::not_ip};
}

}  // namespace verbena::wire
