// HPCC beside the paper's own arithmetic, and what a QP tells its peer and echoes of telemetry.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "emulator/fabric/telemetry_stamp.h"
#include "emulator/nic/congestion/congestion_config.h"
#include "tests/support/script.h"

using namespace verbena;
using namespace verbena::test;
using nic::CongestionConfig;
using nic::CongestionPolicy;
using wire::Telemetry;

namespace {

constexpr std::uint64_t kLine = 100'000'000'000;
constexpr std::uint32_t kMtu = 1000;
constexpr double kBaseRtt = 13'000;  // ns

CongestionConfig config(std::uint64_t line_rate = kLine) {
  CongestionConfig config;
  config.policy = CongestionPolicy::hpcc;
  config.line_rate_bits_per_second = line_rate;
  return config;
}

/// Li et al., SIGCOMM 2019, algorithm 1, in floating point; octets and nanoseconds.
struct Paper {
  static constexpr double kEta = 0.95, kIncrease = 80;
  static constexpr int kMaxStage = 5;
  double most = static_cast<double>(kLine) / 8e9 * kBaseRtt;
  double window = most, base = most, use = 1;
  int stage = 0;
  double acknowledged = 0, round_end = 0;
  Telemetry last;

  static double rate(const wire::TelemetryHop& hop) { return wire::kTelemetryRates[hop.rate] * 1e6 / 8e9; }

  void answer(const Telemetry& now, double packets, double outstanding) {
    acknowledged += packets;
    if (last.head.hops == 0) {
      round_end = acknowledged + outstanding;
      last = now;
      return;
    }
    double u = 0;
    double tau = 0;
    for (std::size_t i = 0; i < now.head.hops; ++i) {
      const double time = now.hops[i].time_ns - last.hops[i].time_ns;
      const double sent = (now.hops[i].sent - last.hops[i].sent) * 128.0 / time;
      const double queue = std::min(now.hops[i].queue, last.hops[i].queue) * 80.0;
      const double of_link = queue / (rate(now.hops[i]) * kBaseRtt) + sent / rate(now.hops[i]);
      if (of_link > u) {
        u = of_link;
        tau = time;
      }
    }
    tau = std::min(tau, kBaseRtt);
    use = (1 - tau / kBaseRtt) * use + tau / kBaseRtt * u;
    const bool next_round = acknowledged > round_end;
    const bool multiplicative = use >= kEta || stage >= kMaxStage;
    window = std::min((multiplicative ? base / (use / kEta) : base) + kIncrease, most);
    if (next_round) {
      stage = multiplicative ? 0 : stage + 1;
      base = window;
      round_end = acknowledged + outstanding;
    }
    last = now;
  }
};

constexpr std::uint8_t kRate100 = 11;
constexpr std::uint8_t kRate40 = 8;
static_assert(wire::kTelemetryRates[kRate100] == 100'000 && wire::kTelemetryRates[kRate40] == 40'000);

}  // namespace

BOOST_AUTO_TEST_CASE(windows_and_rates_are_those_of_the_papers_algorithm) {
  const auto control = nic::make_congestion_control(config());
  control->begin(2000, kMtu);
  BOOST_TEST(control->window_packets() == 163u);  // 162500 octets
  Paper paper;
  Telemetry telemetry{.head = {.hops = 2, .path = 5}};
  telemetry.hops[0].rate = kRate100;
  telemetry.hops[1].rate = kRate40;
  Time now{1'000'000};
  int cuts = 0;
  double least = paper.window;
  for (int i = 0; i < 300; ++i) {
    const std::uint32_t step = 300 + 37 * (i % 11);
    now = now + nanoseconds(step);
    // The first link half used; the second one above what it can, with a queue, then at three quarters, then idle.
    telemetry.hops[0].time_ns += step;
    telemetry.hops[0].sent += step * 6 / 128;
    telemetry.hops[1].time_ns += step;
    telemetry.hops[1].sent += i < 100 ? step * 5 / 128 : i < 200 ? step * 15 / 4 / 128 : 0;
    telemetry.hops[1].queue = static_cast<std::uint16_t>(i < 100 ? 200 + i : i < 150 ? 20 : 0);
    const double before = paper.window;
    control->acknowledged({.now = now, .packets = 1, .outstanding = 20, .telemetry = &telemetry});
    paper.answer(telemetry, 1, 20);
    cuts += paper.window < before;
    least = std::min(least, paper.window);
    const double rate = paper.window * 8e9 / kBaseRtt;
    const double expected = std::min(rate, static_cast<double>(kLine));
    BOOST_TEST(std::abs(static_cast<double>(control->rate()) - expected) <= 2e-3 * expected,
               i << ": " << control->rate() << " and " << expected);
    BOOST_TEST(std::abs(control->window_packets() - std::ceil(paper.window / kMtu)) <= 1);
  }
  BOOST_TEST(cuts > 10);
  BOOST_TEST(paper.window > 2 * least);  // it came back
}

BOOST_AUTO_TEST_CASE(another_path_and_an_unwritten_one_measure_nothing) {
  const auto control = nic::make_congestion_control(config());
  control->begin(2000, kMtu);
  Telemetry telemetry{.head = {.hops = 1, .path = 5}};
  telemetry.hops[0] = {.rate = kRate100, .queue = 60'000};
  const auto answer = [&](std::int64_t at) {
    telemetry.hops[0].time_ns += 1000;
    control->acknowledged({.now = Time{at}, .packets = 1, .outstanding = 5, .telemetry = &telemetry});
    return control->window_packets();
  };
  BOOST_TEST(answer(1'000) == 163u);
  telemetry.head.path = 6;
  BOOST_TEST(answer(2'000) == 163u);
  BOOST_TEST(answer(20'000'000) == 163u);  // the clock of 24 bits has come around
  BOOST_TEST(answer(20'001'000) < 163u);
  const std::uint32_t window = control->window_packets();
  control->acknowledged({.now = Time{20'002'000}, .packets = 1});
  BOOST_TEST(control->window_packets() == window);
}

BOOST_AUTO_TEST_CASE(extreme_telemetry_leaves_a_window_of_at_least_a_packet) {
  for (const std::uint8_t rate : {std::uint8_t{0}, std::uint8_t{1}, std::uint8_t{15}}) {
    CongestionConfig extreme = config(1'600'000'000'000);
    extreme.hpcc.base_rtt = rate == 1 ? seconds(10) : microseconds(1);
    const auto control = nic::make_congestion_control(extreme);
    control->begin(512, 256);
    Telemetry telemetry{.head = {.hops = 5, .path = 1}};
    for (int i = 0; i < 50; ++i) {
      for (auto& hop : telemetry.hops)
        hop = {.rate = rate,
               .time_ns = static_cast<std::uint32_t>(i),
               .sent = i % 2 == 0 ? 0 : wire::kTelemetrySentMask,
               .queue = UINT16_MAX};
      control->acknowledged({.now = Time{i * 1000}, .packets = 512, .telemetry = &telemetry});
      BOOST_TEST(control->window_packets() >= 1u);
      BOOST_TEST(control->window_packets() <= 512u);
      BOOST_TEST(control->rate() >= 1'000'000u);
    }
  }
}

// -- On the wire -----------------------------------------------------------------------------------------------------

namespace {

constexpr std::uint8_t kBoth = wire::kTakesTelemetry | wire::kHasTelemetry;

struct Wire : Script {
  Wire() : Script({.mtu = 256}, 1 << 16, {.latency = nanoseconds(0), .congestion = config(1'000'000'000)}) {}
  void post(std::uint32_t bytes) {
    const Sge sge = buffer.sge(0, bytes);
    end.post(
        {.opcode = SendOpcode::rdma_write, .sges = {&sge, 1}, .operand = {.remote = {.address = 0x1000, .rkey = 1}}});
  }
  /// A request of a peer that takes telemetry, and has gone through a switch.
  std::vector<std::byte> request(std::uint32_t psn, std::uint64_t queue_octets) {
    PacketSpec spec{.opcode = rc(OperationCode::write_only), .psn = psn, .dest_qp = end.qpn(), .ack_request = true};
    spec.reserved7 = kBoth;
    spec.reth = {buffer.address(), {buffer.rkey()}, 4};
    spec.payload.resize(4);
    auto frame = make_frame(2, 1, spec);
    fabric::stamp_telemetry(frame, {.port = 7,
                                    .rate_bits_per_second = 40'000'000'000,
                                    .time = Time{1'234},
                                    .sent_octets = 128 * 99,
                                    .queue_octets = queue_octets});
    return frame;
  }
  wire::PacketView sent() {
    next(milliseconds(1));
    const auto packet = wire::parse_frame(last_frame);
    BOOST_REQUIRE(packet.ok());
    BOOST_TEST(packet->icrc_is_valid());
    return *packet;
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(packets_have_telemetry_once_the_peer_takes_it) {
  Wire script;
  script.post(256);
  const wire::PacketView first = script.sent();
  BOOST_TEST(int{first.bth().reserved7} == int{wire::kTakesTelemetry});
  BOOST_TEST(!wire::has_telemetry(first));
  script.peer({.opcode = rc(OperationCode::acknowledge),
               .psn = 100,
               .aeth = {wire::ack_syndrome(31), 1},
               .reserved7 = wire::kTakesTelemetry});
  script.post(256);
  const wire::PacketView second = script.sent();
  BOOST_TEST(int{second.bth().reserved7} == int{kBoth});
  BOOST_REQUIRE(wire::has_telemetry(second));
  BOOST_TEST((wire::telemetry_of(second) == Telemetry{}));
  BOOST_TEST(second.payload().size() == 256u);
  BOOST_TEST(script.last_frame.size() == first.frame().size() + wire::kTelemetryBytes);
}

BOOST_AUTO_TEST_CASE(a_peer_that_knows_nothing_of_telemetry_gets_none) {
  Wire script;
  for (std::uint32_t psn = 100; psn < 103; ++psn) {
    script.post(256);
    BOOST_TEST(!wire::has_telemetry(script.sent()));
    script.acknowledge(psn, psn - 99);
  }
}

BOOST_AUTO_TEST_CASE(the_acknowledgement_echoes_what_the_newest_request_brought) {
  Wire script;
  script.raw(script.request(100, 80 * 12));
  const wire::PacketView answer = script.sent();
  BOOST_REQUIRE(wire::has_telemetry(answer));
  const Telemetry telemetry = wire::telemetry_of(answer);
  BOOST_TEST(telemetry.head.is_echo);
  BOOST_TEST(int{telemetry.head.hops} == 1);
  BOOST_TEST(int{telemetry.hops[0].rate} == int{kRate40});
  BOOST_TEST(telemetry.hops[0].time_ns == 1'234u);
  BOOST_TEST(telemetry.hops[0].sent == 99u);
  BOOST_TEST(telemetry.hops[0].queue == 12u);
  script.raw(script.request(100, 0));  // a duplicate: its own
  BOOST_TEST(wire::telemetry_of(script.sent()).hops[0].queue == 0u);
}

BOOST_AUTO_TEST_CASE(switches_append_up_to_five_records_and_leave_others_alone) {
  Wire script;
  auto frame = script.request(100, 0);
  std::uint32_t path = wire::telemetry_of(*wire::parse_frame(frame)).head.path;
  for (std::uint32_t hop = 2; hop <= 6; ++hop) {
    fabric::stamp_telemetry(frame, {.port = hop, .rate_bits_per_second = 1, .queue_octets = 80 * hop});
    const auto packet = wire::parse_frame(frame);
    BOOST_TEST(packet->icrc_is_valid());
    BOOST_TEST(int{wire::telemetry_of(*packet).head.hops} == static_cast<int>(std::min(hop, 5u)));
    const bool is_same = wire::telemetry_of(*packet).head.path == path;
    BOOST_TEST(is_same == (hop == 6), "hop " << hop << ": " << path);
    path = wire::telemetry_of(*packet).head.path;
  }
  const Telemetry telemetry = wire::telemetry_of(*wire::parse_frame(frame));
  for (std::uint32_t hop = 2; hop <= 5; ++hop) BOOST_TEST(telemetry.hops[hop - 1].queue == hop);
  BOOST_TEST(int{telemetry.hops[1].rate} == 0);  // no rate of the table

  script.raw(script.request(100, 0));
  script.sent();
  auto echo = script.last_frame;
  fabric::stamp_telemetry(echo, {.port = 1});
  BOOST_TEST((echo == script.last_frame));
  auto other = make_frame(2, 1, {.opcode = rc(OperationCode::send_only)});
  const auto before = other;
  fabric::stamp_telemetry(other, {.port = 1});
  BOOST_TEST((other == before));
  for (std::size_t bytes = 0; bytes < frame.size(); ++bytes) {
    std::vector<std::byte> cut(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(bytes));
    fabric::stamp_telemetry(cut, {.port = 1});  // touches nothing behind its end
  }
}

BOOST_AUTO_TEST_CASE(icrc_covers_the_presence_of_telemetry_but_not_its_octets) {
  Wire script;
  auto frame = script.request(100, 0);
  const auto at = static_cast<std::size_t>(14 + 20 + 8 + 12 + 16);
  for (std::size_t i = 0; i < wire::kTelemetryBytes; ++i) {
    auto changed = frame;
    changed[at + i] ^= std::byte{0xff};
    BOOST_TEST(wire::parse_frame(changed)->icrc_is_valid());
  }
  auto changed = frame;
  changed[at + wire::kTelemetryBytes] ^= std::byte{1};  // payload
  BOOST_TEST(!wire::parse_frame(changed)->icrc_is_valid());
  changed = frame;
  changed[14 + 20 + 8 + 8] ^= std::byte{wire::kHasTelemetry};
  BOOST_TEST(!wire::parse_frame(changed)->icrc_is_valid());
  auto completed = frame;
  wire::complete_icrc(completed);
  BOOST_TEST((completed == frame));
}
