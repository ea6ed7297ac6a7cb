// What a network finds in a frame is what a NIC parses there, and it reads nothing beyond the frame.
#include "wire/frame_places.h"

#include "tests/wire/wire_support.h"
#include "wire/flow_key.h"
#include "wire/packet_view.h"

using namespace verbena::wire;
using namespace verbena::wire::test;

BOOST_AUTO_TEST_CASE(places_are_those_that_the_parser_finds) {
  for (const FramePath& path : all_paths()) {
    const Bytes frame = sample(path, kRcWriteOnly, 100);
    const auto view = parse_frame(frame);
    const auto places = find_places(frame);
    BOOST_REQUIRE(places.has_value());
    BOOST_TEST(places->network_at == (path.vlan ? 18 : 14));
    BOOST_TEST(places->network_at == view->network().places().network_at);
    BOOST_TEST(places->bth_at == view->network().places().bth_at);
    BOOST_TEST((source_of(frame, *places) == view->source()));
    BOOST_TEST((destination_of(frame, *places) == view->destination()));
    BOOST_TEST(traffic_class_of(frame, *places) == view->network().traffic_class());
    BOOST_TEST(places->priority == (path.vlan ? path.vlan->priority : 0));
    BOOST_TEST(places->carries_transport);
    BOOST_TEST((destination_qpn(frame) == view->bth().dest_qp));
  }
}

BOOST_AUTO_TEST_CASE(other_datagrams_carry_no_transport) {
  for (const FramePath& path : all_paths()) {
    Bytes frame = sample(path, kRcWriteOnly, 100);
    const FramePlaces places = *find_places(frame);
    frame[places.entropy_at + 2] ^= std::byte{1};  // the destination port
    BOOST_TEST(!find_places(frame)->carries_transport);
    frame[places.entropy_at + 2] ^= std::byte{1};
    frame[places.network_at + (places.address_bytes == 4 ? 9 : 6)] = std::byte{6};  // TCP
    BOOST_TEST(!find_places(frame)->carries_transport);
  }
}

BOOST_AUTO_TEST_CASE(a_mark_is_congestion_experienced_and_leaves_a_right_checksum) {
  for (FramePath path : all_paths()) {
    for (const unsigned traffic_class : {0x00u, 0x01u, 0x02u, 0x03u, 0xfeu}) {
      path.traffic_class = static_cast<std::uint8_t>(traffic_class);
      Bytes frame = sample(path, kRcWriteOnly, 100);
      mark_congestion_at(frame, *find_places(frame));
      path.traffic_class |= kEcnCongestionExperienced;
      BOOST_TEST((frame == sample(path, kRcWriteOnly, 100)));
    }
  }
}

BOOST_AUTO_TEST_CASE(nothing_beyond_a_cut_frame_is_read) {
  for (const FramePath& path : all_paths()) {
    const Bytes frame = sample(path, kRcWriteOnly, 20);
    const WalledBytes walled(frame);
    const FramePlaces whole = *find_places(frame);
    for (std::size_t bytes = 0; bytes < frame.size(); ++bytes) {
      const auto cut = walled.last(bytes);
      std::copy_n(frame.begin(), bytes, cut.begin());
      const auto places = find_places(cut);
      BOOST_TEST(places.has_value() == (bytes >= std::size_t{whole.network_at} + whole.network_bytes), bytes);
      if (places) mark_congestion_at(cut, *places);
      BOOST_TEST(destination_qpn(cut).has_value() == (bytes >= whole.bth_at + BthLayout::bytes), bytes);
    }
  }
}
