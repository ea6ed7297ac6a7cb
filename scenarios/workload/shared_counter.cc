#include "scenarios/workload/shared_counter.h"

#include <fmt/format.h>

namespace verbena::scenarios {

bool SharedCounter::make_ready() {
  if (!target_.is_running() || !target_.make_ready()) return false;
  if (generation_ != 0 && life_ == target_.life()) return true;
  if (payload_) word_ = std::make_unique<std::uint64_t>(0);
  const auto place = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(word_.get()));
  const auto region = target_.register_memory({.pd = target_.pd(),
                                               .address = payload_ ? place : iova_,
                                               .length = 8,
                                               .iova = iova_,
                                               .access = nic::kLocalWrite | nic::kRemoteAtomic});
  if (!region) return false;
  region_ = *region;
  life_ = target_.life();
  ++generation_;
  posted_ = completed_ = 0;
  seen_.clear();
  return true;
}

bool SharedCounter::completed(std::uint64_t original) {
  ++completed_;
  if (original >= posted_) return false;
  auto after = seen_.upper_bound(original);
  if (after != seen_.begin()) {
    const auto before = std::prev(after);
    if (original < before->second) return false;
    if (original == before->second) {
      ++before->second;
      if (after != seen_.end() && after->first == before->second) {
        before->second = after->second;
        seen_.erase(after);
      }
      return true;
    }
  }
  if (after != seen_.end() && after->first == original + 1) {
    const std::uint64_t end = after->second;
    seen_.erase(after);
    seen_.emplace(original, end);
  } else {
    seen_.emplace(original, original + 1);
  }
  return true;
}

std::optional<std::string> SharedCounter::wrong_total() const {
  if (!word_ || (*word_ >= completed_ && *word_ <= posted_)) return std::nullopt;
  return fmt::format("the counter is {} after {} additions that completed of {} posted", *word_, completed_, posted_);
}

}  // namespace verbena::scenarios
