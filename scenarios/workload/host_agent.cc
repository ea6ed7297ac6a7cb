#include "scenarios/workload/host_agent.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "scenarios/outcome/report_words.h"

namespace verbena::scenarios {

EndId HostAgent::add(EndOwner& owner, std::uint32_t send_requests, std::uint32_t receive_requests) {
  owners_.push_back(&owner);
  send_requests_ += send_requests;
  receive_requests_ += receive_requests;
  return static_cast<EndId>(owners_.size() - 1);
}

void HostAgent::restarted() {
  running_ = true;
  device_is_gone_ = false;
  ready_ = false;
  ++life_;
  if (listener_ != nullptr) listener_->restarted(host_);
  wakes_ = {};
  receives_held_until_ = Time{0};
  verbs_.restarted();
}

bool HostAgent::make_ready() {
  if (ready_) return true;
  if (verbs_.refused(fabric::Verb::alloc_pd)) return false;
  const auto pd = nic().allocate_pd();
  if (!pd) return false;
  const auto entries = [this](std::uint64_t requests) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(requests + 1, nic().config().limits.max_cqe));
  };
  if (verbs_.refused(fabric::Verb::create_cq)) return false;
  const auto send_cq = nic().create_cq(entries(send_requests_), 0);
  if (verbs_.refused(fabric::Verb::create_cq)) return false;
  const auto receive_cq = nic().create_cq(entries(receive_requests_), 1, false, 1);
  if (!send_cq || !receive_cq) return false;
  pd_ = *pd;
  send_cq_ = *send_cq;
  receive_cq_ = *receive_cq;
  ready_ = true;
  return true;
}

void HostAgent::wake_at(Time time, EndId end) {
  wakes_.push({time, wakes_made_++, end});
  world_.wake_at(host_, time);
}

void HostAgent::run(Time now) {
  if (!running_ || now < verbs_.busy_until()) return;
  if (ready_) {
    poll(receive_cq_, true, now);
    poll(send_cq_, false, now);
  }
  drain_events(now);
  run_wakes(now);
}

void HostAgent::poll(nic::CqHandle cq, bool receives, Time now) {
  std::array<nic::Completion, 32> some;
  while (const std::size_t count = nic().poll_cq(cq, some)) {
    for (std::size_t i = 0; i < count; ++i) {
      EndOwner& owner = *owners_[some[i].wr_id >> 32];
      if (receives)
        owner.received(some[i], now);
      else
        owner.sent(some[i], now);
    }
  }
}

void HostAgent::run_wakes(Time now) {
  while (!wakes_.empty() && wakes_.top().time <= now) {
    const EndId end = wakes_.top().end;
    wakes_.pop();
    owners_[end]->woken(now);
  }
}

void HostAgent::drain_events(Time now) {
  while (const auto event = nic().poll_event()) {
    if (event->type == nic::AsyncEventType::device_fatal) device_is_gone_ = true;
    if (journal_.open())
      journal_.line(now,
                    fmt::format("{} event {}", world_.network().topology().vertices[host_].name, name_of(event->type)));
  }
  while (nic().poll_completion_event()) {
  }
}

nic::VerbsResult<nic::MemoryRegion> HostAgent::register_memory(nic::MemoryRegionInit init) {
  if (const auto error = verbs_.refused(fabric::Verb::reg_mr)) return Failure{*error};
  if (nic().config().page_fault_delay.ns != 0) init.access |= nic::kOnDemand;
  auto region = nic().register_memory(init);
  if (region && listener_ != nullptr) listener_->registered(host_, init, *region);
  return region;
}

void HostAgent::deregister_memory(const nic::MemoryRegion& region) {
  if (verbs_.refused(fabric::Verb::dereg_mr)) return;
  (void)nic().deregister_memory(region.handle);
  if (listener_ != nullptr) listener_->deregistered(host_, region);
}

}  // namespace verbena::scenarios
