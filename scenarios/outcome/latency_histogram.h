// LatencyHistogram: how often a value was seen, in bins whose width is at most 1/32 of their value.
//
// Solely counting and percentiles. Its size is fixed, adding is a few instructions, and merging is exact, so that a
// percentile does not depend on the order in which values came.
// Tested by: tests/scenarios/workload/flows_test.cc
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace verbena::scenarios {

class LatencyHistogram {
 public:
  void add(std::int64_t value) {
    const std::uint64_t positive = value > 0 ? static_cast<std::uint64_t>(value) : 0;
    ++bins_[bin_of(positive)];
    ++count_;
    sum_ += positive;
    least_ = std::min(least_, positive);
    most_ = std::max(most_, positive);
  }
  void add(const LatencyHistogram& other) {
    for (std::size_t bin = 0; bin < kBins; ++bin) bins_[bin] += other.bins_[bin];
    count_ += other.count_;
    sum_ += other.sum_;
    least_ = std::min(least_, other.least_);
    most_ = std::max(most_, other.most_);
  }
  std::uint64_t count() const { return count_; }
  std::uint64_t least() const { return count_ == 0 ? 0 : least_; }
  std::uint64_t most() const { return most_; }
  double mean() const { return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_); }

  /// The value that `percent` (0 to 100) of all values do not exceed; the upper end of its bin, never above most().
  std::uint64_t percentile(double percent) const {
    if (count_ == 0) return 0;
    const double wanted = static_cast<double>(count_) * percent / 100;
    std::uint64_t seen = 0;
    for (std::size_t bin = 0; bin < kBins; ++bin) {
      seen += bins_[bin];
      if (bins_[bin] != 0 && static_cast<double>(seen) >= wanted) return std::clamp(upper_end(bin), least_, most_);
    }
    return most_;
  }

 private:
  static constexpr unsigned kSubBits = 5;  // 32 bins for each power of two
  static constexpr std::size_t kBins = (64 - kSubBits + 1) << kSubBits;

  static constexpr std::size_t bin_of(std::uint64_t value) {
    const auto width = static_cast<unsigned>(std::bit_width(value));
    if (width <= kSubBits) return static_cast<std::size_t>(value);
    const unsigned shift = width - kSubBits - 1;
    return (static_cast<std::size_t>(shift + 1) << kSubBits) +
           static_cast<std::size_t>((value >> shift) & ((1u << kSubBits) - 1));
  }
  static constexpr std::uint64_t upper_end(std::size_t bin) {
    const std::size_t group = bin >> kSubBits;
    if (group == 0) return bin;
    const auto shift = static_cast<unsigned>(group - 1);
    const std::uint64_t first = ((std::uint64_t{1} << kSubBits) | (bin & ((1u << kSubBits) - 1))) << shift;
    return first + ((std::uint64_t{1} << shift) - 1);
  }

  std::array<std::uint64_t, kBins> bins_{};
  std::uint64_t count_ = 0;
  std::uint64_t sum_ = 0;
  std::uint64_t least_ = UINT64_MAX;
  std::uint64_t most_ = 0;
};

}  // namespace verbena::scenarios
