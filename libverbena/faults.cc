// World: what goes wrong on its links.
// Tested by: tests/libverbena/world_test.cc
#include "emulator/fabric/element_faults.h"
#include "libverbena/state.h"

namespace libverbena {
namespace {

fabric::ElementChange of_cable(fabric::ElementChange::Kind kind, fabric::LinkId link) {
  fabric::ElementChange change;
  change.kind = kind;
  change.links = {{link.cable, false}, {link.cable, true}};
  return change;
}

}  // namespace

Result<std::uint32_t> World::add_fault(const Link& link, std::string_view fault) {
  const auto id = state_->find(link);
  if (!id) return id.error();
  auto rule = fabric::parse_fault(fault);
  if (!rule) return invalid(rule.error());
  if (rule->direction != fabric::FaultDirection::tx)
    return invalid("dir= has no meaning here: the link says which way");
  const std::uint32_t number = state_->next_fault++;
  state_->world.add_rule(number, {id.value()}, std::move(*rule));
  state_->faults.insert(number);
  return number;
}

Result<void> World::remove_fault(std::uint32_t id) {
  if (state_->faults.erase(id) == 0) return invalid("there is no fault " + std::to_string(id));
  state_->world.remove_rule(id);
  return {};
}

Result<void> World::set_cable_up(const Link& cable, bool up) {
  const auto id = state_->find(cable);
  if (!id) return id.error();
  using Kind = fabric::ElementChange::Kind;
  state_->world.change(of_cable(up ? Kind::link_up : Kind::link_down, id.value()));
  return {};
}

Result<void> World::set_cable_rate(const Link& cable, std::uint64_t bits_per_second) {
  const auto id = state_->find(cable);
  if (!id) return id.error();
  if (bits_per_second > kRateMax) return invalid("a rate is at most 100 Tbit/s");
  fabric::ElementChange change = of_cable(fabric::ElementChange::Kind::link_rate, id.value());
  change.rate_bits_per_second = bits_per_second;
  state_->world.change(change);
  return {};
}

Result<void> World::set_cable_delay(const Link& cable, Duration delay, Duration jitter) {
  const auto id = state_->find(cable);
  if (!id) return id.error();
  if (delay < Duration(0) || jitter < Duration(0) || delay > kDelayMax || jitter > kDelayMax)
    return invalid("a delay and its jitter are between 0 and 60 s");
  fabric::ElementChange change = of_cable(fabric::ElementChange::Kind::link_delay, id.value());
  change.delay = to_internal(delay);
  change.jitter = to_internal(jitter);
  state_->world.change(change);
  return {};
}

Result<void> World::intercept(const Link& link, Interceptor interceptor) {
  const auto id = state_->find(link);
  if (!id) return id.error();
  state_->interceptors[id.value()] = std::move(interceptor);
  state_->watch(id.value(), false);
  return {};
}

}  // namespace libverbena
