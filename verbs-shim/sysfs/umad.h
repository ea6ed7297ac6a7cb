// A program on an emulated InfiniBand subnet: its umad devices, and where its /sys and /dev lie on a subnet without
// data (`verbena subnet`).
//
// Solely responsible for the program's side: a umad device is a socket to the process of the subnet or of the managed
// fabric, and an ioctl is a message with a descriptor for the reply (emulator/host/subnet_process/umad_layout.h). Paths
// lead to the files of the subnet's process; in a managed fabric they are entries of the tree (nodes.h). As in all of
// this library there is no state, but for the environment and whether the process has ever opened one.
// Tested by: tests/programs/subnet.py, tests/programs/managed.py
#pragma once

#include <cstddef>

#include "emulator/host/node/identity.h"

namespace verbena::path {

/// The folder in which the subnet has this program's files; null: the program is on none.
const char* subnet_folder();

/// Where a path of /sys/class/infiniband*, /dev/infiniband lies then. Returns false: it is none, or too long.
bool in_subnet_folder(const char* path, char* into, std::size_t size);

/// Whether a path in that folder is a device, and of which kind and number.
bool is_umad(const char* path);

/// A descriptor of the device; -1 with errno.
int open_umad(const char* path, int flags);

/// Whether a subnet manager is to manage the fabric that the port is on.
bool is_managed(const host::DeviceIdentity& of, unsigned);
/// The same of a port of a managed fabric. `is_issm`: the device by which a manager shows that it is there.
int open_umad(const host::DeviceIdentity& of, int flags, bool is_issm);

/// An ioctl of the device's kind. Returns false: it is none.
bool umad_ioctl(int fd, unsigned long request, void* argument, int& result);

}  // namespace verbena::path
