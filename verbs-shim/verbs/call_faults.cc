#include "verbs-shim/verbs/call_faults.h"

#include <pthread.h>

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

void CallFaults::install(std::vector<fabric::VerbRule> rules, std::uint64_t seed) {
  if (rules.empty()) return;
  plan_.store(new CallFaults(std::move(rules), seed), std::memory_order_release);
  pthread_atfork([] { plan()->before_fork(); }, [] { plan()->after_fork(); }, [] { plan()->after_fork(); });
}

int CallFaults::before(const fabric::VerbCall& call) {
  fabric::VerbVerdict verdict;
  {
    const std::scoped_lock lock(mutex_);
    verdict = faults_.judge(call, host::clock_now());
  }
  if (verdict.delay.ns > 0) wait(verdict.delay);
  return verdict.error;
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
