#include "scenarios/papers/experiment.h"

#include <algorithm>

#include "scenarios/papers/tables.h"

namespace verbena::scenarios {

std::span<const Experiment* const> all_experiments() {
  static constexpr const Experiment* kAll[] = {
      &kDcqcnThresholds, &kDcqcnFairness, &kDcqcnVictim, &kDcqcnSpine, &kDcqcnIncast,  &kIrn,
      &kIrnControl,      &kIrnIncast,     &kHpcc,        &kLumina,     &kTimelyIncast, &kSwiftIncast};
  return kAll;
}

const Experiment* find_experiment(std::string_view name) {
  const auto all = all_experiments();
  const auto found = std::find_if(all.begin(), all.end(), [name](const Experiment* one) { return one->name == name; });
  return found == all.end() ? nullptr : *found;
}

double ratio_of(const Published& published, double ours) {
  const double nearest = std::clamp(ours, published.least, published.most);
  return nearest == ours ? 1 : ours / nearest;
}

bool is_within(double ratio) {
  return ratio >= 1 - kRatioMargin && ratio <= 1 + kRatioMargin;
}

}  // namespace verbena::scenarios
