// DCTCP beside the paper's own arithmetic, how a responder echoes marks, and what a requester makes of them.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "emulator/fabric/alter_frame.h"
#include "emulator/nic/congestion/congestion_config.h"
#include "emulator/nic/state/mark_echo.h"
#include "tests/support/script.h"

using namespace verbena;
using namespace verbena::test;
using nic::CongestionConfig;
using nic::CongestionPolicy;

namespace {

CongestionConfig config() {
  CongestionConfig config;
  config.policy = CongestionPolicy::dctcp;
  config.line_rate_bits_per_second = 1'000'000'000;
  return config;
}

/// Alizadeh et al., SIGCOMM 2010, section 3.1, in floating point, over a sender that always has a window outstanding.
struct Paper {
  double alpha = 1, window;
  double reduced_until = 0, window_end = 0, acknowledged = 0, marked = 0, counted = 0;

  explicit Paper(double begin) : window(begin) {}
  void answer(bool is_marked, int outstanding, double most) {
    constexpr double kG = 1.0 / 16;
    ++acknowledged;
    ++counted;
    marked += is_marked ? 1 : 0;
    if (acknowledged >= window_end) {
      alpha = (1 - kG) * alpha + kG * marked / counted;
      marked = counted = 0;
      window_end = acknowledged + outstanding;
    }
    if (acknowledged < reduced_until) return;
    if (is_marked) {
      window *= 1 - alpha / 2;
      reduced_until = acknowledged + outstanding + 1;
    } else {
      window += 1 / window;
    }
    window = std::clamp(window, 1.0, most);
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(windows_are_those_of_the_papers_equations) {
  constexpr std::uint32_t kMost = 100;
  const auto control = nic::make_congestion_control(config());
  control->begin(kMost, 1024);
  BOOST_TEST(control->window_packets() == kMost);
  Paper paper(kMost);
  int cuts = 0;
  for (int i = 0; i < 4000; ++i) {
    // One in three marked, then one in fifty, then none, then all.
    const bool is_marked = i < 1000 ? i % 3 == 0 : i < 2000 ? i % 50 == 0 : i >= 3000;
    const std::uint32_t outstanding = control->window_packets();
    const double before = paper.window;
    control->acknowledged({.packets = 1, .outstanding = outstanding, .is_marked = is_marked});
    paper.answer(is_marked, static_cast<int>(outstanding), kMost);
    cuts += paper.window < before;
    const double to_next = paper.window - std::floor(paper.window);
    if (to_next > 1e-3 && to_next < 1 - 1e-3)
      BOOST_TEST(control->window_packets() == static_cast<std::uint32_t>(paper.window), i << ": " << paper.window);
  }
  BOOST_TEST(cuts > 50);
  BOOST_TEST(control->window_packets() == 1u);  // all are marked
}

BOOST_AUTO_TEST_CASE(loss_halves_the_window_once_and_a_timeout_leaves_one_packet) {
  const auto control = nic::make_congestion_control(config());
  control->begin(64, 1024);
  control->lost({}, nic::Loss::sequence_error, 64);
  BOOST_TEST(control->window_packets() == 32u);
  control->lost({}, nic::Loss::sequence_error, 64);  // of the same window
  BOOST_TEST(control->window_packets() == 32u);
  control->acknowledged({.packets = 65, .outstanding = 31});
  control->lost({}, nic::Loss::timeout, 32);
  BOOST_TEST(control->window_packets() == 1u);
  control->acknowledged({.packets = 33, .outstanding = 0});  // what was outstanding, and one more
  for (const std::uint32_t window : {2u, 4u, 8u}) {
    for (std::uint32_t i = 0; i < window / 2; ++i) control->acknowledged({.packets = 1, .outstanding = 1});
    BOOST_TEST(control->window_packets() >= window);
  }
}

BOOST_AUTO_TEST_CASE(a_cnp_counts_as_a_mark_of_what_is_acknowledged_next) {
  const auto control = nic::make_congestion_control(config());
  control->begin(64, 1024);
  control->notified({});
  BOOST_TEST(control->window_packets() == 64u);
  control->acknowledged({.packets = 1, .outstanding = 63});
  BOOST_TEST(control->window_packets() == 32u);
}

// -- The echo ------------------------------------------------------------------------------------------------------

namespace {

struct Echo : Script {
  Echo() : Script({.mtu = 256}, 1 << 16, {.latency = nanoseconds(0), .congestion = config()}) {}

  PacketSpec write(std::uint32_t psn, bool ask = true) {
    PacketSpec spec{.opcode = rc(OperationCode::write_only), .psn = psn, .ack_request = ask};
    spec.reth = {buffer.address(), {buffer.rkey()}, 4};
    spec.payload.resize(4);
    return spec;
  }
  std::vector<std::byte> frame(PacketSpec spec, bool is_marked) {
    spec.dest_qp = end.qpn();
    auto octets = make_frame(2, 1, spec);
    if (is_marked) BOOST_REQUIRE(fabric::mark_congestion(octets));
    return octets;
  }
  /// All arrive before the NIC is asked for frames.
  void batch(const std::vector<std::pair<PacketSpec, bool>>& specs) {
    for (const auto& [spec, is_marked] : specs) world.inject(1, frame(spec, is_marked));
    world.run_until(world.now());
  }
  void expect_echo(std::uint32_t psn, std::uint32_t msn, bool becn) {
    expect_acknowledge(psn);
    const auto packet = wire::parse_frame(last_frame);
    BOOST_TEST(packet->bth().becn == becn, "psn " << psn);
    BOOST_TEST(packet->aeth().msn == msn);
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(acknowledgement_of_a_marked_request_has_becn_and_no_cnp) {
  Echo script;
  script.batch({{script.write(100), true}});
  script.expect_echo(100, 1, true);
  script.batch({{script.write(101), false}});
  script.expect_echo(101, 2, false);
  script.expect_silence(milliseconds(1));
  BOOST_TEST(script.end.counters().get(Counter::np_ecn_marked_roce_packets) == 1u);
}

BOOST_AUTO_TEST_CASE(marked_and_unmarked_requests_of_a_batch_are_acked_apart) {
  Echo script;
  script.batch({{script.write(100), false},
                {script.write(101), true},
                {script.write(102), true},
                {script.write(103), false},
                {script.write(104), true}});
  script.expect_echo(100, 1, false);
  script.expect_echo(102, 3, true);
  script.expect_echo(103, 4, false);
  script.expect_echo(104, 5, true);
  script.expect_silence(milliseconds(1));
}

BOOST_AUTO_TEST_CASE(the_first_mark_is_told_at_once_though_nobody_asks) {
  Echo script;
  script.batch({{script.write(100, false), false}});
  script.expect_silence(milliseconds(1));
  script.batch({{script.write(101, false), true}});
  script.expect_echo(100, 1, false);
  script.expect_echo(101, 2, true);
  script.expect_silence(milliseconds(1));
}

BOOST_AUTO_TEST_CASE(marked_request_is_echoed_only_once_executed) {
  Echo script;
  script.batch({{script.write(101), true}});  // a gap
  script.expect_nak(wire::NakCode::psn_sequence_error, 100);
  script.batch({{script.write(100), false}, {script.write(101), false}});
  script.expect_echo(101, 2, false);
  script.batch({{script.write(101), true}});  // a duplicate
  script.expect_echo(101, 2, false);
}

BOOST_AUTO_TEST_CASE(a_nak_tells_of_marks_before_the_gap) {
  Echo script;
  script.batch({{script.write(100), true}, {script.write(102), false}});
  script.expect_nak(wire::NakCode::psn_sequence_error, 101);
  BOOST_TEST(wire::parse_frame(script.last_frame)->bth().becn);
  script.batch({{script.write(101), false}});
  script.expect_echo(101, 2, false);
}

BOOST_AUTO_TEST_CASE(acknowledgements_do_not_go_back_behind_the_data_of_a_read) {
  Echo script;
  PacketSpec read{.opcode = rc(OperationCode::read_request), .psn = 101};
  read.reth = {script.buffer.address(), {script.buffer.rkey()}, 256};
  script.batch({{script.write(100, false), true}, {read, true}, {script.write(102), false}});
  script.expect(rc(OperationCode::read_response_only), 101);
  BOOST_TEST(!wire::parse_frame(script.last_frame)->bth().becn);
  script.expect_echo(102, 3, true);  // late
  script.expect_silence(milliseconds(1));
}

BOOST_AUTO_TEST_CASE(more_changes_than_the_echo_has_room_for_are_marks) {
  Echo script;
  std::vector<std::pair<PacketSpec, bool>> specs;
  for (std::uint32_t i = 0; i < 40; ++i) specs.emplace_back(script.write(100 + i), i % 2 == 1);
  script.batch(specs);
  std::uint32_t acknowledged = 99;
  std::uint32_t told = 0;
  while (acknowledged != 139) {
    const std::uint32_t psn = script.next().psn;
    BOOST_REQUIRE(psn > acknowledged);
    if (wire::parse_frame(script.last_frame)->bth().becn) told += psn - acknowledged;
    acknowledged = psn;
  }
  BOOST_TEST(told >= 20u);
  script.expect_silence(milliseconds(1));
}

// -- The requester -------------------------------------------------------------------------------------------------

namespace {

struct Reaction : Script {
  Reaction()
      : Script({.mtu = 256, .timeout = 0}, 1 << 16,
               {.latency = nanoseconds(0), .window_bytes = 4 * 256, .congestion = config()}) {}
  void post(SendOpcode opcode, std::uint32_t bytes) {
    const Sge sge = buffer.sge(0, bytes);
    end.post({.opcode = opcode, .sges = {&sge, 1}, .operand = {.remote = {.address = 0x1000, .rkey = 1}}});
  }
  void acknowledge_marked(std::uint32_t psn) {
    peer({.opcode = rc(OperationCode::acknowledge), .psn = psn, .becn = true, .aeth = {wire::ack_syndrome(31), 0}});
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(an_acknowledgement_with_becn_halves_the_first_window) {
  Reaction script;
  script.post(SendOpcode::rdma_write, 16 * 256);
  for (std::uint32_t psn = 100; psn < 104; ++psn) BOOST_TEST(script.next().ack_request);
  BOOST_TEST(int{wire::parse_frame(script.last_frame)->ip().traffic_class()} == int{wire::kEcnCapable});
  script.expect_silence(milliseconds(1));
  script.acknowledge_marked(101);  // two of four: two are out, and two may be
  script.expect_silence(milliseconds(1));
  script.acknowledge(102);
  script.expect(rc(OperationCode::write_middle), 104);
  script.expect_silence(milliseconds(1));
}

BOOST_AUTO_TEST_CASE(marked_data_of_a_read_closes_the_requesters_own_window) {
  Reaction script;
  for (int i = 0; i < 8; ++i) script.post(SendOpcode::rdma_read, 256);
  for (std::uint32_t psn = 100; psn < 104; ++psn) script.expect(rc(OperationCode::read_request), psn);
  script.expect_silence(milliseconds(1));
  PacketSpec response{.opcode = rc(OperationCode::read_response_only),
                      .psn = 100,
                      .dest_qp = script.end.qpn(),
                      .aeth = {wire::ack_syndrome(31), 1}};
  response.payload.resize(256);
  auto frame = make_frame(2, 1, response);
  BOOST_REQUIRE(fabric::mark_congestion(frame));
  script.raw(std::move(frame));
  script.expect_silence(milliseconds(1));
}
