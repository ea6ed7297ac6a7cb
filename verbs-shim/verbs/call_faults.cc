#include "verbs-shim/verbs/call_faults.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <ctime>
#include <utility>

#include "emulator/host/os/call_state.h"
#include "emulator/host/os/clock.h"
#include "verbs-shim/verbs/devices.h"
#include "verbs-shim/verbs/objects.h"

namespace verbena::shim {
namespace {

std::uint32_t number_of(const ibv_device* device) {
  return device_of(const_cast<ibv_device*>(device))->identity.number.device;
}

void wait(Duration time) {
  constexpr std::int64_t kNsPerSecond = 1'000'000'000;
  timespec left{.tv_sec = time.ns / kNsPerSecond, .tv_nsec = time.ns % kNsPerSecond};
  const host::OutsideCall outside;
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

}  // namespace

std::atomic<CallFaults*> CallFaults::plan_{nullptr};

template <class Ask>
auto CallFaults::judge(Ask&& ask) {
  const std::scoped_lock lock(mutex_);
  fabric::VerbFaults& faults = *made_.back();
  auto verdict = ask(faults);
  count_hits(faults.struck());
  return verdict;
}

void CallFaults::count_hits(std::span<const std::uint32_t> rules) const {
  for (const std::uint32_t rule : rules) {
    if (rule >= kAdded)
      count_added_(rule);
    else if (hits_ != nullptr)
      hits_->add(rule);
  }
}

/// One device's view of the plan.
class CallFaults::DeviceJudge final : public nic::CompletionJudge {
 public:
  DeviceJudge(CallFaults& plan, std::uint32_t device) : plan_(plan), device_(device) {}
  nic::CompletionVerdict judge(const nic::JudgedCompletion& completion, Time now) override {
    if (plan_.faults().passes(completion, device_)) return {};
    return plan_.judge([&](fabric::VerbFaults& faults) { return faults.judge(completion, device_, now); });
  }
  Time next_event() override {
    const std::scoped_lock lock(plan_.mutex_);
    return plan_.made_.back()->next_event(device_);
  }
  std::optional<nic::PlannedEvent> take_event(Time now) override {
    const std::scoped_lock lock(plan_.mutex_);
    return plan_.made_.back()->take_event(device_, now);
  }
  void event_raised(const nic::PlannedEvent& event) override {
    plan_.judge([&](fabric::VerbFaults& faults) {
      faults.event_raised(event);
      return true;
    });
  }

 private:
  CallFaults& plan_;
  const std::uint32_t device_;
};

CallFaults::CallFaults(std::vector<fabric::VerbRule> rules, std::uint64_t seed, const host::FaultHits* hits)
    : hits_(hits) {
  made_.push_back(std::make_unique<fabric::VerbFaults>(std::move(rules), seed));
  made_.back()->begin(host::clock_now());
  faults_ = made_.back().get();
}
CallFaults::~CallFaults() = default;

void CallFaults::replace_added(std::vector<fabric::VerbRule> rules, std::function<void(std::uint32_t)> count) {
  const std::scoped_lock lock(mutex_);
  auto next = std::make_unique<fabric::VerbFaults>(*made_.back());
  next->replace_added(std::move(rules), host::clock_now());
  made_.push_back(std::move(next));
  faults_.store(made_.back().get(), std::memory_order_release);
  count_added_ = std::move(count);
}

nic::CompletionJudge* CallFaults::judge_of(std::uint32_t device) {
  if (!faults().concerns_completions()) return nullptr;
  const std::scoped_lock lock(mutex_);
  return judges_.emplace_back(std::make_unique<DeviceJudge>(*this, device)).get();
}

void CallFaults::install(std::vector<fabric::VerbRule> rules, std::uint64_t seed, const host::FaultHits* hits) {
  if (!rules.empty()) put_in_force(new CallFaults(std::move(rules), seed, hits));
}

CallFaults& CallFaults::plan_for_later(std::uint64_t seed) {
  if (plan() == nullptr) put_in_force(new CallFaults({}, seed));
  return *plan();
}

void CallFaults::put_in_force(CallFaults* plan_made) {
  plan_.store(plan_made, std::memory_order_release);
  pthread_atfork([] { plan()->before_fork(); }, [] { plan()->after_fork(); }, [] { plan()->after_fork(); });
}

int CallFaults::before(const fabric::VerbCall& call) {
  if (faults().passes(call)) return 0;
  const auto verdict = judge(
      [&](fabric::VerbFaults& of_now) { return of_now.judge(call, of_now.needs_time() ? host::clock_now() : Time{}); });
  if (verdict.delay.ns > 0) wait(verdict.delay);
  if (verdict.kills) ::kill(::getpid(), SIGKILL);
  return verdict.error;
}

fabric::ConnectionVerdict CallFaults::instead_of(fabric::ConnectionStep step, std::uint32_t device) {
  return judge([&](fabric::VerbFaults& faults) { return faults.judge(step, device, host::clock_now()); });
}

fabric::VerbCall call_about(fabric::Verb verb, const ibv_device* device) {
  return {.verb = verb, .device = number_of(device)};
}

fabric::VerbCall call_about(fabric::Verb verb, const ibv_context* context) {
  return call_about(verb, context->device);
}

fabric::VerbCall call_about(fabric::Verb verb, const ibv_qp* qp) {
  return {.verb = verb, .qp = qp_of(const_cast<ibv_qp*>(qp))->number, .device = number_of(qp->context->device)};
}

}  // namespace verbena::shim
