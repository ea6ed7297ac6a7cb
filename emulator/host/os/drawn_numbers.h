// DrawnNumbers: numbers that a stranger is not to guess: first QPNs, keys, starting PSNs, communication IDs.
//
// Solely responsible for where they come from: the kernel, or a seed where a run is to have the same ones again. Faults
// are not decided by them (fabric/fault_plan.h). docs/security.md says what they protect, and what not.
#pragma once

#include <cstdint>
#include <optional>

namespace verbena::host {

class DrawnNumbers {
 public:
  explicit DrawnNumbers(std::optional<std::uint64_t> seed) : seed_(seed) {}
  /// One thread at a time.
  std::uint64_t operator()();

 private:
  const std::optional<std::uint64_t> seed_;
  std::uint64_t drawn_ = 0;
};

}  // namespace verbena::host
