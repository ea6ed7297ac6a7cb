#include "emulator/cm/listeners.h"

namespace verbena::cm {

bool Listeners::add(std::uint64_t service_id, std::uint64_t context, wire::IpVersions who) {
  const bool is_taken =
      (who.ipv4 && contexts_.contains({service_id, false})) || (who.ipv6 && contexts_.contains({service_id, true}));
  if (is_taken) return false;
  if (who.ipv4) contexts_[{service_id, false}] = context;
  if (who.ipv6) contexts_[{service_id, true}] = context;
  return true;
}

void Listeners::remove(std::uint64_t service_id, std::uint64_t context) {
  for (const bool is_ipv6 : {false, true}) {
    const auto found = contexts_.find({service_id, is_ipv6});
    if (found != contexts_.end() && found->second == context) contexts_.erase(found);
  }
}

const std::uint64_t* Listeners::find(std::uint64_t service_id, wire::IpVersions asker) const {
  const auto of = [&](bool is_ipv6) {
    const auto found = contexts_.find({service_id, is_ipv6});
    return found == contexts_.end() ? nullptr : &found->second;
  };
  if (asker.ipv4 != asker.ipv6) return of(asker.ipv6);
  const std::uint64_t* const one = of(false);
  const std::uint64_t* const other = of(true);
  return one != nullptr && other != nullptr && *one == *other ? one : nullptr;
}

bool Listeners::has(std::uint64_t service_id) const {
  return contexts_.contains({service_id, false}) || contexts_.contains({service_id, true});
}

}  // namespace verbena::cm
