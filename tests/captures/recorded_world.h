// A random world of two nodes under faults, seen by a tap: what the tap recorded, and the truth about each frame, which
// only the world knows: which frames its NICs made, what the network did to them, and why a requester went back.
//
// Solely makes worlds and records them; what explain says of them is explain_truth_test.cc's.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/endpoint.h"

namespace verbena::test {

/// One frame that a NIC has made.
struct MadeFrame {
  unsigned from = 0;
  Time at;
  wire::Psn psn;
  std::uint32_t span = 1;
  bool is_request = false;
  bool is_data = false;     // a response with data
  bool is_again = false;    // a request or response that was made before
  bool begins_run = false;  // a requester has gone back to here
  std::uint32_t run = 0;    // of this requester; 0: none before it
  unsigned causes = 0;      // of the run, bits of Cause
  bool is_redrawn = false;  // an answer to a request that had come before
};

/// A frame as the tap has it.
struct Recorded {
  Time time;
  std::uint32_t number = 0;  // of the MadeFrame
  bool is_corrupted = false;
  std::vector<std::byte> octets;
};

/// Why requesters go back, as bits.
inline constexpr unsigned kByNak = 1, kByRnr = 2, kByImplied = 4, kByTimeout = 8;

struct WorldPlan {
  std::uint64_t seed = 1;
  QpType type = QpType::rc;
  std::vector<std::string> faults;
  QpOptions options;
  WorldOptions world;
  bool receives_late = false;
  bool tap_is_behind[2] = {};  // of what node 1 (2) sends: behind the faults
  unsigned operations = 30;    // of each side
  std::int64_t clock_ns = 1;   // of the tap
};

inline WorldPlan random_plan(std::uint64_t seed) {
  fabric::Dice dice(seed * 0x9e3779b97f4a7c15u + 1);
  const auto draw = [&](std::uint64_t below) { return dice.next() % below; };
  WorldPlan plan;
  plan.seed = seed;
  const auto kind = draw(10);
  plan.type = kind == 0 ? QpType::uc : kind == 1 ? QpType::ud : QpType::rc;
  const auto percent = [&] {
    const auto tenths = 2 + draw(40);
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + "%";
  };
  const auto rules = 1 + draw(3);
  for (std::uint64_t i = 0; i < rules; ++i) {
    switch (draw(5)) {
      case 0:
        plan.faults.push_back("drop " + percent());
        break;
      case 1:
        plan.faults.push_back("duplicate " + percent());
        break;
      case 2: {
        const std::string by = std::to_string(1 + draw(6));  // first: compilers choose the order in a sum
        plan.faults.push_back("reorder " + percent() + " by=" + by);
        break;
      }
      case 3: {
        const std::string by = std::to_string(2 + draw(200)) + "us";
        plan.faults.push_back("delay " + percent() + " by=" + by);
        break;
      }
      default:
        plan.faults.push_back("corrupt " + percent());
        break;
    }
  }
  plan.options.type = plan.type;
  plan.options.mtu = draw(2) == 0 ? 256 : 1024;
  plan.options.timeout = static_cast<std::uint8_t>(8 + draw(6));
  plan.options.first_psn =
      draw(4) == 0 ? 0xffffffu - static_cast<std::uint32_t>(draw(40)) : static_cast<std::uint32_t>(draw(1 << 24));
  plan.options.min_rnr_timer = static_cast<std::uint8_t>(1 + draw(12));
  plan.receives_late = draw(5) == 0;
  plan.world = {.latency = microseconds(static_cast<std::int64_t>(1 + draw(20))),
                .seed = seed,
                .faults = plan.faults,
                .bits_per_second = (1 + draw(40)) * 1'000'000'000};
  plan.tap_is_behind[0] = draw(2) == 0;
  plan.tap_is_behind[1] = draw(2) == 0;
  plan.clock_ns = draw(3) == 0 ? 1000 : 1;
  return plan;
}

class RecordedWorld {
 public:
  explicit RecordedWorld(const WorldPlan& plan) : plan_(plan), pair_(plan.options, 1 << 16, plan.world) {
    pair_.world.on_numbered_departure = [this](std::uint32_t number, std::span<const std::byte> frame) {
      departs(number, frame);
    };
    pair_.world.on_numbered_delivery = [this](std::uint32_t number, std::span<const std::byte> frame, bool corrupted) {
      look_at_counters();
      if (plan_.tap_is_behind[made[number].from - 1]) record(number, frame, corrupted);
    };
    if (plan_.type == QpType::rc)
      run_reliable();
    else
      run_unreliable();
    pair_.world.on_numbered_departure = nullptr;
    pair_.world.on_numbered_delivery = nullptr;
  }

  std::vector<MadeFrame> made;
  std::vector<Recorded> recorded;

 private:
  struct Requester {
    bool has_sent = false;
    wire::Psn cursor;
    wire::Psn highest;
    std::uint32_t runs = 0;
    unsigned causes = 0;
    std::uint64_t counts[4] = {};
    std::uint64_t drawn = 0;             // duplicate requests that came to it, when it answered last
    std::map<std::uint32_t, bool> data;  // responses made
  };

  Requester& requester(unsigned node) { return requesters_[node - 1]; }

  void look_at_counters() {
    constexpr Counter kCounters[4] = {Counter::packet_seq_err, Counter::rnr_nak_received, Counter::implied_nak_seq_err,
                                      Counter::local_ack_timeout_err};
    for (unsigned node = 1; node <= 2; ++node) {
      unsigned grown = 0;
      for (unsigned i = 0; i < 4; ++i) {
        const std::uint64_t count = pair_.world.counters(node).get(kCounters[i]);
        if (count != requester(node).counts[i]) grown |= 1u << i;
        requester(node).counts[i] = count;
      }
      if (grown != 0) requester(node).causes = grown;
    }
  }

  void departs(std::uint32_t number, std::span<const std::byte> octets) {
    look_at_counters();
    const auto view = wire::parse_frame(octets);
    BOOST_REQUIRE(view.ok());
    made.resize(number + 1);
    MadeFrame& frame = made[number];
    frame.from = view->ip().is_from(node_gid(1)) ? 1 : 2;
    frame.at = pair_.world.now();
    frame.psn = view->bth().psn;
    frame.is_request = view->opcode().is_request;
    frame.is_data = !frame.is_request && view->opcode().operation != wire::Operation::acknowledge;
    if (view->opcode().operation == wire::Operation::read_request)
      frame.span = std::max(1u, (view->reth().length + plan_.options.mtu - 1) / plan_.options.mtu);
    if (frame.is_request)
      request_departs(frame);
    else
      answer_departs(frame);
    if (!plan_.tap_is_behind[frame.from - 1]) record(number, octets, false);
  }

  void request_departs(MadeFrame& frame) {
    Requester& sender = requester(frame.from);
    if (!sender.has_sent) sender.cursor = sender.highest = frame.psn;
    sender.has_sent = true;
    frame.is_again = wire::distance(frame.psn, sender.highest) > 0;
    frame.begins_run = wire::distance(frame.psn, sender.cursor) > 0;
    if (frame.begins_run) ++sender.runs;
    frame.run = sender.runs;
    frame.causes = sender.causes;
    sender.cursor = frame.psn + frame.span;
    if (wire::distance(sender.highest, sender.cursor) > 0) sender.highest = sender.cursor;
  }

  void answer_departs(MadeFrame& frame) {
    Requester& sender = requester(frame.from);
    const std::uint64_t drawn = pair_.world.counters(frame.from).get(Counter::duplicate_request);
    frame.is_redrawn = drawn != sender.drawn;
    if (!frame.is_data) sender.drawn = drawn;
    if (frame.is_data) frame.is_again = !sender.data.try_emplace(frame.psn.value(), true).second;
  }

  void record(std::uint32_t number, std::span<const std::byte> octets, bool corrupted) {
    const std::int64_t ns = pair_.world.now().ns / plan_.clock_ns * plan_.clock_ns;
    recorded.push_back({Time{ns}, number, corrupted, {octets.begin(), octets.end()}});
  }

  void run_reliable() {
    fabric::Dice dice(plan_.seed);
    const auto draw = [&](std::uint64_t below) { return dice.next() % below; };
    constexpr std::size_t kHalf = 1 << 15;
    struct Side {
      Endpoint& end;
      Buffer& own;
      Buffer& other;
      unsigned posted = 0, done = 0, receives = 0, sends = 0;
      bool has_failed = false;
    };
    Side sides[2] = {{pair_.a, pair_.a_buffer, pair_.b_buffer}, {pair_.b, pair_.b_buffer, pair_.a_buffer}};
    const unsigned deep = 1 + static_cast<unsigned>(draw(8));
    const unsigned active = 1 + static_cast<unsigned>(draw(2));
    const auto post = [&](Side& side, Side& peer) {
      const auto kind = draw(6);
      const auto length = static_cast<std::size_t>(draw(4) == 0 ? draw(12000) : draw(1500));
      const Sge sge = side.own.sge(0, kind == 5 ? 8 : length);
      SendRequest request{.wr_id = side.posted, .opcode = SendOpcode::rdma_write, .sges = {&sge, 1}};
      request.operand.remote.address = Buffer::address(kHalf);
      request.operand.remote.rkey = side.other.rkey();
      if (kind < 2) request.opcode = kind == 0 ? SendOpcode::send : SendOpcode::rdma_write_with_immediate;
      if (kind == 4) request.opcode = SendOpcode::rdma_read;
      if (kind == 5) {
        request.opcode = draw(2) == 0 ? SendOpcode::fetch_and_add : SendOpcode::compare_and_swap;
        request.operand.remote.address = Buffer::address(8191 * 8);
        request.operand.remote.compare_or_add = 1 + draw(3);
      }
      if (kind < 2) ++side.sends;
      while (!plan_.receives_late && peer.receives < side.sends + 8)
        peer.end.receive(peer.receives++, {peer.own.sge(0, kHalf)});
      side.end.post(request);
      ++side.posted;
    };
    for (unsigned rounds = 0; rounds < 40'000; ++rounds) {
      bool is_over = true;
      for (unsigned s = 0; s < active; ++s) {
        Side& side = sides[s];
        Side& peer = sides[1 - s];
        for (const Completion& completion : side.end.poll_sent()) {
          ++side.done;
          side.has_failed = side.has_failed || completion.status != CompletionStatus::success;
        }
        peer.end.poll_received();
        while (side.posted < plan_.operations && side.posted - side.done < deep && !side.has_failed) post(side, peer);
        if (plan_.receives_late && draw(8) == 0 && peer.receives < side.sends)
          peer.end.receive(peer.receives++, {peer.own.sge(0, kHalf)});
        is_over = is_over && (side.has_failed || side.done == plan_.operations);
      }
      if (is_over || sides[0].has_failed || sides[1].has_failed) return;
      pair_.world.run_for(microseconds(5));
    }
  }

  void run_unreliable() {
    fabric::Dice dice(plan_.seed);
    const auto draw = [&](std::uint64_t below) { return dice.next() % below; };
    const Sge whole = pair_.b_buffer.sge();
    AhHandle path{};
    if (plan_.type == QpType::ud) path = Endpoint::take(pair_.a.nic().create_ah(pair_.a.pd, Endpoint::path_to(2)));
    for (unsigned i = 0; i < plan_.operations * 4; ++i) {
      while (pair_.b.try_receive(i, {&whole, 1}).ok()) {
      }
      const auto most = plan_.type == QpType::ud ? plan_.options.mtu : 4000u;
      const Sge sge = pair_.a_buffer.sge(0, draw(most));
      SendRequest request{.wr_id = i, .opcode = SendOpcode::send, .sges = {&sge, 1}};
      request.address_handle = path;
      request.remote_qpn = pair_.b.qpn();
      request.remote_qkey = plan_.options.qkey;
      if (!pair_.a.try_post(request).ok()) --i;
      pair_.a.poll_sent();
      pair_.b.poll_received();
      if (draw(3) == 0) pair_.world.run_for(microseconds(static_cast<std::int64_t>(draw(20))));
    }
    pair_.world.run_for(milliseconds(5));
  }

  WorldPlan plan_;
  Requester requesters_[2];
  Pair pair_;
};

}  // namespace verbena::test
