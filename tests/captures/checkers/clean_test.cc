// What is right is not called wrong: our own NICs under every kind of fault, and captures of the Linux kernel's rxe,
// also cut, begun in the middle, and with packets that the capture has missed.
#include <boost/test/unit_test.hpp>

#include "captures/check/capture_check.h"
#include "tests/captures/checkers/checked_traffic.h"
#include "tests/support/places.h"

using namespace verbena;
using namespace verbena::test;

namespace {

constexpr std::uint64_t kSeeds = 4;  // of each kind

const char* const kCaptures[] = {"01-rc_pingpong",    "02-write_bw",    "03-read_bw",
                                 "04-atomic_fadd",    "05-ud_pingpong", "06-rping_cm",
                                 "07-loss2_write_bw", "08-uc_pingpong", "09-send_bw"};

struct Traffic {
  std::vector<std::string> faults;
  QpOptions options;
  bool receives_late = false;
  bool data_requests = true;
  LossRecoveryConfig recovery{};
};

std::vector<Sighting> record(const Traffic& traffic, std::uint64_t seed, checkers::Checkers& checkers) {
  std::vector<Sighting> sightings;
  Pair pair(traffic.options, 1 << 16, {.seed = seed, .faults = traffic.faults, .loss_recovery = traffic.recovery});
  watch(pair, sightings);
  checkers.connect(connection_of(pair));
  checkers.region(region_of(pair.a, pair.a_buffer));
  checkers.region(region_of(pair.b, pair.b_buffer));
  run_traffic(pair, seed, 60, traffic.receives_late, traffic.data_requests);
  return sightings;
}

void put_before(checkers::Checkers& checkers, const std::vector<Sighting>& sightings) {
  for (std::size_t i = 0; i < sightings.size(); ++i) observe(checkers, sightings[i], i);
  checkers.finish();
}

void check_clean(const checkers::Checkers& checkers) {
  BOOST_TEST(checkers.violation_count() == 0u, violations_text(checkers));
}

/// The same packets, as somebody on the way sees them: each where it leaves or where it arrives, some not at all.
void check_from_the_way(const std::vector<Sighting>& sightings, std::uint64_t seed) {
  for (const auto where : {checkers::Seen::sent, checkers::Seen::delivered}) {
    for (const unsigned missing_percent : {0u, 5u, 60u}) {
      fabric::Dice dice(seed);
      checkers::Checkers checkers({.all_atomics_visible = false});
      for (std::size_t i = sightings.size() / 3; i < sightings.size(); ++i) {
        if (sightings[i].seen != where || sightings[i].corrupted || dice.next() % 100 < missing_percent) continue;
        Sighting passing = sightings[i];
        passing.seen = checkers::Seen::passing;
        observe(checkers, passing, i);
      }
      checkers.finish();
      check_clean(checkers);
    }
  }
}

/// What node 1 sends and gets, as one who knows nothing of the connection sees it from a moment on: for many of them.
/// Returns how many answers were judged.
std::uint64_t check_one_end(const Traffic& traffic, std::uint64_t seed) {
  checkers::Checkers unused;
  const auto sightings = record(traffic, seed, unused);
  checkers::CheckedConnection connection;
  connection.path_mtu_bytes = 1024;
  std::optional<wire::Qpn> of_node[2];
  for (const Sighting& sighting : sightings)
    if (const auto view = wire::parse_frame(sighting.frame); view && !sighting.corrupted)
      of_node[view->ip().is_to(node_gid(1)) ? 0 : 1] = view->bth().dest_qp;
  for (unsigned end = 0; end < 2; ++end) connection.ends[end] = {node_gid(end + 1), of_node[end], {}, {}};
  std::uint64_t judged = 0;
  for (std::size_t begin = 0; begin < sightings.size(); begin += sightings.size() / 40 + 1) {
    checkers::Checkers checkers;
    checkers.connect(connection);
    for (std::size_t i = begin; i < sightings.size(); ++i) {
      const auto view = wire::parse_frame(sightings[i].frame);
      if (!view) continue;
      const bool is_out = sightings[i].seen == checkers::Seen::sent;
      if (is_out == view->ip().is_from(node_gid(1))) observe(checkers, sightings[i], i);
    }
    checkers.finish();
    check_clean(checkers);
    judged += judged_by(checkers, "answer-psn");
  }
  return judged;
}

}  // namespace

const std::array kRecoveries{
    LossRecoveryConfig{}, LossRecoveryConfig{.policy = RecoveryPolicy::selective_repeat},
    LossRecoveryConfig{.policy = RecoveryPolicy::selective_repeat, .bdp_packets = 12, .negotiates = false}};

void check_under_faults(const Traffic& traffic, std::uint64_t seed) {
  checkers::Checkers checkers({.all_atomics_visible = true});
  const auto sightings = record(traffic, seed, checkers);
  put_before(checkers, sightings);
  check_clean(checkers);
  for (const char* name : {"icrc", "message-order", "payload-size", "psn-order", "psn-window", "aeth", "ack-bounds",
                           "ack-order", "msn", "completion-order", "region", "failed-qp"})
    BOOST_TEST(judged_by(checkers, name) > 0u, name);
  if (traffic.data_requests)
    for (const char* name : {"read-response", "atomic-once", "atomic-chain"})
      BOOST_TEST(judged_by(checkers, name) > 0u, name);
  const bool is_selective = traffic.recovery.policy == RecoveryPolicy::selective_repeat;
  const bool is_lossy = !traffic.faults.empty() && traffic.faults.front().starts_with("drop");
  BOOST_TEST((judged_by(checkers, "selective-repeat") > 0u) >= (is_selective && is_lossy));
  check_from_the_way(sightings, seed);
}

BOOST_AUTO_TEST_CASE(our_nics_break_no_rule_under_any_fault) {
  const std::vector<Traffic> all = {
      {},
      {.faults = {"drop 3%"}},
      {.faults = {"drop 15%"}, .options = {.timeout = 8}},
      {.faults = {"duplicate 5%"}},
      {.faults = {"reorder 5% by=3"}},
      {.faults = {"corrupt 3%"}},
      {.faults = {"delay 5% by=30us"}},
      {.faults = {"drop 2%", "duplicate 2%", "reorder 2% by=5", "corrupt 1%"}, .options = {.mtu = 256}},
      {.faults = {"drop 2%"}, .data_requests = false},
      {.options = {.min_rnr_timer = 5}, .receives_late = true},
      {.faults = {"drop 2%", "reorder 2% by=2"},
       .options = {.mtu = 4096, .first_psn = 0xffffe0},
       .receives_late = true},
      {.faults = {"drop 4%", "duplicate 4%"},
       .options = {.timeout = 6, .max_read_atomic = 1, .max_dest_read_atomic = 1}},
  };
  for (std::size_t kind = 0; kind < all.size(); ++kind)
    for (std::size_t recovery = 0; recovery < kRecoveries.size(); ++recovery)
      for (std::uint64_t seed = 1; seed <= kSeeds; ++seed)
        BOOST_TEST_CONTEXT("kind " << kind << " recovery " << recovery << " seed " << seed) {
          Traffic traffic = all[kind];
          traffic.recovery = kRecoveries[recovery];
          check_under_faults(traffic, seed);
        }
}

BOOST_AUTO_TEST_CASE(one_end_of_a_conversation_from_any_moment_on_is_clean) {
  std::uint64_t judged = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed)
    for (const LossRecoveryConfig& recovery : kRecoveries)
      judged += check_one_end({.faults = {"drop 4%", "duplicate 3%", "reorder 3% by=4"}, .recovery = recovery}, seed);
  BOOST_TEST(judged > 1000u);
}

BOOST_AUTO_TEST_CASE(read_that_left_before_the_mtu_was_known_is_not_missed) {
  checkers::CheckedConnection connection;
  for (unsigned end = 0; end < 2; ++end) connection.ends[end] = {node_gid(end + 1), wire::Qpn(0x11), {}, {}};
  checkers::Checkers checkers;
  checkers.connect(connection);
  const wire::FramePath there{.source = node_gid(1), .destination = node_gid(2)};
  const wire::FramePath back{.source = node_gid(2), .destination = node_gid(1)};
  Time now{};
  const auto see = [&](const wire::FramePath& path, const PacketSpec& spec, checkers::Seen seen) {
    observe(checkers, {now = now + microseconds(1), make_frame(wire::FrameTemplate(path), spec), seen});
  };
  const auto read = [](std::uint32_t psn) {
    return PacketSpec{.opcode = rc(OperationCode::read_request), .psn = psn, .reth = {.length = 20000}};
  };
  const auto response = [](std::uint32_t psn, std::uint32_t msn) {
    return PacketSpec{.opcode = rc(OperationCode::read_response_first),
                      .psn = psn,
                      .aeth = {wire::ack_syndrome(31), msn},
                      .payload = std::vector<std::byte>(4096)};
  };
  for (const std::uint32_t psn : {11u, 16u}) see(there, read(psn), checkers::Seen::sent);
  see(there, read(11), checkers::Seen::delivered);
  see(back, response(11, 22), checkers::Seen::sent);
  see(there, read(16), checkers::Seen::delivered);
  const PacketSpec answer{.opcode = rc(OperationCode::acknowledge), .psn = 15, .aeth = {wire::ack_syndrome(31), 22}};
  see(back, answer, checkers::Seen::sent);
  see(back, response(16, 23), checkers::Seen::sent);
  check_clean(checkers);
}

BOOST_AUTO_TEST_CASE(requester_back_from_a_long_silence_may_go_on_at_the_answer) {
  checkers::CheckedConnection connection;
  for (unsigned end = 0; end < 2; ++end) connection.ends[end] = {node_gid(end + 1), wire::Qpn(0x11), {}, {}};
  checkers::Checkers checkers;
  checkers.connect(connection);
  wire::FramePath there{.source = node_gid(1), .destination = node_gid(2)};
  wire::FramePath back{.source = node_gid(2), .destination = node_gid(1)};
  Time now{};
  const auto send = [&](std::uint32_t first, std::uint32_t last) {
    for (std::uint32_t psn = first; psn <= last; ++psn)
      observe(checkers, {now = now + microseconds(1), make_frame(wire::FrameTemplate(there), {.psn = psn}),
                         checkers::Seen::sent});
  };
  send(1, 10);
  now = now + seconds(2);  // all ten have arrived, and their answers were lost
  send(3, 5);
  const PacketSpec answer{.opcode = rc(OperationCode::acknowledge), .psn = 10};
  observe(checkers, {now, make_frame(wire::FrameTemplate(back), answer), checkers::Seen::delivered});
  send(11, 12);
  check_clean(checkers);
  send(14, 14);
  BOOST_TEST(violations_of(checkers, "psn-order") == 1u);
}

BOOST_AUTO_TEST_CASE(recovery_rules_are_judged_only_after_a_loss) {
  checkers::Checkers lossy;
  put_before(lossy, record({.faults = {"drop 5%"}, .data_requests = false}, 1, lossy));
  for (const char* name : {"go-back-n", "ack-timeout", "nak"}) BOOST_TEST(judged_by(lossy, name) > 0u, name);
  checkers::Checkers late;
  put_before(late, record({.options = {.min_rnr_timer = 5}, .receives_late = true}, 1, late));
  BOOST_TEST(judged_by(late, "rnr-wait") > 0u);
}

BOOST_AUTO_TEST_CASE(rxe_captures_are_clean_on_the_way_and_at_an_end) {
  for (const std::string name : kCaptures) {
    const auto capture = captures::Capture::open(test::data_file(name + std::string(".pcap")));
    BOOST_REQUIRE(capture.ok());
    for (const bool at_receiver : {false, true}) {
      captures::Vantage vantage;
      if (at_receiver) vantage.host = wire::Gid::from_ipv4(0x0a4d0002);
      const auto verdict = captures::check_capture(*capture, vantage);
      BOOST_TEST(verdict.violation_count == 0u,
                 name << ": " << (verdict.violations.empty() ? "" : verdict.violations[0].text));
      BOOST_TEST((verdict.sent_count != 0) == at_receiver);
      BOOST_TEST(verdict.ignored_count == 0u);
    }
  }
}

BOOST_AUTO_TEST_CASE(capture_with_holes_or_cut_or_begun_in_the_middle_is_clean) {
  for (const std::string name : kCaptures) {
    const auto capture = captures::Capture::open(test::data_file(name + std::string(".pcap")));
    BOOST_REQUIRE(capture.ok());
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      fabric::Dice dice(seed);
      checkers::Checkers checkers;
      std::uint64_t observed = 0;
      const std::size_t begin = dice.next() % capture->packets().size();
      for (std::size_t i = begin; i < capture->packets().size(); ++i) {
        const auto bytes = capture->packets()[i].captured.bytes;
        const auto view = wire::parse_cut_frame(bytes.first(std::min<std::size_t>(bytes.size(), 90)));
        if (!view || dice.next() % 10 == 0) continue;
        checkers.observe({.time = capture->packets()[i].time, .packet = *view, .number = i});
        ++observed;
      }
      checkers.finish();
      BOOST_TEST(checkers.violation_count() == 0u, name << violations_text(checkers));
      BOOST_TEST(checkers.packet_count() == observed);
    }
  }
}
