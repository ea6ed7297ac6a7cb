// TIMELY beside the paper's own arithmetic, and which round trips a QP measures.
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
  config.policy = CongestionPolicy::timely;
  config.line_rate_bits_per_second = line_rate;
  return config;
}

/// Mittal et al., SIGCOMM 2015, algorithm 1, in floating point; times in microseconds.
struct Paper {
  double rate = 10e9, previous = 0, difference = 0;
  int falls = 0;

  void round_trip(double rtt) {
    constexpr double kAlpha = 0.875, kBeta = 0.8, kLow = 50, kHigh = 500, kMinRtt = 20, kDelta = 10e6;
    if (previous == 0) previous = rtt;
    difference = (1 - kAlpha) * difference + kAlpha * (rtt - previous);
    previous = rtt;
    const double gradient = difference / kMinRtt;
    falls = gradient <= 0 ? falls + (rtt >= kLow && rtt <= kHigh ? 1 : 0) : 0;
    if (rtt < kLow)
      rate += kDelta;
    else if (rtt > kHigh)
      rate *= 1 - kBeta * (1 - kHigh / rtt);
    else if (gradient <= 0)
      rate += (falls >= 5 ? 5 : 1) * kDelta;
    else
      rate *= 1 - kBeta * gradient;
    rate = std::clamp(rate, 100e6, 10e9);
  }
};

bool is_near(std::uint64_t rate, double expected) {
  return std::abs(static_cast<double>(rate) - expected) <= 1e-6 * expected;
}

}  // namespace

BOOST_AUTO_TEST_CASE(rates_are_those_of_the_papers_algorithm) {
  const auto control = nic::make_congestion_control(config());
  Paper paper;
  for (const int rtt :
       {40,  45,  60,  61,  70,  90,  90,  89,  80, 80,  75, 70, 65,   60, 55, 52, 51, 30, 20, 900, 800,
        501, 499, 480, 470, 460, 450, 440, 430, 60, 600, 60, 61, 4000, 60, 59, 58, 57, 56, 55, 54,  53}) {
    control->round_trip(microseconds(rtt));
    paper.round_trip(rtt);
    BOOST_TEST(is_near(control->rate(), paper.rate), rtt << " us: " << control->rate() << " and " << paper.rate);
  }
  BOOST_TEST(!control->is_at_line_rate());
}

BOOST_AUTO_TEST_CASE(exploding_round_trips_reach_the_least_rate_and_calm_recover) {
  const auto control = nic::make_congestion_control(config());
  for (int i = 1; i < 40; ++i) control->round_trip(milliseconds(i));
  BOOST_TEST(control->rate() == 100'000'000u);
  for (int i = 0; i < 1000; ++i) control->round_trip(microseconds(10));
  BOOST_TEST(control->is_at_line_rate());
}

BOOST_AUTO_TEST_CASE(extreme_parameters_and_round_trips_stay_within_bounds) {
  CongestionConfig extreme = config();
  extreme.timely.min_rtt = microseconds(1);
  extreme.timely.t_high = seconds(10);
  const auto control = nic::make_congestion_control(extreme);
  control->round_trip(microseconds(1));
  control->round_trip(seconds(9));  // below t_high, and the steepest gradient that there is
  BOOST_TEST(control->rate() == 100'000'000u);
  for (int i = 0; i < 2000; ++i) control->round_trip(microseconds(1));
  BOOST_TEST(control->is_at_line_rate());
  control->round_trip(seconds(20));  // twice t_high: 0.8 of a half
  BOOST_TEST(is_near(control->rate(), 6e9));
}

namespace {

constexpr std::uint64_t kSlowLine = 1'000'000'000;  // 8 ns an octet

struct Reaction : Script {
  Reaction()
      : Script({.mtu = 256, .timeout = 0}, 1 << 16, {.latency = nanoseconds(0), .congestion = config(kSlowLine)}) {
    world.run_for(milliseconds(1));
  }
  void write(std::uint32_t bytes) {
    const Sge sge = buffer.sge(0, bytes);
    end.post(
        {.opcode = SendOpcode::rdma_write, .sges = {&sge, 1}, .operand = {.remote = {.address = 0x1000, .rkey = 1}}});
  }
  /// One message of a packet whose acknowledgement comes so long after it.
  Time answered_after(std::uint32_t psn, Duration rtt) {
    write(64);
    const Traced sent = expect(rc(OperationCode::write_only), psn, milliseconds(10));
    world.run_for(rtt);
    acknowledge(psn, psn - 99);
    return sent.at;
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_late_acknowledgement_slows_the_qp_down) {
  Reaction script;
  script.answered_after(100, milliseconds(50));  // a hundred times the highest round trip: the rate falls by 79.2 %
  script.write(512);
  const Traced first = script.expect(rc(OperationCode::write_first), 101);
  const Traced second = script.expect(rc(OperationCode::write_last), 102, milliseconds(1));
  const double takes =
      static_cast<double>(script.last_frame.size()) * 8 / 0.208;  // nanoseconds; both are as long within 16 octets
  BOOST_TEST(std::abs(static_cast<double>((second.at - first.at).ns) - takes) < 16 * 8 / 0.208 + takes / 100);
  BOOST_TEST(int{wire::parse_frame(script.last_frame)->ip().traffic_class()} == 0);
}

BOOST_AUTO_TEST_CASE(the_answer_to_what_was_sent_twice_measures_nothing) {
  Reaction script;
  script.write(64);
  script.expect(rc(OperationCode::write_only), 100);
  script.world.run_for(milliseconds(50));
  script.peer({.opcode = rc(OperationCode::acknowledge),
               .psn = 100,
               .aeth = {wire::nak_syndrome(wire::NakCode::psn_sequence_error), 0}});
  script.expect(rc(OperationCode::write_only), 100, milliseconds(1));
  script.world.run_for(milliseconds(50));  // since the second time as well
  script.acknowledge(100, 1);
  script.write(512);
  const Traced first = script.expect(rc(OperationCode::write_first), 101, milliseconds(1));
  const Traced second = script.expect(rc(OperationCode::write_last), 102, milliseconds(1));
  BOOST_TEST((second.at - first.at).ns < 3000);  // at line rate
}

BOOST_AUTO_TEST_CASE(the_answer_to_a_read_measures_nothing_of_one_packet_either) {
  Reaction script;
  const Sge sge = script.buffer.sge(0, 64);
  script.end.post(
      {.opcode = SendOpcode::rdma_read, .sges = {&sge, 1}, .operand = {.remote = {.address = 0x1000, .rkey = 1}}});
  script.expect(rc(OperationCode::read_request), 100);
  script.world.run_for(milliseconds(50));
  PacketSpec response{.opcode = rc(OperationCode::read_response_only), .psn = 100, .aeth = {wire::ack_syndrome(31), 1}};
  response.payload.resize(64);
  script.peer(response);
  script.write(512);
  const Traced first = script.expect(rc(OperationCode::write_first), 101, milliseconds(1));
  const Traced second = script.expect(rc(OperationCode::write_last), 102, milliseconds(1));
  BOOST_TEST((second.at - first.at).ns < 3000);  // at line rate
}
