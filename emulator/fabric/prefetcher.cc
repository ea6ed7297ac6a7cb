// Prefetcher: memory that the next arrivals need, fetched while the present ones are worked on.
// Tested by: tests/fabric/network_test.cc
#include <algorithm>

#include "emulator/fabric/network_state.h"

namespace verbena::fabric {

void Prefetcher::fetch(const Network::State& network, Time now) {
  constexpr std::int64_t kMeasuredEvents = 512;
  constexpr std::int64_t kFarthest = 1000;
  events_ += static_cast<std::int64_t>(network.due.size());
  if (events_ >= kMeasuredEvents) {
    const auto ahead = static_cast<std::int64_t>(kSteps * kStep);
    distance_ = Duration{std::clamp((now - measured_).ns * ahead / events_, std::int64_t{1}, kFarthest)};
    measured_ = now;
    events_ = 0;
  }
  // What is behind has been fetched as far as it goes.
  constexpr std::size_t kBehind = kSteps * kStep;
  if (fetched_ > 8 * kBehind) {
    line_.erase(line_.begin(), line_.begin() + static_cast<std::ptrdiff_t>(fetched_ - kBehind));
    fetched_ = kBehind;
  }
  const Time until = now + distance_;
  network.queue.peek(std::max(seen_, now), until, line_);
  seen_ = std::max(seen_, until);
  for (; fetched_ < line_.size(); ++fetched_) {
    __builtin_prefetch(&network.directions[line_[fetched_]]);
    if (fetched_ < kSteps * kStep) continue;
    const LinkDirection& second = network.directions[line_[fetched_ - kStep]];
    if (second.head != kNoFrame) __builtin_prefetch(&network.pool.info(second.head));
    const LinkDirection& third = network.directions[line_[fetched_ - 2 * kStep]];
    if (third.head != kNoFrame) {
      if (network.topology.is_host(third.to))
        network.pool.prefetch_octets(third.head);
      else if (const FrameInfo& info = network.pool.info(third.head); info.destination < kNeighbour)
        network.routing->prefetch(third.to, info.destination);
    }
    const LinkDirection& fourth = network.directions[line_[fetched_ - 3 * kStep]];
    if (fourth.head == kNoFrame || network.topology.is_host(fourth.to)) continue;
    const FrameInfo& info = network.pool.info(fourth.head);
    if (info.destination >= kNeighbour) continue;
    const DirectionNumber next = network.routing->next(fourth.to, info.destination, info.flow_hash);
    if (next == kNoDirection) continue;
    __builtin_prefetch(&network.directions[next]);
    __builtin_prefetch(&network.directions[next].frames);
  }
}

}  // namespace verbena::fabric
