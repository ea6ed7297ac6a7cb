// TIMELY (Mittal et al., SIGCOMM 2015, algorithm 1): the rate follows the round-trip time and its gradient; switches
// have no part in it.
//
// All in integers, so that every machine has the same run: gradients are parts of 2^30 of the least round trip.
#include "emulator/nic/congestion/timely.h"

#include <algorithm>

namespace verbena::nic {
namespace {

class Timely final : public CongestionControl {
 public:
  Timely(const TimelyParameters& parameters, std::uint64_t line_rate_bits_per_second)
      : CongestionControl(line_rate_bits_per_second), parameters_(parameters) {}

  void round_trip(Duration rtt) override {
    measured(rtt);
    const Duration difference = previous_.ns == 0 ? Duration{} : rtt - previous_;
    previous_ = rtt;
    gradient_ += weighted(gradient_of(difference) - gradient_, parameters_.alpha);
    if (rtt < parameters_.t_low)
      increase(1);
    else if (rtt > parameters_.t_high)
      decrease(kWhole - static_cast<Share>(static_cast<std::uint64_t>(parameters_.t_high.ns) * kWhole /
                                           static_cast<std::uint64_t>(rtt.ns)));
    else if (gradient_ <= 0)
      increase(++falls_ >= parameters_.hyper_increase ? parameters_.hyper_increase : 1);
    else
      decrease(static_cast<Share>(std::min<std::int64_t>(gradient_, kWhole * 2u)));
    if (gradient_ > 0) falls_ = 0;
  }

 private:
  static std::int64_t weighted(std::int64_t value, Share share) {
    const auto size = static_cast<std::int64_t>(times(static_cast<std::uint64_t>(value < 0 ? -value : value), share));
    return value < 0 ? -size : size;
  }
  std::int64_t gradient_of(Duration difference) const {
    constexpr std::int64_t kSecond = 1'000'000'000;             // beyond it all are as bad
    constexpr std::int64_t kMost = std::int64_t{kWhole} << 16;  // so that times() has room for a difference of two
    const std::int64_t gradient =
        std::clamp(difference.ns, -kSecond, kSecond) * std::int64_t{kWhole} / parameters_.min_rtt.ns;
    return std::clamp(gradient, -kMost, kMost);
  }

  void increase(std::uint64_t steps) {
    set_rate(std::min(rate() + steps * parameters_.additive_increase_bits_per_second, line_rate()));
  }
  /// By beta times `share`.
  void decrease(Share share) {
    const std::uint64_t cut = times(times(rate(), parameters_.beta), share);
    const std::uint64_t least = std::min(parameters_.min_rate_bits_per_second, line_rate());
    set_rate(cut >= rate() ? least : std::max(rate() - cut, least));
  }

  TimelyParameters parameters_;
  Duration previous_{};        // 0: there was none
  std::int64_t gradient_ = 0;  // of the round trip, weighted, by the least one
  std::uint32_t falls_ = 0;    // round trips in a row that did not grow
};

}  // namespace

std::unique_ptr<CongestionControl> make_timely(const TimelyParameters& parameters,
                                               std::uint64_t line_rate_bits_per_second) {
  return std::make_unique<Timely>(parameters, line_rate_bits_per_second);
}

}  // namespace verbena::nic
