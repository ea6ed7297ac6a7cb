// The table of the emulated files: what stands below /sys/class/infiniband*, /dev/infiniband, the device's directory
// and its network interface's.
//
// Solely the names, and where each content comes from. A file is added here and nowhere else. A row whose path has a
// sign in it stands for one entry of each device or of each port (tree.h): how many there are, own_devices.h says.
// Tested by: tests/shim/sysfs/path_test.cc
#pragma once

#include <cstddef>
#include <iterator>

#include "emulator/host/node/identity.h"
#include "emulator/host/node/roce_mode.h"
#include "emulator/nic/objects/counters.h"
#include "verbs-shim/sysfs/counters.h"
#include "verbs-shim/sysfs/net_values.h"
#include "verbs-shim/sysfs/own_devices.h"
#include "verbs-shim/sysfs/settings.h"
#include "verbs-shim/sysfs/tree.h"
#include "verbs-shim/sysfs/umad.h"
#include "verbs-shim/sysfs/values.h"

// Programs take the last component of the device's path for its address on the bus.
#define PCI_BUS "pci" VERBENA_PCI_DOMAIN ":00"
#define PCI_PATH PCI_BUS "/@"
#define DEVICE "/sys/devices/" PCI_PATH
#define IBDEV DEVICE "/infiniband/%"
#define PORT IBDEV "/ports/$"
#define UVERBS DEVICE "/infiniband_verbs/uverbs#"
#define NET DEVICE "/net/&"
#define MAD "/sys/class/infiniband_mad"
#define CONFIG "/sys/kernel/config/rdma_cm/%"

namespace verbena::path {

constexpr Row passage(const char* path) {
  return {path, NodeKind::passage, nullptr, nullptr};
}
constexpr Row directory(const char* path) {
  return {path, NodeKind::directory, nullptr, nullptr};
}
constexpr Row file(const char* path, const char* text) {
  return {path, NodeKind::file, text, nullptr};
}
constexpr Row file(const char* path, ContentWriter write, unsigned argument = 0) {
  return {path, NodeKind::file, nullptr, write, argument};
}
/// Of an entry of the GID table: there where the entry is.
constexpr Row gid_file(const char* path, unsigned index) {
  return {path, NodeKind::file, nullptr, write_gid, index, has_gid};
}
/// Its type: there where the entry is not empty.
constexpr Row gid_type_file(const char* path, unsigned index) {
  return {path, NodeKind::file, nullptr, write_gid_type, index, has_gid_type};
}
/// Of an entry of the P_Key table. On Ethernet there is the first one alone.
constexpr Row pkey_file(const char* path, unsigned index) {
  return {path, NodeKind::file, nullptr, write_pkey, index, has_pkey};
}
/// The network interface of such an entry. On InfiniBand no entry has one.
constexpr Row device_file(const char* path, unsigned index) {
  return {path, NodeKind::file, nullptr, write_network_device, index, has_network_device};
}
/// A file of configfs, which can be written.
constexpr Row setting(const char* path, ContentWriter write, decltype(Row::set) set, host::PortDefault what) {
  return {path, NodeKind::file, nullptr, write, static_cast<unsigned>(what), nullptr, set};
}
constexpr Row port_counter(const char* path, PortCounter counter) {
  return file(path, write_port_counter, static_cast<unsigned>(counter));
}
constexpr Row link(const char* path, const char* target) {
  return {path, NodeKind::link, target, nullptr};
}
constexpr Row character_device(const char* path) {
  return {path, NodeKind::character_device, nullptr, nullptr};
}
/// What leads to the device: not there in a process that has none. All that lies behind it need not say so.
constexpr Row of_device(Row row) {
  row.exists = [](const host::DeviceIdentity&, unsigned) { return own_port_count() != 0; };
  return row;
}

/// There only where the node has an interface that no kernel knows.
constexpr Row of_own_interface(Row row) {
  row.exists = has_own_interface;
  return row;
}

/// There only where a manager is to manage the subnet.
constexpr Row of_managed_port(Row row) {
  row.exists = is_managed;
  return row;
}

// Every row's directory stands before it.
constexpr Row kRows[] = {
    passage(""),
    passage("/dev"),
    directory("/dev/infiniband"),
    of_device(character_device("/dev/infiniband/uverbs#")),
    of_device(character_device("/dev/infiniband/rdma_cm")),
    of_managed_port(character_device("/dev/infiniband/umad^")),
    of_managed_port(character_device("/dev/infiniband/issm^")),
    passage("/sys"),
    passage("/sys/class"),
    directory("/sys/class/infiniband"),
    of_device(link("/sys/class/infiniband/%", "../../devices/" PCI_PATH "/infiniband/%")),
    directory("/sys/class/infiniband_verbs"),
    file("/sys/class/infiniband_verbs/abi_version", "6\n"),
    of_device(link("/sys/class/infiniband_verbs/uverbs#", "../../devices/" PCI_PATH "/infiniband_verbs/uverbs#")),

    of_managed_port(directory(MAD)),
    file(MAD "/abi_version", "5\n"),
    of_managed_port(directory(MAD "/umad^")),
    file(MAD "/umad^/ibdev", write_device_name),
    file(MAD "/umad^/port", "$\n"),
    of_managed_port(directory(MAD "/issm^")),
    file(MAD "/issm^/ibdev", write_device_name),
    file(MAD "/issm^/port", "$\n"),

    passage("/sys/class/net"),
    of_own_interface(link("/sys/class/net/&", "../../devices/" PCI_PATH "/net/&")),
    passage("/sys/bus"),
    passage("/sys/bus/pci"),
    passage("/sys/bus/pci/devices"),
    of_device(link("/sys/bus/pci/devices/@", "../../../devices/" PCI_PATH)),

    passage("/sys/kernel"),
    passage("/sys/kernel/config"),
    of_device(directory("/sys/kernel/config/rdma_cm")),
    {CONFIG, NodeKind::directory, nullptr, nullptr, 0, has_settings},
    directory(CONFIG "/ports"),
    directory(CONFIG "/ports/$"),
    setting(CONFIG "/ports/$/default_roce_mode", write_roce_mode, set_roce_mode, host::PortDefault::roce_mode),
    setting(CONFIG "/ports/$/default_roce_tos", write_roce_tos, set_roce_tos, host::PortDefault::roce_tos),

    passage("/sys/devices"),
    of_device(directory("/sys/devices/" PCI_BUS)),
    directory(DEVICE),
    file(DEVICE "/class", "0x020700\n"),
    file(DEVICE "/vendor", write_pci_id, 0),
    file(DEVICE "/device", write_pci_id, 1),
    file(DEVICE "/subsystem_vendor", write_pci_id, 0),
    file(DEVICE "/subsystem_device", write_pci_id, 1),
    file(DEVICE "/revision", "0x01\n"),
    file(DEVICE "/numa_node", write_numa_node),
    file(DEVICE "/local_cpus", write_cpu_mask),
    file(DEVICE "/local_cpulist", write_cpu_list),
    link(DEVICE "/subsystem", "../../../bus/pci"),
    file(DEVICE "/uevent", write_pci_event),
    directory(DEVICE "/infiniband"),
    directory(DEVICE "/infiniband_verbs"),
    directory(DEVICE "/net"),
    // Either that of the machine, or ours.
    {NET, NodeKind::link, "../../../../class/net/&", nullptr, 0, has_interface_of_machine},
    of_own_interface(directory(NET)),
    file(NET "/addr_len", "6\n"),
    file(NET "/address", write_mac),
    file(NET "/broadcast", "ff:ff:ff:ff:ff:ff\n"),
    file(NET "/carrier", write_carrier),
    file(NET "/dev_id", "0x0\n"),
    file(NET "/dev_port", write_interface_port),
    link(NET "/device", "../../../@"),
    file(NET "/dormant", "0\n"),
    file(NET "/duplex", "full\n"),
    file(NET "/flags", "0x1003\n"),  // IFF_UP, IFF_BROADCAST and IFF_MULTICAST
    file(NET "/ifindex", write_interface_index),
    file(NET "/iflink", write_interface_index),
    file(NET "/link_mode", "0\n"),
    file(NET "/mtu", write_interface_mtu),
    file(NET "/operstate", write_operational_state),
    file(NET "/speed", write_interface_speed),
    directory(NET "/statistics"),
    file(NET "/statistics/rx_bytes", "0\n"),  // RoCE is not counted here, as on hardware
    file(NET "/statistics/rx_dropped", "0\n"),
    file(NET "/statistics/rx_errors", "0\n"),
    file(NET "/statistics/rx_packets", "0\n"),
    file(NET "/statistics/tx_bytes", "0\n"),
    file(NET "/statistics/tx_dropped", "0\n"),
    file(NET "/statistics/tx_errors", "0\n"),
    file(NET "/statistics/tx_packets", "0\n"),
    link(NET "/subsystem", "../../../../../class/net"),
    file(NET "/tx_queue_len", "1000\n"),
    file(NET "/type", "1\n"),  // ARPHRD_ETHER
    file(NET "/uevent", write_interface_event),

    directory(UVERBS),
    file(UVERBS "/abi_version", "1\n"),
    file(UVERBS "/dev", write_device_number),
    link(UVERBS "/device", "../../../@"),
    file(UVERBS "/ibdev", write_device_name),
    link(UVERBS "/subsystem", "../../../../../class/infiniband_verbs"),
    file(UVERBS "/uevent", write_verbs_event),

    directory(IBDEV),
    file(IBDEV "/board_id", write_look, 0),
    link(IBDEV "/device", "../../../@"),
    file(IBDEV "/fw_ver", write_look, 1),
    file(IBDEV "/hca_type", write_look, 2),
    file(IBDEV "/hw_rev", write_hardware_version),
    file(IBDEV "/node_desc", write_node_description),
    file(IBDEV "/node_guid", write_node_guid),
    file(IBDEV "/node_type", "1: CA\n"),
    link(IBDEV "/subsystem", "../../../../../class/infiniband"),
    file(IBDEV "/sys_image_guid", write_system_image_guid),
    file(IBDEV "/uevent", write_class_event),
    directory(IBDEV "/ports"),
    directory(PORT),
    file(PORT "/cap_mask", write_capabilities),
    directory(PORT "/counters"),
    port_counter(PORT "/counters/port_xmit_data", PortCounter::port_xmit_data),
    port_counter(PORT "/counters/port_rcv_data", PortCounter::port_rcv_data),
    port_counter(PORT "/counters/port_xmit_packets", PortCounter::port_xmit_packets),
    port_counter(PORT "/counters/port_rcv_packets", PortCounter::port_rcv_packets),
    port_counter(PORT "/counters/port_rcv_errors", PortCounter::port_rcv_errors),
    port_counter(PORT "/counters/link_downed", PortCounter::link_downed),
    port_counter(PORT "/counters/symbol_error", PortCounter::none),
    port_counter(PORT "/counters/link_error_recovery", PortCounter::none),
    port_counter(PORT "/counters/port_rcv_remote_physical_errors", PortCounter::none),
    port_counter(PORT "/counters/port_rcv_switch_relay_errors", PortCounter::none),
    port_counter(PORT "/counters/port_xmit_discards", PortCounter::none),
    port_counter(PORT "/counters/port_xmit_constraint_errors", PortCounter::none),
    port_counter(PORT "/counters/port_rcv_constraint_errors", PortCounter::none),
    port_counter(PORT "/counters/local_link_integrity_errors", PortCounter::none),
    port_counter(PORT "/counters/excessive_buffer_overrun_errors", PortCounter::none),
    port_counter(PORT "/counters/VL15_dropped", PortCounter::none),
    port_counter(PORT "/counters/port_xmit_wait", PortCounter::none),
    directory(PORT "/hw_counters"),
    file(PORT "/hw_counters/lifespan", "0\n"),  // milliseconds that a value may be old
#define VERBENA_NIC_COUNTER(name) \
  file(PORT "/hw_counters/" #name, write_hardware_counter, static_cast<unsigned>(nic::Counter::name)),
    VERBENA_NIC_COUNTERS(VERBENA_NIC_COUNTER)
#undef VERBENA_NIC_COUNTER
        directory(PORT "/gid_attrs"),
    directory(PORT "/gid_attrs/ndevs"),
    device_file(PORT "/gid_attrs/ndevs/0", 0),
    device_file(PORT "/gid_attrs/ndevs/1", 1),
    device_file(PORT "/gid_attrs/ndevs/2", 2),
    device_file(PORT "/gid_attrs/ndevs/3", 3),
    directory(PORT "/gid_attrs/types"),
    gid_type_file(PORT "/gid_attrs/types/0", 0),
    gid_type_file(PORT "/gid_attrs/types/1", 1),
    gid_type_file(PORT "/gid_attrs/types/2", 2),
    gid_type_file(PORT "/gid_attrs/types/3", 3),
    gid_type_file(PORT "/gid_attrs/types/4", 4),
    gid_type_file(PORT "/gid_attrs/types/5", 5),
    gid_type_file(PORT "/gid_attrs/types/6", 6),
    gid_type_file(PORT "/gid_attrs/types/7", 7),
    directory(PORT "/gids"),
    file(PORT "/gids/0", write_gid, 0),
    gid_file(PORT "/gids/1", 1),
    gid_file(PORT "/gids/2", 2),
    gid_file(PORT "/gids/3", 3),
    gid_file(PORT "/gids/4", 4),
    gid_file(PORT "/gids/5", 5),
    gid_file(PORT "/gids/6", 6),
    gid_file(PORT "/gids/7", 7),
    file(PORT "/lid", write_lid),
    file(PORT "/lid_mask_count", write_lid_mask_count),
    file(PORT "/link_layer", write_link_layer),
    file(PORT "/phys_state", write_physical_state),
    directory(PORT "/pkeys"),
#define VERBENA_PKEY(tens, ones) pkey_file(PORT "/pkeys/" #tens #ones, 10 * tens + ones),
#define VERBENA_TEN_PKEYS(tens) VERBENA_EIGHT_PKEYS(tens) VERBENA_PKEY(tens, 8) VERBENA_PKEY(tens, 9)
#define VERBENA_EIGHT_PKEYS(tens) \
  VERBENA_PKEY(tens, 0)           \
  VERBENA_PKEY(tens, 1)           \
  VERBENA_PKEY(tens, 2)           \
  VERBENA_PKEY(tens, 3) VERBENA_PKEY(tens, 4) VERBENA_PKEY(tens, 5) VERBENA_PKEY(tens, 6) VERBENA_PKEY(tens, 7)
    pkey_file(PORT "/pkeys/0", 0),
    pkey_file(PORT "/pkeys/1", 1),
    pkey_file(PORT "/pkeys/2", 2),
    pkey_file(PORT "/pkeys/3", 3),
    pkey_file(PORT "/pkeys/4", 4),
    pkey_file(PORT "/pkeys/5", 5),
    pkey_file(PORT "/pkeys/6", 6),
    pkey_file(PORT "/pkeys/7", 7),
    pkey_file(PORT "/pkeys/8", 8),
    pkey_file(PORT "/pkeys/9", 9),
    VERBENA_TEN_PKEYS(1) VERBENA_TEN_PKEYS(2) VERBENA_TEN_PKEYS(3) VERBENA_TEN_PKEYS(4) VERBENA_TEN_PKEYS(5)
        VERBENA_TEN_PKEYS(6) VERBENA_TEN_PKEYS(7) VERBENA_TEN_PKEYS(8) VERBENA_TEN_PKEYS(9) VERBENA_TEN_PKEYS(10)
            VERBENA_TEN_PKEYS(11) VERBENA_EIGHT_PKEYS(12)
#undef VERBENA_EIGHT_PKEYS
#undef VERBENA_TEN_PKEYS
#undef VERBENA_PKEY
                file(PORT "/rate", write_rate),
    file(PORT "/sm_lid", write_manager_lid),
    file(PORT "/sm_sl", write_manager_level),
    file(PORT "/state", write_port_state),
};
constexpr std::size_t kRowCount = std::size(kRows);

}  // namespace verbena::path

#undef DEVICE
#undef IBDEV
#undef PORT
#undef UVERBS
#undef NET
#undef MAD
#undef CONFIG
#undef PCI_BUS
#undef PCI_PATH
