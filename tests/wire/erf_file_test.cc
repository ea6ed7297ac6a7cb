// Captures of InfiniBand: Endace's records, written and read, and libpcap's link type.
#include "tests/wire/wire_support.h"
#include "wire/infiniband.h"

using namespace verbena;
using namespace verbena::wire;
using namespace verbena::wire::test;

namespace {

constexpr std::size_t kErfHeaderBytes = 16;

Bytes infiniband_packet() {
  FramePath path;
  path.from = PathAddress(Lid(1), 0);
  path.to = PathAddress(Lid(2), 0);
  path.encapsulation = &kInfiniBand;
  return sample(path, kRcWriteOnly, 33);
}

void append(Bytes& file, std::span<const std::byte> into, std::size_t used) {
  BOOST_REQUIRE((used > 0 && used <= into.size()));
  file.insert(file.end(), into.begin(), into.begin() + static_cast<std::ptrdiff_t>(used));
}

std::vector<CapturedPacket> read_all(std::span<const std::byte> file) {
  auto reader = CaptureReader::open(file);
  BOOST_REQUIRE(reader.ok());
  std::vector<CapturedPacket> packets;
  for (;;) {
    const auto packet = reader->next();
    BOOST_REQUIRE(packet.ok());
    if (!*packet) return packets;
    packets.push_back(**packet);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(records_of_erf_read_back_as_they_were_written) {
  const Bytes packet = infiniband_packet();
  std::array<std::byte, 512> room;
  Bytes file;
  for (std::uint32_t i = 0; i < 4; ++i)
    append(file, room,
           encode_erf_record(room,
                             {.time = Time{1'700'000'000'123'456'789 + i},
                              .bytes = packet,
                              .snap_bytes = i == 3 ? std::size_t{30} : std::size_t{0},
                              .interface = i},
                             ErfType::infiniband));
  const std::vector<CapturedPacket> packets = read_all(file);
  BOOST_REQUIRE_EQUAL(packets.size(), 4u);
  for (std::uint32_t i = 0; i < 4; ++i) {
    const CapturedPacket& one = packets[i];
    BOOST_TEST((one.link_type == LinkType::erf));
    BOOST_TEST(one.time.ns == 1'700'000'000'123'456'789 + i);
    BOOST_TEST(one.interface == i);
    BOOST_TEST(one.bytes.size() % 8 == 0u);
    BOOST_TEST(one.original_bytes >= kErfHeaderBytes + packet.size());
    const std::size_t kept = i == 3 ? 30 : packet.size();
    BOOST_TEST(std::ranges::equal(one.bytes.subspan(kErfHeaderBytes, kept), std::span(packet).first(kept)));
  }
  BOOST_TEST(encode_erf_record(std::span(room).first(20), {.bytes = packet}, ErfType::infiniband) == 0u);
}

BOOST_AUTO_TEST_CASE(what_is_on_infiniband_lies_in_erf_in_a_pcapng) {
  const Bytes packet = infiniband_packet();
  const auto link_packet = write_link_packet({.virtual_lane = 2, .credit_limit = 9});
  std::array<std::byte, 512> room;
  Bytes file;
  append(file, room, encode_pcapng_section(room, "test"));
  append(file, room, encode_pcapng_interface(room, interface_on(Medium::infiniband, "n1-s1", 30)));
  const PacketRecord record{.time = Time{1'700'000'000'123'456'789},
                            .bytes = packet,
                            .snap_bytes = 30,
                            .direction = Direction::inbound,
                            .comment = "verbena: lost"};
  const std::size_t needed = encode_pcapng_packet_on(Medium::infiniband, room, record);
  append(file, room, needed);
  append(file, room, encode_pcapng_packet_on(Medium::infiniband, room, {.bytes = link_packet}));
  const std::vector<CapturedPacket> packets = read_all(file);
  BOOST_REQUIRE_EQUAL(packets.size(), 2u);
  BOOST_TEST((packets[0].link_type == LinkType::erf && packets[0].time == record.time));
  BOOST_TEST((packets[0].direction == Direction::inbound && packets[0].comment == "verbena: lost"));
  constexpr std::size_t kTypeAt = 8;
  BOOST_TEST((packets[0].bytes[kTypeAt] == std::byte{21} && packets[1].bytes[kTypeAt] == std::byte{25}));
  BOOST_TEST(std::ranges::equal(packets[0].bytes.subspan(kErfHeaderBytes, 30), std::span(packet).first(30)));
  BOOST_TEST(std::ranges::equal(packets[1].bytes.subspan(kErfHeaderBytes, link_packet.size()), link_packet));
  BOOST_TEST(needed <= encoded_packet_bytes_max(30, record.comment.size()));
  for (std::size_t size = 0; size < needed; ++size)
    BOOST_REQUIRE_EQUAL(encode_pcapng_packet_on(Medium::infiniband, std::span(room).first(size), record), 0u);
}

BOOST_AUTO_TEST_CASE(packets_of_infiniband_are_read_from_their_link_type) {
  const Bytes packet = infiniband_packet();
  std::array<std::byte, 512> room;
  Bytes file;
  append(file, room, encode_pcap_header(room, LinkType::infiniband, 0));
  append(file, room, encode_pcap_packet(room, {.time = Time{5}, .bytes = packet}));
  const std::vector<CapturedPacket> packets = read_all(file);
  BOOST_REQUIRE_EQUAL(packets.size(), 1u);
  const auto view = parse_captured(packets[0]);
  BOOST_REQUIRE(view.ok());
  BOOST_TEST(view->icrc_is_valid());
  BOOST_TEST((lid_of(view->source()) == Lid(1)));
}
