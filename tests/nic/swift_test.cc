// Swift beside the paper's own arithmetic, and what its window does to a QP's packets.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "emulator/nic/congestion/congestion_config.h"
#include "tests/support/script.h"

using namespace verbena;
using namespace verbena::test;
using nic::CongestionConfig;
using nic::CongestionPolicy;

namespace {

CongestionConfig config(std::uint64_t line_rate = 10'000'000'000) {
  CongestionConfig config;
  config.policy = CongestionPolicy::swift;
  config.line_rate_bits_per_second = line_rate;
  return config;
}

/// Kumar et al., SIGCOMM 2020, algorithm 1 and section 3.5, in floating point; times in nanoseconds.
struct Paper {
  double most = 64, window = 64, round_trip = 0, decreased = 0;
  int retransmits = 0;

  double target() const {
    constexpr double kBase = 20e3, kHop = 3053, kRange = 100e3, kMin = 0.1, kMax = 100;
    const double alpha = kRange / (1 / std::sqrt(kMin) - 1 / std::sqrt(kMax));
    const double beta = -alpha / std::sqrt(kMax);
    return kBase + kHop + std::clamp(alpha / std::sqrt(window) + beta, 0.0, kRange);
  }
  void acknowledged(double now, double delay, int packets) {
    constexpr double kBeta = 0.8, kMaxMdf = 0.5;
    retransmits = 0;
    const double wanted = target();
    if (delay < wanted) {
      window += window >= 1 ? packets / window : packets;
    } else if (now - decreased >= round_trip) {
      window *= std::max(1 - kBeta * (delay - wanted) / delay, 1 - kMaxMdf);
      decreased = now;
    }
    round_trip = delay;
    window = std::clamp(window, 0.01, most);
  }
  void lost(double now, bool by_timeout) {
    retransmits = by_timeout ? retransmits + 1 : 0;
    if (retransmits >= 5) {
      window = 0.01;
    } else if (now - decreased >= round_trip) {
      window *= 0.5;
      decreased = now;
    }
  }
  double gap() const { return window < 1 ? round_trip / window : 0; }
};

/// The policy and the paper, side by side.
struct Beside {
  Beside() { control->begin(64, 1024); }
  void answer(Duration delay, std::uint32_t packets, Duration after) {
    now = now + after;
    control->left(wire::Psn(psn), now - delay);
    control->acknowledged({.now = now, .last = wire::Psn(psn), .packets = packets});
    ++psn;
    paper.acknowledged(static_cast<double>(now.ns), static_cast<double>(delay.ns), static_cast<int>(packets));
    compare();
  }
  void lose(nic::Loss loss, Duration after) {
    now = now + after;
    control->lost(now, loss, 1);
    paper.lost(static_cast<double>(now.ns), loss == nic::Loss::timeout);
    compare();
  }
  void compare() const {
    const auto whole = static_cast<std::uint32_t>(std::max(paper.window, 1.0));
    const double to_next = paper.window - std::floor(paper.window);
    const bool is_on_edge = to_next < 1e-3 || to_next > 1 - 1e-3;
    BOOST_TEST((is_on_edge || control->window_packets() == whole),
               control->window_packets() << " packets and " << paper.window << " at " << now.ns);
    const auto gap = static_cast<double>(control->gap().ns);
    BOOST_TEST(std::abs(gap - paper.gap()) <= 1e-4 * paper.gap() + 1, gap << " ns and " << paper.gap());
  }

  std::unique_ptr<nic::CongestionControl> control = nic::make_congestion_control(config());
  Paper paper;
  Time now{1'000'000'000};
  std::uint32_t psn = 0;
};

}  // namespace

BOOST_AUTO_TEST_CASE(windows_and_gaps_are_those_of_the_papers_algorithm) {
  Beside pair;
  // Delays about the target, far above it until the window is less than a packet, and back.
  for (int i = 0; i < 40; ++i) pair.answer(nanoseconds(24'000 + 700 * (i % 7)), 1 + i % 3, microseconds(9));
  for (int i = 0; i < 30; ++i) pair.answer(microseconds(100 + 20 * i), 1, microseconds(300));
  BOOST_TEST(pair.paper.window < 0.5);
  BOOST_TEST(pair.control->gap().ns > 0);
  for (int i = 0; i < 60; ++i) pair.answer(microseconds(30 + i % 5), 1, microseconds(40));
  BOOST_TEST(pair.paper.window > 5);
  BOOST_TEST(pair.control->gap().ns == 0);
  pair.lose(nic::Loss::sequence_error, microseconds(50));
  pair.lose(nic::Loss::sequence_error, microseconds(1));  // within the same round trip: no second cut
  for (int i = 0; i < 4; ++i) pair.lose(nic::Loss::timeout, milliseconds(1));
  BOOST_TEST(pair.paper.window > 0.01);
  pair.lose(nic::Loss::timeout, milliseconds(1));
  BOOST_TEST(pair.paper.window == 0.01);
}

BOOST_AUTO_TEST_CASE(round_trip_has_one_decrease_of_at_most_max_mdf) {
  const auto control = nic::make_congestion_control(config());
  control->begin(64, 1024);
  BOOST_TEST(control->window_packets() == 64u);
  Time now{1'000'000'000};
  const auto answer = [&](std::uint32_t psn) {
    control->left(wire::Psn(psn), now - milliseconds(1));
    control->acknowledged({.now = now, .last = wire::Psn(psn), .packets = 1});
  };
  answer(1);
  BOOST_TEST(control->window_packets() == 32u);
  now = now + microseconds(999);
  answer(2);
  BOOST_TEST(control->window_packets() == 32u);
  now = now + microseconds(1);
  answer(3);
  BOOST_TEST(control->window_packets() == 16u);
}

BOOST_AUTO_TEST_CASE(the_target_grows_with_the_switches_on_the_way) {
  CongestionConfig far = config();
  far.swift.hops = 5;
  for (const auto& [settings, shrinks] : {std::pair{config(), true}, {far, false}}) {
    const auto control = nic::make_congestion_control(settings);
    control->begin(64, 1024);
    control->left(wire::Psn(1), Time{1'000'000'000});
    // 20 us, 3.053 us a switch, and 0.86 us for a window of 64 packets
    control->acknowledged({.now = Time{1'000'035'000}, .last = wire::Psn(1), .packets = 1});
    BOOST_TEST((control->window_packets() < 64) == shrinks);
  }
}

BOOST_AUTO_TEST_CASE(an_answer_whose_request_was_sent_twice_changes_nothing) {
  const auto control = nic::make_congestion_control(config());
  control->begin(64, 1024);
  control->left(wire::Psn(1), Time{1'000'000'000});
  control->left(wire::Psn(1), kNever);
  control->acknowledged({.now = Time{2'000'000'000}, .last = wire::Psn(1), .packets = 1});
  BOOST_TEST(control->window_packets() == 64u);
}

BOOST_AUTO_TEST_CASE(answer_to_a_packet_under_way_at_a_loss_is_no_round_trip) {
  const auto control = nic::make_congestion_control(config());
  control->begin(64, 1024);
  const Time begin{1'000'000};
  control->left(wire::Psn(1), begin);
  control->left(wire::Psn(2), begin);
  control->left(wire::Psn(1), kNever);  // sent again after the timeout
  control->lost(begin + milliseconds(1), nic::Loss::timeout, 2);
  const std::uint32_t window = control->window_packets();
  // The first answer to the second one was lost.
  control->acknowledged({.now = begin + milliseconds(200), .last = wire::Psn(2), .packets = 2});
  BOOST_TEST(control->window_packets() == window);
  control->left(wire::Psn(3), begin + milliseconds(200));
  control->acknowledged({.now = begin + milliseconds(201), .last = wire::Psn(3), .packets = 1});
  BOOST_TEST(control->window_packets() < window);
}

BOOST_AUTO_TEST_CASE(extreme_parameters_and_delays_stay_within_bounds) {
  CongestionConfig extreme = config();
  extreme.swift = {.base_target = seconds(10),
                   .hop_scale = seconds(10),
                   .hops = 1000,
                   .fs_range = seconds(10),
                   .fs_min_window = 1,
                   .fs_max_window = 1000,
                   .additive_increase = 1000,
                   .beta = nic::kWhole,
                   .max_mdf = nic::kWhole,
                   .min_window = 1};
  for (const bool is_late : {false, true}) {
    if (is_late) extreme.swift.base_target = extreme.swift.hop_scale = extreme.swift.fs_range = nanoseconds(1);
    const auto control = nic::make_congestion_control(extreme);
    control->begin(512, 256);
    Time now{1'000'000'000};
    for (std::uint32_t psn = 0; psn < 20; ++psn) {
      now = now + seconds(100);
      control->left(wire::Psn(psn), now - seconds(50));
      control->acknowledged({.now = now, .last = wire::Psn(psn), .packets = 512});
      BOOST_TEST(control->window_packets() >= 1u);
      BOOST_TEST(control->window_packets() <= 512u);
      BOOST_TEST(control->gap().ns >= 0);
    }
    BOOST_TEST((control->window_packets() == 512) == !is_late);
  }
}

namespace {

constexpr std::uint64_t kSlowLine = 1'000'000'000;  // 8 ns an octet

struct Reaction : Script {
  Reaction()
      : Script({.mtu = 256, .timeout = 0}, 1 << 16,
               {.latency = nanoseconds(0), .window_bytes = 4 * 256, .congestion = config(kSlowLine)}) {
    world.run_for(milliseconds(1));
  }
  void write(std::uint32_t bytes) {
    const Sge sge = buffer.sge(0, bytes);
    end.post(
        {.opcode = SendOpcode::rdma_write, .sges = {&sge, 1}, .operand = {.remote = {.address = 0x1000, .rkey = 1}}});
  }
  Traced packet(OperationCode code, std::uint32_t psn, Duration within = milliseconds(1)) {
    return expect(rc(code), psn, within);
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(request_asks_for_an_ack_and_a_late_one_closes_the_window) {
  Reaction script;
  script.write(8 * 256);
  BOOST_TEST(script.packet(OperationCode::write_first, 100).ack_request);
  for (std::uint32_t psn = 101; psn < 104; ++psn)
    BOOST_TEST(script.packet(OperationCode::write_middle, psn).ack_request);
  script.expect_silence(milliseconds(1));  // four packets are out
  script.acknowledge(100);                 // a millisecond late: two packets from now on, and three are out
  script.expect_silence(milliseconds(10));
  script.acknowledge(101);  // a decrease again: one packet
  script.acknowledge(102);
  script.expect_silence(milliseconds(1));
  script.acknowledge(103);
  script.packet(OperationCode::write_middle, 104);
  script.expect_silence(milliseconds(100));
}

BOOST_AUTO_TEST_CASE(a_window_of_a_part_of_a_packet_is_a_gap_between_packets) {
  Reaction script;
  script.write(16 * 256);
  script.packet(OperationCode::write_first, 100);
  for (std::uint32_t psn = 101; psn < 104; ++psn) script.packet(OperationCode::write_middle, psn);
  // Each a round trip after the one before, and so each a decrease by half: 2, 1, 1/2 and 1/4 of a packet.
  for (std::uint32_t i = 0; i < 4; ++i) {
    script.world.run_for(milliseconds(10 << i));
    script.acknowledge(100 + i);
  }
  const Traced first = script.packet(OperationCode::write_middle, 104);
  script.world.run_for(milliseconds(160));
  script.acknowledge(104);  // 1/8: for the packet after the next one
  const Traced second = script.packet(OperationCode::write_middle, 105, seconds(10));
  script.world.run_for(milliseconds(170));
  script.acknowledge(105);
  const Traced third = script.packet(OperationCode::write_middle, 106, seconds(10));
  const auto between = [](const Traced& a, const Traced& b) { return static_cast<double>((b.at - a.at).ns); };
  BOOST_TEST(std::abs(between(first, second) / (150e6 * 4) - 1) < 1e-3);  // 150 ms was the round trip
  BOOST_TEST(std::abs(between(second, third) / (160e6 * 8) - 1) < 1e-3);
}

BOOST_AUTO_TEST_CASE(what_was_sent_again_closes_the_window_by_max_mdf) {
  Reaction script;
  script.write(16 * 256);
  script.packet(OperationCode::write_first, 100);
  for (std::uint32_t psn = 101; psn < 104; ++psn) script.packet(OperationCode::write_middle, psn);
  script.peer({.opcode = rc(OperationCode::acknowledge),
               .psn = 100,
               .aeth = {wire::nak_syndrome(wire::NakCode::psn_sequence_error), 0}});
  script.packet(OperationCode::write_first, 100);
  script.packet(OperationCode::write_middle, 101);
  script.expect_silence(milliseconds(1));
}
