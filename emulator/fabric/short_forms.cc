#include "emulator/fabric/short_forms.h"

#include <string>

namespace verbena::fabric {
namespace {

std::optional<VerbRule> failing(const std::string& verb, std::uint32_t times) {
  return *parse_verb_rule("fail verb=" + verb + " count=" + std::to_string(times));
}

}  // namespace

std::optional<VerbRule> verb_rule_of(const SoftwareFault& fault) {
  using enum SoftwareFault::Kind;
  VerbRule rule;
  rule.count_max = fault.times;
  switch (fault.kind) {
    case device_removal:
    case rnr_storm:
      return std::nullopt;
    case completion_status:
      rule.action = VerbAction::completion;
      rule.of = CompletionOf::send;
      rule.status = static_cast<nic::CompletionStatus>(fault.status);
      rule.only_report = true;
      return rule;
    case registration_failure:
      return failing("reg_mr", fault.times);
    case post_failure:
      return failing("post_send", fault.times);
  }
  return std::nullopt;
}

std::optional<HostVerbRule> host_verb_rule_of(const Fault& fault) {
  if (const auto* const verbs = std::get_if<HostVerbRule>(&fault)) return *verbs;
  const auto* const software = std::get_if<SoftwareFault>(&fault);
  auto rule = software != nullptr ? verb_rule_of(*software) : std::nullopt;
  if (!rule) return std::nullopt;
  return HostVerbRule{std::move(*rule), software->hosts};
}

}  // namespace verbena::fabric
