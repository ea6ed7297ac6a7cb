#include "emulator/cm/listeners.h"

#include <algorithm>

namespace verbena::cm {

bool Listeners::includes(wire::IpVersions who, Asker asker) {
  switch (asker) {
    case Asker::ipv4:
      return who.ipv4;
    case Asker::ipv6:
      return who.ipv6;
    case Asker::none:
      return who.none;
  }
  return false;
}

bool Listeners::add(std::uint64_t service_id, std::uint64_t context, wire::IpVersions who) {
  const auto is_taken = [&](Asker asker) { return includes(who, asker) && contexts_.contains({service_id, asker}); };
  if (std::ranges::any_of(kAskers, is_taken)) return false;
  for (const Asker asker : kAskers)
    if (includes(who, asker)) contexts_[{service_id, asker}] = context;
  return true;
}

void Listeners::remove(std::uint64_t service_id, std::uint64_t context) {
  for (const Asker asker : kAskers) {
    const auto found = contexts_.find({service_id, asker});
    if (found != contexts_.end() && found->second == context) contexts_.erase(found);
  }
}

const std::uint64_t* Listeners::find(std::uint64_t service_id, wire::IpVersions asker) const {
  for (const Asker one : kAskers) {
    const auto found = includes(asker, one) ? contexts_.find({service_id, one}) : contexts_.end();
    if (found != contexts_.end()) return &found->second;
  }
  return nullptr;
}

bool Listeners::has(std::uint64_t service_id) const {
  return find(service_id, wire::kAnyIpVersion) != nullptr;
}

}  // namespace verbena::cm
