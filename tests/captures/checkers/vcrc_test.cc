// The variant CRC of InfiniBand's packets: judged where it is there, at whichever place it was seen.
#include <boost/test/unit_test.hpp>

#include "captures/checkers/checker.h"
#include "tests/wire/wire_support.h"

using namespace verbena;
using namespace verbena::wire::test;
using checkers::Seen;

namespace {

Bytes infiniband_packet() {
  wire::FramePath path;
  path.from = wire::PathAddress(wire::Lid(1), 0);
  path.to = wire::PathAddress(wire::Lid(2), 0);
  path.encapsulation = &wire::kInfiniBand;
  return sample(path, kRcWriteOnly, 16);
}

/// What the rule says of one packet.
checkers::CheckerTotals judge(std::span<const std::byte> octets, Seen seen, bool knows_all_damage) {
  const auto view = wire::parse_cut_packet(wire::kInfiniBand, octets);
  BOOST_REQUIRE(view.ok());
  checkers::Checkers all({.knows_all_damage = knows_all_damage});
  all.observe({.time = Time{0}, .packet = *view, .seen = seen});
  for (const auto& totals : all.totals())
    if (totals.row.name == "vcrc") return totals;
  BOOST_FAIL("there is no rule vcrc");
  return {};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_right_vcrc_holds) {
  const auto totals = judge(infiniband_packet(), Seen::sent, false);
  BOOST_TEST((totals.judged == 1u && totals.violations == 0u && totals.unjudged == 0u));
}

BOOST_AUTO_TEST_CASE(a_wrong_vcrc_breaks_the_rule_where_the_packet_leaves) {
  Bytes packet = infiniband_packet();
  packet.back() ^= std::byte{1};
  BOOST_TEST(judge(packet, Seen::sent, false).violations == 1u);
}

BOOST_AUTO_TEST_CASE(a_wrong_vcrc_on_the_way_breaks_it_where_all_damage_is_known) {
  Bytes packet = infiniband_packet();
  packet.back() ^= std::byte{1};
  BOOST_TEST(judge(packet, Seen::passing, true).violations == 1u);
  const auto totals = judge(packet, Seen::passing, false);
  BOOST_TEST((totals.violations == 0u && totals.unjudged == 1u));
}

BOOST_AUTO_TEST_CASE(a_vcrc_that_was_left_off_is_not_judged) {
  const Bytes packet = infiniband_packet();
  const auto totals = judge(std::span(packet).first(packet.size() - 2), Seen::sent, false);
  BOOST_TEST((totals.judged == 0u && totals.unjudged == 1u));
}

BOOST_AUTO_TEST_CASE(packets_on_ethernet_are_not_concerned) {
  const Bytes frame = sample(ipv4_path(), kRcWriteOnly, 16);
  checkers::Checkers all;
  const auto view = wire::parse_frame(frame);
  all.observe({.time = Time{0}, .packet = *view, .seen = Seen::sent});
  for (const auto& totals : all.totals())
    if (totals.row.name == "vcrc") BOOST_TEST((totals.judged == 0u && totals.unjudged == 0u));
}
