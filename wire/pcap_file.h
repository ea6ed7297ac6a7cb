// pcap, pcapng and Endace's ERF: the encoding of capture files, both ways.
//
// Solely responsible for the formats. No IO: the reader looks at the octets of a whole file that the caller has mapped
// or read, the encoder fills room that the caller owns, and neither allocates per packet. What a packet is,
// packet_view.h says. Read: pcap with us and ns, and its old and modified forms (Kuznetzov's, Nokia's, AIX', Ixia's),
// pcapng with any number of sections and interfaces, all in either byte order. Sources: the pcap and pcapng drafts of
// the IETF opsawg group; libpcap's sf-pcap.c and Wireshark's wiretap/libpcap.c for the forms that no draft has; "ERF
// types" of Endace, and wiretap/erf.c for what tells a file of its records.
//
// Convention of this project: a note on a packet begins with kNotePrefix, for example
// "verbena: dropped by fault 'drop 0.1%'". A packet whose note begins with kDroppedPrefix never reached its
// destination.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "wire/packet_view.h"
#include "wire/path_address.h"
#include "wire/result.h"
#include "wire/time.h"

namespace verbena::wire {

inline constexpr std::string_view kNotePrefix = "verbena: ";
inline constexpr std::string_view kDroppedPrefix = "verbena: dropped";
inline constexpr std::string_view kCorruptedPrefix = "verbena: corrupted";
inline constexpr std::string_view kTruncatedPrefix = "verbena: truncated";
/// In the note of a corruption: the ICRC fits what the packet was changed into.
inline constexpr std::string_view kRepairedWord = "repair=yes";
/// On the last packet of a capture that has reached its limit.
inline constexpr std::string_view kCaptureEndsNote =
    "verbena: the capture ends here, it has reached its limit; what follows is not in it";

/// LINKTYPE_ numbers; files may hold others.
enum class LinkType : std::uint32_t {
  ethernet = 1,
  raw_ip = 101,
  linux_sll = 113,
  erf = 197,
  ipv4 = 228,
  ipv6 = 229,
  infiniband = 247,
  linux_sll2 = 276,
};

enum class Direction : std::uint8_t { unknown = 0, inbound = 1, outbound = 2 };

struct CapturedPacket {
  Time time;                         // since the epoch
  bool has_time = true;              // false: the file has none (simple packet blocks)
  std::span<const std::byte> bytes;  // as captured, possibly cut
  std::size_t original_bytes = 0;    // on the wire
  LinkType link_type = LinkType::ethernet;
  std::uint32_t interface = 0;      // pcapng: index within its section
  std::string_view interface_name;  // pcapng: may be empty
  Direction direction = Direction::unknown;
  std::string_view comment;       // pcapng: the first comment
  std::uint64_t file_offset = 0;  // of the record
};

struct CaptureError {
  std::uint64_t offset = 0;  // octets from the begin of the file
  std::string_view what;     // static text, without the offset
};

/// Reads records in file order. After an error every further next() repeats it.
/// The file's octets must stay as they are while the reader or a packet of it is in use.
class CaptureReader {
 public:
  /// Fails when the file does not begin as pcap, pcapng or ERF.
  static Result<CaptureReader, CaptureError> open(std::span<const std::byte> file);

  /// Nothing: the file ends here, as it should. An error: it is cut off or corrupt from here on.
  Result<std::optional<CapturedPacket>, CaptureError> next();

 private:
  struct Interface {
    LinkType link_type = LinkType::ethernet;
    std::uint32_t snap_bytes = 0;
    std::uint8_t resolution = 6;           // if_tsresol
    std::int64_t time_offset_seconds = 0;  // if_tsoffset
    std::uint32_t check_bytes = 0;         // if_fcslen: at the end of each frame
    std::string_view name;
  };
  struct Block;
  struct ErfRecord;
  enum class Form : std::uint8_t { pcap, pcapng, erf };
  using Packet = std::optional<CapturedPacket>;

  explicit CaptureReader(std::span<const std::byte> file) : file_(file) {}
  std::uint16_t u16(std::uint64_t offset) const;
  std::uint32_t u32(std::uint64_t offset) const;
  std::uint64_t u64(std::uint64_t offset) const;
  std::string_view text(std::uint64_t offset, std::size_t bytes) const;
  std::uint64_t left() const { return file_.size() - position_; }

  bool fail(std::uint64_t offset, std::string_view what);
  bool read_pcap_header(std::uint32_t magic);
  std::uint64_t record_bytes(std::uint64_t usual) const;
  bool is_record(std::uint64_t offset, std::uint64_t header_bytes, std::uint64_t& end) const;
  Packet next_pcap();
  Packet next_pcapng();
  bool is_erf() const;
  ErfRecord erf_record(std::uint64_t offset) const;
  Packet next_erf();
  bool read_block(Block& block);
  bool read_interface(const Block& block);
  Packet read_enhanced_packet(const Block& block);
  Packet read_obsolete_packet(const Block& block);
  Packet read_simple_packet(const Block& block);
  Packet make_packet(const Block& block, std::uint32_t interface, std::uint64_t header_bytes);
  void read_packet_options(CapturedPacket& packet, std::uint64_t begin, std::uint64_t end,
                           std::uint32_t& check_bytes) const;
  template <class Visit>
  void for_each_option(std::uint64_t begin, std::uint64_t end, Visit visit) const;

  std::span<const std::byte> file_;
  std::uint64_t position_ = 0;
  Form form_ = Form::pcap;
  bool swapped_ = false;  // the file's byte order is big-endian
  // pcap:
  bool nanoseconds_ = false;
  bool may_be_swapped_ = false;  // the two lengths of a record, as versions until 2.3 may have them
  LinkType link_type_ = LinkType::ethernet;
  std::uint32_t check_bytes_ = 0;
  std::uint64_t record_bytes_ = 0;     // of a record's header
  std::vector<Interface> interfaces_;  // pcapng: of this section
  std::optional<CaptureError> error_;
};

/// The packet of the transport in a captured record, whatever its link type, cut or whole.
Result<PacketView, ParseError> parse_captured(const CapturedPacket& packet, HeadersNeeded needed = HeadersNeeded::all);

// -- Encoders. Each returns the octets it has filled, or 0 when `into` is too small (nothing useful is in it then).
// ------

struct PacketRecord {
  Time time;  // since the epoch
  std::span<const std::byte> bytes;
  std::size_t snap_bytes = 0;  // keep at most so many octets; 0: all
  std::uint32_t interface = 0;
  Direction direction = Direction::unknown;
  std::string_view comment;  // empty: none
};

/// Room that surely suffices for a record with so many octets of frame and comment, in either format, of any medium.
constexpr std::size_t encoded_packet_bytes_max(std::size_t frame_bytes, std::size_t comment_bytes) {
  return 96 + frame_bytes + comment_bytes;
}
/// Room for a section header or an interface description with a name of so many octets.
constexpr std::size_t encoded_header_bytes_max(std::size_t name_bytes) {
  return 64 + name_bytes;
}

/// Section header block. `application` may be empty.
std::size_t encode_pcapng_section(std::span<std::byte> into, std::string_view application);

struct InterfaceDescription {
  std::string_view name;
  LinkType link_type = LinkType::ethernet;
  std::uint32_t snap_bytes = 0;  // 0: no limit
};
/// Interface description block, timestamps in nanoseconds. Interfaces are numbered from 0 in the order of their blocks.
std::size_t encode_pcapng_interface(std::span<std::byte> into, const InterfaceDescription& interface);
/// Enhanced packet block.
std::size_t encode_pcapng_packet(std::span<std::byte> into, const PacketRecord& packet);

// Of what is on a medium. Packets of InfiniBand, and its link packets, lie in records of ERF, which tshark dissects, as
// it does not DLT 247; such a record says itself what is cut off its packet.
InterfaceDescription interface_on(Medium medium, std::string_view name, std::uint32_t snap_bytes);
std::size_t encode_pcapng_packet_on(Medium medium, std::span<std::byte> into, const PacketRecord& packet);

/// Classic pcap with nanoseconds. Carries neither comment nor direction nor interface.
std::size_t encode_pcap_header(std::span<std::byte> into, LinkType link_type, std::uint32_t snap_bytes);
std::size_t encode_pcap_packet(std::span<std::byte> into, const PacketRecord& packet);

/// Endace's types of records for InfiniBand.
enum class ErfType : std::uint8_t { infiniband = 21, infiniband_link = 25 };
/// One record, padded to eight octets: a packet of a pcap with LinkType::erf, or a part of a file of nothing else.
std::size_t encode_erf_record(std::span<std::byte> into, const PacketRecord& packet, ErfType type);

}  // namespace verbena::wire
