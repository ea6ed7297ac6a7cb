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
  auto verdict = ask(faults_);
  if (hits_ != nullptr) hits_->add(faults_.struck());
  return verdict;
}

/// One device's view of the plan.
class CallFaults::DeviceJudge final : public nic::CompletionJudge {
 public:
  DeviceJudge(CallFaults& plan, std::uint32_t device) : plan_(plan), device_(device) {}
  nic::CompletionVerdict judge(const nic::JudgedCompletion& completion, Time now) override {
    if (!plan_.faults_.may_hit(completion, device_)) return {};
    return plan_.judge([&](fabric::VerbFaults& faults) { return faults.judge(completion, device_, now); });
  }
  Time next_event() override {
    const std::scoped_lock lock(plan_.mutex_);
    return plan_.faults_.next_event(device_);
  }
  std::optional<nic::PlannedEvent> take_event(Time now) override {
    const std::scoped_lock lock(plan_.mutex_);
    return plan_.faults_.take_event(device_, now);
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
    : faults_(std::move(rules), seed), hits_(hits) {
  faults_.begin(host::clock_now());
}
CallFaults::~CallFaults() = default;

nic::CompletionJudge* CallFaults::judge_of(std::uint32_t device) {
  if (!faults_.concerns_completions()) return nullptr;
  const std::scoped_lock lock(mutex_);
  return judges_.emplace_back(std::make_unique<DeviceJudge>(*this, device)).get();
}

void CallFaults::install(std::vector<fabric::VerbRule> rules, std::uint64_t seed, const host::FaultHits* hits) {
  if (rules.empty()) return;
  plan_.store(new CallFaults(std::move(rules), seed, hits), std::memory_order_release);
  pthread_atfork([] { plan()->before_fork(); }, [] { plan()->after_fork(); }, [] { plan()->after_fork(); });
}

int CallFaults::before(const fabric::VerbCall& call) {
  if (!faults_.may_hit(call)) return 0;
  const auto verdict = judge(
      [&](fabric::VerbFaults& faults) { return faults.judge(call, faults.needs_time() ? host::clock_now() : Time{}); });
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
