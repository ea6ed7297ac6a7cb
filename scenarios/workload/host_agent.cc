#include "scenarios/workload/host_agent.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "emulator/nic/planned_faults.h"
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
  qp_numbers_.clear();
  qps_made_ = 0;
  busy_until_ = Time{};
  faults_changed();
}

void HostAgent::faults_changed() {
  if (!world_.is_running(host_) || !faults_.concern_completions()) return;
  nic::PlannedFaults::begin(nic(), faults_);
  world_.touch(host_);
}

std::optional<nic::VerbsError> HostAgent::refused(fabric::Verb verb, std::optional<nic::QpHandle> qp) {
  std::optional<std::uint32_t> number;
  if (qp)
    if (const auto known = qp_numbers_.find(qp->index); known != qp_numbers_.end()) number = known->second;
  const Time now = world_.now();
  const fabric::VerbVerdict verdict = faults_.judge_call(verb, number, now);
  if (verdict.delay.ns > 0) {
    busy_until_ = std::max(busy_until_, now) + verdict.delay;
    world_.wake_at(host_, busy_until_);
  }
  return verdict.error == 0 ? std::nullopt : std::optional(error_of(verdict.error));
}

bool HostAgent::make_ready() {
  if (ready_) return true;
  if (refused(fabric::Verb::alloc_pd)) return false;
  const auto pd = nic().allocate_pd();
  if (!pd) return false;
  const auto entries = [this](std::uint64_t requests) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(requests + 1, nic().config().limits.max_cqe));
  };
  if (refused(fabric::Verb::create_cq)) return false;
  const auto send_cq = nic().create_cq(entries(send_requests_), 0);
  if (refused(fabric::Verb::create_cq)) return false;
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
  if (!running_ || now < busy_until_) return;
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
  if (const auto error = refused(fabric::Verb::reg_mr)) return Failure{*error};
  if (nic().config().page_fault_delay.ns != 0) init.access |= nic::kOnDemand;
  auto region = nic().register_memory(init);
  if (region && listener_ != nullptr) listener_->registered(host_, init, *region);
  return region;
}

void HostAgent::deregister_memory(const nic::MemoryRegion& region) {
  if (refused(fabric::Verb::dereg_mr)) return;
  (void)nic().deregister_memory(region.handle);
  if (listener_ != nullptr) listener_->deregistered(host_, region);
}

nic::VerbsResult<nic::QpHandle> HostAgent::create_qp(nic::QpInit init) {
  if (const auto error = refused(fabric::Verb::create_qp)) return Failure{*error};
  init.number = qps_made_;
  const auto qp = nic().create_qp(init);
  if (qp) qp_numbers_[qp->index] = qps_made_++;
  return qp;
}

nic::VerbsResult<void> HostAgent::destroy_qp(nic::QpHandle qp) {
  if (const auto error = refused(fabric::Verb::destroy_qp, qp)) return Failure{*error};
  return nic().destroy_qp(qp);
}

nic::VerbsResult<void> HostAgent::modify_qp(nic::QpHandle qp, const nic::QpAttributes& attributes, std::uint32_t mask,
                                            Time now) {
  if (const auto error = refused(fabric::Verb::modify_qp, qp)) return Failure{*error};
  return nic().modify_qp(qp, attributes, mask, now);
}

nic::VerbsResult<nic::AhHandle> HostAgent::create_ah(const nic::AddressVector& path) {
  if (const auto error = refused(fabric::Verb::create_ah)) return Failure{*error};
  return nic().create_ah(pd_, path);
}

nic::VerbsResult<void> HostAgent::post_send(nic::QpHandle qp, const nic::SendRequest& request, Time now) {
  if (const auto error = refused(fabric::Verb::post_send, qp)) return Failure{*error};
  return nic().post_send(qp, request, now);
}

nic::VerbsResult<void> HostAgent::post_receive(nic::QpHandle qp, const nic::ReceiveRequest& request) {
  if (const auto error = refused(fabric::Verb::post_recv, qp)) return Failure{*error};
  return nic().post_receive(qp, request);
}

}  // namespace verbena::scenarios
