// A second encapsulation beside RoCE v2: built, read, marked and sealed by the same code.
#include "wire/encapsulation.h"

#include "tests/support/toy_encapsulation.h"
#include "tests/wire/wire_support.h"
#include "wire/flow_key.h"
#include "wire/packet_form.h"

using namespace verbena::wire;
using namespace verbena::wire::test;

namespace {

FramePath toy_path() {
  FramePath path = ipv4_path();
  path.traffic_class = 0x6a;
  path.encapsulation = &toy::kToy;
  return path;
}

std::vector<FramePath> toy_paths() {
  return {toy_path(), with_vlan(toy_path())};
}

constexpr std::size_t kEthernetBytes = 14;

bool is_sealed(std::span<const std::byte> frame) {
  const auto covered = frame.first(frame.size() - toy::kTrailerBytes);
  return layout_detail::load_big_endian<2>(frame.data() + covered.size()) == toy::sum_of(covered);
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_is_built_by_a_row_is_read_by_it) {
  for (const FramePath& path : toy_paths()) {
    for (const Opcode opcode : defined_opcodes()) {
      for (const std::size_t payload : {0, 1, 1000, 4096}) {
        const Bytes frame = sample(path, opcode, payload);
        const auto view = parse_frame(frame);
        BOOST_REQUIRE(view.ok());
        BOOST_REQUIRE(view->icrc_is_valid());
        BOOST_REQUIRE((&view->network().encapsulation() == &toy::kToy));
        BOOST_TEST((view->source() == path.source && view->network().is_from(path.source)));
        BOOST_TEST((view->destination() == path.destination && view->network().is_to(path.destination)));
        BOOST_TEST(!view->network().is_to(path.source));
        BOOST_TEST((view->network().last_hop() == path.from));
        BOOST_TEST(view->network().traffic_class() == path.traffic_class);
        BOOST_TEST((view->network().header() == NetworkHeader::grh));
        BOOST_TEST((view->bth().opcode == opcode));
        BOOST_TEST(view->vlan().has_value() == path.vlan.has_value());
        BOOST_REQUIRE(view->payload().size() == (view->opcode().has_payload ? payload : 0));
        BOOST_TEST(std::ranges::equal(view->payload(), pattern(view->payload().size())));
        BOOST_TEST(view->frame().size() + toy::kTrailerBytes == frame.size());
        BOOST_TEST(is_sealed(frame));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(its_octets_are_those_that_the_row_says) {
  const Bytes frame = sample(toy_path(), kRcWriteOnly, 5);
  const std::size_t transport_bytes = 12 + 16 + 8 + 4;  // BTH, RETH, payload with its padding, ICRC
  BOOST_REQUIRE(frame.size() == kEthernetBytes + 16 + transport_bytes + 2);
  const std::array<unsigned, 20> expected{0x02, 0x56, 0x7f, 0x2f, 0x5b, 0x02, 0x02, 0x56, 0x7f,
                                          0x2f, 0x5b, 0x01, 0x88, 0xb5, 7,    0x6a, 0,    transport_bytes,
                                          0x7f, 0x2f};
  for (std::size_t i = 0; i < expected.size(); ++i) BOOST_TEST(std::to_integer<unsigned>(frame[i]) == expected[i], i);
}

BOOST_AUTO_TEST_CASE(its_icrc_covers_what_the_row_does_not_mask) {
  const Bytes good = sample(toy_path(), kRcWriteOnly, 8);
  std::size_t masked = 0;
  for (std::size_t octet = kEthernetBytes + 4; octet < good.size() - toy::kTrailerBytes; ++octet) {
    Bytes bad = good;
    bad[octet] ^= std::byte{1};
    const auto view = parse_frame(bad);
    masked += view.ok() && view->icrc_is_valid();
  }
  BOOST_TEST(masked == 1u);  // the BTH's octet of FECN and BECN
  Bytes marked = good;
  marked[kEthernetBytes + 1] ^= std::byte{0xff};
  BOOST_TEST(parse_frame(marked)->icrc_is_valid());
}

BOOST_AUTO_TEST_CASE(a_deferred_icrc_is_completed_with_its_trailer) {
  for (const FramePath& path : toy_paths()) {
    for (const std::size_t payload : {0, 3, 2000}) {
      Bytes deferred = sample(path, kRcWriteOnly, payload, IcrcState::deferred);
      BOOST_TEST(!parse_frame(deferred)->icrc_is_valid());
      complete_icrc(deferred);
      BOOST_TEST((deferred == sample(path, kRcWriteOnly, payload)));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_form_of_a_packet_keeps_its_encapsulation) {
  for (const FramePath& path : toy_paths()) {
    const Bytes frame = sample(path, kRcWriteOnly, 100);
    const PacketView again = PacketForm(*parse_frame(frame), frame).view_of(frame);
    BOOST_TEST((&again.network().encapsulation() == &toy::kToy));
    BOOST_TEST((again.source() == path.source && again.destination() == path.destination));
    BOOST_TEST(again.icrc_is_valid());
  }
}

BOOST_AUTO_TEST_CASE(a_network_finds_and_marks_what_it_needs) {
  for (const FramePath& path : toy_paths()) {
    Bytes frame = sample(path, kRcWriteOnly, 100);
    BOOST_TEST(!FlowKey(frame).is_known());
    BOOST_TEST((destination_qpn(frame) == Qpn(0x01a2b3)));
    const auto places = find_places(frame);
    BOOST_REQUIRE(places.has_value());
    BOOST_TEST((source_of(frame, *places) == path.source && destination_of(frame, *places) == path.destination));
    BOOST_TEST(traffic_class_of(frame, *places) == path.traffic_class);
    BOOST_TEST(places->priority == (path.vlan ? path.vlan->priority : 0));
    BOOST_TEST(!parse_frame(frame)->network().is_congestion_marked());
    mark_congestion_at(frame, *places);
    BOOST_TEST(parse_frame(frame)->network().is_congestion_marked());
    BOOST_TEST(parse_frame(frame)->icrc_is_valid());
  }
}

BOOST_AUTO_TEST_CASE(no_cut_of_it_is_taken_for_whole) {
  const Bytes frame = sample(with_vlan(toy_path()), kRcWriteOnly, 20);
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

BOOST_AUTO_TEST_CASE(a_row_with_one_type_does_not_take_type_0) {
  Bytes frame = sample(toy_path(), kRcWriteOnly, 20);
  frame[12] = frame[13] = std::byte{0};  // the EtherType
  BOOST_TEST((parse_frame(frame).error() == ParseError::not_ip));
  BOOST_TEST(!find_places(frame).has_value());
}

BOOST_AUTO_TEST_CASE(the_grh_area_has_its_network_header_at_the_end) {
  const Bytes frame = sample(toy_path(), kRcWriteOnly, 20);
  const auto area = grh_area(*parse_frame(frame));
  BOOST_TEST(std::ranges::equal(std::span(area).last(16), std::span(frame).subspan(kEthernetBytes, 16)));
}
