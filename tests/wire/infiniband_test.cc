// InfiniBand's link layer: octets of the specification's example, packets with and without a GRH, link packets.
#include "wire/infiniband.h"

#include "tests/wire/wire_support.h"
#include "wire/encapsulation.h"
#include "wire/grh.h"
#include "wire/icrc.h"
#include "wire/packet_form.h"
#include "wire/packet_text.h"

using namespace verbena::wire;
using namespace verbena::wire::test;

namespace {

// The packet that IBTA vol 1 has as an example of its CRCs (7.8.3): an RDMA WRITE of 14 octets, and the octets of its
// ICRC. Programs of Mellanox and Endace carry the same packet, and compute this VCRC as they say it is done.
const Bytes kExample =
    bytes_of({0x70, 0x12, 0x37, 0x5c, 0x00, 0x0e, 0x17, 0xd2, 0x0a, 0x20, 0x24, 0x87, 0x00, 0x87, 0xb1,
              0xb3, 0x00, 0x0d, 0xec, 0x2a, 0x01, 0x71, 0x0a, 0x1c, 0x01, 0x5d, 0x40, 0x02, 0x38, 0xf2,
              0x7a, 0x05, 0x00, 0x00, 0x00, 0x0e, 0xbb, 0x88, 0x4d, 0x85, 0xfd, 0x5c, 0xfb, 0xa4, 0x72,
              0x8b, 0xc0, 0x69, 0x0e, 0xd4, 0x00, 0x00, 0x96, 0x25, 0xb7, 0x5a, 0x45, 0xfa});
constexpr std::size_t kLrhBytes = 8;

FramePath local_path() {
  FramePath path;
  path.from = PathAddress(Lid(0x17d2), 1);
  path.to = PathAddress(Lid(0x375c), 1);
  path.encapsulation = &kInfiniBand;
  return path;
}

FramePath global_path() {
  FramePath path = local_path();
  path.source.octets = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 2, 0xc9, 3, 0, 1, 2, 3};
  path.destination.octets = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 2, 0xc9, 3, 0, 1, 2, 4};
  path.traffic_class = 0x6a;
  path.flow_label = 0xabcde;
  path.hop_limit = 3;
  return path;
}

std::vector<FramePath> both_paths() {
  return {local_path(), global_path()};
}

verbena::Result<PacketView, ParseError> parse(std::span<const std::byte> packet) {
  return parse_cut_packet(kInfiniBand, packet);
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_example_of_the_specification_is_read_and_right) {
  const auto view = parse(kExample);
  BOOST_REQUIRE(view.ok());
  BOOST_TEST(view->is_whole());
  BOOST_TEST(view->icrc_is_valid());
  BOOST_TEST((trailer_integrity(*view) == Integrity::right));
  BOOST_TEST(trailer_of(*view).size() == kVcrcBytes);
  BOOST_TEST((lid_of(view->source()) == Lid(0x17d2) && lid_of(view->destination()) == Lid(0x375c)));
  BOOST_TEST((view->network().last_hop() == PathAddress(Lid(0x17d2), 1)));
  BOOST_TEST((&view->network().encapsulation() == &kInfiniBand));
  BOOST_TEST((view->bth().opcode == kRcWriteOnly));
  BOOST_TEST((view->bth().dest_qp == Qpn(0x87b1b3) && view->bth().psn == Psn(0x0dec2a)));
  BOOST_TEST(view->reth().length == 14u);
  BOOST_TEST(view->payload_bytes() == 14u);
  BOOST_TEST(view->network().traffic_class() == 0);
  BOOST_TEST(view->network().hop_limit() == 0);
  BOOST_TEST(view->network().entropy() == 0);
  BOOST_TEST(!view->vlan().has_value());
  BOOST_TEST((view->ethernet() == Ethernet{}));
}

BOOST_AUTO_TEST_CASE(deferred_icrc_is_made_with_the_vcrc_behind_it) {
  Bytes deferred = kExample;
  std::fill(deferred.end() - kIcrcBytes - kVcrcBytes, deferred.end(), std::byte{0});
  complete_icrc(deferred, Medium::infiniband);
  BOOST_TEST(deferred == kExample);
}

BOOST_AUTO_TEST_CASE(the_example_is_built_octet_for_octet) {
  const auto example = parse(kExample);
  const FrameTemplate made(local_path());
  Bytes built(frame_bytes(made, kRcWriteOnly, 14));
  PacketBuilder builder(built, made, example->bth(), 14);
  builder.append(example->reth());
  builder.append_payload(example->payload());
  BOOST_REQUIRE(builder.finish() == kExample.size());
  built[0] |= std::byte{0x70};  // the lane is that of the port by which it leaves
  kInfiniBand.seal(built);
  BOOST_TEST((built == kExample));
}

BOOST_AUTO_TEST_CASE(packets_of_every_opcode_come_through_with_grh_and_without) {
  for (const FramePath& path : both_paths()) {
    for (const Opcode opcode : defined_opcodes()) {
      for (const std::size_t payload : {0, 1, 1000, 4096}) {
        const Bytes packet = sample(path, opcode, payload);
        const auto view = parse(packet);
        BOOST_REQUIRE(view.ok());
        BOOST_REQUIRE(view->icrc_is_valid());
        BOOST_REQUIRE((trailer_integrity(*view) == Integrity::right));
        const LocalRouteHeader lrh = LocalRouteHeaderLayout::parse(std::span(packet).first<kLrhBytes>());
        BOOST_TEST(lrh.words * 4u + kVcrcBytes == packet.size());
        BOOST_TEST((view->bth().opcode == opcode));
        BOOST_REQUIRE(view->payload().size() == (view->opcode().has_payload ? payload : 0));
        BOOST_TEST(std::ranges::equal(view->payload(), pattern(view->payload().size())));
        BOOST_TEST(view->network().traffic_class() == path.traffic_class);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_grh_names_the_ports_by_their_gids) {
  const FramePath path = global_path();
  const Bytes packet = sample(path, kRcWriteOnly, 16);
  const auto view = parse(packet);
  BOOST_TEST((view->source() == path.source && view->destination() == path.destination));
  BOOST_TEST(view->network().hop_limit() == 3);
  const Grh grh = GrhLayout::parse(std::span(packet).subspan<kLrhBytes, GrhLayout::bytes>());
  BOOST_TEST(grh.payload_bytes == packet.size() - kLrhBytes - GrhLayout::bytes - kVcrcBytes);
  BOOST_TEST(grh.flow_label == path.flow_label);
  const auto area = grh_area(*view);
  BOOST_TEST(std::ranges::equal(area, std::span(packet).subspan(kLrhBytes, GrhLayout::bytes)));
}

// 7.8.1: a switch changes the lane of a packet, a router its whole LRH and most of its GRH.
BOOST_AUTO_TEST_CASE(the_icrc_does_not_cover_what_may_change_on_the_way) {
  const auto masked_bits = [](const Bytes& good, std::size_t octets) {
    std::vector<std::size_t> masked;
    for (std::size_t bit = 0; bit < octets * 8; ++bit) {
      Bytes bad = good;
      bad[bit / 8] ^= static_cast<std::byte>(0x80 >> bit % 8);
      const auto view = parse(bad);
      // Lengths and kinds of headers cannot change and leave a packet that is read.
      if (view && view->is_whole() && view->icrc_is_valid()) masked.push_back(bit);
    }
    return masked;
  };
  const std::vector<std::size_t> lane{0, 1, 2, 3};
  BOOST_TEST(masked_bits(sample(local_path(), kRcWriteOnly, 8), kLrhBytes) == lane, boost::test_tools::per_element());
  // VL, SL and reserved bits, both LIDs; of the GRH traffic class, flow label and hop limit.
  std::vector<std::size_t> global{0, 1, 2, 3, 8, 9, 10, 11, 12, 13};
  for (std::size_t bit = 16; bit < 64; ++bit)
    if (bit < 37 || bit >= 48) global.push_back(bit);
  for (std::size_t bit = 64 + 4; bit < 64 + 32; ++bit) global.push_back(bit);
  for (std::size_t bit = 64 + 56; bit < 64 + 64; ++bit) global.push_back(bit);
  BOOST_TEST(masked_bits(sample(global_path(), kRcWriteOnly, 8), kLrhBytes + GrhLayout::bytes) == global,
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_vcrc_covers_every_bit) {
  for (std::size_t bit = 0; bit < kExample.size() * 8; ++bit) {
    Bytes bad = kExample;
    bad[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    BOOST_TEST(!kInfiniBand.is_sealed(bad), bit);
  }
}

BOOST_AUTO_TEST_CASE(a_capture_may_have_left_the_vcrc_off) {
  const auto view = parse(std::span(kExample).first(kExample.size() - kVcrcBytes));
  BOOST_REQUIRE(view.ok());
  BOOST_TEST(view->is_whole());
  BOOST_TEST(view->icrc_is_valid());
  BOOST_TEST((trailer_integrity(*view) == Integrity::unknown));
  BOOST_TEST(trailer_of(*view).empty());
}

BOOST_AUTO_TEST_CASE(no_cut_of_a_packet_is_taken_for_whole) {
  for (const FramePath& path : both_paths()) {
    const Bytes packet = sample(path, kRcWriteOnly, 20);
    const WalledBytes walled(packet);
    for (std::size_t bytes = 0; bytes < packet.size() - kVcrcBytes; ++bytes) {
      const auto cut = walled.last(bytes);
      std::copy_n(packet.begin(), bytes, cut.begin());
      if (const auto view = parse(cut)) BOOST_TEST(!view->is_whole(), bytes);
      kInfiniBand.find(cut, 0, 0);
    }
  }
}

BOOST_AUTO_TEST_CASE(what_is_no_packet_of_the_transport_is_said_to_be_none) {
  const auto error_of = [](std::size_t at, unsigned octet, const FramePath& path) {
    Bytes packet = sample(path, kRcWriteOnly, 20);
    packet[at] = static_cast<std::byte>(octet);
    return parse(packet).error();
  };
  BOOST_TEST((error_of(0, 0x01, local_path()) == ParseError::bad_link_header));
  BOOST_TEST((error_of(1, 0x10, local_path()) == ParseError::raw_packet));
  BOOST_TEST((error_of(1, 0x11, local_path()) == ParseError::raw_packet));
  BOOST_TEST((error_of(5, 1, local_path()) == ParseError::bad_length));
  BOOST_TEST((error_of(5, 4, local_path()) == ParseError::truncated));
  BOOST_TEST((error_of(kLrhBytes, 0x40, global_path()) == ParseError::bad_grh));
  BOOST_TEST((error_of(kLrhBytes + 5, 8, global_path()) == ParseError::bad_length));
  BOOST_TEST((error_of(kLrhBytes + 6, 0x3a, global_path()) == ParseError::raw_packet));
}

BOOST_AUTO_TEST_CASE(a_form_of_a_packet_keeps_headers_and_trailer) {
  for (const FramePath& path : both_paths()) {
    const Bytes packet = sample(path, kRcWriteOnly, 100);
    const auto view = parse(packet);
    const PacketView again = PacketForm(*view, packet).view_of(packet);
    BOOST_TEST((again.source() == view->source() && again.destination() == view->destination()));
    BOOST_TEST(again.icrc_is_valid());
    BOOST_TEST((trailer_integrity(again) == Integrity::right));
    BOOST_TEST(to_text(again) == to_text(*view));
  }
}

BOOST_AUTO_TEST_CASE(lids_stand_where_addresses_are_gids) {
  BOOST_TEST(to_text(gid_of(Lid(5))) == "LID 5");
  BOOST_TEST((lid_of(gid_of(kLidPermissive)) == kLidPermissive));
  BOOST_TEST(!lid_of(global_path().source).has_value());
  BOOST_TEST(!lid_of(Gid{}).has_value());
  BOOST_TEST(!lid_of(Gid::from_ipv4(5)).has_value());
  BOOST_TEST((kLidUnicastMax.is_unicast() && !kLidNone.is_unicast() && !kLidMulticastMin.is_unicast()));
  BOOST_TEST((kLidMulticastMin.is_multicast() && kLidMulticastMax.is_multicast() && !kLidPermissive.is_multicast()));
}

BOOST_AUTO_TEST_CASE(link_packets_have_their_fields_and_their_crc) {
  const FlowControlPacket packet{
      .op = FlowControlOp::normal, .total_blocks_sent = 0x123, .virtual_lane = 15, .credit_limit = 0x456};
  const auto octets = write_link_packet(packet);
  BOOST_TEST(std::ranges::equal(octets, bytes_of({0x01, 0x23, 0xf4, 0x56, 0xe5, 0x2c})));
  const auto read = read_link_packet(octets);
  BOOST_REQUIRE(read.has_value());
  BOOST_TEST((read->packet == packet));
  BOOST_TEST(read->is_right);
  for (std::size_t bit = 0; bit < octets.size() * 8; ++bit) {
    auto bad = octets;
    bad[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    BOOST_TEST(!read_link_packet(bad)->is_right, bit);
  }
  BOOST_TEST(!read_link_packet(std::span(octets).first(5)).has_value());
  BOOST_TEST(!read_link_packet(kExample).has_value());
}

BOOST_AUTO_TEST_CASE(a_template_tells_the_service_level_in_the_place_of_a_dscp) {
  constexpr unsigned kDscpShift = 2;
  for (FramePath path : both_paths())
    for (std::uint8_t level = 0; level < 16; ++level) {
      path.to = PathAddress(Lid(0x375c), level);
      BOOST_TEST((FrameTemplate(path).traffic_class() >> kDscpShift) == level);
    }
}
