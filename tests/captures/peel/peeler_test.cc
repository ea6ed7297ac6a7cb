// The peeler: what is left of a packet when its layers are off, and that no octets make it read too far or too long.
// Every layer is in layers.py, against tshark; here is what a capture of others' making cannot show.
#include "captures/peel/peeler.h"

#include <random>

#include "tests/wire/wire_support.h"

namespace verbena::captures {
namespace {

using wire::test::Bytes;
using wire::test::bytes_of;
using wire::test::WalledBytes;

Bytes joined(std::initializer_list<std::span<const std::byte>> parts) {
  Bytes all;
  for (const auto part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

wire::CapturedPacket captured(std::span<const std::byte> bytes, std::uint32_t link_type = 1) {
  wire::CapturedPacket packet;
  packet.bytes = bytes;
  packet.original_bytes = bytes.size();
  packet.link_type = static_cast<wire::LinkType>(link_type);
  return packet;
}

/// So many VLAN tags between the addresses and the type of a frame.
Bytes tagged(std::span<const std::byte> frame, std::size_t tags) {
  Bytes all(frame.begin(), frame.begin() + 12);
  for (std::size_t i = 0; i < tags; ++i)
    for (const std::byte octet : bytes_of({0x81, 0, 0, 9})) all.push_back(octet);
  all.insert(all.end(), frame.begin() + 12, frame.end());
  return all;
}

Bytes roce() {
  return wire::test::sample(wire::test::ipv4_path(), wire::test::kRcWriteOnly, 40);
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_is_left_begins_where_ethernet_stands_directly_before_ip) {
  Peeler peeler;
  const Bytes frame = roce();
  const Peeled plain = peeler.peel(captured(frame));
  BOOST_TEST((plain.kind == Peeled::Kind::roce));
  BOOST_TEST((plain.packet.link_type == wire::LinkType::ethernet));
  BOOST_TEST(plain.packet.bytes.size() == frame.size());
  const Bytes deep = tagged(frame, 3);
  const Peeled peeled = peeler.peel(captured(deep));
  BOOST_TEST((peeled.packet.link_type == wire::LinkType::raw_ip));
  BOOST_TEST(peeled.packet.original_bytes == frame.size() - kEthernetBytes);
  BOOST_TEST(peeled.layers == "VLAN 9, VLAN 9, VLAN 9");
  const auto view = wire::parse_captured(peeled.packet);
  BOOST_REQUIRE(view.ok());
  BOOST_TEST(view->icrc_is_valid());
}

BOOST_AUTO_TEST_CASE(layers_without_end_are_given_up) {
  Peeler peeler;
  const Bytes frame = roce();
  BOOST_TEST((peeler.peel(captured(tagged(frame, kLayersMax - 4))).kind == Peeled::Kind::roce));
  const Bytes deep = tagged(frame, 10'000);
  const Peeled given_up = peeler.peel(captured(deep));
  BOOST_TEST((given_up.kind == Peeled::Kind::other));
  BOOST_TEST(given_up.name == "too many layers");
}

BOOST_AUTO_TEST_CASE(cut_packet_is_headless_and_short_packet_is_malformed) {
  Peeler peeler;
  const Bytes frame = tagged(roce(), 2);
  wire::CapturedPacket cut = captured(std::span(frame).first(24));
  BOOST_TEST(peeler.peel(cut).name == "IPv4, malformed");
  cut.original_bytes = frame.size();
  BOOST_TEST((peeler.peel(cut).kind == Peeled::Kind::headless));
}

BOOST_AUTO_TEST_CASE(arbitrary_octets_behind_any_layer_stay_within_bounds) {
  std::mt19937 random(33);  // its values are the same everywhere
  Peeler peeler;
  std::size_t named = 0;
  for (const auto table : {link_layers(), ether_type_layers(), ip_layers(), udp_layers()})
    for (const LayerRow& row : table)
      for (std::size_t bytes = 0; bytes < 120; ++bytes) {
        Bytes octets(bytes);
        for (std::byte& octet : octets)
          octet = static_cast<std::byte>(random() % 4 == 0 ? random() % 256 : random() % 9);
        const auto number = row.announced.number;
        if (row.announced.space == Space::ether_type)
          octets = joined({Bytes(12), bytes_of({number >> 8, number & 0xff}), octets});
        if (row.announced.space == Space::ip_protocol)
          octets = joined({Bytes(12), bytes_of({0x86, 0xdd, 0x60, 0, 0, 0, 0, static_cast<unsigned>(bytes), number, 1}),
                           Bytes(32), octets});
        if (row.announced.space == Space::udp_port)
          octets = joined({Bytes(12), bytes_of({0x86, 0xdd, 0x60, 0, 0, 0, 0, static_cast<unsigned>(bytes + 8), 17, 1}),
                           Bytes(32), bytes_of({9, 9, number >> 8, number & 0xff, 0, static_cast<unsigned>(bytes + 8)}),
                           Bytes(2), octets});
        const WalledBytes walled(octets);
        const std::uint32_t link_type = row.announced.space == Space::link_type ? number : 1;
        const Peeled peeled = peeler.peel(captured(walled.get(), link_type));
        named += peeled.name.empty() ? 0 : 1;
        BOOST_REQUIRE((peeled.kind != Peeled::Kind::other || !peeled.name.empty()));
      }
  BOOST_TEST(named > 1000u);
}

BOOST_AUTO_TEST_CASE(fragments_that_never_become_whole_are_forgotten) {
  Peeler peeler;
  const Bytes frame = roce();
  const auto fragment = [&](unsigned identification, bool is_last) {
    Bytes bytes = frame;
    bytes[18] = static_cast<std::byte>(identification >> 8);
    bytes[19] = static_cast<std::byte>(identification);
    bytes[20] = std::byte{static_cast<unsigned char>(is_last ? 0 : 0x20)};
    bytes[21] = static_cast<std::byte>(is_last ? (frame.size() - 34) / 8 : 0);
    return bytes;
  };
  for (unsigned i = 0; i < 3 * Fragments::kDatagramsMax; ++i)
    BOOST_REQUIRE((peeler.peel(captured(fragment(i, false))).kind == Peeled::Kind::fragment));
  // The first one is gone, the last one still there.
  BOOST_TEST((peeler.peel(captured(fragment(0, true))).kind == Peeled::Kind::fragment));
  BOOST_TEST((peeler.peel(captured(fragment(3 * Fragments::kDatagramsMax - 1, true))).kind != Peeled::Kind::fragment));
}

}  // namespace verbena::captures
