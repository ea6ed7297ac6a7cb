#include "scenarios/workload/flow_source.h"

#include <algorithm>

namespace verbena::scenarios {
namespace {

constexpr std::uint64_t kTimes = 1;
constexpr std::uint64_t kPairs = 2;

}  // namespace

FlowSource::FlowSource(const Workload& workload, HostAgent& agent, const Arrivals::Load& load, std::uint64_t seed)
    : workload_(workload), agent_(agent), load_(load), seed_(seed), id_(agent.add(*this, 0, 0)) {}

bool FlowSource::is_over(Time next) const {
  return workload_.count != 0 ? arrived_ == workload_.count : next >= begin_ + workload_.duration;
}

void FlowSource::start(Time now) {
  begin_ = now;
  arrived_ = 0;
  feed_.is_over = false;
  arrivals_.emplace(load_, fabric::mix_all({seed_, kTimes}), now);
  agent_.wake_at(is_over(arrivals_->next()) ? now : arrivals_->next(), id_);
}

void FlowSource::woken(Time now) {
  if (feed_.is_over) return;
  while (!is_over(arrivals_->next()) && arrivals_->next() <= now) {
    hand_out(arrivals_->next(), now);
    arrivals_->advance();
  }
  if (!is_over(arrivals_->next())) return agent_.wake_at(arrivals_->next(), id_);
  feed_.is_over = true;
  for (const auto& pair : pairs_)
    for (Stream* stream : pair) stream->flows_over(now);
}

void FlowSource::hand_out(Time due, Time now) {
  const auto& pair = pairs_[fabric::mix_all({seed_, kPairs, arrived_++}) % pairs_.size()];
  Stream* const stream = *std::min_element(pair.begin(), pair.end(),
                                           [](const Stream* a, const Stream* b) { return a->flows() < b->flows(); });
  stream->offer(due, now);
}

}  // namespace verbena::scenarios
