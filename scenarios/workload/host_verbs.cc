#include "scenarios/workload/host_verbs.h"

#include <algorithm>

#include "emulator/nic/planned_faults.h"

namespace verbena::scenarios {

void HostVerbs::restarted() {
  qp_numbers_.clear();
  qps_made_ = 0;
  busy_until_ = Time{};
  faults_changed();
}

void HostVerbs::faults_changed() {
  if (!world_.is_running(host_) || !faults_.concern_completions()) return;
  nic::PlannedFaults::begin(nic(), faults_);
  world_.touch(host_);
}

std::optional<nic::VerbsError> HostVerbs::refused(fabric::Verb verb, std::optional<nic::QpHandle> qp) {
  was_refused_ = false;
  if (faults_.empty()) return std::nullopt;
  std::optional<std::uint32_t> number;
  if (qp)
    if (const auto known = qp_numbers_.find(qp->index); known != qp_numbers_.end()) number = known->second;
  const Time now = world_.now();
  const fabric::VerbVerdict verdict = faults_.judge_call(verb, number, now);
  if (verdict.delay.ns > 0) {
    busy_until_ = std::max(busy_until_, now) + verdict.delay;
    world_.wake_at(host_, busy_until_);
  }
  was_refused_ = verdict.error != 0;
  return was_refused_ ? std::optional(error_of(verdict.error)) : std::nullopt;
}

nic::VerbsResult<nic::QpHandle> HostVerbs::create_qp(nic::QpInit init) {
  if (const auto error = refused(fabric::Verb::create_qp)) return Failure{*error};
  init.number = qps_made_;
  const auto qp = nic().create_qp(init);
  if (qp) qp_numbers_[qp->index] = qps_made_++;
  return qp;
}

nic::VerbsResult<void> HostVerbs::destroy_qp(nic::QpHandle qp) {
  if (const auto error = refused(fabric::Verb::destroy_qp, qp)) return Failure{*error};
  return nic().destroy_qp(qp);
}

nic::VerbsResult<void> HostVerbs::modify_qp(nic::QpHandle qp, const nic::QpAttributes& attributes, std::uint32_t mask,
                                            Time now) {
  if (const auto error = refused(fabric::Verb::modify_qp, qp)) return Failure{*error};
  return nic().modify_qp(qp, attributes, mask, now);
}

nic::VerbsResult<nic::AhHandle> HostVerbs::create_ah(nic::PdHandle pd, const nic::AddressVector& path) {
  if (const auto error = refused(fabric::Verb::create_ah)) return Failure{*error};
  return nic().create_ah(pd, path);
}

nic::VerbsResult<void> HostVerbs::post_send(nic::QpHandle qp, const nic::SendRequest& request, Time now) {
  if (const auto error = refused(fabric::Verb::post_send, qp)) return Failure{*error};
  return nic().post_send(qp, request, now);
}

nic::VerbsResult<void> HostVerbs::post_receive(nic::QpHandle qp, const nic::ReceiveRequest& request) {
  if (const auto error = refused(fabric::Verb::post_recv, qp)) return Failure{*error};
  return nic().post_receive(qp, request);
}

}  // namespace verbena::scenarios
