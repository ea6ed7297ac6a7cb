#include "emulator/cm/listeners.h"

#include <algorithm>

namespace verbena::cm {

bool Listeners::add(std::uint64_t service_id, std::uint64_t context, wire::IpVersions who) {
  const auto is_taken = [&](wire::IpVersion asker) {
    return includes(who, asker) && contexts_.contains({service_id, asker});
  };
  if (std::ranges::any_of(wire::kIpVersions, is_taken)) return false;
  for (const wire::IpVersion asker : wire::kIpVersions)
    if (includes(who, asker)) contexts_[{service_id, asker}] = context;
  return true;
}

void Listeners::remove(std::uint64_t service_id, std::uint64_t context) {
  for (const wire::IpVersion asker : wire::kIpVersions) {
    const auto found = contexts_.find({service_id, asker});
    if (found != contexts_.end() && found->second == context) contexts_.erase(found);
  }
}

const std::uint64_t* Listeners::find(std::uint64_t service_id, wire::IpVersions asker) const {
  for (const wire::IpVersion one : wire::kIpVersions) {
    const auto found = includes(asker, one) ? contexts_.find({service_id, one}) : contexts_.end();
    if (found != contexts_.end()) return &found->second;
  }
  return nullptr;
}

bool Listeners::has(std::uint64_t service_id) const {
  return find(service_id, wire::kAnyIpVersion) != nullptr;
}

}  // namespace verbena::cm
