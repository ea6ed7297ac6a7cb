#include "scenarios/workload/host_faults.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace verbena::scenarios {
void HostFaults::add(std::uint32_t id, fabric::VerbRule rule, Time now) {
  rule.id = id;
  rules_.push_back(std::move(rule));
  faults_.replace_added(rules_, now);
}

std::uint64_t HostFaults::remove(std::uint32_t id, Time now) {
  const std::uint64_t hits = faults_.hits(id);
  std::erase_if(rules_, [&](const fabric::VerbRule& rule) { return rule.id == id; });
  faults_.replace_added(rules_, now);
  return hits;
}

fabric::VerbVerdict HostFaults::judge_call(fabric::Verb verb, std::optional<std::uint32_t> qp, Time now) {
  return faults_.judge({.verb = verb, .qp = qp, .device = device_}, now);
}

const fabric::VerbRule* HostFaults::struck() const {
  if (faults_.struck().empty()) return nullptr;
  const auto found = std::ranges::find(rules_, faults_.struck().front(), &fabric::VerbRule::id);
  return found == rules_.end() ? nullptr : &*found;
}

nic::VerbsError error_of(int error) {
  using enum nic::VerbsError;
  constexpr std::array<std::pair<int, nic::VerbsError>, 7> kErrors{{{ENOMEM, no_memory},
                                                                    {EBUSY, busy},
                                                                    {EOPNOTSUPP, not_supported},
                                                                    {EFAULT, fault},
                                                                    {ENOENT, not_found},
                                                                    {EPERM, not_permitted},
                                                                    {EIO, no_device}}};
  const auto found = std::ranges::find(kErrors, error, &std::pair<int, nic::VerbsError>::first);
  return found != kErrors.end() ? found->second : invalid_argument;
}

}  // namespace verbena::scenarios
