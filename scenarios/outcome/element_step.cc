#include "scenarios/outcome/element_step.h"

#include <algorithm>
#include <variant>

namespace verbena::scenarios {
namespace {

template <class Wanted>
std::optional<Wanted> only(const ElementEffect& effect) {
  const Wanted* const wanted = std::get_if<Wanted>(&effect);
  return wanted == nullptr ? std::nullopt : std::optional(*wanted);
}

}  // namespace

std::optional<ElementStep> element_step(const ElementFault& fault, std::uint32_t number) {
  const ElementFaultWord& word = element_fault_word(fault.kind);
  const bool flaps = word.in_between.has_value();
  const std::uint64_t steps = flaps ? 2 * std::uint64_t{std::max(fault.times, 1u)} : 1;
  const auto effect = only<fabric::ElementChange::Kind>(word.effect);
  const auto change = flaps && number % 2 == 1 ? word.in_between : effect;
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
  return only<NodeChange>(element_fault_word(kind).effect);
}

std::optional<SoftwareFault> software_fault_of(ElementFault::Kind kind) {
  return only<SoftwareFault>(element_fault_word(kind).effect);
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
