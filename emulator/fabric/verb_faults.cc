#include "emulator/fabric/verb_faults.h"

#include <algorithm>

#include "emulator/fabric/chance.h"

namespace verbena::fabric {

VerbFaults::VerbFaults(std::vector<VerbRule> rules, std::uint64_t seed) : seed_(seed) {
  for (VerbRule& rule : rules) entries_.push_back({std::move(rule), {}});
}

bool VerbFaults::concerns(Verb verb) const {
  return std::ranges::any_of(
      entries_, [&](const Entry& entry) { return entry.rule.verb == verb || entry.rule.verb == Verb::any; });
}

/// Whether it fits, and chance has it so. A call that fits counts, whatever becomes of it.
bool VerbFaults::strikes(Entry& entry, std::size_t index, const VerbCall& call, Time now) {
  const VerbRule& rule = entry.rule;
  if (rule.verb != Verb::any && rule.verb != call.verb) return false;
  if (rule.devices && !rule.devices->contains(call.device)) return false;
  if (rule.qps && !(call.qp && rule.qps->contains(*call.qp))) return false;
  if (now - *began_ < rule.after) return false;
  const std::uint64_t number = ++entry.counters.matched;
  if (rule.calls && !rule.calls->contains(static_cast<std::uint32_t>(std::min<std::uint64_t>(number, UINT32_MAX))))
    return false;
  if (number % rule.every != 0 || entry.counters.applied >= rule.count_max) return false;
  return rule.probability_ppb == kCertainPpb || mix_all({seed_, index, number}) % kCertainPpb < rule.probability_ppb;
}

VerbVerdict VerbFaults::judge(const VerbCall& call, Time now) {
  if (!began_) began_ = now;
  VerbVerdict verdict;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    if (verdict.error != 0 && entry.rule.action == VerbAction::fail) continue;
    if (!strikes(entry, i, call, now)) continue;
    ++entry.counters.applied;
    if (entry.rule.action == VerbAction::delay)
      verdict.delay = verdict.delay + entry.rule.delay;
    else
      verdict.error = entry.rule.error != 0 ? entry.rule.error : default_error(call.verb);
  }
  return verdict;
}

}  // namespace verbena::fabric
