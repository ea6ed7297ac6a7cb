// The encoders of pcap_file.h: files in little-endian byte order, timestamps in nanoseconds. Reading is in
// pcap_file.cc.
// Tested by: tests/wire/pcap_file_test.cc
#include <algorithm>
#include <cstring>

#include "wire/infiniband.h"
#include "wire/pcap_file.h"

namespace verbena::wire {
namespace {

constexpr std::uint32_t kSectionBlock = 0x0a0d0d0a;
constexpr std::uint32_t kInterfaceBlock = 1;
constexpr std::uint32_t kEnhancedPacketBlock = 6;
constexpr std::uint32_t kByteOrderMagic = 0x1a2b3c4d;
constexpr std::uint32_t kPcapNanosecondMagic = 0xa1b23c4d;
constexpr std::uint16_t kOptionEnd = 0;
constexpr std::uint16_t kOptionComment = 1;
constexpr std::uint16_t kOptionApplication = 4;
constexpr std::uint16_t kOptionInterfaceName = 2;
constexpr std::uint16_t kOptionTimeResolution = 9;
constexpr std::uint16_t kOptionPacketFlags = 2;
constexpr std::size_t kOptionBytesMax = 0xffff;

/// Fills room in little-endian order. Once something did not fit, nothing more is written.
class Writer {
 public:
  explicit Writer(std::span<std::byte> into) : into_(into) {}

  template <class T>
  void number(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) number_[i] = static_cast<std::byte>(value >> (8 * i));
    octets(number_, sizeof(T));
  }
  void octets(const void* from, std::size_t bytes) {
    if (!fits_ || into_.size() - size_ < bytes) {
      fits_ = false;
      return;
    }
    if (bytes != 0) std::memcpy(into_.data() + size_, from, bytes);
    size_ += bytes;
  }
  /// What stands there is left.
  void skip(std::size_t bytes) {
    if (fits_ && into_.size() - size_ >= bytes)
      size_ += bytes;
    else
      fits_ = false;
  }
  void pad_to_word() {
    constexpr std::byte kZeros[3]{};
    octets(kZeros, -size_ & 3);
  }
  void option(std::uint16_t code, const void* value, std::size_t bytes) {
    number(code);
    number(static_cast<std::uint16_t>(bytes));
    octets(value, bytes);
    pad_to_word();
  }
  void option(std::uint16_t code, std::string_view text) {
    if (!text.empty()) option(code, text.data(), std::min(text.size(), kOptionBytesMax));
  }
  void begin_block(std::uint32_t type) {
    number(type);
    number(std::uint32_t{0});
  }
  /// The length stands at both ends of a block.
  std::size_t end_block() {
    const auto total = static_cast<std::uint32_t>(size_ + 4);
    number(total);
    if (!fits_) return 0;
    std::memcpy(into_.data() + 4, into_.data() + size_ - 4, 4);
    return size_;
  }
  std::size_t size() const { return fits_ ? size_ : 0; }

 private:
  std::span<std::byte> into_;
  std::size_t size_ = 0;
  bool fits_ = true;
  std::byte number_[8]{};
};

std::size_t kept_bytes(const PacketRecord& packet) {
  return packet.snap_bytes == 0 ? packet.bytes.size() : std::min(packet.bytes.size(), packet.snap_bytes);
}

/// The formats have no time before the epoch.
std::uint64_t since_epoch(Time time) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(time.ns, 0));
}

}  // namespace

std::size_t encode_pcapng_section(std::span<std::byte> into, std::string_view application) {
  Writer writer(into);
  writer.begin_block(kSectionBlock);
  writer.number(kByteOrderMagic);
  writer.number(std::uint16_t{1});
  writer.number(std::uint16_t{0});
  writer.number(~std::uint64_t{0});  // the section's length is not known
  writer.option(kOptionApplication, application);
  writer.option(kOptionEnd, nullptr, 0);
  return writer.end_block();
}

std::size_t encode_pcapng_interface(std::span<std::byte> into, const InterfaceDescription& interface) {
  constexpr std::uint8_t kNanoseconds = 9;
  Writer writer(into);
  writer.begin_block(kInterfaceBlock);
  writer.number(static_cast<std::uint16_t>(interface.link_type));
  writer.number(std::uint16_t{0});
  writer.number(interface.snap_bytes);
  writer.option(kOptionInterfaceName, interface.name);
  writer.option(kOptionTimeResolution, &kNanoseconds, 1);
  writer.option(kOptionEnd, nullptr, 0);
  return writer.end_block();
}

namespace {

constexpr std::size_t kPacketHeaderBytes = 28;

/// `put(writer)` writes the octets of the packet, `kept` of `bytes`.
template <class Put>
std::size_t encode_packet_block(std::span<std::byte> into, const PacketRecord& packet, std::size_t kept,
                                std::size_t bytes, Put&& put) {
  const std::uint64_t time = since_epoch(packet.time);
  Writer writer(into);
  writer.begin_block(kEnhancedPacketBlock);
  writer.number(packet.interface);
  writer.number(static_cast<std::uint32_t>(time >> 32));
  writer.number(static_cast<std::uint32_t>(time));
  writer.number(static_cast<std::uint32_t>(kept));
  writer.number(static_cast<std::uint32_t>(bytes));
  put(writer);
  writer.pad_to_word();
  const bool has_direction = packet.direction != Direction::unknown;
  if (has_direction) {
    writer.number(kOptionPacketFlags);
    writer.number(std::uint16_t{4});
    writer.number(static_cast<std::uint32_t>(packet.direction));
  }
  writer.option(kOptionComment, packet.comment);
  if (has_direction || !packet.comment.empty()) writer.option(kOptionEnd, nullptr, 0);
  return writer.end_block();
}

}  // namespace

std::size_t encode_pcapng_packet(std::span<std::byte> into, const PacketRecord& packet) {
  const std::size_t kept = kept_bytes(packet);
  return encode_packet_block(into, packet, kept, packet.bytes.size(),
                             [&](Writer& writer) { writer.octets(packet.bytes.data(), kept); });
}

InterfaceDescription interface_on(Medium medium, std::string_view name, std::uint32_t snap_bytes) {
  if (medium == Medium::ethernet) return {.name = name, .snap_bytes = snap_bytes};
  return {.name = name, .link_type = LinkType::erf};
}

std::size_t encode_pcapng_packet_on(Medium medium, std::span<std::byte> into, const PacketRecord& packet) {
  if (medium == Medium::ethernet) return encode_pcapng_packet(into, packet);
  if (into.size() < kPacketHeaderBytes) return 0;
  const bool is_link_packet = packet.bytes.size() == kLinkPacketBytes;
  // It is written where it has to lie, then the block around it.
  const std::size_t bytes = encode_erf_record(into.subspan(kPacketHeaderBytes), packet,
                                              is_link_packet ? ErfType::infiniband_link : ErfType::infiniband);
  if (bytes == 0) return 0;
  return encode_packet_block(into, packet, bytes, bytes, [&](Writer& writer) { writer.skip(bytes); });
}

std::size_t encode_pcap_header(std::span<std::byte> into, LinkType link_type, std::uint32_t snap_bytes) {
  constexpr std::uint32_t kNoLimit = 262144;
  Writer writer(into);
  writer.number(kPcapNanosecondMagic);
  writer.number(std::uint16_t{2});
  writer.number(std::uint16_t{4});
  writer.number(std::uint64_t{0});  // zone and accuracy, always 0
  writer.number(snap_bytes == 0 ? kNoLimit : snap_bytes);
  writer.number(static_cast<std::uint32_t>(link_type));
  return writer.size();
}

std::size_t encode_pcap_packet(std::span<std::byte> into, const PacketRecord& packet) {
  constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
  const std::size_t kept = kept_bytes(packet);
  const std::uint64_t time = since_epoch(packet.time);
  Writer writer(into);
  writer.number(static_cast<std::uint32_t>(time / kNsPerSecond));
  writer.number(static_cast<std::uint32_t>(time % kNsPerSecond));
  writer.number(static_cast<std::uint32_t>(kept));
  writer.number(static_cast<std::uint32_t>(packet.bytes.size()));
  writer.octets(packet.bytes.data(), kept);
  return writer.size();
}

}  // namespace verbena::wire
