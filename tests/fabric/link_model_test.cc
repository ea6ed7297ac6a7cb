// One direction of a cable: what comes out, in which order, when.
#include "emulator/fabric/link_model.h"

#include <algorithm>
#include <bit>
#include <boost/test/unit_test.hpp>

#include "tests/support/frames.h"

using namespace verbena;
using namespace verbena::fabric;
using test::rc;
using wire::OperationCode;

namespace {

std::vector<FaultRule> rules_of(std::initializer_list<std::string_view> texts) {
  std::vector<FaultRule> rules;
  for (const auto text : texts) {
    const auto rule = parse_fault(text);
    BOOST_REQUIRE_MESSAGE(rule.ok(), (rule.ok() ? "" : rule.error()));
    rules.push_back(*rule);
  }
  return rules;
}

struct Cable {
  explicit Cable(std::initializer_list<std::string_view> faults, LinkParameters parameters = {})
      : model(parameters, FaultPlan(rules_of(faults), 7, "cable")) {}

  Submission send(Time now, std::uint32_t psn, std::size_t payload_bytes = 64) {
    return model.submit(now, test::make_frame(1, 2,
                                              {.opcode = rc(OperationCode::write_middle),
                                               .psn = psn,
                                               .payload = std::vector<std::byte>(payload_bytes, std::byte{0x5a})}));
  }
  /// PSNs of what has arrived by `now`.
  std::vector<std::uint32_t> arrived(Time now) {
    std::vector<std::uint32_t> psns;
    while (const auto delivery = model.next_delivery(now)) {
      const auto packet = wire::parse_frame(delivery->frame);
      psns.push_back(packet ? packet->bth().psn.value() : UINT32_MAX);
      model.pop();
    }
    return psns;
  }
  LinkModel model;
};

using Psns = std::vector<std::uint32_t>;
constexpr Time at_us(std::int64_t us) {
  return Time{us * 1000};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_clean_link_delivers_at_once_in_order_and_untouched) {
  Cable cable({});
  const auto frame = test::make_frame(1, 2, {.psn = 5, .payload = std::vector<std::byte>(100, std::byte{1})});
  BOOST_TEST(!cable.model.submit(at_us(3), frame, {test::node_gid(2), wire::Qpn(9), 77}).lost);
  const auto delivery = cable.model.next_delivery(at_us(3));
  BOOST_REQUIRE(delivery.has_value());
  BOOST_TEST(std::equal(frame.begin(), frame.end(), delivery->frame.begin(), delivery->frame.end()));
  BOOST_TEST(delivery->comment.empty());
  BOOST_TEST(delivery->tag.word == 77u);
  BOOST_CHECK(delivery->tag.qpn == wire::Qpn(9));
  cable.model.pop();
  BOOST_TEST(cable.model.idle());
  BOOST_TEST(!cable.model.next_deadline().has_value());
}

BOOST_AUTO_TEST_CASE(a_dropped_frame_never_arrives_and_says_why) {
  Cable cable({"drop psn=1"});
  BOOST_TEST(!cable.send(at_us(0), 10).lost);
  const Submission dropped = cable.send(at_us(0), 11);
  BOOST_TEST(dropped.lost);
  BOOST_TEST(dropped.comment == "verbena: dropped by fault 'drop psn=1'");
  cable.send(at_us(0), 12);
  BOOST_CHECK(cable.arrived(at_us(0)) == (Psns{10, 12}));
  BOOST_TEST(cable.model.counters().dropped_by_fault == 1u);
}

BOOST_AUTO_TEST_CASE(a_duplicate_follows_its_original) {
  Cable cable({"duplicate psn=1"});
  for (std::uint32_t psn = 0; psn < 3; ++psn) cable.send(at_us(0), psn);
  BOOST_CHECK(cable.arrived(at_us(0)) == (Psns{0, 1, 1, 2}));
}

BOOST_AUTO_TEST_CASE(a_delayed_frame_is_overtaken_and_arrives_on_time) {
  Cable cable({"delay by=10us psn=1"});
  for (std::uint32_t psn = 0; psn < 3; ++psn) cable.send(at_us(0), psn);
  BOOST_CHECK(cable.arrived(at_us(0)) == (Psns{0, 2}));
  BOOST_CHECK(*cable.model.next_deadline() == at_us(10));
  BOOST_TEST(cable.arrived(Time{9'999}).empty());
  BOOST_CHECK(cable.arrived(at_us(10)) == (Psns{1}));
}

BOOST_AUTO_TEST_CASE(the_same_delay_for_all_keeps_the_order) {
  Cable cable({"delay by=10us"});
  for (std::uint32_t psn = 0; psn < 5; ++psn) cable.send(at_us(psn / 2), psn);
  BOOST_CHECK(cable.arrived(at_us(20)) == (Psns{0, 1, 2, 3, 4}));
}

BOOST_AUTO_TEST_CASE(reordered_frame_is_overtaken_by_that_many_of_its_flow) {
  Cable cable({"reorder by=2 psn=1"});
  for (std::uint32_t psn = 0; psn < 2; ++psn) cable.send(at_us(0), psn);
  // Another flow does not count.
  cable.model.submit(at_us(0), test::make_frame(1, 2, {.psn = 900, .dest_qp = wire::Qpn(0x77)}));
  for (std::uint32_t psn = 2; psn < 6; ++psn) cable.send(at_us(0), psn);
  BOOST_CHECK(cable.arrived(at_us(0)) == (Psns{0, 900, 2, 3, 1, 4, 5}));
  BOOST_TEST(cable.model.counters().reordered == 1u);
}

BOOST_AUTO_TEST_CASE(the_last_frame_of_a_burst_is_not_held_for_ever) {
  Cable cable({"reorder by=3 within=50us"});
  cable.send(at_us(0), 0);
  BOOST_TEST(cable.arrived(at_us(49)).empty());
  BOOST_REQUIRE(cable.model.next_deadline().has_value());
  BOOST_CHECK(*cable.model.next_deadline() == at_us(50));
  BOOST_CHECK(cable.arrived(at_us(50)) == (Psns{0}));
  BOOST_TEST(cable.model.idle());
}

BOOST_AUTO_TEST_CASE(a_dropped_packet_does_not_count_as_overtaking) {
  Cable cable({"reorder by=1 psn=0", "drop psn=1"});
  cable.send(at_us(0), 0);
  cable.send(at_us(0), 1);
  BOOST_TEST(cable.arrived(at_us(0)).empty());
  cable.send(at_us(0), 2);
  BOOST_CHECK(cable.arrived(at_us(0)) == (Psns{2, 0}));
}

BOOST_AUTO_TEST_CASE(more_held_frames_than_the_limit_go_through_in_order) {
  Cable cable({"reorder by=1000"});
  for (std::uint32_t psn = 0; psn < kHeldFramesMax + 5; ++psn) cable.send(at_us(0), psn);
  BOOST_TEST(cable.arrived(at_us(0)).size() == 5u);
  BOOST_TEST(cable.model.counters().reorder_refused == 5u);
  BOOST_TEST(cable.arrived(at_us(1000)).size() == kHeldFramesMax);
}

BOOST_AUTO_TEST_CASE(a_corrupted_frame_differs_in_one_bit_that_the_icrc_shows) {
  for (const char* fault : {"corrupt", "corrupt where=payload", "corrupt where=header", "corrupt where=icrc"}) {
    BOOST_TEST_CONTEXT(fault) {
      Cable cable({fault});
      for (std::uint32_t psn = 0; psn < 500; ++psn) {
        const auto frame = test::make_frame(
            1, 2, {.opcode = rc(OperationCode::write_middle), .psn = psn, .payload = std::vector<std::byte>(13)});
        cable.model.submit(at_us(0), frame);
        const auto delivery = cable.model.next_delivery(at_us(0));
        BOOST_REQUIRE(delivery.has_value());
        BOOST_TEST_REQUIRE(delivery->corrupted);
        int bits = 0;
        for (std::size_t i = 0; i < frame.size(); ++i)
          bits += std::popcount(static_cast<unsigned>(frame[i] ^ delivery->frame[i]));
        BOOST_TEST_REQUIRE(bits == 1);
        const auto packet = wire::parse_frame(delivery->frame);
        BOOST_TEST_REQUIRE((!packet || !packet->icrc_is_valid()));
        cable.model.pop();
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_repaired_corruption_carries_a_valid_icrc) {
  for (const char* fault : {"corrupt where=payload repair=yes", "corrupt where=header repair=yes"}) {
    BOOST_TEST_CONTEXT(fault) {
      Cable cable({fault});
      int parsed = 0;
      for (std::uint32_t psn = 0; psn < 500; ++psn) {
        const auto frame = test::make_frame(
            1, 2, {.opcode = rc(OperationCode::write_middle), .psn = psn, .payload = std::vector<std::byte>(13)});
        cable.model.submit(at_us(0), frame);
        const auto delivery = cable.model.next_delivery(at_us(0));
        BOOST_REQUIRE(delivery.has_value());
        BOOST_TEST_REQUIRE(!std::equal(frame.begin(), frame.end(), delivery->frame.begin()));
        if (const auto packet = wire::parse_frame(delivery->frame)) {
          ++parsed;
          BOOST_TEST_REQUIRE(packet->icrc_is_valid());
        }
        cable.model.pop();
      }
      BOOST_TEST(parsed > 100);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_payload_fault_passes_over_packets_without_payload) {
  Cable cable({"corrupt where=payload"});
  cable.model.submit(at_us(0), test::make_frame(1, 2, {.psn = 1}));
  BOOST_TEST(!cable.model.next_delivery(at_us(0))->corrupted);
  BOOST_TEST(cable.model.plan().counters(0).matched == 0u);
}

BOOST_AUTO_TEST_CASE(a_full_pool_loses_what_comes_on_top_and_counts_it) {
  Cable cable({"delay by=1ms"}, {.pool_frames = 4});
  for (std::uint32_t psn = 0; psn < 6; ++psn) BOOST_TEST(cable.send(at_us(0), psn).lost == (psn >= 4));
  BOOST_TEST(cable.model.counters().dropped_full == 2u);
  BOOST_CHECK(cable.arrived(at_us(1000)) == (Psns{0, 1, 2, 3}));
  BOOST_TEST(!cable.send(at_us(1000), 9).lost);
}

BOOST_AUTO_TEST_CASE(frames_take_the_time_that_rate_and_distance_ask_for) {
  Cable cable({}, {.rate_bits_per_second = 1'000'000'000, .propagation = microseconds(5)});
  const std::size_t frame_bytes =
      test::make_frame(1, 2, {.opcode = rc(OperationCode::write_middle), .payload = std::vector<std::byte>(64)}).size();
  const auto frame_ns = static_cast<std::int64_t>(frame_bytes * 8);
  cable.send(at_us(0), 0);
  cable.send(at_us(0), 1);
  BOOST_TEST(cable.model.next_deadline()->ns == frame_ns + 5'000);
  BOOST_CHECK(cable.arrived(Time{frame_ns + 5'000}) == (Psns{0}));
  BOOST_TEST(cable.model.next_deadline()->ns == 2 * frame_ns + 5'000);
  BOOST_CHECK(cable.arrived(Time{2 * frame_ns + 5'000}) == (Psns{1}));
}

BOOST_AUTO_TEST_CASE(what_is_not_roce_passes_untouched) {
  Cable cable({"drop"});
  const std::vector<std::byte> noise(60, std::byte{0xee});
  BOOST_TEST(!cable.model.submit(at_us(0), noise).lost);
  BOOST_TEST(!cable.model.submit(at_us(0), std::span<const std::byte>{}).lost);
  BOOST_TEST(cable.model.counters().unparsed == 2u);
  BOOST_TEST(cable.model.submit(at_us(0), std::vector<std::byte>(wire::kFrameBytesMax + 1)).lost);
}

BOOST_AUTO_TEST_CASE(a_frame_comes_as_often_as_its_copies_say) {
  Cable cable({"duplicate copies=5 count=1"}, {.pool_frames = 64});
  cable.send(at_us(0), 0);
  cable.send(at_us(1), 1);
  BOOST_TEST(cable.arrived(at_us(1000)).size() == 7u);
  BOOST_TEST(cable.model.counters().duplicated == 5u);
}

BOOST_AUTO_TEST_CASE(copies_that_find_no_room_are_not_made) {
  Cable cable({"duplicate copies=1000 count=1"}, {.pool_frames = 64});
  cable.send(at_us(0), 0);
  const std::size_t arrived = cable.arrived(at_us(100'000)).size();
  BOOST_TEST(arrived == 64u);
  BOOST_TEST(cable.model.counters().duplicated == arrived - 1);
  BOOST_TEST(cable.model.idle());
}

BOOST_AUTO_TEST_CASE(everything_that_goes_in_comes_out_or_is_accounted_for) {
  Cable cable({"drop 5%", "duplicate 5%", "delay by=20us 5%", "reorder by=4 5%", "corrupt 5%"}, {.pool_frames = 64});
  std::uint64_t arrived = 0;
  constexpr std::uint32_t kFrames = 20'000;
  for (std::uint32_t i = 0; i < kFrames; ++i) {
    cable.send(at_us(i), i);
    arrived += cable.arrived(at_us(i)).size();
  }
  arrived += cable.arrived(at_us(kFrames + 10'000)).size();
  const LinkCounters& counters = cable.model.counters();
  BOOST_TEST(cable.model.idle());
  BOOST_TEST(counters.submitted == kFrames);
  BOOST_TEST(arrived == counters.delivered);
  BOOST_TEST(arrived == kFrames + counters.duplicated - counters.dropped_by_fault - counters.dropped_full);
  BOOST_TEST(counters.dropped_by_fault > 0u);
  BOOST_TEST(counters.duplicated > 0u);
  BOOST_TEST(counters.delayed > 0u);
  BOOST_TEST(counters.reordered > 0u);
  BOOST_TEST(counters.corrupted > 0u);
}
