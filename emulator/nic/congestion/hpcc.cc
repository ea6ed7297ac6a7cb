// HPCC (Li et al., SIGCOMM 2019, algorithm 1): each acknowledgement brings what the switches on the way wrote into its
// request (wire/telemetry.h). Of the link that is used most the octets in flight are known, and the window follows what
// is missing to, or above, eta of what the link holds. The rate is the window in a base round trip.
//
// The paper's names: U is the use of that link, W the window, Wc the window that one round trip of acknowledgements
// starts from. Sending begins with what the line holds in a base round trip, as there. All in integers, so that every
// machine has the same run: U is in parts of 2^30, windows are parts of 2^10 of an octet.
#include "emulator/nic/congestion/hpcc.h"

#include <algorithm>

namespace verbena::nic {
namespace {

constexpr std::uint64_t kOctet = 1u << 10;
constexpr std::uint64_t kWindowMost = std::uint64_t{1} << 33;  // 8 MiB, so that products have room
constexpr std::uint64_t kUseMost = std::uint64_t{16} << 30;    // beyond it all are as bad

class Hpcc final : public CongestionControl {
 public:
  Hpcc(const HpccParameters& parameters, std::uint64_t line_rate_bits_per_second)
      : CongestionControl(line_rate_bits_per_second), parameters_(parameters) {}

  void acknowledged(const Answer& answer) override {
    acknowledged_ += answer.packets;
    if (answer.telemetry == nullptr) return;
    if (is_comparable(answer)) {
      measure(*answer.telemetry);
      const bool is_next_round = acknowledged_ > round_end_;
      if (is_next_round) round_end_ = acknowledged_ + answer.outstanding;
      compute_window(is_next_round);
      apply();
    } else {
      round_end_ = acknowledged_ + answer.outstanding;
    }
    last_ = *answer.telemetry;
    last_at_ = answer.now;
  }

 private:
  void start_window(std::uint32_t mtu) override {
    mtu_ = mtu;
    const std::uint64_t line = bits_in(line_rate() / kMega, static_cast<std::uint64_t>(parameters_.base_rtt.ns)) / 8;
    most_ = std::clamp<std::uint64_t>(line * kOctet, kOctet, kWindowMost);
    window_ = base_window_ = most_;
    apply();
  }

  static constexpr std::uint64_t kMega = 1'000'000;

  /// Of a rate in Mb/s; one at least.
  static std::uint64_t bits_in(std::uint64_t mega_bits_per_second, std::uint64_t ns) {
    return std::max<std::uint64_t>(mega_bits_per_second * ns / 1000, 1);
  }

  /// The same way as the last time, and not so long ago that its clock and counter have come around.
  bool is_comparable(const Answer& answer) const {
    constexpr Duration kTimeAround{(wire::kTelemetryTimeMask + 1) / 2};
    return last_.head.hops != 0 && last_.head.hops == answer.telemetry->head.hops &&
           last_.head.path == answer.telemetry->head.path && answer.now - last_at_ < kTimeAround;
  }

  /// MeasureInflight().
  void measure(const wire::Telemetry& now) {
    const auto base_rtt = static_cast<std::uint64_t>(parameters_.base_rtt.ns);
    std::uint64_t use = 0;
    std::uint64_t since = 0;
    for (std::size_t i = 0; i < now.head.hops; ++i) {
      const wire::TelemetryHop& hop = now.hops[i];
      const std::uint64_t time = (hop.time_ns - last_.hops[i].time_ns) & wire::kTelemetryTimeMask;
      if (time == 0) continue;
      const std::uint64_t known = wire::kTelemetryRates[hop.rate];
      const std::uint64_t rate = known != 0 ? known : line_rate() / kMega;
      const std::uint64_t sent = (hop.sent - last_.hops[i].sent) & wire::kTelemetrySentMask;
      const std::uint64_t sent_bits = sent * wire::kTelemetrySentUnit * 8;
      const std::uint64_t queue_bits =
          std::uint64_t{std::min(hop.queue, last_.hops[i].queue)} * wire::kTelemetryQueueUnit * 8;
      const std::uint64_t of_link =
          (sent_bits << 30) / bits_in(rate, time) + (queue_bits << 30) / bits_in(rate, base_rtt);
      if (of_link <= use) continue;
      use = of_link;
      since = time;
    }
    const auto share = static_cast<Share>(std::min(since, base_rtt) * kWhole / base_rtt);
    use_ = times(use_, kWhole - share) + times(std::min(use, kUseMost), share);
  }

  /// ComputeWind(). `is_next_round`: what is acknowledged left after the window was last made the one to start from.
  void compute_window(bool is_next_round) {
    const bool is_multiplicative = use_ >= parameters_.eta || stage_ >= parameters_.max_stage;
    window_ = base_window_;
    if (is_multiplicative && use_ != 0) window_ = std::min(times(base_window_, parameters_.eta) * kWhole / use_, most_);
    window_ = std::min(window_ + parameters_.additive_increase * kOctet, most_);
    if (!is_next_round) return;
    stage_ = is_multiplicative ? 0 : stage_ + 1;
    base_window_ = window_;
  }

  void apply() {
    const std::uint64_t octets = std::max<std::uint64_t>(window_ / kOctet, 1);
    set_window((octets + mtu_ - 1) / mtu_);
    const std::uint64_t rate = octets * 8 * 1'000'000'000 / static_cast<std::uint64_t>(parameters_.base_rtt.ns);
    set_rate(std::clamp<std::uint64_t>(rate, 1'000'000, line_rate()));
  }

  HpccParameters parameters_;
  std::uint32_t mtu_ = 1024;
  std::uint64_t most_ = kOctet;         // octets that the line holds in a base round trip
  std::uint64_t window_ = kOctet;       // W
  std::uint64_t base_window_ = kOctet;  // Wc
  std::uint64_t use_ = kWhole;          // U
  std::uint32_t stage_ = 0;             // additive increases in a row
  wire::Telemetry last_;
  Time last_at_{};
  std::uint64_t acknowledged_ = 0;  // packets
  std::uint64_t round_end_ = 0;
};

}  // namespace

std::unique_ptr<CongestionControl> make_hpcc(const HpccParameters& parameters,
                                             std::uint64_t line_rate_bits_per_second) {
  return std::make_unique<Hpcc>(parameters, line_rate_bits_per_second);
}

}  // namespace verbena::nic
