#include "scenarios/outcome/element_step.h"

#include <algorithm>
#include <variant>

namespace verbena::scenarios {
namespace {

using Change = fabric::ElementChange::Kind;

/// What a step of a fault is: a change of the network, or of nodes; neither: one of their software.
using Effect = std::variant<std::monostate, Change, NodeChange>;

Effect effect_of(ElementFault::Kind kind, std::uint32_t step = 0) {
  using enum ElementFault::Kind;
  switch (kind) {
    case link_down:
      return Change::link_down;
    case link_up:
      return Change::link_up;
    case link_flap:
      return step % 2 == 0 ? Change::link_down : Change::link_up;
    case link_rate:
      return Change::link_rate;
    case link_delay:
      return Change::link_delay;
    case partition:
      return Change::partition;
    case heal:
      return Change::heal;
    case switch_crash:
      return Change::switch_crash;
    case switch_restart:
      return Change::switch_restart;
    case port_error:
      return Change::port_error;
    case port_active:
      return Change::port_active;
    case pause_storm:
      return Change::pause_storm;
    case pause_calm:
      return Change::pause_calm;
    case node_crash:
      return NodeChange::crash;
    case node_freeze:
      return NodeChange::freeze;
    case node_thaw:
      return NodeChange::thaw;
    case node_restart:
      return NodeChange::restart;
    case device_removal:
    case rnr_storm:
    case completion_status:
    case registration_failure:
    case post_failure:
      break;
  }
  return {};
}

template <class Wanted>
std::optional<Wanted> only(const Effect& effect) {
  const Wanted* const wanted = std::get_if<Wanted>(&effect);
  return wanted == nullptr ? std::nullopt : std::optional(*wanted);
}

}  // namespace

std::optional<ElementStep> element_step(const ElementFault& fault, std::uint32_t number) {
  const bool flaps = fault.kind == ElementFault::Kind::link_flap;
  const std::uint64_t steps = flaps ? 2 * std::uint64_t{std::max(fault.times, 1u)} : 1;
  const auto change = only<Change>(effect_of(fault.kind, number));
  if (!change || number >= steps) return std::nullopt;
  ElementStep step;
  if (flaps) {
    step.after = (fault.down + fault.up) * static_cast<std::int64_t>(number / 2);
    if (number % 2 == 1) step.after = step.after + fault.down;
  }
  step.change = {.kind = *change,
                 .links = links_of(fault.links),
                 .hosts = fault.hosts,
                 .peers = fault.peers,
                 .switches = fault.switches,
                 .rate_bits_per_second = fault.rate_bits_per_second,
                 .delay = fault.delay,
                 .jitter = fault.jitter,
                 .classes = fault.classes};
  return step;
}

std::optional<NodeChange> node_change_of(ElementFault::Kind kind) {
  return only<NodeChange>(effect_of(kind));
}

std::vector<fabric::LinkId> links_of(const LinkChoice& choice) {
  std::vector<fabric::LinkId> links;
  if (choice.way != Way::backward) links.push_back({choice.cable, false});
  if (choice.way != Way::forward) links.push_back({choice.cable, true});
  return links;
}

std::vector<fabric::LinkId> links_of(const std::vector<LinkChoice>& choices) {
  std::vector<fabric::LinkId> links;
  for (const LinkChoice& choice : choices)
    for (const fabric::LinkId link : links_of(choice)) links.push_back(link);
  return links;
}

}  // namespace verbena::scenarios
