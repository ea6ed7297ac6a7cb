#include "emulator/fabric/verb_faults.h"

#include <algorithm>

#include "emulator/fabric/chance.h"

namespace verbena::fabric {

VerbFaults::VerbFaults(std::vector<VerbRule> rules, std::uint64_t seed) : seed_(seed) {
  for (VerbRule& rule : rules) entries_.push_back({.rule = std::move(rule), .stream = entries_.size()});
  settle();
}

void VerbFaults::begin(Time now) {
  has_begun_ = true;
  for (Entry& entry : entries_)
    if (!entry.began) entry.began = now;
}

void VerbFaults::replace_added(std::vector<VerbRule> rules, Time now) {
  constexpr std::uint64_t kStreamOfAdded = std::uint64_t{1} << 32;
  std::vector<Entry> entries;
  for (Entry& entry : entries_)
    if (!entry.is_added) entries.push_back(std::move(entry));
  for (VerbRule& rule : rules) {
    const auto before =
        std::ranges::find_if(entries_, [&](const Entry& entry) { return entry.is_added && entry.rule.id == rule.id; });
    if (before != entries_.end()) {
      entries.push_back(std::move(*before));
      continue;
    }
    const std::uint64_t stream = kStreamOfAdded | rule.id;
    entries.push_back({.rule = std::move(rule), .stream = stream, .began = now, .is_added = true});
  }
  entries_ = std::move(entries);
  settle();
}

namespace {

bool is_of_calls(const VerbRule& rule) {
  return hit_by(rule.action) == HitUnit::call;
}
bool is_of_completions(const VerbRule& rule) {
  return hit_by(rule.action) == HitUnit::completion;
}

bool fits(const VerbRule& rule, const VerbCall& call) {
  if (!is_of_calls(rule) || (rule.verb != Verb::any && rule.verb != call.verb)) return false;
  if (rule.devices && !rule.devices->contains(call.device)) return false;
  return !rule.qps || (call.qp && rule.qps->contains(*call.qp));
}
/// What is done to completions that have failed, and to no others.
bool is_for_failures(const VerbRule& rule) {
  const bool changes = rule.status != nic::CompletionStatus::success || rule.lost || rule.twice || rule.delay.ns != 0;
  return rule.spoiled && !changes;
}
bool fits(const VerbRule& rule, const nic::JudgedCompletion& completion, std::uint32_t device) {
  if (is_for_failures(rule) && completion.status == nic::CompletionStatus::success) return false;
  if (!is_of_completions(rule) || (rule.devices && !rule.devices->contains(device))) return false;
  if (rule.of != CompletionOf::either && (rule.of == CompletionOf::receive) != completion.is_receive) return false;
  if (rule.cqs && !rule.cqs->contains(completion.cq)) return false;
  return !rule.qps || rule.qps->contains(completion.qp);
}

ConnectionStep step_of(const VerbRule& rule) {
  switch (rule.end) {
    case PlannedEnd::none:  // reject
      return ConnectionStep::request;
    case PlannedEnd::address_error:
      return ConnectionStep::address;
    case PlannedEnd::route_error:
      return ConnectionStep::route;
    case PlannedEnd::connect_error:
    case PlannedEnd::unreachable:
    case PlannedEnd::rejected:
      return ConnectionStep::answer;
    case PlannedEnd::multicast_error:
      return ConnectionStep::member;
  }
  return ConnectionStep::request;
}
bool fits(const VerbRule& rule, ConnectionStep step, std::uint32_t device) {
  if (rule.action != VerbAction::reject && rule.action != VerbAction::cm_event) return false;
  return step_of(rule) == step && (!rule.devices || rule.devices->contains(device));
}

}  // namespace

void VerbFaults::settle() {
  struck_.reserve(entries_.size());
  needs_time_ = std::ranges::any_of(entries_, [](const Entry& entry) { return entry.rule.after.ns != 0; });
  filters_.clear();
  calls_.clear();
  for (std::size_t place = 0; place < entries_.size(); ++place) {
    const VerbRule& rule = entries_[place].rule;
    if (is_of_calls(rule)) calls_.push_back(place);
    if (!is_of_completions(rule)) continue;
    filters_.push_back({.devices = rule.devices.value_or(Range{}),
                        .cqs = rule.cqs.value_or(Range{}),
                        .qps = rule.qps.value_or(Range{}),
                        .of = rule.of,
                        .is_for_failures = is_for_failures(rule),
                        .place = place});
  }
}

bool VerbFaults::concerns(Verb verb) const {
  return std::ranges::any_of(entries_, [&](const Entry& entry) {
    return is_of_calls(entry.rule) && (entry.rule.verb == verb || entry.rule.verb == Verb::any);
  });
}

std::uint64_t VerbFaults::hits(std::uint32_t id) const {
  const auto found =
      std::ranges::find_if(entries_, [&](const Entry& entry) { return entry.is_added && entry.rule.id == id; });
  return found == entries_.end() ? 0 : found->counts->read().applied;
}

bool VerbFaults::passes(const VerbCall& call) const {
  const Entry* only = nullptr;
  for (const std::size_t place : calls_) {
    if (!fits(entries_[place].rule, call)) continue;
    if (only != nullptr) return false;
    only = &entries_[place];
  }
  return only == nullptr || counts_only(*only);
}

bool VerbFaults::passes(const nic::JudgedCompletion& completion, std::uint32_t device) const {
  const Filter* only = nullptr;
  for (const Filter& filter : filters_) {
    if (!filter.fits(completion, device)) continue;
    if (only != nullptr) return false;
    only = &filter;
  }
  return only == nullptr || counts_only(entries_[only->place]);
}

bool VerbFaults::would_strike(const Entry& entry, std::uint64_t number) const {
  const VerbRule& rule = entry.rule;
  if (rule.calls && !rule.calls->contains(static_cast<std::uint32_t>(std::min<std::uint64_t>(number, UINT32_MAX))))
    return false;
  if (number % rule.every != 0 || entry.counts->applied.load(std::memory_order_relaxed) >= rule.count_max) return false;
  return rule.probability_ppb == kCertainPpb ||
         mix_all({seed_, entry.stream, number}) % kCertainPpb < rule.probability_ppb;
}

/// Numbers that may hit are given out under the lock alone.
bool VerbFaults::counts_only(const Entry& entry) const {
  if (entry.rule.after.ns != 0) return false;
  std::atomic<std::uint64_t>& matched = entry.counts->matched;
  std::uint64_t before = matched.load(std::memory_order_relaxed);
  do {
    if (would_strike(entry, before + 1)) return false;
  } while (!matched.compare_exchange_weak(before, before + 1, std::memory_order_relaxed));
  return true;
}

bool VerbFaults::concerns_completions() const {
  return std::ranges::any_of(entries_, [](const Entry& entry) {
    return is_of_completions(entry.rule) || entry.rule.action == VerbAction::async;
  });
}

/// Of what fits: it counts, whatever becomes of it, and chance and order say whether it is hit.
bool VerbFaults::strikes(Entry& entry, Time now) {
  const VerbRule& rule = entry.rule;
  if (rule.after.ns != 0 && now - *entry.began < rule.after) return false;
  const std::uint64_t number = entry.counts->matched.fetch_add(1, std::memory_order_relaxed) + 1;
  if (!would_strike(entry, number)) return false;
  entry.counts->applied.fetch_add(1, std::memory_order_relaxed);
  struck_.push_back(rule.id);
  return true;
}

VerbVerdict VerbFaults::judge(const VerbCall& call, Time now) {
  if (!has_begun_) begin(now);
  struck_.clear();
  VerbVerdict verdict;
  for (Entry& entry : entries_) {
    if (verdict.error != 0 && entry.rule.action == VerbAction::fail) continue;
    if (!fits(entry.rule, call) || !strikes(entry, now)) continue;
    if (entry.rule.action == VerbAction::kill)
      verdict.kills = true;
    else if (entry.rule.action == VerbAction::delay)
      verdict.delay = verdict.delay + entry.rule.delay;
    else if (entry.rule.action == VerbAction::fail)
      verdict.error = entry.rule.error != 0 ? entry.rule.error : default_error(call.verb);
  }
  return verdict;
}

ConnectionVerdict VerbFaults::judge(ConnectionStep step, std::uint32_t device, Time now) {
  if (!has_begun_) begin(now);
  struck_.clear();
  for (Entry& entry : entries_) {
    const VerbRule& rule = entry.rule;
    if (!fits(rule, step, device) || !strikes(entry, now)) continue;
    const PlannedEnd end = rule.action == VerbAction::reject ? PlannedEnd::rejected : rule.end;
    if (end == PlannedEnd::rejected) return {.end = end, .reason = rule.reason};
    return {.end = end, .error = rule.error != 0 ? rule.error : default_error(end)};
  }
  return {};
}

nic::CompletionVerdict VerbFaults::judge(const nic::JudgedCompletion& of, std::uint32_t device, Time now) {
  if (!has_begun_) begin(now);
  struck_.clear();
  nic::CompletionVerdict verdict;
  nic::JudgedCompletion completion = of;
  for (Entry& entry : entries_) {
    const VerbRule& rule = entry.rule;
    if (!fits(rule, completion, device) || !strikes(entry, now)) continue;
    if (rule.action == VerbAction::cq_overrun) verdict.overruns = true;
    if (rule.status != nic::CompletionStatus::success && !verdict.status) {
      verdict.status = completion.status = rule.status;
      verdict.is_report_only = rule.only_report;
    }
    verdict.is_lost |= rule.lost;
    verdict.comes_twice |= rule.twice;
    if (rule.spoiled)
      verdict.garbage = static_cast<std::uint32_t>(mix_all({seed_, entry.stream, entry.counts->read().matched})) | 1;
    verdict.delay = verdict.delay + rule.delay;
  }
  return verdict;
}

bool VerbFaults::is_due(const Entry& entry, std::uint32_t device) {
  const VerbRule& rule = entry.rule;
  return entry.began && rule.action == VerbAction::async && (!rule.devices || rule.devices->contains(device)) &&
         std::ranges::find(entry.told, device) == entry.told.end();
}

Time VerbFaults::next_event(std::uint32_t device) const {
  Time first = kNever;
  for (const Entry& entry : entries_)
    if (is_due(entry, device)) first = std::min(first, event_time(entry));
  return first;
}

std::optional<nic::PlannedEvent> VerbFaults::take_event(std::uint32_t device, Time now) {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    if (!is_due(entry, device) || event_time(entry) > now) continue;
    entry.told.push_back(device);
    const VerbRule& rule = entry.rule;
    nic::PlannedEvent event{.type = rule.event, .rule = entry.stream};
    if (const nic::EventScope scope = nic::scope_of(rule.event); scope == nic::EventScope::port) {
      event.first = event.last = rule.port;
    } else if (const auto& named = scope == nic::EventScope::cq ? rule.cqs : rule.qps) {
      event.first = named->first;
      event.last = named->last;
    }
    return event;
  }
  return std::nullopt;
}

void VerbFaults::event_raised(const nic::PlannedEvent& event) {
  struck_.clear();
  const auto entry = std::ranges::find(entries_, event.rule, &Entry::stream);
  if (entry == entries_.end()) return;  // it has been taken away meanwhile
  entry->counts->matched.fetch_add(1, std::memory_order_relaxed);
  entry->counts->applied.fetch_add(1, std::memory_order_relaxed);
  struck_.push_back(entry->rule.id);
}

}  // namespace verbena::fabric
