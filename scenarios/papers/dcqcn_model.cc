#include "scenarios/papers/dcqcn_model.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "emulator/fabric/chance.h"

namespace verbena::scenarios {
namespace {

constexpr double kKminOctets = 5e3;
constexpr double kKmaxOctets = 200e3;
constexpr double kShareLeast = 1e-7;
constexpr double kShareMost = 0.5;
constexpr double kSecondsFollowed = 6;
constexpr double kSecondsBefore = 1;  // until alpha is what it will be

/// Where `excess`, which grows, is 0: by halves of the logarithm.
double zero_of(const std::function<double(double)>& excess, unsigned steps) {
  double least = kShareLeast;
  double most = kShareMost;
  for (unsigned i = 0; i < steps; ++i) {
    const double middle = std::sqrt(least * most);
    (excess(middle) > 0 ? most : least) = middle;
  }
  return std::sqrt(least * most);
}

double packets_per_second(const DcqcnModel& model, double bits_per_second) {
  return bits_per_second / (8 * model.packet_octets);
}

/// One sender: rates in packets per second, times in seconds.
class Sender {
 public:
  Sender(const DcqcnModel& model, double rate)
      : model_(model), increase_(packets_per_second(model, model.additive_increase)), rate_(rate), target_(rate) {}

  /// Sends a packet; the time then.
  double send() {
    now_ += 1 / rate_;
    if ((packets_ += 1) >= model_.byte_counter / model_.packet_octets) {
      packets_ = 0;
      ++byte_events_;
      increase();
    }
    while (std::min(timer_at_, alpha_at_) <= now_) {
      if (alpha_at_ <= timer_at_) {
        alpha_ *= 1 - model_.gain;
        alpha_at_ += model_.alpha_timer;
      } else {
        timer_at_ += model_.timer;
        ++timer_events_;
        increase();
      }
    }
    return now_;
  }

  /// The packet just sent was marked: its CNP, unless one was there shortly before.
  void mark() {
    if (now_ < next_cnp_) return;
    next_cnp_ = now_ + model_.cnp_interval;
    target_ = rate_;
    rate_ *= 1 - alpha_ / 2;
    alpha_ = (1 - model_.gain) * alpha_ + model_.gain;
    packets_ = 0;
    timer_events_ = byte_events_ = 0;
    timer_at_ = now_ + model_.timer;
    alpha_at_ = now_ + model_.alpha_timer;
  }

 private:
  void increase() {
    if (std::max(timer_events_, byte_events_) > model_.fast_recovery) target_ += increase_;
    rate_ = (rate_ + target_) / 2;
  }

  const DcqcnModel& model_;
  double increase_;
  double rate_;
  double target_;
  double alpha_ = 0.2;
  double now_ = 0;
  double packets_ = 0;
  unsigned timer_events_ = 0;
  unsigned byte_events_ = 0;
  double timer_at_ = model_.timer;
  double alpha_at_ = model_.alpha_timer;
  double next_cnp_ = 0;
};

double packets_sent(const DcqcnModel& model, double rate, double share) {
  Sender sender(model, rate);
  fabric::Dice dice(1);
  const auto marked_below = static_cast<std::uint64_t>(share * 1e9);
  double packets = 0;
  for (double now = 0; now < kSecondsBefore + kSecondsFollowed;) {
    now = sender.send();
    if (now > kSecondsBefore) packets += 1;
    if (dice.below(1'000'000'000) < marked_below) sender.mark();
  }
  return packets;
}

}  // namespace

double marked_share_of_fluid(const DcqcnModel& model) {
  const double rate = packets_per_second(model, model.line_rate / model.senders);
  const double increase = packets_per_second(model, model.additive_increase);
  const double counter = model.byte_counter / model.packet_octets;
  const double timer = model.timer * rate;  // packets
  return zero_of(
      [&](double p) {
        // What happens per packet sent: a CNP, by interval; events of the byte counter and of the timer, which marks
        // reset; and those of them that come after fast recovery.
        const double is_marked = 1 - std::pow(1 - p, model.cnp_interval * rate);
        const double alpha = 1 - std::pow(1 - p, model.alpha_timer * rate);
        const double of_counter = p / (std::pow(1 - p, -counter) - 1);
        const double of_timer = p / (std::pow(1 - p, -timer) - 1);
        const double recoveries = of_counter + of_timer;
        const double additions = of_counter * std::pow(1 - p, model.fast_recovery * counter) +
                                 of_timer * std::pow(1 - p, model.fast_recovery * timer);
        // d target / dt = 0 and d rate / dt = 0 give the distance between the two twice.
        const double by_rate = alpha * is_marked / (model.cnp_interval * recoveries);
        const double by_target = model.cnp_interval * increase * rate * additions / is_marked;
        return by_rate - by_target;
      },
      100);
}

double marked_share_of_rules(const DcqcnModel& model) {
  const double rate = packets_per_second(model, model.line_rate / model.senders);
  return zero_of([&](double share) { return rate * kSecondsFollowed - packets_sent(model, rate, share); }, 14);
}

double queue_for(double marked_share, double pmax) {
  return kKminOctets + std::min(marked_share / pmax, 1.0) * (kKmaxOctets - kKminOctets);
}

}  // namespace verbena::scenarios
