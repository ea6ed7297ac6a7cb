#include "scenarios/workload/message_plan.h"

#include <algorithm>
#include <array>
#include <span>

#include "emulator/fabric/chance.h"

namespace verbena::scenarios {
namespace {

constexpr std::array kMixedRc{Verb::send, Verb::write,        Verb::write_immediate,
                              Verb::read, Verb::compare_swap, Verb::fetch_add};
constexpr std::array kMixedUc{Verb::send, Verb::write, Verb::write_immediate};
constexpr std::array kMixedUd{Verb::send};

std::span<const Verb> mixed_verbs(Transport transport) {
  switch (transport) {
    case Transport::rc:
      return kMixedRc;
    case Transport::uc:
      return kMixedUc;
    case Transport::ud:
      return kMixedUd;
  }
  return {};
}

constexpr std::uint32_t kAtomicOctets = 8;

}  // namespace

MessagePlan::MessagePlan(const Workload& workload, std::uint64_t seed) : workload_(workload), seed_(seed) {
  for (const SizeChoice& choice : workload.sizes) {
    weights_ += choice.weight;
    octets_max_ = std::max(octets_max_, choice.most);
  }
  if (has(Verb::compare_swap) || has(Verb::fetch_add)) octets_max_ = std::max(octets_max_, kAtomicOctets);
}

bool MessagePlan::has(Verb verb) const {
  if (workload_.verb != Verb::mixed) return workload_.verb == verb;
  const auto verbs = mixed_verbs(workload_.transport);
  return std::find(verbs.begin(), verbs.end(), verb) != verbs.end();
}

Verb MessagePlan::verb(std::uint64_t number) const {
  if (workload_.verb != Verb::mixed) return workload_.verb;
  const auto verbs = mixed_verbs(workload_.transport);
  return verbs[fabric::mix_all({seed_, number, 1}) % verbs.size()];
}

Message MessagePlan::message(std::uint64_t number) const {
  Message message{verb(number), kAtomicOctets};
  if (is_atomic(message.verb)) return message;
  if (workload_.sizes.size() == 1 && workload_.sizes[0].least == workload_.sizes[0].most) {
    message.octets = workload_.sizes[0].most;
    return message;
  }
  message.octets = 0;
  if (weights_ == 0) return message;
  std::uint64_t draw = fabric::mix_all({seed_, number, 2}) % weights_;
  for (const SizeChoice& choice : workload_.sizes) {
    if (draw >= choice.weight) {
      draw -= choice.weight;
      continue;
    }
    const std::uint64_t width = std::uint64_t{choice.most} - choice.least + 1;
    message.octets = choice.least + static_cast<std::uint32_t>(fabric::mix_all({seed_, number, 3}) % width);
    return message;
  }
  return message;
}

}  // namespace verbena::scenarios
