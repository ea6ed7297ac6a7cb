// DCQCN's reaction point (Zhu et al., SIGCOMM 2015, section 3.1): a CNP cuts the rate by alpha / 2; without CNPs a
// timer and a byte counter bring it back, in fast recovery, then by additive, then by hyper increase.
//
// The paper's names: R_C is the current rate, R_T the target. All in integers, so that every machine has the same run.
#include "emulator/nic/congestion/dcqcn.h"

#include <algorithm>

namespace verbena::nic {
namespace {

class Dcqcn final : public CongestionControl {
 public:
  Dcqcn(const DcqcnParameters& parameters, std::uint64_t line_rate_bits_per_second)
      : CongestionControl(line_rate_bits_per_second), parameters_(parameters), target_(line_rate_bits_per_second) {}

  void notified(Time now) override {
    sent(now, 0);
    decay_alpha(now);
    if (now >= next_cut_) cut(now);
    alpha_ += parameters_.g - static_cast<Share>(times(alpha_, parameters_.g));
    alpha_since_ = now;
    has_been_notified_ = true;
  }

  void sent(Time now, std::uint64_t octets) override {
    if (is_at_line_rate()) return;
    for (; now - timer_since_ >= parameters_.timer && !is_at_line_rate(); increase()) {
      timer_since_ = timer_since_ + parameters_.timer;
      ++timer_rounds_;
    }
    for (octets_ += octets; octets_ >= parameters_.byte_counter && !is_at_line_rate(); increase()) {
      octets_ -= parameters_.byte_counter;
      ++byte_rounds_;
    }
  }

 private:
  /// What the alpha timer would have done: without a CNP alpha shrinks by g in each of its rounds. Before the first CNP
  /// there is no alpha to shrink.
  void decay_alpha(Time now) {
    if (!has_been_notified_) return;
    for (Duration rest = now - alpha_since_; rest >= parameters_.alpha_timer && alpha_ != 0;
         rest = rest - parameters_.alpha_timer)
      alpha_ -= std::max<Share>(1, static_cast<Share>(times(alpha_, parameters_.g)));
  }

  void cut(Time now) {
    if (parameters_.clamp_target_rate || has_increased_) target_ = rate();
    has_increased_ = false;
    set_rate(std::max(rate() - times(rate(), alpha_ / 2), least_rate()));
    next_cut_ = now + parameters_.decrease_interval;
    timer_since_ = now;
    timer_rounds_ = byte_rounds_ = 0;
    octets_ = 0;
  }

  /// One of the two has come round. F rounds of either are fast recovery, more than F of both hyper increase.
  void increase() {
    const std::uint32_t most = std::max(timer_rounds_, byte_rounds_);
    const std::uint32_t least = std::min(timer_rounds_, byte_rounds_);
    if (least > parameters_.fast_recovery)
      target_ += (least - parameters_.fast_recovery) * parameters_.hyper_increase_bits_per_second;
    else if (most >= parameters_.fast_recovery)
      target_ += parameters_.additive_increase_bits_per_second;
    target_ = std::min(target_, line_rate());
    // Half of a distance is never all of it: what is left of less than a thousandth is no rate of its own.
    const std::uint64_t middle = (rate() + target_) / 2;
    set_rate(middle >= line_rate() - line_rate() / 1000 ? line_rate() : middle);
    has_increased_ = true;
  }

  std::uint64_t least_rate() const { return std::min(parameters_.min_rate_bits_per_second, line_rate()); }

  DcqcnParameters parameters_;
  std::uint64_t target_;
  Share alpha_ = kWhole;
  bool has_been_notified_ = false;
  bool has_increased_ = true;
  Time alpha_since_{};
  Time next_cut_{};
  Time timer_since_{};
  std::uint32_t timer_rounds_ = 0;
  std::uint32_t byte_rounds_ = 0;
  std::uint64_t octets_ = 0;
};

}  // namespace

std::unique_ptr<CongestionControl> make_dcqcn(const DcqcnParameters& parameters,
                                              std::uint64_t line_rate_bits_per_second) {
  return std::make_unique<Dcqcn>(parameters, line_rate_bits_per_second);
}

}  // namespace verbena::nic
