#include "verbs-shim/rdma_cm/ports.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace verbena::shim::rdma_cm {
namespace {

using wire::IpVersion;

constexpr std::uint16_t kEphemeralFirst = 32768;
constexpr std::uint16_t kEphemeralCount = 28232;  // to 60999, as net.ipv4.ip_local_port_range
constexpr unsigned kEphemeralTries = 64;

bool is_family_only(const Id& id) {
  // net.ipv6.bindv6only is 0, as it is unless somebody changes it.
  return id.family_only.value_or(id.source.family == AF_INET);
}

wire::IpVersions own_version(const Id& id) {
  return {id.source.family == AF_INET, id.source.family == AF_INET6, id.source.family == AF_IB};
}

/// Whose requests a listener gets: cma_match_private_data, cma_match_net_dev. One by GIDs gets all.
wire::IpVersions audience_of(const Id& id) {
  if (id.source.family == AF_IB) return wire::kAnyIpVersion;
  return id.source.is_any() && !is_family_only(id) ? wire::kBothIpVersions : own_version(id);
}

}  // namespace

std::uint16_t Ports::ephemeral() {
  return static_cast<std::uint16_t>(kEphemeralFirst + random_() % kEphemeralCount);
}

/// Whether the IDs of this process that are bound to the port let `id` be there as well.
int Ports::check(const Id& id, std::uint16_t port, bool reuse) const {
  for (const auto& other : ids_) {
    const bool is_owner = other != nullptr && other.get() != &id && other->owns_port() && other->source.port == port &&
                          service_id(*other, other->source) == service_id(id, id.source);
    if (!is_owner || (reuse && other->reuse_address)) continue;
    if (is_family_only(id) && is_family_only(*other) && id.source.family != other->source.family) continue;
    if (id.source.is_any() || other->source.is_any()) return EADDRNOTAVAIL;
    if (id.source.family == other->source.family && id.source.gid == other->source.gid) return EADDRINUSE;
  }
  return 0;
}

int Ports::claim(Id& id, DevicePort& at, IpVersion version) {
  const std::uint64_t service = service_id(id, id.source);
  std::weak_ptr<host::ServiceClaim>& known = claims_[{&at, service, version}];
  std::shared_ptr<host::ServiceClaim> own = known.lock();
  int error = 0;
  if (own == nullptr) {
    auto made = at.services().claim({service, version, id.source.is_any()}, error);
    if (made) known = own = std::make_shared<host::ServiceClaim>(std::move(*made));
  }
  if (own != nullptr) id.claims.push_back(std::move(own));
  return error;
}

int Ports::take(Id& id, const Address& address) {
  if (address.port == 0) {
    for (unsigned tries = 0; tries < kEphemeralTries; ++tries) {
      Address chosen = address;
      set_port(chosen, ephemeral());
      const int error = take(id, chosen);
      if (error != EADDRINUSE && error != EADDRNOTAVAIL) return error;
    }
    return EADDRNOTAVAIL;
  }
  const Address before = id.source;
  id.source = address;
  int error = check(id, address.port, id.reuse_address);
  // What other processes of the node have stands in the way of all versions unless each is for its own only.
  const wire::IpVersions claimed = is_family_only(id) ? own_version(id) : wire::kAnyIpVersion;
  const auto places = error == 0 ? devices_.at(address) : std::vector<DevicePort*>{};
  if (error == 0 && places.empty()) error = ENODEV;
  for (DevicePort* const place : places)
    for (const IpVersion version : wire::kIpVersions)
      if (error == 0 && includes(claimed, version)) error = claim(id, *place, version);
  if (error == 0) return 0;
  id.claims.clear();
  id.source = before;
  return error;
}

int Ports::start_listening(Id& id) {
  if (!id.owns_port())
    if (const int error = take(id, Address(id.source)); error != 0) return error;
  if (id.reuse_address) {
    // Whoever listens shares the port with nobody (rdma_listen of the kernel).
    if (const int error = check(id, id.source.port, false); error != 0) return error;
    id.reuse_address = false;
  }
  const std::uint64_t service = service_id(id, id.source);
  const wire::IpVersions audience = audience_of(id);
  const std::vector<DevicePort*> places = devices_.at(id.source);
  if (places.empty()) return ENODEV;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const bool is_free = places[i]->run_connections(
        [&](cm::ConnectionManager& manager, Time) { return manager.listeners().add(service, id.serial, audience); });
    if (is_free) continue;
    for (std::size_t before = 0; before < i; ++before)
      places[before]->run_connections([&](cm::ConnectionManager& manager, Time) {
        manager.listeners().remove(service, id.serial);
        return true;
      });
    return EADDRINUSE;
  }
  for (DevicePort* const place : places) tell_listening(id, *place);
  return 0;
}

void Ports::tell_listening(Id& id, DevicePort& at) {
  for (const IpVersion version : wire::kIpVersions)
    if (id.owns_port() && includes(audience_of(id), version))
      id.listening.push_back({&at, at.services().serve(service_id(id, id.source), version)});
}

bool Ports::listen_on_more(Id& id) {
  const auto listens_at = [&](const DevicePort* place) {
    return std::ranges::any_of(id.listening, [&](const Listening& one) { return one.at == place; });
  };
  for (DevicePort* const place : devices_.at(id.source)) {
    if (listens_at(place)) continue;
    place->run_connections([&](cm::ConnectionManager& manager, Time) {
      return manager.listeners().add(service_id(id, id.source), id.serial, audience_of(id));
    });
    tell_listening(id, *place);
  }
  return std::ranges::all_of(devices_, [&](const DevicePort& one) { return listens_at(&one); });
}

void Ports::release(Id& id) {
  id.listening.clear();
  id.claims.clear();
  std::erase_if(claims_, [](const auto& it) { return it.second.expired(); });
}

}  // namespace verbena::shim::rdma_cm
