// ManagedPort: what a subnet manager has set on a port of a fabric that it manages, for all processes of the node.
//
// Solely where this lies and how it is read: a file in shared memory, /dev/shm/verbena-UID-subnet-FABRIC, which the
// fabric process makes when it begins and removes when it ends (managed_port_file.h). A fabric that no manager is to
// manage has none. Readers hold nothing open: they look again after a Notice (link.h) and compare what they find with
// what they have seen. libc only: the path shim includes it.
// Tested by: tests/host/node/managed_port_test.cc
#pragma once

#include <unistd.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include "emulator/host/node/host_file_read.h"
#include "emulator/host/os/abstract_name.h"
#include "emulator/host/os/same_user.h"

namespace verbena::host {

/// Numbers are as PortInfo has them (IBA volume 1, 14.2.5.6).
struct ManagedPort {
  static constexpr std::size_t kPkeys = 128;
  static constexpr std::size_t kLevels = 16;
  static constexpr std::size_t kGids = 8;  // GUIDCap: the port's own and those that a manager adds

  std::uint32_t sequence = 0;  // odd: it is being written. Grows with each change
  // How often these have changed, for the events of the device.
  std::uint32_t lid_changes = 0;    // base LID or LMC
  std::uint32_t sm_changes = 0;     // SM LID or SM SL
  std::uint32_t pkey_changes = 0;   // the P_Key table
  std::uint32_t gid_changes = 0;    // the subnet prefix or an alias GUID
  std::uint32_t state_changes = 0;  // state or physical state
  std::uint32_t reregisters = 0;    // the manager has asked for client reregistration
  std::uint32_t capability_mask = 0;
  std::uint64_t subnet_prefix = 0xfe80000000000000;
  std::array<std::uint64_t, kGids - 1> alias_guids{};  // of entries 1 and on of the GID table; 0: none
  std::uint16_t base_lid = 0;                          // 0: none yet
  std::uint16_t sm_lid = 0;                            // 0: no manager is known
  std::uint8_t lmc = 0;
  std::uint8_t sm_sl = 0;
  std::uint8_t state = 1;           // 1 down, 2 init, 3 armed, 4 active
  std::uint8_t physical_state = 2;  // 2 polling, 3 disabled, 5 link up
  std::uint8_t mtu = 5;             // in use (NeighborMTU): 1 is 256 octets, 5 is 4096
  std::uint8_t mtu_max = 5;
  std::uint8_t width = 2;  // active: 1 is 1x, 2 is 4x, 4 is 8x, 8 is 12x
  std::uint8_t speed = 4;  // active, as ibv_port_attr has it: 1 SDR, 2 DDR, 4 QDR, 16 FDR, 32 EDR, 64 HDR, 128 NDR
  std::uint8_t vls = 4;    // operational: 1 is VL0, 2 VL0 and VL1, 3 to VL3, 4 to VL7, 5 to VL14
  std::uint8_t vl_capacity = 4;
  std::uint8_t subnet_timeout = 18;
  std::uint8_t reserved = 0;
  std::uint16_t pkey_violations = 0;
  std::uint16_t qkey_violations = 0;
  std::array<std::uint8_t, kLevels> lane_of_level{};  // 15: what has this SL is dropped
  std::array<std::uint16_t, kPkeys> pkeys{};
  std::uint32_t reserved_end = 0;
};
static_assert(std::has_unique_object_representations_v<ManagedPort>, "ports are compared by their octets");

/// Where the fabric process listens for managers (emulator/host/subnet_process/umad_layout.h).
inline AbstractName umad_address(const char* fabric) {
  return AbstractName("verbena-subnet/%u/%s", own_user(), fabric);
}

inline constexpr HostFileKind kManagedPorts{0x56425350, sizeof(ManagedPort)};

inline HostFilePath managed_ports_path(std::string_view fabric) {
  return host_file_path(HostFileOf::subnet, fabric);
}

namespace detail {
/// By its place among the ports of the file. Nothing: it is none of them, or always being written.
inline std::optional<ManagedPort> read_port_at(int file, std::uint32_t place) {
  constexpr int kTriesMax = 1000;
  const off_t at = host_file_offset(kManagedPorts, place);
  for (int i = 0; i < kTriesMax; ++i) {
    ManagedPort port;
    std::uint32_t after = 0;
    if (::pread(file, &port, sizeof port, at) != static_cast<ssize_t>(sizeof port) ||
        ::pread(file, &after, sizeof after, at) != static_cast<ssize_t>(sizeof after))
      return std::nullopt;
    if (port.sequence == after && port.sequence % 2 == 0) return port;
  }
  return std::nullopt;
}
}  // namespace detail

/// Of the port that has this address (DeviceIdentity::address). Nothing: no manager is to manage the fabric, it is
/// another user's, or the port is none of its. Leaves errno alone.
inline std::optional<ManagedPort> read_managed_port(std::string_view fabric, const wire::Gid& address) {
  return detail::with_host_file(managed_ports_path(fabric), [&](int file) {
    const auto host = detail::find_host_of_file(file, address, kManagedPorts);
    return host ? detail::read_port_at(file, *host) : std::nullopt;
  });
}

/// The GID with the subnet's prefix in the place of its own.
constexpr wire::Gid with_prefix(wire::Gid gid, std::uint64_t prefix) {
  constexpr std::size_t kPrefixBytes = 8;
  for (std::size_t i = 0; i < kPrefixBytes; ++i)
    gid.octets[i] = static_cast<std::uint8_t>(prefix >> 8 * (kPrefixBytes - 1 - i));
  return gid;
}

/// An entry of the GID table of a port on InfiniBand (IBA volume 1, 4.1.1): the subnet prefix with one of its GUIDs, of
/// which the first is its own. Zero: the entry is empty, or there is none.
constexpr wire::Gid infiniband_gid(const DeviceIdentity& of, const ManagedPort& port, std::size_t index) {
  const bool is_own = index == 0;
  if (!is_own && (index >= ManagedPort::kGids || port.alias_guids[index - 1] == 0)) return {};
  const std::uint64_t guid = is_own ? number_of(of.port_guid) : port.alias_guids[index - 1];
  wire::Gid gid;
  for (std::size_t i = 0; i < sizeof guid; ++i)
    gid.octets[sizeof guid + i] = static_cast<std::uint8_t>(guid >> 8 * (sizeof guid - 1 - i));
  return with_prefix(gid, port.subnet_prefix);
}

/// Which entry of the port's GID table it is. Nothing: none.
constexpr std::optional<std::size_t> infiniband_gid_index(const DeviceIdentity& of, const ManagedPort& port,
                                                          const wire::Gid& gid) {
  for (std::size_t i = 0; i < ManagedPort::kGids && gid != wire::Gid{}; ++i)
    if (infiniband_gid(of, port, i) == gid) return i;
  return std::nullopt;
}

/// The address of the port that has a GID: as node_of(), or by the tables of the ports that a manager has changed. The
/// GID itself: nobody has it. Leaves errno alone.
inline wire::Gid node_of_gid(std::string_view fabric, const wire::Gid& gid) {
  const wire::Gid plain = node_of(gid);
  if (plain != gid || gid.is_ipv4()) return plain;
  const auto found = detail::with_host_file(managed_ports_path(fabric), [&](int file) -> std::optional<wire::Gid> {
    const auto header = detail::header_of(file, kManagedPorts);
    for (std::uint32_t host = 0; header && host < header->hosts; ++host) {
      const DeviceIdentity of = device_of(node_address(host / header->rails + 1), {host % header->rails});
      const auto port = detail::read_port_at(file, host);
      if (port && infiniband_gid_index(of, *port, gid)) return of.address;
    }
    return std::nullopt;
  });
  return found.value_or(gid);
}

/// Which host of the fabric the port is, from 0. Nothing: as read_managed_port().
inline std::optional<std::uint32_t> managed_host(std::string_view fabric, const wire::Gid& address) {
  return detail::with_host_file(managed_ports_path(fabric),
                                [&](int file) { return detail::find_host_of_file(file, address, kManagedPorts); });
}

}  // namespace verbena::host
