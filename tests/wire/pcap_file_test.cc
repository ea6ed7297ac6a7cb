// Capture files: round trips, files of others written by hand, and everything cut or bent.
#include "wire/pcap_file.h"

#include "tests/wire/wire_support.h"

namespace verbena::wire::test {
namespace {

/// Writes files of either byte order by hand, independently of the encoder.
class Script {
 public:
  explicit Script(bool big_endian) : big_endian_(big_endian) {}
  Script& u16(unsigned value) { return number(value, 2); }
  Script& u32(std::uint64_t value) { return number(value, 4); }
  Script& u64(std::uint64_t value) { return number(value, 8); }
  Script& octets(std::span<const std::byte> bytes) {
    file.insert(file.end(), bytes.begin(), bytes.end());
    return *this;
  }
  Script& padded(std::string_view text) {
    for (const char c : text) file.push_back(static_cast<std::byte>(c));
    while (file.size() % 4 != 0) file.push_back(std::byte{0});
    return *this;
  }
  Script& block(unsigned type, const Script& body) {
    u32(type).u32(body.file.size() + 12).octets(body.file);
    return u32(body.file.size() + 12);
  }
  Script body() const { return Script(big_endian_); }
  Script& section() { return block(0x0a0d0d0a, body().u32(0x1a2b3c4d).u16(1).u16(0).u64(~std::uint64_t{0})); }
  Bytes file;

 private:
  Script& number(std::uint64_t value, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) {
      const std::size_t shift = 8 * (big_endian_ ? bytes - 1 - i : i);
      file.push_back(static_cast<std::byte>(value >> shift));
    }
    return *this;
  }
  bool big_endian_;
};

struct Read {
  std::vector<CapturedPacket> packets;
  std::optional<CaptureError> error;
};

Read read_all(std::span<const std::byte> file) {
  Read read;
  auto reader = CaptureReader::open(file);
  if (!reader) {
    read.error = reader.error();
    return read;
  }
  for (;;) {
    const auto packet = reader->next();
    if (!packet) {
      read.error = packet.error();
      BOOST_REQUIRE(!reader->next().ok());  // it repeats its error
      return read;
    }
    if (!*packet) return read;
    read.packets.push_back(**packet);
  }
}

bool same(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

void append(Bytes& file, std::span<const std::byte> into, std::size_t used) {
  BOOST_REQUIRE(used > 0);
  BOOST_REQUIRE(used <= into.size());
  file.insert(file.end(), into.begin(), into.begin() + static_cast<std::ptrdiff_t>(used));
}

Bytes encode_two_packets(std::span<const std::byte> first, std::span<const std::byte> second) {
  Bytes file;
  Bytes room(8192);
  append(file, room, encode_pcapng_section(room, "verbena"));
  append(file, room, encode_pcapng_interface(room, {.name = "node1", .snap_bytes = 0}));
  append(file, room, encode_pcapng_interface(room, {.name = "node2", .snap_bytes = 64}));
  append(file, room,
         encode_pcapng_packet(
             room, {.time = Time{1'700'000'000'123'456'789}, .bytes = first, .direction = Direction::outbound}));
  append(file, room,
         encode_pcapng_packet(room, {.time = Time{1'700'000'000'123'456'790},
                                     .bytes = second,
                                     .snap_bytes = 64,
                                     .interface = 1,
                                     .direction = Direction::inbound,
                                     .comment = "verbena: dropped by fault 'drop 0.1%'"}));
  return file;
}

}  // namespace

BOOST_AUTO_TEST_CASE(pcapng_reads_back_as_it_was_written) {
  const Bytes first = sample(ipv4_path(), kRcWriteOnly, 33);
  const Bytes second = sample(ipv6_path(), kRcWriteOnly, 500);
  const Bytes file = encode_two_packets(first, second);
  const Read read = read_all(file);
  BOOST_REQUIRE(!read.error);
  BOOST_REQUIRE_EQUAL(read.packets.size(), 2u);
  const CapturedPacket& a = read.packets[0];
  BOOST_TEST(a.time.ns == 1'700'000'000'123'456'789);
  BOOST_TEST(same(a.bytes, first));
  BOOST_TEST(a.original_bytes == first.size());
  BOOST_TEST((a.direction == Direction::outbound));
  BOOST_TEST(a.interface_name == "node1");
  BOOST_TEST(a.comment.empty());
  const CapturedPacket& b = read.packets[1];
  BOOST_TEST(same(b.bytes, std::span(second).first(64)));
  BOOST_TEST(b.original_bytes == second.size());
  BOOST_TEST(b.interface == 1u);
  BOOST_TEST(b.interface_name == "node2");
  BOOST_TEST((b.direction == Direction::inbound));
  BOOST_TEST(b.comment == "verbena: dropped by fault 'drop 0.1%'");
  BOOST_TEST(b.comment.starts_with(kDroppedPrefix));
  BOOST_TEST(parse_captured(a)->icrc_is_valid());
}

BOOST_AUTO_TEST_CASE(classic_pcap_reads_back_as_it_was_written) {
  const Bytes frame = sample(ipv4_path(), kRcWriteOnly, 33);
  Bytes file;
  Bytes room(4096);
  append(file, room, encode_pcap_header(room, LinkType::ethernet, 0));
  append(file, room, encode_pcap_packet(room, {.time = Time{1'700'000'000'123'456'789}, .bytes = frame}));
  append(file, room,
         encode_pcap_packet(room, {.time = Time{1'700'000'001'000'000'000}, .bytes = frame, .snap_bytes = 60}));
  const Read read = read_all(file);
  BOOST_REQUIRE(!read.error);
  BOOST_REQUIRE_EQUAL(read.packets.size(), 2u);
  BOOST_TEST(read.packets[0].time.ns == 1'700'000'000'123'456'789);
  BOOST_TEST(same(read.packets[0].bytes, frame));
  BOOST_TEST(read.packets[1].bytes.size() == 60u);
  BOOST_TEST(read.packets[1].original_bytes == frame.size());
}

BOOST_AUTO_TEST_CASE(encoders_say_when_the_room_is_too_small_and_stay_inside) {
  const Bytes frame = sample(ipv4_path(), kRcWriteOnly, 21);
  const PacketRecord record{
      .time = Time{1}, .bytes = frame, .direction = Direction::inbound, .comment = "verbena: late"};
  Bytes room(4096);
  const std::size_t needed = encode_pcapng_packet(room, record);
  BOOST_TEST(needed > frame.size());
  BOOST_TEST(needed <= encoded_packet_bytes_max(frame.size(), record.comment.size()));
  BOOST_TEST(encode_pcapng_section(room, "verbena") <= encoded_header_bytes_max(7));
  BOOST_TEST(encode_pcapng_interface(room, {.name = "verbena"}) <= encoded_header_bytes_max(7));
  const WalledBytes walled(room);
  for (std::size_t size = 0; size < needed; ++size)
    BOOST_REQUIRE_EQUAL(encode_pcapng_packet(walled.last(size), record), 0u);
  BOOST_TEST(encode_pcapng_packet(walled.last(needed), record) == needed);
  BOOST_TEST(encode_pcap_packet(walled.last(frame.size() + 15), record) == 0u);
  BOOST_TEST(encode_pcap_header(walled.last(23), LinkType::ethernet, 0) == 0u);
}

BOOST_AUTO_TEST_CASE(pcap_of_either_byte_order_and_resolution_is_read) {
  const Bytes data = pattern(5);
  for (const bool big_endian : {false, true}) {
    for (const bool nanoseconds : {false, true}) {
      Script script(big_endian);
      script.u32(nanoseconds ? 0xa1b23c4d : 0xa1b2c3d4).u16(2).u16(4).u64(0).u32(65535).u32(101);
      script.u32(4'000'000'000).u32(999'999).u32(5).u32(77).octets(data);
      const Read read = read_all(script.file);
      BOOST_REQUIRE(!read.error);
      BOOST_REQUIRE_EQUAL(read.packets.size(), 1u);
      BOOST_TEST(read.packets[0].time.ns == 4'000'000'000'000'000'000 + (nanoseconds ? 999'999 : 999'999'000));
      BOOST_TEST(same(read.packets[0].bytes, data));
      BOOST_TEST(read.packets[0].original_bytes == 77u);
      BOOST_TEST((read.packets[0].link_type == LinkType::raw_ip));
    }
  }
}

BOOST_AUTO_TEST_CASE(pcapng_sections_of_either_byte_order_follow_each_other) {
  const Bytes data = pattern(6);
  Bytes file;
  for (const bool big_endian : {true, false}) {
    Script script(big_endian);
    script.section();
    // Two interfaces: ticks of 10^-3 s and an offset of 100 s; ticks of 2^-10 s.
    script.block(1, script.body().u16(1).u16(0).u32(0).u16(9).u16(1).padded("\x03").u16(14).u16(8).u64(100).u32(0));
    script.block(1,
                 script.body().u16(276).u16(0).u32(4).u16(2).u16(3).padded("any").u16(9).u16(1).padded("\x8a").u32(0));
    script.block(5, script.body().u32(0).u64(7));  // statistics: skipped
    script.block(6, script.body()
                        .u32(0)
                        .u32(1)
                        .u32(2)
                        .u32(6)
                        .u32(6)
                        .octets(data)
                        .u16(0)
                        .u16(1)
                        .u16(4)
                        .padded("note")
                        .u16(1)
                        .u16(6)
                        .padded("second")
                        .u32(0));
    script.block(6, script.body().u32(1).u32(0).u32(512).u32(4).u32(60).octets(std::span(data).first(4)));
    script.block(2, script.body()
                        .u16(1)
                        .u16(0xffff)
                        .u32(0)
                        .u32(1024)
                        .u32(4)
                        .u32(60)
                        .octets(std::span(data).first(4))
                        .u16(2)
                        .u16(4)
                        .u32(1)
                        .u32(0));
    script.block(3, script.body().u32(6).octets(data).u16(0));
    file.insert(file.end(), script.file.begin(), script.file.end());
  }
  const Read read = read_all(file);
  BOOST_REQUIRE(!read.error);
  BOOST_REQUIRE_EQUAL(read.packets.size(), 8u);
  for (std::size_t i = 0; i < 8; i += 4) {
    const CapturedPacket& ms = read.packets[i];
    BOOST_TEST(ms.time.ns == ((std::int64_t{1} << 32) + 2) * 1'000'000 + 100'000'000'000);
    BOOST_TEST(same(ms.bytes, data));
    BOOST_TEST(ms.comment == "note");
    const CapturedPacket& binary = read.packets[i + 1];
    BOOST_TEST(binary.time.ns == 500'000'000);
    BOOST_TEST(binary.interface_name == "any");
    BOOST_TEST((binary.link_type == LinkType::linux_sll2));
    BOOST_TEST(binary.original_bytes == 60u);
    const CapturedPacket& obsolete = read.packets[i + 2];
    BOOST_TEST(obsolete.time.ns == 1'000'000'000);
    BOOST_TEST((obsolete.direction == Direction::inbound));
    BOOST_TEST(same(read.packets[i + 3].bytes, data));
    BOOST_TEST((read.packets[i + 3].link_type == LinkType::ethernet));
  }
}

BOOST_AUTO_TEST_CASE(other_link_types_lead_to_the_same_packet) {
  const Bytes frame = sample(ipv4_path(), kRcWriteOnly, 64);
  const std::span<const std::byte> ip = std::span(frame).subspan(14);
  const auto with_link = [&](const Bytes& link) {
    Bytes bytes = link;
    bytes.insert(bytes.end(), ip.begin(), ip.end());
    return bytes;
  };
  const Bytes sll = with_link(bytes_of({0, 4, 0, 1, 0, 6, 2, 0x56, 1, 2, 3, 4, 0, 0, 8, 0}));
  const Bytes sll2 = with_link(bytes_of({8, 0, 0, 0, 0, 0, 0, 2, 0, 1, 4, 6, 2, 0x56, 1, 2, 3, 4, 0, 0}));
  const auto parses = [](LinkType type, std::span<const std::byte> bytes) {
    CapturedPacket packet;
    packet.bytes = bytes;
    packet.link_type = type;
    const auto view = parse_captured(packet);
    return view.ok() && view->icrc_is_valid() && view->reth() == kReth;
  };
  BOOST_TEST(parses(LinkType::ethernet, frame));
  BOOST_TEST(parses(LinkType::raw_ip, ip));
  BOOST_TEST(parses(LinkType::ipv4, ip));
  BOOST_TEST(parses(LinkType::linux_sll, sll));
  BOOST_TEST(parses(LinkType::linux_sll2, sll2));
  BOOST_TEST(!parses(LinkType::ethernet, ip));
  BOOST_TEST(!parses(static_cast<LinkType>(147), frame));
  for (std::size_t size = 0; size < 20; ++size) {
    const WalledBytes walled_sll(first_of(sll, size));
    BOOST_REQUIRE(!parses(LinkType::linux_sll, walled_sll.get()));
    const WalledBytes walled_sll2(first_of(sll2, size));
    BOOST_REQUIRE(!parses(LinkType::linux_sll2, walled_sll2.get()));
  }
}

BOOST_AUTO_TEST_CASE(a_file_cut_anywhere_yields_what_is_whole_and_then_says_where) {
  const Bytes first = sample(ipv4_path(), kRcWriteOnly, 33);
  const Bytes file = encode_two_packets(first, first);
  const Read whole = read_all(file);
  for (std::size_t size = 0; size < file.size(); ++size) {
    const WalledBytes walled(first_of(file, size));
    const Read read = read_all(walled.get());
    std::size_t expected = 0;
    for (const CapturedPacket& packet : whole.packets) {
      const auto at = static_cast<std::size_t>(packet.file_offset);
      const std::size_t block = std::to_integer<std::size_t>(file[at + 4]) | std::to_integer<std::size_t>(file[at + 5])
                                                                                 << 8;
      if (at + block <= size) ++expected;
    }
    BOOST_REQUIRE_EQUAL(read.packets.size(), expected);
    if (read.error) {
      BOOST_REQUIRE(read.error->offset <= size);
      BOOST_REQUIRE(!read.error->what.empty());
    }
  }
  // Between blocks a file may end; inside of one it may not.
  BOOST_TEST(read_all(std::span(file).first(file.size() - 1)).error.has_value());
}

BOOST_AUTO_TEST_CASE(a_pcap_cut_in_a_packet_names_the_offset_of_the_record) {
  Script script(false);
  script.u32(0xa1b2c3d4).u16(2).u16(4).u64(0).u32(65535).u32(1);
  script.u32(1).u32(2).u32(4).u32(4).u32(0);
  script.u32(1).u32(2).u32(4).u32(4).u16(0);
  const Read read = read_all(script.file);
  BOOST_TEST(read.packets.size() == 1u);
  BOOST_REQUIRE(read.error.has_value());
  BOOST_TEST(read.error->offset == 24u + 20);
}

BOOST_AUTO_TEST_CASE(corrupt_pcapng_is_an_error_with_its_place) {
  Script start(false);
  start.section();
  const auto error_after_section = [&](const Script& rest) {
    Bytes file = start.file;
    file.insert(file.end(), rest.file.begin(), rest.file.end());
    const Read read = read_all(file);
    BOOST_REQUIRE(read.error.has_value());
    BOOST_TEST(read.error->offset >= start.file.size());
    return std::string(read.error->what);
  };
  BOOST_TEST(error_after_section(Script(false).u32(6).u32(8).u32(8)) == "block length is wrong");
  BOOST_TEST(error_after_section(Script(false).u32(6).u32(14).u32(0).u32(0)) == "block length is wrong");
  BOOST_TEST(error_after_section(Script(false).u32(6).u32(16).u32(0).u32(12)) == "the two lengths of a block disagree");
  BOOST_TEST(error_after_section(Script(false).u32(6).u32(0xfffffffc).u32(0)) ==
             "block is cut off or its length is wrong");
  BOOST_TEST(error_after_section(Script(false).block(6, Script(false).u32(0).u64(0).u32(0).u32(0))) ==
             "packet of an interface that is not described");
  BOOST_TEST(error_after_section(Script(false).block(3, Script(false).u32(0))) ==
             "packet of an interface that is not described");
  BOOST_TEST(error_after_section(Script(false).block(1, Script(false).u32(0))) == "interface description is too short");
  Script longer(false);
  longer.block(1, Script(false).u16(1).u16(0).u32(0)).block(6, Script(false).u32(0).u64(0).u32(5).u32(5).u32(0));
  BOOST_TEST(error_after_section(longer) == "packet is longer than its block");
}

BOOST_AUTO_TEST_CASE(what_is_no_capture_is_refused) {
  BOOST_TEST(read_all({}).error->what == "too short for a capture file");
  BOOST_TEST(read_all(pattern(100)).error->what == "neither pcap, pcapng nor ERF");
  BOOST_TEST(read_all(Script(false).block(0x0a0d0d0a, Script(false).u64(0).u64(0)).file).error->what ==
             "section without byte order magic");
}

namespace {

/// A record of Endace's: time in units of 2^-32 s, the packet, and octets of padding behind it. It says that so many
/// were on the wire.
Script& erf_record(Script& script, std::uint64_t time, unsigned type, std::span<const std::byte> packet,
                   std::size_t padding, std::size_t on_wire) {
  const Bytes head = Script(false).u64(time).file;
  const Bytes middle = Script(true).u16(type << 8 | 4).u16(static_cast<unsigned>(16 + packet.size() + padding)).file;
  const Bytes tail = Script(true).u16(0).u16(static_cast<unsigned>(on_wire)).file;
  return script.octets(head).octets(middle).octets(tail).octets(packet).octets(Bytes(padding));
}

constexpr std::uint64_t kErfSecond = std::uint64_t{1} << 32;
constexpr unsigned kErfIpv4 = 22;
constexpr unsigned kErfPadding = 48;

Bytes erf_file(std::size_t records) {
  Script script(false);
  const Bytes packet = sample(ipv4_path(), kRcWriteOnly, 33);
  for (std::size_t i = 0; i < records; ++i)
    erf_record(script, 1'700'000'000 * kErfSecond + i, kErfIpv4, std::span(packet).subspan(14), 3, packet.size() - 14);
  return script.file;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_stream_of_erf_records_is_read_without_its_padding_records) {
  Script script(false);
  const Bytes packet = pattern(40);
  erf_record(script, 1'700'000'000 * kErfSecond + kErfSecond / 2, kErfIpv4, packet, 8, packet.size());
  erf_record(script, 0, kErfPadding, {}, 16, 0);
  erf_record(script, 1'700'000'001 * kErfSecond + 1, kErfIpv4, packet, 0, 1000);
  const Read read = read_all(script.file);
  BOOST_TEST(!read.error);
  BOOST_REQUIRE_EQUAL(read.packets.size(), 2u);
  BOOST_TEST((read.packets[0].link_type == LinkType::erf));
  BOOST_TEST(read.packets[0].time.ns == 1'700'000'000'500'000'000);
  BOOST_TEST(read.packets[0].bytes.size() == 16 + packet.size() + 8);
  BOOST_TEST(read.packets[0].original_bytes == read.packets[0].bytes.size());
  BOOST_TEST(read.packets[1].time.ns == 1'700'000'001'000'000'000);
  BOOST_TEST(read.packets[1].original_bytes == 16u + 1000);
  BOOST_TEST(read.packets[1].file_offset == 16 + packet.size() + 8 + 32);
}

BOOST_AUTO_TEST_CASE(erf_record_with_further_headers_gives_the_packet_length) {
  Script script(false);
  const Bytes headers = Script(true).u64(std::uint64_t{0x83} << 56).u64(std::uint64_t{3} << 56).u16(0).file;
  constexpr unsigned kEthernetWithHeaders = 0x82;
  erf_record(script, kErfSecond, kEthernetWithHeaders, headers, 0, 60);
  const Read read = read_all(script.file);
  BOOST_REQUIRE_EQUAL(read.packets.size(), 1u);
  BOOST_TEST(read.packets[0].original_bytes == 16u + 16 + 2 + 60);
}

BOOST_AUTO_TEST_CASE(an_erf_file_cut_anywhere_yields_what_is_whole) {
  const Bytes file = erf_file(6);
  const std::size_t record = file.size() / 6;
  for (std::size_t size = 3 * record; size < file.size(); ++size) {
    const Read read = read_all(WalledBytes(std::span(file).first(size)).get());
    BOOST_REQUIRE(read.packets.size() == size / record);
    BOOST_REQUIRE(read.error.has_value() == (size % record != 0));
    if (read.error) BOOST_REQUIRE(read.error->offset == size / record * record);
  }
}

BOOST_AUTO_TEST_CASE(what_is_not_as_records_of_erf_are_is_no_erf) {
  const auto is_refused = [](Bytes file) { return read_all(WalledBytes(file).get()).packets.empty(); };
  const Bytes file = erf_file(4);
  BOOST_TEST(!is_refused(file));
  const std::size_t record = file.size() / 4;
  const auto with = [&](std::size_t at, unsigned value) {
    Bytes bent = file;
    bent[at] = static_cast<std::byte>(value);
    return bent;
  };
  BOOST_TEST(is_refused(with(8, 0)));                  // no type
  BOOST_TEST(is_refused(with(8, 0x33)));               // one that there is not
  BOOST_TEST(is_refused(with(11, 15)));                // shorter than its header
  BOOST_TEST(is_refused(with(record + 7, 0x64)));      // earlier than the record before
  BOOST_TEST(is_refused(with(2 * record + 7, 0x7f)));  // years later
  BOOST_TEST(is_refused(Bytes(4000)));
}

BOOST_AUTO_TEST_CASE(bent_erf_files_never_make_the_reader_read_too_far) {
  const Bytes file = erf_file(3);
  for (std::size_t octet = 0; octet < file.size(); ++octet) {
    for (const unsigned value : {0u, 1u, 0x7fu, 0x82u, 0xb0u, 0xffu}) {
      const WalledBytes walled(file);
      walled.get()[octet] = static_cast<std::byte>(value);
      for (const CapturedPacket& packet : read_all(walled.get()).packets)
        BOOST_REQUIRE(packet.bytes.size() <= packet.original_bytes);
    }
  }
}

BOOST_AUTO_TEST_CASE(bent_files_never_make_the_reader_read_too_far) {
  const Bytes first = sample(ipv4_path(), kRcWriteOnly, 33);
  const Bytes file = encode_two_packets(first, first);
  for (std::size_t octet = 0; octet < file.size(); ++octet) {
    for (const unsigned value : {0u, 1u, 0x7fu, 0x80u, 0xffu}) {
      const WalledBytes walled(file);
      walled.get()[octet] = static_cast<std::byte>(value);
      const Read read = read_all(walled.get());
      for (const CapturedPacket& packet : read.packets) (void)parse_captured(packet).ok();
      BOOST_REQUIRE(read.packets.size() <= 2);
    }
  }
}

BOOST_AUTO_TEST_CASE(times_beyond_the_range_are_clamped) {
  Script script(false);
  script.section();
  script.block(1, script.body().u16(1).u16(0).u32(0).u16(9).u16(1).padded(std::string_view("\0", 1)).u32(0));
  script.block(6, script.body().u32(0).u32(0xffffffff).u32(0xffffffff).u32(0).u32(0));
  const Read read = read_all(script.file);
  BOOST_REQUIRE_EQUAL(read.packets.size(), 1u);
  BOOST_TEST(read.packets[0].time.ns == std::numeric_limits<std::int64_t>::max());
}

}  // namespace verbena::wire::test
