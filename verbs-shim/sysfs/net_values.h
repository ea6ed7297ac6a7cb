// The contents of the files below /sys/class/net/verbena0 and its like, as far as they depend on the port that has
// the interface.
// Tested by: tests/shim/sysfs/path_test.cc
#pragma once

#include <cstddef>

#include "emulator/host/node/identity.h"

namespace verbena::path {

/// For the table of files: whether the port has an interface of its own, and whether it has one of the machine's.
bool has_own_interface(const host::DeviceIdentity& of, unsigned);
bool has_interface_of_machine(const host::DeviceIdentity& of, unsigned);

std::size_t write_mac(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned);
std::size_t write_interface_index(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned);
std::size_t write_interface_mtu(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned);
/// Which port of its device it is, from 0.
std::size_t write_interface_port(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned);
/// In Mb/s.
std::size_t write_interface_speed(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned);
std::size_t write_carrier(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned);
std::size_t write_operational_state(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned);
std::size_t write_interface_event(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned);

}  // namespace verbena::path
