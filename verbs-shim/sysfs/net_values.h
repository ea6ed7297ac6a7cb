// The contents of the files below /sys/class/net/verbena0, and of the PCI device that it belongs to, as far as they
// depend on the process's node.
// Tested by: tests/shim/sysfs/path_test.cc
#pragma once

#include <cstddef>

namespace verbena::path {

/// For the table of nodes: whether the node has an interface of its own, and whether it has one of the machine's.
bool has_own_interface(unsigned);
bool has_interface_of_machine(unsigned);

std::size_t write_mac(char* into, std::size_t size, unsigned);
std::size_t write_interface_index(char* into, std::size_t size, unsigned);
std::size_t write_interface_mtu(char* into, std::size_t size, unsigned);
/// In Mb/s.
std::size_t write_interface_speed(char* into, std::size_t size, unsigned);
std::size_t write_carrier(char* into, std::size_t size, unsigned);
std::size_t write_operational_state(char* into, std::size_t size, unsigned);
std::size_t write_interface_event(char* into, std::size_t size, unsigned);

}  // namespace verbena::path
