#include "scenarios/outcome/size_bins.h"

#include <map>

namespace verbena::scenarios {

std::vector<std::uint32_t> size_bins(const Workload& workload) {
  constexpr std::uint64_t kBinsMost = 10;
  if (workload.load_ppb == 0) return {};
  std::map<std::uint32_t, std::uint64_t> weights;  // by the end of a choice
  std::uint64_t total = 0;
  for (const SizeChoice& choice : workload.sizes) {
    weights[choice.most] += choice.weight;
    total += choice.weight;
  }
  std::vector<std::uint32_t> bins;
  std::uint64_t held = 0;
  for (const auto& [most, weight] : weights) {
    held += weight;
    if (held * kBinsMost < total && most != weights.rbegin()->first) continue;
    bins.push_back(most);
    held = 0;
  }
  return bins.size() > 1 ? bins : std::vector<std::uint32_t>{};
}

}  // namespace verbena::scenarios
