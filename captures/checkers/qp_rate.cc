// qp-rate: what a QP under DCQCN sends keeps to the rate that the CNPs which reached it leave it: no packet leaves
// before the one before it has taken its time at that rate.
//
// The rate is followed here by the paper's equations (Zhu et al., SIGCOMM 2015, (1) to (4)), in floating point and from
// what was seen of the QP, CNPs and octets, so that a NIC is not judged by its own arithmetic.
// Tested by: tests/captures/checkers/congestion_test.cc
#include <algorithm>

#include "captures/checkers/congestion_table.h"
#include "captures/checkers/rule.h"
#include "wire/infiniband.h"

namespace verbena::checkers {
namespace {

constexpr double kSlack = 1.01;  // for whole nanoseconds, and for rates that differ in their last digits
constexpr double kAtLine = 0.999;

/// The rate of one QP.
class Rate {
 public:
  explicit Rate(const CheckedDcqcn& dcqcn) : dcqcn_(dcqcn), current_(dcqcn.line_rate), target_(dcqcn.line_rate) {}

  bool is_at_line_rate() const { return current_ >= dcqcn_.line_rate; }
  /// A NIC at line rate paces nothing, and one whose alpha is nearly 0 may be there after a cut: the next digit of the
  /// arithmetic tells.
  bool may_be_at_line_rate() const { return current_ >= kAtLine * dcqcn_.line_rate; }
  double bits_per_second() const { return current_; }

  void notified(Time now) {
    sent(now, 0);
    for (; has_alpha_ && now - alpha_since_ >= dcqcn_.alpha_timer && alpha_ > kNoAlpha;
         alpha_since_ = alpha_since_ + dcqcn_.alpha_timer)
      alpha_ *= 1 - dcqcn_.g;
    if (now >= next_cut_) {
      if (dcqcn_.clamp_target_rate || has_increased_) target_ = current_;
      has_increased_ = false;
      current_ = std::max(current_ * (1 - alpha_ / 2), std::min(dcqcn_.min_rate, dcqcn_.line_rate));
      next_cut_ = now + dcqcn_.decrease_interval;
      since_ = now;
      timer_rounds_ = byte_rounds_ = 0;
      octets_ = 0;
    }
    alpha_ = (1 - dcqcn_.g) * alpha_ + dcqcn_.g;
    alpha_since_ = now;
    has_alpha_ = true;
  }

  void sent(Time now, std::uint64_t octets) {
    while (!is_at_line_rate() && now - since_ >= dcqcn_.timer) {
      since_ = since_ + dcqcn_.timer;
      ++timer_rounds_;
      increase();
    }
    if (is_at_line_rate()) return;
    octets_ += octets;
    while (!is_at_line_rate() && octets_ >= dcqcn_.byte_counter) {
      octets_ -= dcqcn_.byte_counter;
      ++byte_rounds_;
      increase();
    }
  }

 private:
  static constexpr double kNoAlpha = 1e-9;

  void increase() {
    const std::uint32_t least = std::min(timer_rounds_, byte_rounds_);
    if (least > dcqcn_.fast_recovery)
      target_ += (least - dcqcn_.fast_recovery) * dcqcn_.hyper_increase;
    else if (std::max(timer_rounds_, byte_rounds_) >= dcqcn_.fast_recovery)
      target_ += dcqcn_.additive_increase;
    target_ = std::min(target_, dcqcn_.line_rate);
    current_ = (current_ + target_) / 2;
    if (current_ >= kAtLine * dcqcn_.line_rate) current_ = dcqcn_.line_rate;
    has_increased_ = true;
  }

  CheckedDcqcn dcqcn_;
  double current_;
  double target_;
  double alpha_ = 1;
  bool has_alpha_ = false;
  bool has_increased_ = true;
  Time alpha_since_{};
  Time next_cut_{};
  Time since_{};
  std::uint32_t timer_rounds_ = 0;
  std::uint32_t byte_rounds_ = 0;
  std::uint64_t octets_ = 0;
};

std::uint64_t frame_octets(const wire::PacketView& packet) {
  const wire::FramePlaces places = packet.network().places();
  const std::size_t before = places.network_at + std::size_t{places.network_bytes};
  if (&packet.network().encapsulation() == &wire::kRoceV2) return before + packet.udp().bytes;
  if (packet.network().encapsulation().is_on_ethernet) return before + packet.ip().v6().payload_bytes;
  constexpr std::size_t kWordBytes = 4;
  const auto lrh = packet.frame().first<wire::LocalRouteHeaderLayout::bytes>();
  return wire::LocalRouteHeaderLayout::parse(lrh).words * kWordBytes + wire::kVcrcBytes;
}

class QpRate final : public Rule {
 public:
  RuleOutcome judge(const Observation& seen) override {
    if (seen.connection == nullptr) {
      if (seen.views.arrives) take_notification(seen);
      return not_concerned();
    }
    if (!seen.views.departs) return not_concerned();
    const CongestionTable::Entry* const host = seen.congestion.find(seen.packet.source());
    const auto& qpn = seen.connection->info.ends[seen.sender].qpn;
    if (host == nullptr || !host->congestion.dcqcn || !seen.connection->paired || !qpn) return unjudged();
    Sender& sender = sender_of(seen.packet.source(), qpn->value(), *host);
    if (sender.connection != seen.connection || sender.connection_generation != seen.connection->generation)
      sender = {.rate = Rate(*host->congestion.dcqcn),
                .generation = host->generation,
                .connection = seen.connection,
                .connection_generation = seen.connection->generation};
    if (seen.is_acknowledge()) {  // its octets count, but it may have been kept back since its turn
      sender.rate.sent(seen.time(), frame_octets(seen.packet));
      return not_concerned();
    }
    return depart(sender, seen);
  }

 private:
  struct Sender {
    Rate rate;
    Time next{};  // not before it
    std::uint32_t generation = 0;
    const Connection* connection = nullptr;
    std::uint32_t connection_generation = 0;
  };

  Sender& sender_of(const wire::Gid& host, std::uint32_t qpn, const CongestionTable::Entry& entry) {
    const Sender fresh{.rate = Rate(*entry.congestion.dcqcn), .generation = entry.generation};
    Sender& sender = senders_.try_emplace(TowardsQp{.from = host, .qpn = qpn}, fresh).first->second;
    if (sender.generation != entry.generation) sender = fresh;
    return sender;
  }

  void take_notification(const Observation& seen) {
    const CongestionTable::Entry* const host = seen.congestion.find(seen.packet.destination());
    if (host == nullptr || !host->congestion.dcqcn) return;
    sender_of(seen.packet.destination(), seen.packet.bth().dest_qp.value(), *host).rate.notified(seen.time());
  }

  static RuleOutcome depart(Sender& sender, const Observation& seen) {
    const Duration early = sender.next - seen.time() - seen.options.clock_tolerance;
    sender.rate.sent(seen.time(), frame_octets(seen.packet));
    const double rate = sender.rate.bits_per_second();
    if (!sender.rate.may_be_at_line_rate()) {
      const double takes = static_cast<double>(frame_octets(seen.packet)) * 8e9 / (rate * kSlack);
      sender.next = std::max(sender.next, seen.time()) + nanoseconds(static_cast<std::int64_t>(takes));
    }
    if (early.ns <= 0) return holds();
    return broken("{} ns before its turn at {:.0f} Mb/s", early.ns, rate / 1e6);
  }

  std::unordered_map<TowardsQp, Sender, TowardsQpHash> senders_;
};

}  // namespace

std::unique_ptr<Rule> make_qp_rate(const RegionTable&) {
  return std::make_unique<QpRate>();
}

}  // namespace verbena::checkers
