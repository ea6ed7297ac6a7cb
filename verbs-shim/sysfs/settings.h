// Files of the tree that can be written: those of rdma_cm in configfs (host/node/roce_mode.h).
//
// Solely what opening and writing one means. Opened for writing it is the very file that keeps the value, so that
// whatever writes is heard, a child of a shell and stdio as well; what comes by write() is judged at once, as the
// kernel judges it, and anything else when it is read. The folder of a device is there once mkdir() has made it.
// Tested by: tests/programs/roce_versions.py
#pragma once

#include <sys/types.h>

#include <cstddef>

#include "emulator/host/node/identity.h"
#include "verbs-shim/sysfs/tree.h"

namespace verbena::path {

/// A descriptor, or -1 with errno.
int open_setting(Node node, int flags);
/// False: no setting was opened at this descriptor, and the call is libc's. Else `result` is that of write().
bool write_setting(int fd, const void* data, std::size_t bytes, ssize_t& result);

std::size_t write_roce_mode(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned);
std::size_t write_roce_tos(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned);
int set_roce_mode(const host::DeviceIdentity& of, const char* text, std::size_t bytes);
int set_roce_tos(const host::DeviceIdentity& of, const char* text, std::size_t bytes);
/// Of a device: whether its folder was made.
bool has_settings(const host::DeviceIdentity& of, unsigned);

}  // namespace verbena::path
