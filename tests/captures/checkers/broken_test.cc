// What is wrong is called wrong, by the rule that it breaks: good traces with one packet changed, added or taken away.
#include <boost/test/unit_test.hpp>
#include <functional>

#include "tests/captures/checkers/checked_traffic.h"

using namespace verbena;
using namespace verbena::test;
using checkers::Seen;

namespace {

// Where things lie in an Ethernet frame with IPv4.
constexpr std::size_t kBth = 14 + 20 + 8;
constexpr std::size_t kPsn = kBth + 9;
constexpr std::size_t kExtension = kBth + 12;  // AETH: syndrome, then MSN; RETH: address, key, length
constexpr std::size_t kRethLength = kExtension + 12;
constexpr std::size_t kAtomicAck = kExtension + 4;

using Trace = std::vector<Sighting>;

wire::PacketView view_of(const Sighting& sighting) {
  auto view = wire::parse_frame(sighting.frame);
  BOOST_REQUIRE(view.ok());
  return *view;
}

void put24(Sighting& sighting, std::size_t at, std::uint32_t value) {
  for (std::size_t i = 0; i < 3; ++i) sighting.frame[at + i] = static_cast<std::byte>(value >> (16 - 8 * i));
}
void set_psn(Sighting& sighting, wire::Psn psn) {
  put24(sighting, kPsn, psn.value());
}

using Wanted = std::function<bool(const Sighting&, const wire::PacketView&)>;

/// The `nth` sighting of its kind that is wanted.
std::size_t find(const Trace& trace, Seen seen, unsigned nth, const Wanted& wanted) {
  for (std::size_t i = 0; i < trace.size(); ++i)
    if (trace[i].seen == seen && !trace[i].corrupted && wanted(trace[i], view_of(trace[i])) && nth-- == 0) return i;
  BOOST_FAIL("the trace has no such packet");
  return 0;
}
Wanted is_operation(wire::Operation operation) {
  return [operation](const Sighting&, const wire::PacketView& view) { return view.opcode().operation == operation; };
}
Wanted is_answer(wire::Syndrome::Kind kind) {
  return [kind](const Sighting&, const wire::PacketView& view) {
    return view.opcode().operation == wire::Operation::acknowledge &&
           wire::Syndrome::decode(view.aeth().syndrome).kind == kind;
  };
}
Wanted is_at(wire::Position position, wire::Operation operation) {
  return [=](const Sighting&, const wire::PacketView& view) {
    return view.opcode().operation == operation && view.opcode().position == position;
  };
}

struct Recorded {
  Trace trace;
  checkers::CheckedConnection connection;
  std::array<checkers::CheckedRegion, 2> regions;
};

Recorded record(std::vector<std::string> faults, bool receives_late = false, bool data_requests = true,
                const LossRecoveryConfig& recovery = {}) {
  Recorded recorded;
  // Selective repeat is told of losses while later packets are on their way.
  const std::uint64_t rate = recovery.policy == RecoveryPolicy::go_back_n ? 0 : 10'000'000'000;
  Pair pair({.min_rnr_timer = 8}, 1 << 16,
            {.faults = std::move(faults), .bits_per_second = rate, .loss_recovery = recovery});
  watch(pair, recorded.trace);
  recorded.connection = connection_of(pair);
  recorded.regions = {region_of(pair.a, pair.a_buffer), region_of(pair.b, pair.b_buffer)};
  run_traffic(pair, 7, 60, receives_late, data_requests);
  return recorded;
}

checkers::Checkers judge(const Recorded& recorded, bool verify_icrc = false) {
  checkers::Checkers checkers({.verify_icrc = verify_icrc, .all_atomics_visible = true});
  checkers.connect(recorded.connection);
  for (const auto& region : recorded.regions) checkers.region(region);
  for (std::size_t i = 0; i < recorded.trace.size(); ++i) observe(checkers, recorded.trace[i], i);
  checkers.finish();
  return checkers;
}

/// The rule finds it, in the packet where it is (if `at` is given); what was right before still is.
void check_caught(const Recorded& recorded, std::string_view rule, std::optional<std::size_t> at = {},
                  bool verify_icrc = false) {
  const auto checkers = judge(recorded, verify_icrc);
  BOOST_TEST(violations_of(checkers, rule) > 0u, "not caught by " << rule << violations_text(checkers));
  if (!at) return;
  BOOST_REQUIRE(!checkers.violations().empty());
  BOOST_TEST(checkers.violations()[0].number == *at, violations_text(checkers));
  BOOST_TEST(checkers.violations()[0].text.find("127.47.91.") != std::string::npos);
}

const Recorded& clean() {
  static const Recorded recorded = record({});
  return recorded;
}
const Recorded& lossy() {
  static const Recorded recorded = record({"drop 5%"}, false, false);
  return recorded;
}
const Recorded& selective() {
  static const Recorded recorded =
      record({"drop 5%"}, false, false, {.policy = RecoveryPolicy::selective_repeat, .negotiates = false});
  return recorded;
}

/// The first NAK with a SACK that arrives for which `frame_of` finds a frame of the requester's; that frame goes out
/// once more just behind it. Returns where.
template <class FrameOf>
std::size_t send_again_behind_a_sack(Trace& trace, FrameOf&& frame_of) {
  for (std::size_t i = 0; i < trace.size(); ++i) {
    if (trace[i].seen != Seen::delivered || trace[i].corrupted) continue;
    const wire::PacketView nak = view_of(trace[i]);
    if (!sack_of(nak)) continue;
    for (std::size_t before = i; before-- > 0;) {
      const wire::PacketView sent = view_of(trace[before]);
      if (trace[before].seen != Seen::sent || sent.source() != nak.destination() || !sent.opcode().is_request) continue;
      if (!frame_of(sent.bth().psn, *sack_of(nak))) continue;
      Sighting again = trace[before];
      again.time = trace[i].time;
      trace.insert(trace.begin() + static_cast<std::ptrdiff_t>(i) + 1, again);
      return i + 1;
    }
  }
  BOOST_FAIL("the trace has no such NAK");
  return 0;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_traces_are_clean_before_anything_is_changed) {
  for (const Recorded& recorded : {clean(), lossy(), selective()}) {
    const auto checkers = judge(recorded, true);
    BOOST_TEST(checkers.violation_count() == 0u, violations_text(checkers));
  }
}

BOOST_AUTO_TEST_CASE(a_wrong_icrc) {
  Recorded changed = clean();
  const std::size_t at = find(changed.trace, Seen::sent, 5, is_operation(wire::Operation::write));
  changed.trace[at].frame.back() ^= std::byte{1};
  check_caught(changed, "icrc", at, true);
}

BOOST_AUTO_TEST_CASE(a_packet_sent_again_of_which_a_sack_said_that_it_has_arrived) {
  Recorded changed = selective();
  const std::size_t at = send_again_behind_a_sack(
      changed.trace, [](wire::Psn psn, const wire::SackEth& sack) { return psn == sack.highest; });
  check_caught(changed, "selective-repeat", at);
}

BOOST_AUTO_TEST_CASE(a_packet_sent_again_of_which_nothing_says_that_it_is_lost) {
  Recorded changed = selective();
  const std::size_t at = send_again_behind_a_sack(
      changed.trace, [](wire::Psn psn, const wire::SackEth& sack) { return wire::distance(sack.highest, psn) > 0; });
  check_caught(changed, "selective-repeat", at);
}

BOOST_AUTO_TEST_CASE(a_packet_sent_again_before_the_timeout_of_selective_repeat) {
  Recorded changed = record({}, false, false, {.policy = RecoveryPolicy::selective_repeat, .negotiates = false});
  const std::size_t at = find(changed.trace, Seen::sent, 40, is_at(wire::Position::only, wire::Operation::write));
  changed.trace.insert(changed.trace.begin() + static_cast<std::ptrdiff_t>(at), changed.trace[at]);
  check_caught(changed, "selective-repeat", at + 1);
}

BOOST_AUTO_TEST_CASE(a_first_in_place_of_a_middle) {
  Recorded changed = clean();
  const std::size_t at = find(changed.trace, Seen::sent, 4, is_at(wire::Position::middle, wire::Operation::send));
  changed.trace[at].frame[kBth] = static_cast<std::byte>(rc(OperationCode::send_first));
  check_caught(changed, "message-order", at);
}

BOOST_AUTO_TEST_CASE(a_retransmission_that_is_another_packet) {
  Recorded changed = lossy();
  wire::Psn highest(99);
  const std::size_t at = find(changed.trace, Seen::sent, 0, [&](const Sighting&, const wire::PacketView& view) {
    if (view.source() != node_gid(1) || !view.opcode().is_request) return false;
    const bool is_again = wire::distance(highest, view.bth().psn) <= 0;
    if (!is_again) highest = view.bth().psn;
    return is_again && view.opcode().operation == wire::Operation::write &&
           view.opcode().position == wire::Position::middle;
  });
  changed.trace[at].frame[kBth] = static_cast<std::byte>(rc(OperationCode::send_middle));
  check_caught(changed, "message-order", at);
}

BOOST_AUTO_TEST_CASE(a_length_that_the_payload_does_not_have) {
  Recorded changed = clean();
  const std::size_t at = find(changed.trace, Seen::sent, 2, is_at(wire::Position::only, wire::Operation::write));
  changed.trace[at].frame[kRethLength + 3] ^= std::byte{1};
  check_caught(changed, "payload-size", at);
}

BOOST_AUTO_TEST_CASE(a_psn_left_out) {
  Recorded changed = clean();
  const std::size_t at = find(changed.trace, Seen::sent, 8, [](const Sighting&, const wire::PacketView& view) {
    return view.opcode().operation == wire::Operation::write && view.source() == node_gid(1);
  });
  changed.trace.erase(changed.trace.begin() + static_cast<std::ptrdiff_t>(at));
  check_caught(changed, "psn-order");
}

BOOST_AUTO_TEST_CASE(more_outstanding_than_the_window) {
  checkers::Checkers checkers;
  checkers.connect(
      {{{{node_gid(1), wire::Qpn(0x11), wire::Psn(0)}, {node_gid(2), wire::Qpn(0x12), wire::Psn(0)}}}, 256});
  const auto read = [&](std::uint32_t psn, std::uint32_t length) {
    observe(checkers, {Time{1},
                       make_frame(1, 2,
                                  {.opcode = rc(OperationCode::read_request),
                                   .psn = psn,
                                   .dest_qp = wire::Qpn(0x12),
                                   .reth = {0, {1}, length}}),
                       Seen::sent});
  };
  read(0, 0x40000000);  // 2^22 PSNs
  read(0x400000, 0x40000000);
  BOOST_TEST(checkers.violation_count() == 0u, violations_text(checkers));
  read(0x800000, 256);
  BOOST_TEST(violations_of(checkers, "psn-window") == 1u);
}

BOOST_AUTO_TEST_CASE(acknowledging_what_has_not_arrived) {
  Recorded changed = clean();
  const std::size_t at = find(changed.trace, Seen::sent, 3, is_answer(wire::Syndrome::Kind::ack));
  set_psn(changed.trace[at], view_of(changed.trace[at]).bth().psn + 100);
  check_caught(changed, "ack-bounds", at);
}

BOOST_AUTO_TEST_CASE(an_answer_to_a_psn_that_was_never_sent) {
  const std::vector<Wanted> answers = {is_answer(wire::Syndrome::Kind::ack),
                                       is_operation(wire::Operation::read_response),
                                       is_operation(wire::Operation::atomic_acknowledge)};
  for (const Wanted& wanted : answers) {
    for (const bool is_before : {false, true}) {  // of all, and beyond the last
      Recorded changed = clean();
      // Made up by somebody else: it only arrives.
      const std::size_t at = find(changed.trace, Seen::delivered, 3, wanted);
      Sighting forged = changed.trace[at];
      set_psn(forged, is_before ? wire::Psn(99) : view_of(forged).bth().psn + 5000);
      changed.trace.insert(changed.trace.begin() + static_cast<std::ptrdiff_t>(at), forged);
      check_caught(changed, "answer-psn", at);
    }
  }
  Recorded changed = lossy();
  const std::size_t at = find(changed.trace, Seen::sent, 1, is_answer(wire::Syndrome::Kind::nak));
  set_psn(changed.trace[at], view_of(changed.trace[at]).bth().psn + 5000);
  check_caught(changed, "answer-psn", at);
}

BOOST_AUTO_TEST_CASE(an_acknowledgement_that_goes_backwards) {
  Recorded changed = clean();
  const std::size_t at = find(changed.trace, Seen::sent, 6, is_answer(wire::Syndrome::Kind::ack));
  set_psn(changed.trace[at], view_of(changed.trace[at]).bth().psn - 90);
  check_caught(changed, "ack-order", at);
}

BOOST_AUTO_TEST_CASE(a_message_number_too_high_or_too_low) {
  for (const std::uint32_t change : {1u, wire::Psn::kMask}) {
    Recorded changed = clean();
    const std::size_t at = find(changed.trace, Seen::sent, 6, is_answer(wire::Syndrome::Kind::ack));
    put24(changed.trace[at], kExtension + 1, (view_of(changed.trace[at]).aeth().msn + change) & wire::Psn::kMask);
    check_caught(changed, "msn", at);
  }
}

BOOST_AUTO_TEST_CASE(a_reserved_syndrome_and_a_negative_read_response) {
  Recorded changed = clean();
  std::size_t at = find(changed.trace, Seen::sent, 2, is_answer(wire::Syndrome::Kind::ack));
  changed.trace[at].frame[kExtension] = std::byte{0x45};
  check_caught(changed, "aeth", at);
  changed = clean();
  at = find(changed.trace, Seen::sent, 1, is_at(wire::Position::only, wire::Operation::read_response));
  changed.trace[at].frame[kExtension] = std::byte{0x60};
  check_caught(changed, "aeth");
}

BOOST_AUTO_TEST_CASE(a_nak_said_twice_and_a_nak_without_a_gap) {
  Recorded changed = lossy();
  const std::size_t at = find(changed.trace, Seen::sent, 1, is_answer(wire::Syndrome::Kind::nak));
  const Sighting copy = changed.trace[at];
  changed.trace.insert(changed.trace.begin() + static_cast<std::ptrdiff_t>(at) + 1, copy);
  check_caught(changed, "nak", at + 1);
  changed = clean();
  const std::size_t ack = find(changed.trace, Seen::sent, 3, is_answer(wire::Syndrome::Kind::ack));
  changed.trace[ack].frame[kExtension] = static_cast<std::byte>(wire::nak_syndrome(wire::NakCode::psn_sequence_error));
  set_psn(changed.trace[ack], view_of(changed.trace[ack]).bth().psn + 1000);
  check_caught(changed, "nak");
}

BOOST_AUTO_TEST_CASE(a_request_sent_again_before_the_rnr_timer) {
  Recorded changed = record({}, true);
  BOOST_TEST(judge(changed).violation_count() == 0u);
  const std::size_t nak = find(changed.trace, Seen::delivered, 0, is_answer(wire::Syndrome::Kind::rnr_nak));
  const auto rnr = view_of(changed.trace[nak]);
  const wire::Psn psn = rnr.bth().psn;
  const wire::Gid requester = rnr.destination();
  for (std::size_t i = nak + 1; i < changed.trace.size(); ++i) {
    const auto view = view_of(changed.trace[i]);
    if (changed.trace[i].seen != Seen::sent || view.source() != requester || !view.opcode().is_request) continue;
    BOOST_REQUIRE(view.bth().psn == psn);
    changed.trace[i].time = changed.trace[nak].time + wire::rnr_timer(8) - nanoseconds(1);
    check_caught(changed, "rnr-wait", i);
    return;
  }
}

BOOST_AUTO_TEST_CASE(going_on_where_the_nak_did_not_ask_for_it) {
  Recorded changed = lossy();
  // Found by looking: a NAK that is answered by a retransmission of at least two packets; the first of them is not
  // sent.
  for (std::size_t nak = 0; nak < changed.trace.size(); ++nak) {
    if (changed.trace[nak].seen != Seen::delivered) continue;
    const auto view = view_of(changed.trace[nak]);
    if (!is_answer(wire::Syndrome::Kind::nak)(changed.trace[nak], view)) continue;
    std::vector<std::size_t> sent;
    for (std::size_t i = nak + 1; i < changed.trace.size() && sent.size() < 2; ++i) {
      const auto next = view_of(changed.trace[i]);
      if (changed.trace[i].seen == Seen::sent && next.source() == view.destination() && next.opcode().is_request)
        sent.push_back(i);
    }
    if (sent.size() < 2 || view_of(changed.trace[sent[0]]).bth().psn != view.bth().psn) continue;
    wire::Psn highest = view.bth().psn;
    for (std::size_t i = 0; i < nak; ++i) {
      const auto before = view_of(changed.trace[i]);
      if (changed.trace[i].seen == Seen::sent && before.source() == view.destination() && before.opcode().is_request &&
          wire::distance(highest, before.bth().psn) > 0)
        highest = before.bth().psn;
    }
    if (wire::distance(view_of(changed.trace[sent[1]]).bth().psn, highest) < 0) continue;
    changed.trace.erase(changed.trace.begin() + static_cast<std::ptrdiff_t>(sent[0]));
    check_caught(changed, "go-back-n", sent[1] - 1);
    return;
  }
  BOOST_FAIL("the trace has no such NAK");
}

BOOST_AUTO_TEST_CASE(sending_again_before_the_timeout) {
  Recorded changed = clean();
  changed.trace.clear();
  const auto sent = [&](std::int64_t us, std::uint32_t psn) {
    changed.trace.push_back(
        {Time{us * 1000}, make_frame(1, 2, {.psn = psn, .dest_qp = *changed.connection.ends[1].qpn}), Seen::sent});
  };
  sent(1, 100);
  sent(4000, 100);
  check_caught(changed, "ack-timeout", 1);  // 4.194 ms
  changed.trace.clear();
  sent(1, 100);
  sent(4196, 100);
  BOOST_TEST(judge(changed).violation_count() == 0u);
}

BOOST_AUTO_TEST_CASE(read_responses_left_out_or_not_ended) {
  Recorded changed = clean();
  std::size_t at = find(changed.trace, Seen::sent, 3, is_at(wire::Position::middle, wire::Operation::read_response));
  changed.trace.erase(changed.trace.begin() + static_cast<std::ptrdiff_t>(at));
  check_caught(changed, "read-response", at);
  changed = clean();
  at = find(changed.trace, Seen::sent, 1, is_at(wire::Position::last, wire::Operation::read_response));
  changed.trace[at].frame[kBth] = static_cast<std::byte>(rc(OperationCode::read_response_middle));
  BOOST_TEST(violations_of(judge(changed), "read-response") > 0u);
}

BOOST_AUTO_TEST_CASE(what_a_host_that_stood_still_was_asked_for_first_is_no_news) {
  Recorded changed = clean();
  changed.trace.clear();
  std::int64_t us = 0;
  const std::uint32_t mtu = changed.connection.path_mtu_bytes;
  const auto ask = [&](std::uint32_t psn) {
    PacketSpec spec{.opcode = rc(OperationCode::read_request), .psn = psn, .dest_qp = *changed.connection.ends[1].qpn};
    const std::uint32_t skipped = (psn - 100) * mtu;
    spec.reth = {0x1000 + skipped, wire::Rkey{1}, 4 * mtu - skipped};
    us += 5000;
    for (const Seen how : {Seen::sent, Seen::delivered})
      changed.trace.push_back({Time{us * 1000}, make_frame(1, 2, spec), how});
  };
  ask(100);
  ask(101);
  for (int i = 0; i < 100; ++i) ask(102);
  PacketSpec answer{
      .opcode = rc(OperationCode::read_response_first), .psn = 101, .dest_qp = *changed.connection.ends[0].qpn};
  answer.payload.resize(mtu);
  changed.trace.push_back({Time{us * 1000}, make_frame(2, 1, answer), Seen::sent});
  const auto checkers = judge(changed);
  BOOST_TEST(violations_of(checkers, "read-response") == 0u, violations_text(checkers));
}

BOOST_AUTO_TEST_CASE(what_arrives_ahead_a_thousand_times_is_one_packet) {
  Recorded changed = clean();
  changed.trace.clear();
  std::int64_t us = 0;
  const auto arrives = [&](std::uint32_t psn) {
    us += 5000;
    const PacketSpec spec{
        .opcode = rc(OperationCode::send_only), .psn = psn, .dest_qp = *changed.connection.ends[1].qpn, .reserved7 = 1};
    for (const Seen how : {Seen::sent, Seen::delivered})
      changed.trace.push_back({Time{us * 1000}, make_frame(1, 2, spec), how});
  };
  const auto acknowledge = [&](std::uint32_t psn) {
    const PacketSpec spec{.opcode = rc(OperationCode::acknowledge),
                          .psn = psn,
                          .dest_qp = *changed.connection.ends[0].qpn,
                          .aeth = {wire::ack_syndrome(31), 1},
                          .reserved7 = 1};
    changed.trace.push_back({Time{us * 1000}, make_frame(2, 1, spec), Seen::sent});
  };
  arrives(100);
  acknowledge(100);
  for (int i = 0; i < 1100; ++i) arrives(102);
  arrives(103);
  arrives(101);
  acknowledge(103);
  BOOST_TEST(violations_of(judge(changed), "ack-bounds") == 0u);
  acknowledge(104);
  BOOST_TEST(violations_of(judge(changed), "ack-bounds") == 1u);
}

BOOST_AUTO_TEST_CASE(an_atomic_answered_with_two_values_and_one_executed_twice) {
  Recorded changed = record({"drop 10%"});
  BOOST_TEST(judge(changed).violation_count() == 0u);
  // A replay is an answer of the same responder to the same PSN.
  std::vector<std::pair<wire::Gid, wire::Psn>> answered;
  const std::size_t at = find(changed.trace, Seen::sent, 0, [&](const Sighting&, const wire::PacketView& view) {
    if (!view.opcode().has_atomic_ack_eth) return false;
    const std::pair key{view.source(), view.bth().psn};
    const bool is_replay = std::find(answered.begin(), answered.end(), key) != answered.end();
    answered.push_back(key);
    return is_replay;
  });
  changed.trace[at].frame[kAtomicAck + 7] ^= std::byte{4};
  check_caught(changed, "atomic-once", at);

  changed = clean();
  const std::size_t last = find(changed.trace, Seen::sent, 9, is_operation(wire::Operation::atomic_acknowledge));
  changed.trace[last].frame[kAtomicAck + 6] ^= std::byte{4};
  check_caught(changed, "atomic-chain");
}

BOOST_AUTO_TEST_CASE(an_acknowledgement_past_a_read_that_was_not_answered) {
  Recorded changed = clean();
  const std::size_t read = find(changed.trace, Seen::sent, 2, is_operation(wire::Operation::read_request));
  const auto request = view_of(changed.trace[read]);
  std::erase_if(changed.trace, [&](const Sighting& sighting) {
    const auto view = view_of(sighting);
    return view.opcode().operation == wire::Operation::read_response && view.source() == request.destination() &&
           wire::distance(request.bth().psn, view.bth().psn) >= 0 &&
           wire::distance(request.bth().psn, view.bth().psn) <
               static_cast<std::int32_t>(request.reth().length / 1024 + 1);
  });
  check_caught(changed, "completion-order");
}

BOOST_AUTO_TEST_CASE(an_access_outside_of_memory_that_is_executed) {
  for (const auto operation : {wire::Operation::write, wire::Operation::read_request, wire::Operation::fetch_add}) {
    Recorded changed = clean();
    const std::size_t at = find(changed.trace, Seen::sent, 2, [&](const Sighting&, const wire::PacketView& view) {
      if (view.opcode().operation != operation || !view.opcode().starts_message()) return false;
      return !view.opcode().has_reth || view.reth().length != 0;
    });
    changed.trace[at].frame[kExtension + 1] ^= std::byte{1};  // far beyond
    check_caught(changed, "region");
  }
  Recorded changed = clean();
  for (auto& region : changed.regions) region.remote_write = false;
  check_caught(changed, "region");
}

BOOST_AUTO_TEST_CASE(talking_on_after_a_fatal_nak) {
  Recorded changed = clean();
  const std::size_t at = find(changed.trace, Seen::sent, 5, is_answer(wire::Syndrome::Kind::ack));
  changed.trace[at].frame[kExtension] = static_cast<std::byte>(wire::nak_syndrome(wire::NakCode::remote_access_error));
  check_caught(changed, "failed-qp");
}

BOOST_AUTO_TEST_CASE(unreliable_transports) {
  checkers::Checkers checkers;
  const auto sent = [&](std::vector<std::byte> frame) { observe(checkers, {Time{1}, std::move(frame), Seen::sent}); };
  for (const std::uint32_t psn : {5u, 6u, 7u})
    sent(make_frame(1, 2, {.opcode = uc(OperationCode::send_only), .psn = psn}));
  sent(make_frame(1, 2,
                  {.opcode = ud(OperationCode::send_only),
                   .dest_qp = wire::kGsiQpn,
                   .deth = {.qkey = 0x80010000, .source_qp = wire::kGsiQpn}}));
  PacketSpec cnp{.opcode = wire::Opcode::cnp, .payload = std::vector<std::byte>(16)};
  BOOST_TEST(checkers.violation_count() == 0u, violations_text(checkers));
  sent(make_frame(1, 2, {.opcode = uc(OperationCode::send_only), .psn = 6}));
  BOOST_TEST(violations_of(checkers, "uc-order") == 1u);
  sent(make_frame(1, 2,
                  {.opcode = ud(OperationCode::send_only),
                   .dest_qp = wire::kGsiQpn,
                   .deth = {.qkey = 1, .source_qp = wire::kGsiQpn}}));
  BOOST_TEST(violations_of(checkers, "ud-form") == 1u);
  sent(make_frame(1, 2, cnp));  // BECN is not set
  BOOST_TEST(violations_of(checkers, "cnp-form") == 1u);
  BOOST_TEST(checkers.violation_count() == 3u, violations_text(checkers));
}

BOOST_AUTO_TEST_CASE(a_connection_that_is_made_anew_begins_anew) {
  Recorded changed = clean();
  checkers::Checkers checkers;
  for (int round = 0; round < 2; ++round) {
    checkers.connect(changed.connection);
    for (const Sighting& sighting : changed.trace) observe(checkers, sighting);
  }
  BOOST_TEST(checkers.violation_count() == 0u, violations_text(checkers));
}
