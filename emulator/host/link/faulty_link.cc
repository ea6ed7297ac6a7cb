#include "emulator/host/link/faulty_link.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "emulator/fabric/link_model.h"
#include "emulator/host/os/clock.h"
#include "wire/assert.h"
#include "wire/icrc.h"

namespace verbena::host {
namespace {

using fabric::FaultPlan;
using fabric::LinkModel;

/// How soon a link that had no room is asked again.
constexpr Duration kBackPressureRetry = microseconds(20);
/// Route hints kept for the link below; a wrong one costs it a look-up, no more.
constexpr std::size_t kRouteHints = 256;

bool is_faulty(const std::vector<fabric::FaultRule>& rules, bool transmit) {
  return !fabric::rules_of_direction(rules, transmit).empty();
}

std::unique_ptr<LinkModel> model_of(const std::vector<fabric::FaultRule>& rules, bool transmit, std::uint64_t seed,
                                    std::string_view link_name, wire::Medium medium) {
  const auto seen = fabric::rules_of_direction(rules, transmit);
  if (seen.empty()) return nullptr;
  const std::string name = std::string(link_name) + (transmit ? ":tx" : ":rx");
  return std::make_unique<LinkModel>(fabric::LinkParameters{.medium = medium}, FaultPlan(seen, seed, name));
}

class FaultyLink final : public FramePort {
 public:
  FaultyLink(FramePort& inner, const std::vector<fabric::FaultRule>& rules, std::uint64_t seed,
             std::string_view link_name, CaptureTap* tap, Time (*clock)(), wire::Medium medium, const FaultHits* hits)
      : FramePort(is_faulty(rules, true) ? wire::IcrcState::present : inner.icrc_wanted()),
        inner_(inner),
        tap_(tap),
        clock_(clock != nullptr ? clock : &clock_now),
        medium_(medium),
        hits_(hits),
        tx_(model_of(rules, true, seed, link_name, medium)),
        rx_(model_of(rules, false, seed, link_name, medium)) {}

  std::span<std::byte> reserve(const nic::Destination& destination, std::size_t bytes) override {
    if (!tx_) return inner_.reserve(destination, bytes);
    if (bytes > wire::kFrameBytesMax) return {};
    forward();
    if (blocked_) return {};
    tag_ = {destination.address, destination.qpn, 0};
    room_ = tx_->slot();
    // All slots hold delayed frames: what comes on top is lost, as at a full queue.
    discarding_ = room_.empty();
    if (discarding_) room_ = overflow_;
    return room_.first(bytes);
  }

  void commit(std::size_t bytes, wire::IcrcState icrc) override {
    if (!tx_) return inner_.commit(bytes, icrc);
    VERBENA_ASSERT(icrc != wire::IcrcState::deferred);
    const Time now = tx_->plan().needs_time() ? clock_() : now_;
    if (discarding_) {
      const auto submission = tx_->submit(now, room_.first(bytes), tag_);
      count(*tx_, submission);
      if (tap_ != nullptr && submission.lost)
        tap_->record(now, room_.first(bytes), wire::Direction::outbound, submission.comment);
      return;
    }
    const auto submission = tx_->submit_slot(now, bytes, tag_);
    count(*tx_, submission);
    if (submission.lost) {
      if (tap_ != nullptr) tap_->record(kNever, tx_->slot_frame(bytes), wire::Direction::outbound, submission.comment);
      return;
    }
    now_ = std::max(now_, now);
    forward();
  }

  void cancel() override {
    if (!tx_) inner_.cancel();
    // Otherwise the slot stays open in the model and is used for the next frame.
  }

  void publish() override {
    if (tx_) forward();
    inner_.publish();
  }

  std::size_t receive(Time now, FrameSink& sink, std::size_t budget) override {
    now_ = std::max(now_, now);
    if (tx_) forward();
    if (!rx_) return inner_.receive(now, sink, budget);
    Intake intake(*this, now);
    left_frames_ = inner_.receive(now, intake, budget) == budget;
    std::size_t handed_up = 0;
    for (; handed_up < budget; ++handed_up) {
      const auto delivery = rx_->next_delivery(now);
      if (!delivery) break;
      const bool is_verified = delivery->tag.word != 0 && !delivery->corrupted;
      sink.frame(delivery->frame, is_verified ? wire::IcrcState::verified : wire::IcrcState::present);
      rx_->pop();
    }
    return handed_up;
  }

  bool take_in(Time now, std::span<const std::byte> frame) override {
    if (!rx_) return inner_.take_in(now, frame);
    Intake(*this, now).frame(frame, wire::IcrcState::present);
    inner_.take_in(now, frame);  // a capture records it with what has become of it
    return true;
  }

  std::optional<Time> next_deadline() const override {
    std::optional<Time> earliest = inner_.next_deadline();
    const auto take = [&](std::optional<Time> when) {
      if (when && (!earliest || *when < *earliest)) earliest = when;
    };
    if (tx_) take(blocked_ ? std::optional<Time>(now_ + kBackPressureRetry) : tx_->next_deadline());
    if (rx_) take(rx_->next_deadline());
    return earliest;
  }

  bool holds_back() const override { return left_frames_ || (rx_ && rx_->next_delivery(now_)) || inner_.holds_back(); }

 private:
  /// Frames from the link below go into the model. They are handed up after the link's own pass: a NIC that answers at
  /// once must not meet a link that is still in receive(). Faults may change what is in them, so they have their ICRC.
  class Intake final : public FrameSink {
   public:
    Intake(FaultyLink& owner, Time now) : owner_(owner), now_(now) {}
    void frame(std::span<const std::byte> frame, wire::IcrcState icrc) override {
      if (icrc == wire::IcrcState::deferred && frame.size() <= wire::kFrameBytesMax) {
        frame = completed_.copy_of(frame, owner_.medium_);
        icrc = wire::IcrcState::verified;
      }
      const auto submission = owner_.rx_->submit(now_, frame, {{}, {}, icrc == wire::IcrcState::verified ? 1u : 0u});
      owner_.count(*owner_.rx_, submission);
      if (owner_.tap_ != nullptr && !submission.comment.empty()) owner_.tap_->annotate(submission.comment);
    }

   private:
    FaultyLink& owner_;
    Time now_;
    wire::CompletedFrame completed_;
  };

  /// The faults that have hit the frame just submitted.
  void count(const LinkModel& model, const fabric::Submission& submission) const {
    if (hits_ != nullptr && submission.judged) hits_->add(model.plan().struck());
  }

  /// Gives the link below every frame that is due, in order, as far as it has room.
  void forward() {
    blocked_ = false;
    while (const auto delivery = tx_->next_delivery(now_)) {
      std::uint32_t& hint = hints_[delivery->tag.qpn.value() % kRouteHints];
      const auto room = inner_.reserve({delivery->tag.address, delivery->tag.qpn, hint}, delivery->frame.size());
      if (room.empty()) {
        blocked_ = true;
        return;
      }
      std::memcpy(room.data(), delivery->frame.data(), delivery->frame.size());
      if (tap_ != nullptr && !delivery->comment.empty()) tap_->annotate(delivery->comment);
      inner_.commit(delivery->frame.size(), wire::IcrcState::present);
      tx_->pop();
    }
  }

  FramePort& inner_;
  CaptureTap* tap_;
  Time (*clock_)();
  const wire::Medium medium_;
  const FaultHits* const hits_;
  std::unique_ptr<LinkModel> tx_;  // null: no rule looks at this direction
  std::unique_ptr<LinkModel> rx_;
  Time now_{0};
  bool blocked_ = false;
  bool discarding_ = false;
  bool left_frames_ = false;  // to the next receive(), perhaps
  fabric::FrameTag tag_;
  std::span<std::byte> room_;
  std::array<std::byte, wire::kFrameBytesMax> overflow_;
  std::array<std::uint32_t, kRouteHints> hints_{};
};

}  // namespace

std::unique_ptr<FramePort> make_faulty_link(FramePort& inner, const std::vector<fabric::FaultRule>& rules,
                                            std::uint64_t seed, std::string_view link_name, CaptureTap* tap,
                                            Time (*clock)(), wire::Medium medium, const FaultHits* hits) {
  return std::make_unique<FaultyLink>(inner, rules, seed, link_name, tap, clock, medium, hits);
}

}  // namespace verbena::host
