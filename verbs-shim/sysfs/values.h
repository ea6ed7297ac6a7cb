// The contents that depend on a device and on the machine: addresses, GUIDs, names, CPUs. Of which device is said by an
// identity (own_devices.h).
//
// Must agree with what the verbs say (query_device, query_port, query_gid). Read from the environment at each call:
// these files are read a few times in a program's life.
// Tested by: tests/shim/sysfs/path_test.cc
#pragma once

#include <net/if.h>

#include <cstddef>
#include <cstdint>

#include "emulator/host/config/link_kind.h"
#include "emulator/host/node/identity.h"
#include "wire/types.h"

namespace verbena::path {

/// False: on which node the process stands is left to its rank, and it has none (own_node.h): it has no device. That is
/// so for mpirun itself.
bool has_device();
/// The node's GID. A wrong environment gives node 1: libibverbs tells the user what is wrong with it.
wire::Gid node_gid();
/// Of the link that the process has; the default one if the environment is wrong.
const host::LinkKind& link_kind();

/// In a fabric as its process says (port_signal.h), on an interface of the machine as that is, else always.
bool port_is_up(const host::DeviceIdentity& of);
/// In bits per second, as the link has it now.
std::uint64_t rate_of_port(const host::DeviceIdentity& of);

std::size_t write_device_name(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned);
std::size_t write_node_guid(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned);
std::size_t write_system_image_guid(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned);
std::size_t write_device_number(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned);
std::size_t write_numa_node(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned);
/// Whether the GID table has this entry on the link: the length of gids/ is gid_tbl_len of ibv_query_port.
bool has_gid(const host::DeviceIdentity& of, unsigned index);
/// Whether that entry is none of the empty ones.
bool has_gid_type(const host::DeviceIdentity& of, unsigned index);
/// `what`: 0 the board, 1 the firmware, 2 the type.
std::size_t write_look(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned what);
std::size_t write_hardware_version(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned);
/// `is_device`: 0 the vendor, 1 the device.
std::size_t write_pci_id(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned is_device);
std::size_t write_pci_event(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned);
bool has_pkey(const host::DeviceIdentity& of, unsigned index);
std::size_t write_gid(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned);
/// Of an entry of the GID table, as write_gid_type().
std::size_t write_network_device(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned);
std::size_t write_gid_type(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned index);
bool has_network_device(const host::DeviceIdentity& of, unsigned index);
std::size_t write_lid(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned);
std::size_t write_lid_mask_count(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned);
std::size_t write_manager_lid(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned);
std::size_t write_manager_level(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned);
std::size_t write_capabilities(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned);
std::size_t write_link_layer(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned);
std::size_t write_pkey(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned index);
std::size_t write_port_state(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned);
std::size_t write_physical_state(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned);
std::size_t write_rate(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned);
std::size_t write_node_description(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned);
std::size_t write_cpu_mask(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned);
std::size_t write_cpu_list(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned);
std::size_t write_verbs_event(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned);
std::size_t write_class_event(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned);

}  // namespace verbena::path
