// RoCE v1: built and read, its octets, and its ICRC against the words of annex A16 and the specification's own sample.
#include "wire/roce_v1.h"

#include <set>

#include "tests/wire/wire_support.h"
#include "wire/crc32.h"
#include "wire/flow_key.h"
#include "wire/icrc.h"
#include "wire/packet_form.h"

namespace verbena::wire::test {
namespace {

constexpr std::size_t kEthernetBytes = 14;

FramePath v1_path() {
  FramePath path = ipv4_path();
  path.encapsulation = &kRoceV1;
  path.traffic_class = 0x6b;
  path.flow_label = 0x54321;
  path.hop_limit = 3;
  return path;
}

FramePath link_local_path() {
  FramePath path = v1_path();
  path.source = Gid{{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x00, 0x56, 0x7f, 0xff, 0xfe, 0x2f, 0x5b, 1}};
  path.destination = Gid{{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x00, 0x56, 0x7f, 0xff, 0xfe, 0x2f, 0x5b, 2}};
  return path;
}

std::vector<FramePath> v1_paths() {
  return {v1_path(), with_vlan(v1_path()), link_local_path(), with_vlan(link_local_path())};
}

std::size_t grh_at(const FramePath& path) {
  return kEthernetBytes + (path.vlan ? 4 : 0);
}

/// Bit by bit, sharing nothing with the code under test.
std::uint32_t crc_of_all(std::span<const std::byte> octets) {
  std::uint32_t crc = 0xffffffff;
  for (const std::byte octet : octets) {
    crc ^= std::to_integer<std::uint32_t>(octet);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320 : 0);
  }
  return ~crc;
}

/// Annex A16: ones for the LRH that is not there; in the GRH traffic class, flow label and hop limit are ones; in the
/// BTH the octet that is reserved.
std::uint32_t reference_icrc(std::span<const std::byte> frame, std::size_t grh) {
  Bytes covered(8, std::byte{0xff});
  covered.insert(covered.end(), frame.begin() + static_cast<std::ptrdiff_t>(grh), frame.end() - 4);
  covered[8] |= std::byte{0x0f};
  for (const std::size_t i : {1u, 2u, 3u, 7u}) covered[8 + i] = std::byte{0xff};
  covered[8 + 40 + 4] = std::byte{0xff};
  return crc_of_all(covered);
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_is_built_is_read) {
  for (const FramePath& path : v1_paths()) {
    for (const Opcode opcode : defined_opcodes()) {
      for (const std::size_t payload : {0, 1, 1000, 4096}) {
        const Bytes frame = sample(path, opcode, payload);
        const auto view = parse_frame(frame);
        BOOST_REQUIRE(view.ok());
        BOOST_REQUIRE(view->icrc_is_valid());
        BOOST_REQUIRE((&view->network().encapsulation() == &kRoceV1));
        BOOST_TEST((view->source() == path.source && view->network().is_from(path.source)));
        BOOST_TEST((view->destination() == path.destination && view->network().is_to(path.destination)));
        BOOST_TEST((view->network().last_hop() == path.from));
        BOOST_TEST((view->network().header() == NetworkHeader::grh));
        BOOST_TEST((view->bth().opcode == opcode));
        BOOST_TEST(view->vlan().has_value() == path.vlan.has_value());
        BOOST_REQUIRE(view->payload().size() == (view->opcode().has_payload ? payload : 0));
        BOOST_TEST(std::ranges::equal(view->payload(), pattern(view->payload().size())));
        const Grh grh = grh_of(*view);
        BOOST_TEST(grh.version == 6);
        BOOST_TEST(grh.traffic_class == path.traffic_class);
        BOOST_TEST(grh.flow_label == path.flow_label);
        BOOST_TEST(grh.next_header == 0x1b);
        BOOST_TEST(grh.hop_limit == path.hop_limit);
        BOOST_TEST(grh.payload_bytes == frame.size() - grh_at(path) - 40);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(its_octets_are_those_of_the_annex) {
  const Bytes frame = sample(v1_path(), kRcWriteOnly, 5);
  const std::size_t transport_bytes = 12 + 16 + 8 + 4;  // BTH, RETH, payload with its padding, ICRC
  BOOST_REQUIRE(frame.size() == kEthernetBytes + 40 + transport_bytes);
  const std::array<unsigned, 54> expected{0x02, 0x56, 0x7f, 0x2f, 0x5b, 0x02,
                                          0x02, 0x56, 0x7f, 0x2f, 0x5b, 0x01,
                                          0x89, 0x15,  // Ethernet
                                          0x66, 0xb5, 0x43, 0x21, 0,    transport_bytes,
                                          0x1b, 3,  // up to the hop limit
                                          0,    0,    0,    0,    0,    0,
                                          0,    0,    0,    0,    0xff, 0xff,
                                          0x7f, 0x2f, 0x5b, 0x01, 0,    0,
                                          0,    0,    0,    0,    0,    0,
                                          0,    0,    0xff, 0xff, 0x7f, 0x2f,
                                          0x5b, 0x02};
  for (std::size_t i = 0; i < expected.size(); ++i) BOOST_TEST(std::to_integer<unsigned>(frame[i]) == expected[i], i);
}

BOOST_AUTO_TEST_CASE(its_icrc_is_that_of_the_annex) {
  for (const FramePath& path : v1_paths()) {
    for (const std::size_t payload : {0, 1, 2, 3, 4, 64, 191, 1024, 4095, 4096}) {
      const Bytes frame = sample(path, kRcWriteOnly, payload);
      BOOST_TEST(parse_frame(frame)->icrc() == reference_icrc(frame, grh_at(path)));
    }
  }
}

BOOST_AUTO_TEST_CASE(its_icrc_leaves_out_what_routers_change_alone) {
  const Bytes good = sample(v1_path(), kRcWriteOnly, 8);
  std::set<std::size_t> masked;
  for (std::size_t octet = kEthernetBytes; octet < good.size(); ++octet) {
    Bytes bad = good;
    bad[octet] ^= std::byte{1};
    if (const auto view = parse_frame(bad); view && view->icrc_is_valid()) masked.insert(octet - kEthernetBytes);
  }
  BOOST_TEST((masked == std::set<std::size_t>{0, 1, 2, 3, 7, 40 + 4}));  // the version shares octet 0
}

/// The sample of the InfiniBand specification (volume 1, 7.8: a packet of a local subnet, as quoted on the linux-rdma
/// list, with VL and the BTH's reserved octet as ones): its ICRC is 0x9625b75a in the order of the wire. What follows
/// the LRH is the same transport.
BOOST_AUTO_TEST_CASE(transport_counts_as_in_the_specifications_sample) {
  const Bytes lrh = bytes_of({0xf0, 0x12, 0x37, 0x5c, 0x00, 0x0e, 0x17, 0xd2});
  const Bytes bth = bytes_of({0x0a, 0x20, 0x24, 0x87, 0x00, 0x87, 0xb1, 0xb3, 0x00, 0x0d, 0xec, 0x2a});
  const Bytes rest =
      bytes_of({0x01, 0x71, 0x0a, 0x1c, 0x01, 0x5d, 0x40, 0x02, 0x38, 0xf2, 0x7a, 0x05, 0x00, 0x00, 0x00, 0x0e,
                0xbb, 0x88, 0x4d, 0x85, 0xfd, 0x5c, 0xfb, 0xa4, 0x72, 0x8b, 0xc0, 0x69, 0x0e, 0xd4, 0x00, 0x00});
  Icrc until_bth;
  until_bth.update(lrh.data(), lrh.size());
  BOOST_TEST(icrc_from_bth(until_bth.value(), bth, rest) == 0x5ab72596u);  // stored with its least octet first
}

/// rxe begins with this value, which stands for the ones in the place of the LRH.
BOOST_AUTO_TEST_CASE(ones_for_the_lrh_come_to_what_rxe_begins_with) {
  const Bytes ones(8, std::byte{0xff});
  BOOST_TEST(~crc_of_all(ones) == 0xdebb20e3u);
  Icrc crc;
  crc.update(ones.data(), ones.size());
  BOOST_TEST(crc.value() == ~0xdebb20e3u);
}

BOOST_AUTO_TEST_CASE(a_wrong_grh_is_named) {
  const Bytes good = sample(v1_path(), kRcWriteOnly, 20);
  Bytes bad = good;
  bad[kEthernetBytes] = std::byte{0x46};
  BOOST_TEST((parse_frame(bad).error() == ParseError::bad_grh));
  bad = good;
  bad[kEthernetBytes + 6] = std::byte{17};
  BOOST_TEST((parse_frame(bad).error() == ParseError::bad_grh));
  BOOST_TEST(!find_places(bad)->carries_transport);
  bad = good;
  bad[kEthernetBytes + 5] ^= std::byte{6};
  BOOST_TEST((parse_frame(bad).error() == ParseError::bad_length));
}

BOOST_AUTO_TEST_CASE(a_deferred_icrc_is_completed) {
  for (const FramePath& path : v1_paths()) {
    for (const std::size_t payload : {0, 3, 2000}) {
      Bytes deferred = sample(path, kRcWriteOnly, payload, IcrcState::deferred);
      BOOST_TEST(!parse_frame(deferred)->icrc_is_valid());
      complete_icrc(deferred);
      BOOST_TEST((deferred == sample(path, kRcWriteOnly, payload)));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_form_of_a_packet_keeps_the_version) {
  for (const FramePath& path : v1_paths()) {
    const Bytes frame = sample(path, kRcWriteOnly, 100);
    const PacketView again = PacketForm(*parse_frame(frame), frame).view_of(frame);
    BOOST_TEST((&again.network().encapsulation() == &kRoceV1));
    BOOST_TEST((again.source() == path.source && again.destination() == path.destination));
    BOOST_TEST(again.icrc_is_valid());
  }
}

BOOST_AUTO_TEST_CASE(switches_see_no_more_than_ethernet) {
  for (const FramePath& path : v1_paths()) {
    const Bytes frame = sample(path, kRcWriteOnly, 100);
    const auto places = find_places(frame);
    BOOST_REQUIRE(places.has_value());
    BOOST_TEST(places->is_hidden);
    BOOST_TEST(places->priority == (path.vlan ? path.vlan->priority : 0));
    BOOST_TEST((destination_qpn(frame) == Qpn(0x01a2b3)));
    BOOST_TEST((path.traffic_class & kEcnMask) == kEcnCongestionExperienced);
    BOOST_TEST(!parse_frame(frame)->network().is_congestion_marked());
  }
}

BOOST_AUTO_TEST_CASE(no_cut_of_it_is_taken_for_whole) {
  const Bytes frame = sample(with_vlan(v1_path()), kRcWriteOnly, 20);
  const WalledBytes walled(frame);
  for (std::size_t bytes = 0; bytes < frame.size(); ++bytes) {
    const auto cut = walled.last(bytes);
    std::copy_n(frame.begin(), bytes, cut.begin());
    BOOST_TEST(!parse_frame(cut).ok(), bytes);
    find_places(cut);
    destination_qpn(cut);
    if (const auto view = parse_cut_frame(cut)) BOOST_TEST(!view->is_whole(), bytes);
  }
}

BOOST_AUTO_TEST_CASE(a_datagrams_receiver_finds_the_whole_grh) {
  const Bytes frame = sample(v1_path(), kRcWriteOnly, 20);
  const auto area = grh_area(*parse_frame(frame));
  BOOST_TEST(std::ranges::equal(area, std::span(frame).subspan(kEthernetBytes, 40)));
}

BOOST_AUTO_TEST_CASE(the_words_of_wires_are_found) {
  BOOST_TEST(find_wire_kind("roce")->has_v1);
  BOOST_TEST(find_wire_kind("roce")->has_v2);
  BOOST_TEST(!find_wire_kind("roce-v1")->has(RoceVersion::v2));
  BOOST_TEST(!kWireKindDefault.has(RoceVersion::v1));
  BOOST_TEST(find_wire_kind("infiniband")->is_infiniband);
  BOOST_TEST(!find_wire_kind("infiniband")->has(RoceVersion::v1));
  BOOST_TEST(find_wire_kind("ethernet") == nullptr);
  BOOST_TEST(gid_type_text(RoceVersion::v1) == "IB/RoCE v1");
  BOOST_TEST(gid_type_text(RoceVersion::v2) == "RoCE v2");
}

}  // namespace verbena::wire::test
