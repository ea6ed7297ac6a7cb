#include "scenarios/outcome/element_step.h"

#include <algorithm>
#include <variant>

namespace verbena::scenarios {

std::optional<ElementStep> element_step(const Fault& fault, std::uint32_t number) {
  const auto* const change = std::get_if<fabric::ElementChange>(&fault.what);
  const std::uint64_t steps = fault.flap ? 2 * std::uint64_t{std::max(fault.flap->times, 1u)} : 1;
  if (change == nullptr || number >= steps) return std::nullopt;
  ElementStep step{.change = *change};
  if (!fault.flap) return step;
  step.after = (fault.flap->down + fault.flap->up) * static_cast<std::int64_t>(number / 2);
  if (number % 2 == 1) {
    step.after = step.after + fault.flap->down;
    step.change.kind = fault.flap->in_between;
  }
  return step;
}

}  // namespace verbena::scenarios
