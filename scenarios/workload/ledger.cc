#include "scenarios/workload/ledger.h"

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/outcome/size_bins.h"

namespace verbena::scenarios {

Ledger::Ledger(std::size_t number, const Workload& workload, Time begin, Journal& journal)
    : number_(number), workload_(workload), begin_(begin), journal_(journal) {
  outcome_.name = workload.name;
  outcome_.start = workload.start;
  outcome_.last_completion = workload.start;
  for (const std::uint32_t most : size_bins(workload))
    outcome_.by_size.push_back({.octets_most = most, .slowdown = {}});
}

nic::CompletionStatus Ledger::shown(nic::CompletionStatus status, Time now) {
  if (!faults_.concern_completions()) return status;
  (void)faults_.judge({.status = status}, now);
  const fabric::VerbRule* const hit = faults_.struck();
  return hit == nullptr ? status : hit->status;
}

void Ledger::add_slowdown(const CompletionRecord& record) {
  const std::int64_t parts = record.slowdown_parts();
  outcome_.slowdown.add(parts);
  const auto bin = std::find_if(outcome_.by_size.begin(), outcome_.by_size.end(),
                                [&record](const SizeBin& one) { return record.octets <= one.octets_most; });
  if (bin != outcome_.by_size.end()) bin->slowdown.add(parts);
}

void Ledger::completed(const CompletionRecord& record) {
  const Duration time = since_begin(record.time);
  auto& counts = record.is_receive ? outcome_.receive_statuses : outcome_.statuses;
  StatusCount& count = counts[static_cast<std::size_t>(record.status)];
  if (count.number++ == 0) count.first = time;
  count.last = time;
  if (!record.is_receive) {
    outcome_.last_completion = time;
    if (record.status == nic::CompletionStatus::success) {
      outcome_.octets += record.octets;
      outcome_.latency.add(record.latency.ns);
      if (record.alone.ns != 0) add_slowdown(record);
    }
  }
  for (CompletionListener* listener : listeners_) listener->completed(number_, record);
}

void Ledger::damaged(Time time, const std::string& text) {
  ++outcome_.damaged;
  if (outcome_.damage.size() < kDamageLinesMax) outcome_.damage.push_back(text);
  if (journal_.open()) journal_.line(time, "DAMAGE " + text);
}

}  // namespace verbena::scenarios
