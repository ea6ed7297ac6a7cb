// DCQCN's reaction point beside the paper's own arithmetic, and what it does to a QP's packets.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "emulator/nic/congestion/congestion_config.h"
#include "tests/support/script.h"

using namespace verbena;
using namespace verbena::test;
using nic::CongestionConfig;
using nic::CongestionPolicy;

namespace {

constexpr double kGbps = 1e9;
constexpr Duration kTimer = microseconds(55);
constexpr Time kBegin{1'000'000'000};

CongestionConfig config(std::uint64_t line_rate = 40'000'000'000) {
  CongestionConfig config;
  config.policy = CongestionPolicy::dcqcn;
  config.line_rate_bits_per_second = line_rate;
  return config;
}

/// Zhu et al., SIGCOMM 2015, equations (1) to (4), in floating point, with a call for each thing that happens.
struct Paper {
  double line = 40 * kGbps, current = line, target = line, alpha = 1;
  int timer_rounds = 0, byte_rounds = 0;
  static constexpr double kG = 1.0 / 256, kAdditive = 40e6, kHyper = 200e6;
  static constexpr int kFastRecovery = 5;

  void notified() {
    target = current;
    current *= 1 - alpha / 2;
    alpha = (1 - kG) * alpha + kG;
    timer_rounds = byte_rounds = 0;
  }
  void alpha_timer() { alpha *= 1 - kG; }
  void timer() { increase(++timer_rounds, byte_rounds); }
  void bytes() { increase(timer_rounds, ++byte_rounds); }
  void increase(int t, int b) {
    if (std::min(t, b) > kFastRecovery)
      target += (std::min(t, b) - kFastRecovery) * kHyper;
    else if (std::max(t, b) >= kFastRecovery)
      target += kAdditive;
    target = std::min(target, line);
    current = (current + target) / 2;
  }
};

bool is_near(std::uint64_t rate, double expected) {
  return std::abs(static_cast<double>(rate) - expected) <= 1e-6 * expected;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_policy_of_none_is_no_object_and_dcqcn_begins_at_line_rate) {
  BOOST_TEST(nic::make_congestion_control({}) == nullptr);
  const auto control = nic::make_congestion_control(config());
  BOOST_TEST(control->rate() == 40'000'000'000u);
  BOOST_TEST(control->is_at_line_rate());
}

BOOST_AUTO_TEST_CASE(first_cnp_halves_the_rate_and_the_timer_halves_the_way_back) {
  const auto control = nic::make_congestion_control(config());
  control->notified(kBegin);
  BOOST_TEST(control->rate() == 20'000'000'000u);
  control->sent(kBegin + kTimer - nanoseconds(1), 0);
  BOOST_TEST(control->rate() == 20'000'000'000u);
  control->sent(kBegin + kTimer, 0);
  BOOST_TEST(control->rate() == 30'000'000'000u);
  control->sent(kBegin + kTimer * 4, 0);
  BOOST_TEST(control->rate() == 38'750'000'000u);
}

BOOST_AUTO_TEST_CASE(byte_counter_brings_the_rate_back_where_much_is_sent) {
  const auto control = nic::make_congestion_control(config());
  control->notified(kBegin);
  control->sent(kBegin + nanoseconds(1), 9'999'999);
  BOOST_TEST(control->rate() == 20'000'000'000u);
  control->sent(kBegin + nanoseconds(2), 1);
  BOOST_TEST(control->rate() == 30'000'000'000u);
}

/// CNPs at odd times and octets in between: the object, which catches up, has the rates of the paper's events in order.
BOOST_AUTO_TEST_CASE(rates_are_those_of_the_papers_equations) {
  const auto control = nic::make_congestion_control(config());
  Paper paper;
  Time cnp = kBegin;
  int compared = 0;
  for (const int rounds : {0, 0, 1, 3, 7, 12, 2, 40, 0, 9}) {
    control->notified(cnp);
    paper.notified();
    BOOST_TEST(is_near(control->rate(), paper.current));
    // A byte counter's round falls in the middle of every second round of the timer.
    for (int round = 1; round <= rounds; ++round) {
      if (round % 2 == 0) {
        control->sent(cnp + kTimer * round - microseconds(20), 10'000'000);
        paper.bytes();
        BOOST_TEST(is_near(control->rate(), paper.current));
      }
      control->sent(cnp + kTimer * round, 0);
      paper.timer();
      paper.alpha_timer();
      if (control->is_at_line_rate()) paper.current = paper.target = paper.line;  // what is left is less than 0.1 %
      BOOST_TEST(is_near(control->rate(), paper.current));
      ++compared;
    }
    cnp = cnp + kTimer * rounds + microseconds(30);
  }
  BOOST_TEST(compared == 74);
}

BOOST_AUTO_TEST_CASE(alpha_forgets_what_was_long_ago) {
  const auto control = nic::make_congestion_control(config());
  control->notified(kBegin);
  control->notified(kBegin + seconds(10));
  // alpha was gone, and the cut is none.
  BOOST_TEST(control->is_at_line_rate());
  control->notified(kBegin + seconds(10) + microseconds(1));
  BOOST_TEST(is_near(control->rate(), 40 * kGbps * (1 - 1.0 / 512)));
}

BOOST_AUTO_TEST_CASE(no_number_of_cnps_brings_a_rate_below_the_least) {
  const auto control = nic::make_congestion_control(config());
  for (int i = 0; i < 100; ++i) control->notified(kBegin + microseconds(i));
  BOOST_TEST(control->rate() == 100'000'000u);
}

BOOST_AUTO_TEST_CASE(with_a_decrease_interval_cnps_within_it_cut_once) {
  CongestionConfig spaced = config();
  spaced.dcqcn.decrease_interval = microseconds(4);
  const auto control = nic::make_congestion_control(spaced);
  control->notified(kBegin);
  control->notified(kBegin + nanoseconds(3999));
  BOOST_TEST(control->rate() == 20'000'000'000u);
  control->notified(kBegin + microseconds(4));
  BOOST_TEST(control->rate() == 10'000'000'000u);
}

BOOST_AUTO_TEST_CASE(unclamped_target_stays_where_the_first_cut_left_it) {
  CongestionConfig unclamped = config();
  unclamped.dcqcn.clamp_target_rate = false;
  const auto control = nic::make_congestion_control(unclamped);
  control->notified(kBegin);
  control->notified(kBegin + microseconds(1));
  BOOST_TEST(control->rate() == 10'000'000'000u);
  control->sent(kBegin + microseconds(1) + kTimer, 0);
  BOOST_TEST(control->rate() == 25'000'000'000u);  // half way to 40
}

namespace {

constexpr std::uint64_t kSlowLine = 1'000'000'000;  // 8 ns an octet

struct Reaction : Script {
  Reaction() : Script({.mtu = 256}, 1 << 16, {.latency = nanoseconds(0), .congestion = config(kSlowLine)}) {
    world.run_for(milliseconds(1));
  }
  void notify() {
    PacketSpec cnp{.opcode = wire::Opcode::cnp, .psn = 0};
    cnp.payload.resize(16);
    peer(cnp);
  }
  void write(std::uint32_t bytes) {
    const Sge sge = buffer.sge(0, bytes);
    end.post(
        {.opcode = SendOpcode::rdma_write, .sges = {&sge, 1}, .operand = {.remote = {.address = 0x1000, .rkey = 1}}});
  }
};

/// From the begin of one packet to that of the next, at a rate.
Duration spacing(const std::vector<std::byte>& frame, std::uint64_t bits_per_second) {
  return nanoseconds(static_cast<std::int64_t>(frame.size() * 8'000'000'000 / bits_per_second));
}

}  // namespace

BOOST_AUTO_TEST_CASE(packets_of_a_qp_under_congestion_control_may_be_marked) {
  Reaction script;
  script.write(64);
  script.expect(rc(OperationCode::write_only), 100);
  BOOST_TEST(int{wire::parse_frame(script.last_frame)->ip().traffic_class()} == int{wire::kEcnCapable});
}

BOOST_AUTO_TEST_CASE(requests_leave_at_once_before_a_cnp_and_at_half_rate_after) {
  Reaction script;
  script.write(512);
  script.expect(rc(OperationCode::write_first), 100);
  script.expect(rc(OperationCode::write_last), 101);
  script.acknowledge(101, 1);
  script.notify();
  BOOST_TEST(script.end.counters().get(Counter::rp_cnp_handled) == 1u);
  script.write(768);
  const Traced first = script.expect(rc(OperationCode::write_first), 102);
  const Duration first_takes = spacing(script.last_frame, kSlowLine / 2);
  script.expect_silence(first_takes - nanoseconds(1));
  const Traced second = script.expect(rc(OperationCode::write_middle), 103, nanoseconds(1));
  BOOST_TEST((second.at - first.at).ns == first_takes.ns);
  const Duration second_takes = spacing(script.last_frame, kSlowLine / 2);
  const Traced third = script.expect(rc(OperationCode::write_last), 104, milliseconds(1));
  BOOST_TEST((third.at - second.at).ns == second_takes.ns);
}

BOOST_AUTO_TEST_CASE(read_data_is_held_back_as_requests_are_but_not_acks) {
  Reaction script;
  script.notify();
  PacketSpec read{.opcode = rc(OperationCode::read_request), .psn = 100};
  read.reth = {script.buffer.address(), {script.buffer.rkey()}, 768};
  script.peer(read);
  const Traced first = script.expect(rc(OperationCode::read_response_first), 100);
  const Duration first_takes = spacing(script.last_frame, kSlowLine / 2);
  const Traced second = script.expect(rc(OperationCode::read_response_middle), 101, milliseconds(1));
  BOOST_TEST((second.at - first.at).ns == first_takes.ns);
  const Traced third = script.expect(rc(OperationCode::read_response_last), 102, milliseconds(1));
  PacketSpec write{.opcode = rc(OperationCode::write_only), .psn = 103, .ack_request = true};
  write.reth = {script.buffer.address(), {script.buffer.rkey()}, 4};
  write.payload.resize(4);
  script.peer(write);
  BOOST_TEST((script.next().at - third.at).ns == 0);
}

BOOST_AUTO_TEST_CASE(a_programs_own_limit_holds_where_it_is_the_lower_one) {
  Reaction script;
  script.notify();  // 500 Mb/s
  BOOST_TEST(script.end.nic().limit_rate(script.end.qp, {.kbps = 100'000}).ok());
  script.write(512);
  const Traced first = script.expect(rc(OperationCode::write_first), 100);
  const Duration takes = spacing(script.last_frame, 100'000'000);
  const Traced second = script.expect(rc(OperationCode::write_last), 101, milliseconds(1));
  BOOST_TEST((second.at - first.at).ns == takes.ns);
}

BOOST_AUTO_TEST_CASE(a_qp_that_is_connected_anew_begins_at_line_rate) {
  Reaction script;
  script.notify();
  script.end.to_state(QpState::reset);
  script.end.connect(2, wire::Qpn(Script::kPeerQpn));
  script.write(512);
  const Traced first = script.expect(rc(OperationCode::write_first), 100);
  const Traced second = script.expect(rc(OperationCode::write_last), 101);
  BOOST_TEST((second.at - first.at).ns == 0);
}
