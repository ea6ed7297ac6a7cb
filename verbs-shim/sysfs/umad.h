// A program on an emulated InfiniBand subnet (`verbena subnet`): where its /sys and /dev lie, and its umad devices.
//
// Solely responsible for the program's side: paths lead to the files of the subnet's process, a umad device is a socket
// to it, and an ioctl is a message with a descriptor for the reply (emulator/host/subnet_process/umad_layout.h). As in
// all of this library there is no state, but for the environment and whether the process has ever opened one.
// Tested by: tests/programs/subnet.py
#pragma once

#include <cstddef>

namespace verbena::path {

/// The folder in which the subnet has this program's files; null: the program is on none.
const char* subnet_folder();

/// Where a path of /sys/class/infiniband*, /dev/infiniband lies then. Returns false: it is none, or too long.
bool in_subnet_folder(const char* path, char* into, std::size_t size);

/// Whether a path in that folder is a device, and of which kind and number.
bool is_umad(const char* path);

/// A descriptor of the device; -1 with errno.
int open_umad(const char* path, int flags);

/// An ioctl of the device's kind. Returns false: it is none.
bool umad_ioctl(int fd, unsigned long request, void* argument, int& result);

}  // namespace verbena::path
