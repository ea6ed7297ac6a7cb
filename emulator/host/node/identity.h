// The identity of a node and of its devices: from a number or an address to GIDs, MAC address, GUIDs and names, and
// back.
//
// Solely these translations, all of them: the verbs, the frames, netlink's answers and the files below /sys must agree.
// Of a device (DeviceIdentity) everybody reads the same value. libc only: the path shim includes it.
// Tested by: tests/host/node/identity_test.cc, tests/host/config/environment_test.cc
#pragma once

#include <arpa/inet.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "emulator/host/node/port_speed.h"
#include "emulator/host/os/fixed_text.h"
#include "emulator/host/os/text_list.h"
#include "wire/lid.h"
#include "wire/path_address.h"
#include "wire/roce_version.h"
#include "wire/types.h"

namespace verbena::host {

inline constexpr std::uint32_t kNodesMax = 254;
inline constexpr std::uint32_t kNodeDefault = 1;
inline constexpr std::uint32_t kNodeNetwork = 0x7f2f5b00;  // 127.47.91.0/24
inline constexpr std::uint32_t kNodeNetworkMask = 0xffffff00;

/// The address of node K, 1 to kNodesMax.
constexpr wire::Gid node_address(std::uint32_t node) {
  return wire::Gid::from_ipv4(kNodeNetwork | node);
}
/// Back. Nothing: the address is not of this kind.
constexpr std::optional<std::uint32_t> node_number(const wire::Gid& address) {
  const std::uint32_t node = address.octets[15];
  if (node < 1 || node > kNodesMax || address != node_address(node)) return std::nullopt;
  return node;
}

namespace detail {
/// 02:56 and the last four octets of the address.
constexpr wire::MacAddress mac_from_tail(const wire::Gid& address) {
  const auto& octets = address.octets;
  return {{0x02, 0x56, octets[12], octets[13], octets[14], octets[15]}};
}
}  // namespace detail

using Guid = std::array<std::uint8_t, 8>;

/// As a number, whose first octet is the highest.
constexpr std::uint64_t number_of(const Guid& guid) {
  std::uint64_t number = 0;
  for (const std::uint8_t octet : guid) number = number << 8 | octet;
  return number;
}

/// Modified EUI-64 of a MAC address (RFC 4291, appendix A): the universal/local bit is inverted, ff:fe stands in the
/// middle.
constexpr Guid guid_of(const wire::MacAddress& mac) {
  const auto& octets = mac.octets;
  return {static_cast<std::uint8_t>(octets[0] ^ 2), octets[1], octets[2], 0xff, 0xfe, octets[3], octets[4], octets[5]};
}

/// The second address that a node with an IPv4 address has: fe80::/64 and the EUI-64 of its MAC. Nothing: the node's
/// address is an IPv6 address, of which the MAC keeps too little to find the way back.
constexpr std::optional<wire::Gid> link_local_of(const wire::Gid& node) {
  if (!node.is_ipv4()) return std::nullopt;
  wire::Gid address{{0xfe, 0x80}};
  const auto guid = guid_of(detail::mac_from_tail(node));
  for (std::size_t i = 0; i < guid.size(); ++i) address.octets[8 + i] = guid[i];
  return address;
}

// The address of the port that has a LID where no manager gives LIDs (static_lid()). Anything else: no port has it.
constexpr wire::Gid address_of_lid(wire::Lid lid);

/// The node's own address. It is returned as it is, unless it is the link_local_of() an IPv4 address, or stands for a
/// LID.
constexpr wire::Gid node_of(const wire::Gid& address) {
  if (const auto lid = wire::lid_of(address)) return address_of_lid(*lid);
  if (!address.is_link_local()) return address;
  const auto& octets = address.octets;
  const wire::Gid node{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, octets[10], octets[13], octets[14], octets[15]}};
  return link_local_of(node) == address ? node : address;
}

/// The MAC of a node whose link has none of its own. A link-local address is that of the node it belongs to.
constexpr wire::MacAddress node_mac(const wire::Gid& address) {
  return detail::mac_from_tail(node_of(address));
}

/// K in 1..254 (127.47.91.K), an IPv4 or an IPv6 address of one node.
inline std::optional<wire::Gid> parse_node(std::string_view given) {
  char text[INET6_ADDRSTRLEN] = {};
  if (given.size() >= sizeof text) return std::nullopt;
  given.copy(text, given.size());
  std::uint32_t node = 0;
  const char* at = text;
  for (; *at >= '0' && *at <= '9' && at - text < 3; ++at) node = node * 10 + static_cast<std::uint32_t>(*at - '0');
  if (at != text && *at == '\0') return node < 1 || node > kNodesMax ? std::nullopt : std::optional(node_address(node));
  in_addr ipv4{};
  wire::Gid gid;
  if (inet_pton(AF_INET, text, &ipv4) == 1)
    gid = wire::Gid::from_ipv4(ntohl(ipv4.s_addr));
  else if (inet_pton(AF_INET6, text, gid.octets.data()) != 1)
    return std::nullopt;
  if (gid == wire::Gid{} || gid == wire::Gid::from_ipv4(INADDR_ANY) || gid.is_multicast()) return std::nullopt;
  return gid;
}

// -- Devices ---------------------------------------------------------------------------------------------------------

inline constexpr std::uint32_t kDevicesMax = 16;             // of a process
inline constexpr std::uint32_t kPortsMax = 2;                // of a device
inline constexpr std::string_view kDeviceNumberSign = "%d";  // in the name of several devices

/// Which device of a node, from 0, and which of its ports, from 1.
struct DeviceNumber {
  std::uint32_t device = 0;
  std::uint32_t port = 1;
  constexpr bool operator==(const DeviceNumber&) const = default;
};

inline constexpr unsigned kLidPortShift = 8;
inline constexpr unsigned kDeviceShift = 8;
inline constexpr unsigned kPortShift = 16;

/// The address of a port of a node's device. Device D of node K has 127.47.(91 + D).K, and its second port has
/// 127.48.(91 + D).K. A node outside of that network has one address alone: each further device is given one of its own
/// (device_at).
constexpr wire::Gid device_address(const wire::Gid& node, DeviceNumber number) {
  if (!node_number(node)) return node;
  return wire::Gid::from_ipv4(node.ipv4() + (number.device << kDeviceShift) + ((number.port - 1) << kPortShift));
}
/// Back: in the network of which port, of every node, an IPv4 address is. Nothing: in none.
constexpr std::optional<DeviceNumber> device_network_of(std::uint32_t address) {
  const std::uint32_t offset = address - kNodeNetwork;
  const std::uint32_t device = offset >> kDeviceShift & ((1u << (kPortShift - kDeviceShift)) - 1);
  if (offset >> kPortShift >= kPortsMax || device >= kDevicesMax) return std::nullopt;
  return DeviceNumber{device, 1 + (offset >> kPortShift)};
}
constexpr std::optional<DeviceNumber> device_network_of(const wire::Gid& address) {
  return address.is_ipv4() ? device_network_of(address.ipv4()) : std::nullopt;
}

/// The LID of a port on an InfiniBand without a subnet manager: node K has K, and each further port of a node 256 more
/// than the one before. kLidNone: the address is not of that kind.
constexpr wire::Lid static_lid(const wire::Gid& address) {
  const std::uint32_t node = address.octets[15];
  const auto number = node >= 1 && node <= kNodesMax ? device_network_of(address) : std::nullopt;
  if (!number) return wire::kLidNone;
  return wire::Lid((number->device * kPortsMax + number->port - 1) << kLidPortShift | node);
}
constexpr wire::Gid address_of_lid(wire::Lid lid) {
  const std::uint32_t place = std::uint32_t{lid.value()} >> kLidPortShift;
  const wire::Gid node = node_address(lid.value() & ((1u << kLidPortShift) - 1));
  if (place >= kDevicesMax * kPortsMax || !node_number(node)) return wire::gid_of(lid);
  return device_address(node, {place / kPortsMax, place % kPortsMax + 1});
}
/// The LID of a multicast group there. Several groups may share one.
constexpr wire::Lid static_group_lid(const wire::Gid& group) {
  constexpr std::uint32_t kLids = wire::kLidMulticastMax.value() - wire::kLidMulticastMin.value() + 1;
  const std::uint32_t tail = std::uint32_t{group.octets[14]} << 8 | group.octets[15];
  return wire::Lid(wire::kLidMulticastMin.value() + tail % kLids);
}
/// The manager of such an InfiniBand, which is no node: whoever asks it is not answered.
inline constexpr wire::Lid kStaticManagerLid = wire::kLidUnicastMax;

/// Whether the address is that of a port that a node may have.
constexpr bool is_port_address(const wire::Gid& address) {
  const std::uint32_t node = address.octets[15];
  return node >= 1 && node <= kNodesMax && device_network_of(address);
}

/// A device of a node by its number; a fabric with rails has it as one of the node's rails (fabric/rails.h).
struct DevicePlace {
  std::uint32_t node = 0;    // from 1
  std::uint32_t device = 0;  // from 0
};
/// Back from the address of a device's first port. Nothing: it is not of this kind.
constexpr std::optional<DevicePlace> device_place(const wire::Gid& address) {
  const auto number = is_port_address(address) ? device_network_of(address) : std::nullopt;
  if (!number || number->port != 1) return std::nullopt;
  return DevicePlace{address.octets[15], number->device};
}

/// The network interface that a port of a device on the loopback interface has, and no kernel knows. A device has a
/// place on the bus as well if it has none.
struct OwnInterface {
  FixedText<16> name;
  std::uint32_t index = 0;    // far from what a kernel gives: it counts from 1
  FixedText<16> bus_address;  // in a PCI domain that no machine has
};
#define VERBENA_PCI_DOMAIN "5642"  // as text, for the table of files (verbs-shim/sysfs/nodes.h)

inline constexpr std::size_t kDeviceNameBytesMax = 63;  // IB_DEVICE_NAME_MAX without the zero

namespace detail {
constexpr OwnInterface make_own_interface(DeviceNumber number) {
  constexpr std::uint32_t kFirstIndex = 0x56420000;
  constexpr std::uint32_t kPortIndices = 0x100;
  OwnInterface made;
  made.name.append("verbena").append_number(number.device);
  if (number.port != 1) made.name.append("p").append_number(number.port);
  made.index = kFirstIndex + number.device + (number.port - 1) * kPortIndices;
  made.bus_address.append(VERBENA_PCI_DOMAIN ":00:").append_hex_octet(number.device).append(".0");
  return made;
}

struct OwnInterfaces {
  OwnInterface of[kDevicesMax][kPortsMax];
  constexpr OwnInterfaces() {
    for (std::uint32_t device = 0; device < kDevicesMax; ++device)
      for (std::uint32_t port = 1; port <= kPortsMax; ++port) of[device][port - 1] = make_own_interface({device, port});
  }
};

/// The name of a device, by what names them all: by commas one of each; else the device's number takes the place of
/// "%d"; else the number in the first one's name is counted on, however long it is, or put behind a name that has none.
template <std::size_t kBytes>
constexpr FixedText<kBytes> device_name_of(std::string_view names, std::uint32_t device) {
  FixedText<kBytes> name;
  if (names.find(',') != names.npos) return name.append(list_item(names, device));
  if (const auto at = names.find(kDeviceNumberSign); at != names.npos) {
    name.append(std::string_view(names.data(), at)).append_number(device);
    names.remove_prefix(at + kDeviceNumberSign.size());
    return name.append(names);
  }
  if (device == 0) return name.append(names);
  std::size_t digits = 0;
  while (digits < names.size() && digits < kBytes && names[names.size() - digits - 1] >= '0' &&
         names[names.size() - digits - 1] <= '9')
    ++digits;
  name.append(std::string_view(names.data(), names.size() - digits));
  char counted[kBytes] = {};
  std::uint32_t carry = device;
  for (std::size_t i = digits; i-- > 0;) {
    const std::uint32_t sum = static_cast<std::uint32_t>(names[names.size() - digits + i] - '0') + carry;
    counted[i] = static_cast<char>('0' + sum % 10);
    carry = sum / 10;
  }
  if (digits == 0 || carry != 0) name.append_number(carry);
  return name.append({counted, digits});
}
}  // namespace detail

/// By what names them all, each of so many devices has a name, and none one that is too long.
constexpr bool device_names_fit(std::string_view names, std::uint32_t devices) {
  if (names.find(',') != names.npos) {
    for (std::uint32_t i = 0; i < devices; ++i)
      if (list_item(names, i).empty() || list_item(names, i).size() > kDeviceNameBytesMax) return false;
    return list_size(names) == devices;
  }
  if (names.size() > kDeviceNameBytesMax) return false;
  return detail::device_name_of<kDeviceNameBytesMax + 16>(names, devices - 1).view().size() <= kDeviceNameBytesMax;
}

/// Static: a pointer to a row, or to a name in it, holds as long as the program runs.
inline constexpr detail::OwnInterfaces kOwnInterfaces;

/// What a device is besides its numbers and its address.
struct DeviceSettings {
  std::string_view name = "verbena0";  // of the node's first device, or with kDeviceNumberSign of all
  std::string_view interface;          // that the link names; empty: it names none
  bool has_link_local = true;          // the link carries frames for the link-local address as well
  wire::WireKind wire = wire::kWireKindDefault;
  std::uint64_t bits_per_second = kPortRateDefault;
  std::optional<std::uint32_t> numa_node;  // of the device; none: it is at no node
  std::optional<wire::Gid> first_port;     // the address of port 1, of a port that is another one
  std::optional<std::uint32_t> rail;       // of its node in a fabric, whose address the port has
  std::string_view gids;  // the layout of the table (is_gid_layout()); empty: the link's and the wire's
};

/// An entry of a port's GID table.
struct PortGid {
  wire::Gid gid;
  wire::RoceVersion version = wire::RoceVersion::v2;
  constexpr bool operator==(const PortGid&) const = default;
};
inline constexpr std::size_t kGidsOfPortMax = 4;  // two addresses, each by two versions

/// All that others see of a port of a device, and of the device that it belongs to. A plain value.
struct DeviceIdentity {
  DeviceNumber number;
  wire::Gid address;                           // of the port
  std::array<PortGid, kGidsOfPortMax> gids{};  // the port's table; all zero behind its end
  wire::MacAddress mac;                        // of the port
  bool is_infiniband = false;                  // `mac` then makes the GUIDs and is on no wire
  wire::Lid lid;                               // static_lid()
  Guid node_guid{};                            // of the device, as system_image_guid is
  Guid system_image_guid{};                    // a device is a NIC of its own
  Guid port_guid{};                            // of the first port it is the device's
  FixedText<kDeviceNameBytesMax + 1> name;     // verbena0
  FixedText<16> file_name;                     // uverbs0
  FixedText<16> interface;  // empty: the machine's that has the address, which find_network_device() knows
  const OwnInterface* own_interface = nullptr;  // null: the interface is the machine's
  FixedText<16> pci_address;
  int numa_node = -1;  // as sysfs says that there is none
  std::uint64_t bits_per_second = kPortRateDefault;

  /// As frames of its packets have it.
  constexpr wire::PathAddress path_address() const {
    return is_infiniband ? wire::PathAddress(lid, 0) : wire::PathAddress(mac);
  }
  /// Entries of the GID table up to the last one that has an address; some before it may have none.
  constexpr std::size_t gid_count() const {
    std::size_t count = gids.size();
    while (count != 0 && gids[count - 1].gid == wire::Gid{}) --count;
    return count;
  }
  /// Nothing: the port has no such entry.
  constexpr std::optional<std::size_t> gid_index(const PortGid& entry) const {
    for (std::size_t i = 0; i < gid_count(); ++i)
      if (gids[i] == entry) return i;
    return std::nullopt;
  }
};

namespace detail {
inline constexpr std::string_view kLinkLocalPrefix = "link-local-";

/// A port's table by its layout. Entries of a version that the wire has not, or of an address that the port has not,
/// stay empty.
constexpr std::array<PortGid, kGidsOfPortMax> gids_by_layout(std::string_view layout, const wire::Gid& address,
                                                             const std::optional<wire::Gid>& link_local,
                                                             const wire::WireKind& kind) {
  std::array<PortGid, kGidsOfPortMax> gids{};
  for (std::size_t i = 0; i < gids.size(); ++i) {
    std::string_view entry = plus_item(layout, i);
    const bool is_link_local = entry.starts_with(kLinkLocalPrefix);
    if (is_link_local) entry.remove_prefix(kLinkLocalPrefix.size());
    const wire::Gid gid = is_link_local ? link_local.value_or(wire::Gid{}) : address;
    if (entry == "v1" && kind.has_v1) gids[i] = {gid, wire::RoceVersion::v1};
    if (entry == "v2" && kind.has_v2) gids[i] = {gid, wire::RoceVersion::v2};
  }
  return gids;
}

/// A port's table. With one version its own address stands first, because programs and documents take entry 0; with
/// both the order is a ConnectX's: the link-local address first, each address by v1, then by v2.
constexpr std::array<PortGid, kGidsOfPortMax> gids_of(const wire::Gid& address,
                                                      const std::optional<wire::Gid>& link_local,
                                                      const wire::WireKind& kind) {
  std::array<PortGid, kGidsOfPortMax> gids{};
  std::size_t count = 0;
  const auto add = [&](const wire::Gid& gid) {
    if (kind.has_v1) gids[count++] = {gid, wire::RoceVersion::v1};
    if (kind.has_v2) gids[count++] = {gid, wire::RoceVersion::v2};
  };
  const bool has_both = kind.has_v1 && kind.has_v2;
  // Subnet prefix and GUID of the port (IBA volume 1, 4.1.1): the default prefix is that of link-local addresses.
  if (kind.is_infiniband && link_local) gids[count++] = {*link_local, wire::RoceVersion::v1};
  if (link_local && has_both) add(*link_local);
  add(address);
  if (link_local && !has_both) add(*link_local);
  return gids;
}
}  // namespace detail

/// Whether the text says which entries a GID table has, in turn: "link-local-v1+link-local-v2+v1+v2", "empty+v2".
constexpr bool is_gid_layout(std::string_view text) {
  const std::size_t entries = plus_size(text);
  bool has_address = false;
  for (std::size_t i = 0; i < entries; ++i) {
    std::string_view entry = plus_item(text, i);
    if (entry == "empty") continue;
    if (entry.starts_with(detail::kLinkLocalPrefix)) entry.remove_prefix(detail::kLinkLocalPrefix.size());
    if (entry != "v1" && entry != "v2") return false;
    has_address = true;
  }
  return has_address && entries <= kGidsOfPortMax;
}

/// Of a port whose address is known.
constexpr DeviceIdentity device_at(const wire::Gid& address, DeviceNumber number, const DeviceSettings& settings = {}) {
  const OwnInterface& row = kOwnInterfaces.of[number.device % kDevicesMax][(number.port - 1) % kPortsMax];
  DeviceIdentity made;
  made.number = number;
  made.address = address;
  const auto link_local = settings.has_link_local ? link_local_of(address) : std::nullopt;
  made.gids = settings.gids.empty() || settings.wire.is_infiniband
                  ? detail::gids_of(address, link_local, settings.wire)
                  : detail::gids_by_layout(settings.gids, address, link_local, settings.wire);
  made.mac = node_mac(address);
  made.is_infiniband = settings.wire.is_infiniband;
  if (made.is_infiniband) made.lid = static_lid(address);
  made.node_guid = made.system_image_guid = guid_of(node_mac(settings.first_port.value_or(address)));
  made.port_guid = guid_of(made.mac);
  made.name = detail::device_name_of<kDeviceNameBytesMax + 1>(settings.name, number.device);
  made.file_name.append("uverbs").append_number(number.device);
  made.pci_address = row.bus_address;
  made.bits_per_second = settings.bits_per_second;
  if (settings.numa_node) made.numa_node = static_cast<int>(*settings.numa_node);
  // The last octet is the node's number in every network of ours.
  const wire::Gid node = node_address(address.octets[15]);
  const DeviceNumber place = settings.rail ? DeviceNumber{*settings.rail} : number;
  if (!settings.interface.empty()) {
    made.interface.append(settings.interface);
  } else if (node_number(node) && address == device_address(node, place)) {
    made.own_interface = &row;
    made.interface = row.name;
  }
  return made;
}

/// Of a port of a node's device.
constexpr DeviceIdentity device_of(const wire::Gid& node, DeviceNumber number, DeviceSettings settings = {}) {
  settings.first_port = device_address(node, {number.device, 1});
  return device_at(device_address(node, number), number, settings);
}

}  // namespace verbena::host
