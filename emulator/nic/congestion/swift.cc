// Swift (Kumar et al., SIGCOMM 2020, algorithm 1): a window that follows the delay of the fabric. Below its target the
// window grows by `ai` packets a round trip, above it shrinks by how far the delay is above, once in a round trip. A
// window of less than a packet is a gap between packets. The target grows with the way, and as the window shrinks
// (section 3.5: with many flows a queue varies more).
//
// The responder's part of the delay is none in virtual time, so there is no second window for the endpoint's delay. All
// in integers, so that every machine has the same run: windows are parts of 2^20 of a packet.
#include "emulator/nic/congestion/swift.h"

#include <algorithm>
#include <bit>
#include <vector>

namespace verbena::nic {
namespace {

using Parts = std::uint64_t;
constexpr unsigned kPacketBits = 20;
constexpr Parts kPacket = Parts{1} << kPacketBits;

constexpr Parts parts_of(Share share) {
  return times(kPacket, share);
}

/// The largest whole number whose square is not above `value`.
constexpr std::uint64_t square_root(std::uint64_t value) {
  if (value < 2) return value;
  std::uint64_t root = std::uint64_t{1} << ((static_cast<unsigned>(std::bit_width(value)) + 1) / 2);  // not below it
  for (std::uint64_t next = (root + value / root) / 2; next < root; next = (root + value / root) / 2) root = next;
  return root;
}

/// 2^30 / sqrt(packets).
constexpr std::uint64_t inverse_root(Parts window) {
  constexpr unsigned kRootBits = 20;
  return (std::uint64_t{1} << (30 + kRootBits)) / square_root(window << (2 * kRootBits - kPacketBits));
}
static_assert(inverse_root(4 * kPacket) == 1u << 29);

constexpr Duration kDelayMost = seconds(8);  // so that products of it have room

class Swift final : public CongestionControl {
 public:
  Swift(const SwiftParameters& parameters, std::uint64_t line_rate_bits_per_second)
      : CongestionControl(line_rate_bits_per_second),
        parameters_(parameters),
        own_target_(parameters_.base_target + parameters_.hop_scale * parameters_.hops),
        scale_most_(inverse_root(std::max<Parts>(parts_of(parameters_.fs_min_window), 1))),
        scale_least_(inverse_root(parameters_.fs_max_window * kPacket)) {}

  void left(wire::Psn psn, Time when) override { place_of(psn) = {psn, when}; }

  void acknowledged(const Answer& answer) override {
    const Left& left = place_of(answer.last);
    if (left.psn != answer.last || left.when == kNever) return;
    const Duration delay = std::clamp(answer.now - left.when, nanoseconds(1), kDelayMost);
    measured(delay);
    retransmits_ = 0;
    const Duration target = target_delay();
    if (delay < target)
      window_ += window_ >= kPacket ? increase() * answer.packets * kPacket / window_ : increase() * answer.packets;
    else if (may_decrease(answer.now))
      decrease(answer.now, std::min(times_of_delay(delay - target, delay), parameters_.max_mdf));
    round_trip_ = delay;
    apply();
  }

  void lost(Time now, Loss loss, std::uint32_t) override {
    forget_departures();
    retransmits_ = loss == Loss::timeout ? retransmits_ + 1 : 0;
    if (retransmits_ >= parameters_.retransmit_reset)
      window_ = 0;
    else if (may_decrease(now))
      decrease(now, parameters_.max_mdf);
    apply();
  }

 private:
  /// When the last bit of a request had left.
  struct Left {
    wire::Psn psn;
    Time when = kNever;
  };
  /// What was under way may be acknowledged only with what is sent again, or be so for a second time: that says nothing
  /// of a round trip (the paper's NICs echo timestamps).
  void forget_departures() {
    for (Left& left : left_) left.when = kNever;
  }
  Left& place_of(wire::Psn psn) { return left_[psn.value() & (left_.size() - 1)]; }

  void start_window(std::uint32_t) override {
    window_ = most();
    // All that is outstanding has a place of its own.
    left_.assign(std::bit_ceil(window_limit() + 1), {});
  }

  Duration target_delay() const {
    const std::uint64_t inverse = std::clamp(inverse_root(window_), scale_least_, scale_most_);
    if (scale_most_ == scale_least_) return own_target_;
    constexpr unsigned kFractionBits = 24;  // so that the product has room
    const std::uint64_t share = ((inverse - scale_least_) << kFractionBits) / (scale_most_ - scale_least_);
    const auto range = static_cast<std::uint64_t>(parameters_.fs_range.ns);
    return own_target_ + nanoseconds(static_cast<std::int64_t>(times(range, static_cast<Share>(share << 6))));
  }

  /// beta times (part / whole).
  Share times_of_delay(Duration part, Duration whole) const {
    const auto share = static_cast<std::uint64_t>(part.ns) * kWhole / static_cast<std::uint64_t>(whole.ns);
    return static_cast<Share>(times(share, parameters_.beta));
  }
  bool may_decrease(Time now) const { return now - decreased_ >= round_trip_; }
  void decrease(Time now, Share by) {
    window_ -= times(window_, by);
    decreased_ = now;
  }
  Parts increase() const { return parameters_.additive_increase * kPacket; }
  Parts most() const { return window_limit() * kPacket; }

  void apply() {
    window_ = std::clamp(window_, std::max<Parts>(parts_of(parameters_.min_window), 1), most());
    set_window(window_ / kPacket);
    const auto round_trip = static_cast<std::uint64_t>(round_trip_.ns);
    set_gap(window_ < kPacket ? nanoseconds(static_cast<std::int64_t>(round_trip * kPacket / window_)) : Duration{});
  }

  SwiftParameters parameters_;
  Duration own_target_;
  std::uint64_t scale_most_;
  std::uint64_t scale_least_;
  Parts window_ = 0;
  Duration round_trip_{};  // the newest
  Time decreased_{};
  std::uint32_t retransmits_ = 0;
  std::vector<Left> left_;  // by PSN
};

}  // namespace

std::unique_ptr<CongestionControl> make_swift(const SwiftParameters& parameters,
                                              std::uint64_t line_rate_bits_per_second) {
  return std::make_unique<Swift>(parameters, line_rate_bits_per_second);
}

}  // namespace verbena::nic
