#include "emulator/fabric/link_model.h"

#include <algorithm>
#include <cstring>

#include "emulator/fabric/alter_frame.h"
#include "wire/assert.h"
#include "wire/packet_view.h"

namespace verbena::fabric {
namespace {

constexpr auto kLater = [](const auto& a, const auto& b) {
  return a.due != b.due ? a.due > b.due : a.sequence > b.sequence;
};

}  // namespace

struct LinkModel::Way {
  LinkModel& link;

  FaultCounters& counters() { return link.counters_; }
  void damage(std::uint32_t slot, const FaultVerdict& verdict) {
    Frame& frame = link.frames_[slot];
    const AlteredFrame altered = alter_frame(link.bytes_of(slot).first(frame.bytes), verdict, link.parameters_.medium);
    frame.bytes = static_cast<std::uint32_t>(altered.bytes);
    frame.corrupted = frame.corrupted || altered.corrupted;
  }
  std::uint32_t copy(std::uint32_t slot) {
    const std::uint32_t made = link.take_slot();
    if (made == kNoSlot) return kNoSlot;
    link.frames_[made] = link.frames_[slot];
    std::memcpy(link.bytes_of(made).data(), link.bytes_of(slot).data(), link.frames_[slot].bytes);
    return made;
  }
  void send(Time sent, Duration extra, std::uint32_t slot) { link.schedule(sent, extra, slot); }
};

LinkModel::LinkModel(const LinkParameters& parameters, FaultPlan plan)
    : parameters_(parameters),
      plan_(std::move(plan)),
      pool_(std::make_unique_for_overwrite<std::byte[]>(parameters.pool_frames * wire::kFrameBytesMax)),
      frames_(parameters.pool_frames) {
  VERBENA_ASSERT(parameters.pool_frames > 0);
  free_.reserve(parameters.pool_frames);
  for (std::uint32_t slot = parameters.pool_frames; slot-- > 0;) free_.push_back(slot);
  arriving_.reserve(parameters.pool_frames);
}

std::span<std::byte> LinkModel::bytes_of(std::uint32_t slot) {
  return {pool_.get() + slot * wire::kFrameBytesMax, wire::kFrameBytesMax};
}
std::span<const std::byte> LinkModel::bytes_of(std::uint32_t slot) const {
  return {pool_.get() + slot * wire::kFrameBytesMax, wire::kFrameBytesMax};
}

std::uint32_t LinkModel::take_slot() {
  if (free_.empty()) return kNoSlot;
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  return slot;
}

std::span<std::byte> LinkModel::slot() {
  if (open_slot_ == kNoSlot) open_slot_ = take_slot();
  if (open_slot_ == kNoSlot) return {};
  return bytes_of(open_slot_);
}

std::span<const std::byte> LinkModel::slot_frame(std::size_t bytes) const {
  VERBENA_ASSERT(open_slot_ != kNoSlot && bytes <= wire::kFrameBytesMax);
  return bytes_of(open_slot_).first(bytes);
}

Submission LinkModel::submit(Time now, std::span<const std::byte> frame, const FrameTag& tag) {
  const std::span<std::byte> room = frame.size() <= wire::kFrameBytesMax ? slot() : std::span<std::byte>{};
  if (room.empty()) {
    ++counters_.submitted;
    ++counters_.dropped_full;
    return {true, "verbena: dropped, the link's queue is full"};
  }
  if (!frame.empty()) std::memcpy(room.data(), frame.data(), frame.size());
  return submit_slot(now, frame.size(), tag);
}

Submission LinkModel::submit_slot(Time now, std::size_t bytes, const FrameTag& tag) {
  VERBENA_ASSERT(open_slot_ != kNoSlot && bytes <= wire::kFrameBytesMax);
  ++counters_.submitted;
  Frame& frame = frames_[open_slot_];
  frame = {static_cast<std::uint32_t>(bytes), false, tag, {}};
  FaultVerdict verdict;
  bool judged = false;
  if (!plan_.empty()) {
    // Judged on our own copy: nobody else can change it between the decision and the delivery.
    const auto packet = wire::parse_on(parameters_.medium, bytes_of(open_slot_).first(bytes));
    judged = static_cast<bool>(packet);
    if (judged)
      verdict = plan_.judge(*packet);
    else
      ++counters_.unparsed;
  }
  if (verdict.drop) {
    ++counters_.dropped_by_fault;
    return {true, verdict.comment, judged};  // the slot stays open: slot_frame() can still be read
  }
  const std::uint32_t slot = open_slot_;
  open_slot_ = kNoSlot;
  frame.comment = verdict.comment;
  carrier_.carry_out(now, slot, verdict, Way{*this});
  return {false, verdict.comment, judged};
}

void LinkModel::schedule(Time sent, Duration extra, std::uint32_t slot) {
  Time end = sent;
  if (parameters_.rate_bits_per_second != 0) {
    const std::uint64_t bits = std::uint64_t{frames_[slot].bytes} * 8;
    const auto ns = static_cast<std::int64_t>((bits * 1'000'000'000 + parameters_.rate_bits_per_second - 1) /
                                              parameters_.rate_bits_per_second);
    end = std::max(sent, wire_free_) + nanoseconds(ns);
    wire_free_ = end;
  }
  arriving_.push_back({end + parameters_.propagation + extra, next_sequence_++, slot});
  std::push_heap(arriving_.begin(), arriving_.end(), kLater);
}

std::optional<Delivery> LinkModel::next_delivery(Time now) {
  if (!carrier_.idle()) carrier_.release_expired(now, Way{*this});
  if (arriving_.empty() || arriving_.front().due > now) return std::nullopt;
  const std::uint32_t slot = arriving_.front().slot;
  const Frame& frame = frames_[slot];
  return Delivery{bytes_of(slot).first(frame.bytes), frame.comment, frame.tag, frame.corrupted};
}

void LinkModel::pop() {
  VERBENA_ASSERT(!arriving_.empty());
  std::pop_heap(arriving_.begin(), arriving_.end(), kLater);
  free_.push_back(arriving_.back().slot);
  arriving_.pop_back();
  ++counters_.delivered;
}

std::optional<Time> LinkModel::next_deadline() const {
  Time earliest = kNever;
  if (!arriving_.empty()) earliest = arriving_.front().due;
  earliest = std::min(earliest, carrier_.earliest());
  if (earliest == kNever) return std::nullopt;
  return earliest;
}

}  // namespace verbena::fabric
