#include "verbs-shim/rdma_cm/route.h"

#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <string_view>

#include "emulator/host/node/network_device.h"
#include "emulator/host/os/abstract_name.h"

namespace verbena::shim::rdma_cm {
namespace {

using Devices = std::span<const host::DeviceIdentity* const>;

template <class Condition>
std::optional<std::size_t> find_device(Devices devices, Condition&& condition) {
  const auto found = std::ranges::find_if(devices, [&](const host::DeviceIdentity* one) { return condition(*one); });
  if (found == devices.end()) return std::nullopt;
  return static_cast<std::size_t>(found - devices.begin());
}

/// The address that this machine's packets to `destination` have. Connecting a datagram socket asks for the route and
/// sends nothing. Nothing: there is no route.
std::optional<wire::Gid> ask_kernel(const Address& destination) {
  constexpr std::uint16_t kDiscardPort = 9;
  Address to = destination;
  if (to.gid.is_ipv4()) to.family = AF_INET;
  to.port = kDiscardPort;
  sockaddr_storage name;
  address_to(to, name);
  const host::HeldName probe(::socket(to.family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  socklen_t bytes = sizeof name;
  if (!probe.held() ||
      ::connect(probe.descriptor(), reinterpret_cast<const sockaddr*>(&name), static_cast<socklen_t>(bytes_of(to))) !=
          0 ||
      ::getsockname(probe.descriptor(), reinterpret_cast<sockaddr*>(&name), &bytes) != 0)
    return std::nullopt;
  return address_from(&name, bytes).gid;
}

/// Of devices on the machine's interfaces: the one with the source address, else, for that address may be the first of
/// several of its interface, the first one on that interface.
std::optional<std::size_t> find_machine_route(Devices devices, const Address& destination) {
  const auto source = ask_kernel(destination);
  if (!source) return std::nullopt;
  if (const auto found = find_device(devices, [&](const auto& one) { return one.address == *source; })) return found;
  char name[IF_NAMESIZE];
  if (!host::find_network_device(source->octets, name)) return std::nullopt;
  return find_device(devices, [&](const auto& one) {
    char buffer[IF_NAMESIZE];
    return std::string_view(host::network_device_of(one, one.address, buffer)) == name;
  });
}

}  // namespace

std::uint32_t interface_index_of(const host::DeviceIdentity& device) {
  if (device.own_interface != nullptr) return device.own_interface->index;
  char buffer[IF_NAMESIZE];
  return if_nametoindex(host::network_device_of(device, device.address, buffer));
}

bool has_address(const host::DeviceIdentity& device, const Address& address) {
  if (address.needs_scope())
    return host::link_local_of(device.address) == address.gid && interface_index_of(device) == address.scope;
  return device.address == address.gid;
}

std::optional<std::size_t> find_route(Devices devices, const Address& destination) {
  if (destination.needs_scope())
    return find_device(devices, [&](const auto& one) { return interface_index_of(one) == destination.scope; });
  if (const auto own = find_device(devices, [&](const auto& one) { return one.address == destination.gid; }))
    return own;
  if (const auto network = host::device_network_of(destination.gid))
    return find_device(devices, [&](const auto& one) { return host::device_network_of(one.address) == network; });
  // The kernel's table is none of a node that stands on no interface of it.
  if (!find_device(devices, [](const auto& one) { return one.own_interface == nullptr; })) return std::nullopt;
  return find_machine_route(devices, destination);
}

}  // namespace verbena::shim::rdma_cm
