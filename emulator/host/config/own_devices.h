// OwnDevices: which devices this process has, by its environment.
//
// Solely the list: how many they are, how many ports each has, the address and the interface of each port. libibverbs
// (environment.h) and the path shim both read it here, so that they agree. libc only: the path shim includes it.
// Tested by: tests/host/config/own_devices_test.cc
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "emulator/host/config/link_kind.h"
#include "emulator/host/config/own_node.h"
#include "emulator/host/config/variables.h"
#include "emulator/host/node/identity.h"
#include "emulator/host/os/text_list.h"

namespace verbena::host {

struct OwnDevices {
  enum class Kind : std::uint8_t {
    known,
    no_node,          // own_node.h says why
    wrong_count,      // of VERBENA_DEVICES
    wrong_ports,      // VERBENA_PORTS
    wrong_address,    // of port `of`, or it has none
    same_address,     // port `of` has that of one before it
    wrong_interface,  // port `of` has none, has that of one before it, or there are more than ports
  };
  Kind kind = Kind::known;
  std::uint32_t of = 0;
  std::uint32_t count = 1;
  std::uint32_t ports = 1;  // of each device
  bool are_rails = false;   // the ports are those of the node in a fabric, in this order
  std::array<wire::Gid, kDevicesMax * kPortsMax> addresses{node_address(kNodeDefault)};

  // In these lists the ports stand by device, then by port.
  constexpr std::uint32_t port_count() const { return count * ports; }
  constexpr DeviceNumber number(std::uint32_t place) const { return {place / ports, 1 + place % ports}; }
  constexpr std::optional<std::uint32_t> rail(std::uint32_t place) const {
    return are_rails ? std::optional(place) : std::nullopt;
  }
  constexpr std::uint32_t place(DeviceNumber number) const { return number.device * ports + number.port - 1; }

  /// Which of so many values is that of the port at `place`: one value is that of all, else there is one of each device
  /// or, if ports may differ, one of each port. Nothing: so many values do not fit.
  constexpr std::optional<std::size_t> value_at(std::uint32_t place, std::size_t values, bool by_port) const {
    if (values == 1) return 0;
    if (values == count) return place / ports;
    return by_port && values == port_count() ? std::optional<std::size_t>(place) : std::nullopt;
  }
};

/// The link of one port, where `links` may name an interface for each: "raw:eth1" of "raw:eth0,eth1" for the second.
/// Empty: it names too few.
struct PortLink {
  std::string_view kind;
  std::string_view interface;
};
constexpr PortLink link_of_port(std::string_view links, std::uint32_t place) {
  const std::string_view interfaces = interface_of(links);
  return {std::string_view(links.data(), std::min(links.find(':'), links.size())),
          interfaces.empty() ? interfaces : list_item(interfaces, place)};
}

namespace detail {
constexpr OwnDevices wrong_device(OwnDevices devices, OwnDevices::Kind kind, std::uint32_t of) {
  devices.kind = kind;
  devices.of = of;
  return devices;
}

/// Each port has an interface of its own, if the link names any.
constexpr OwnDevices with_interfaces(OwnDevices devices, std::string_view links) {
  const std::string_view interfaces = interface_of(links);
  if (interfaces.empty()) return devices;
  const auto named =
      static_cast<std::uint32_t>(std::min<std::size_t>(list_size(interfaces), devices.addresses.size() + 1));
  for (std::uint32_t i = 0; i < devices.port_count(); ++i) {
    const std::string_view interface = list_item(interfaces, i);
    if (interface.empty()) return wrong_device(devices, OwnDevices::Kind::wrong_interface, i);
    for (std::uint32_t k = 0; k < i; ++k)
      if (list_item(interfaces, k) == interface) return wrong_device(devices, OwnDevices::Kind::wrong_interface, i);
  }
  if (named <= devices.port_count()) return devices;
  return wrong_device(devices, OwnDevices::Kind::wrong_interface, devices.port_count());
}
}  // namespace detail

/// `count`: the text of VERBENA_DEVICES; empty: as many as there are addresses or interfaces for their ports, whichever
/// are more. `nodes`: that of VERBENA_NODE, `first` the address of the node by it (own_node.h). `links`: that of
/// VERBENA_LINK. `ports`: that of VERBENA_PORTS; empty: one.
inline OwnDevices devices_by(const wire::Gid& first, std::string_view count, std::string_view nodes,
                             std::string_view links, std::string_view ports = {}) {
  using Kind = OwnDevices::Kind;
  OwnDevices devices;
  const std::size_t listed = list_size(nodes);
  devices.addresses[0] = first;
  if (!ports.empty() && !detail::read_whole(ports, 1, kPortsMax, devices.ports))
    return detail::wrong_device(OwnDevices{}, Kind::wrong_ports, 0);
  const LinkKind* const kind = find_link_kind(link_of_port(links, 0).kind);
  devices.are_rails = kind != nullptr && kind->has_fabric_process;
  const std::size_t places = std::max(listed, list_size(interface_of(links)));
  devices.count =
      static_cast<std::uint32_t>(std::min<std::size_t>((places + devices.ports - 1) / devices.ports, kDevicesMax + 1));
  if (!count.empty() && !detail::read_whole(count, 1, kDevicesMax, devices.count))
    return detail::wrong_device(OwnDevices{}, Kind::wrong_count, 0);
  if (devices.count > kDevicesMax) return detail::wrong_device(OwnDevices{}, Kind::wrong_count, 0);
  if (listed > devices.port_count()) return detail::wrong_device(devices, Kind::wrong_address, devices.port_count());
  for (std::uint32_t i = 1; i < devices.port_count(); ++i) {
    const auto address = i < listed ? parse_node(list_item(nodes, i))
                                    : device_address(first, devices.are_rails ? DeviceNumber{i} : devices.number(i));
    if (!address || (i >= listed && !node_number(first))) return detail::wrong_device(devices, Kind::wrong_address, i);
    for (std::uint32_t k = 0; k < i; ++k)
      if (devices.addresses[k] == *address) return detail::wrong_device(devices, Kind::same_address, i);
    devices.addresses[i] = *address;
  }
  return detail::with_interfaces(devices, links);
}

/// The same texts, where the node is none of a rank's.
struct DevicesSaid {
  std::string_view devices;
  std::string_view node;
  std::string_view link;
  std::string_view ports;
};
inline OwnDevices devices_of(const DevicesSaid& said) {
  const auto first = parse_node(list_item(said.node, 0)).value_or(node_address(kNodeDefault));
  return devices_by(first, said.devices, said.node, said.link, said.ports);
}

/// Of this process.
inline OwnDevices own_devices() {
  const OwnNode node = own_node();
  if (node.kind != OwnNode::Kind::known) return detail::wrong_device(OwnDevices{}, OwnDevices::Kind::no_node, 0);
  return devices_by(node.address, variable(kDevicesVariable, ""), variable(kNodeVariable, ""),
                    variable(kLinkVariable, ""), variable(kPortsVariable, ""));
}

}  // namespace verbena::host
