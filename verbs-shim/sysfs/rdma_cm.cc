#include "verbs-shim/sysfs/rdma_cm.h"

#include <errno.h>
#include <sys/socket.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "emulator/host/os/same_user.h"
#include "verbs-shim/sysfs/real.h"

namespace {

std::atomic<const verbena::path::DeviceFunctions*> offered{nullptr};
std::atomic<bool> any_channel{false};

/// Whether the octets begin as a command does (struct rdma_ucm_cmd_hdr): what other descriptors are written need not be
/// looked at closely.
bool looks_like_command(const void* data, std::size_t bytes) {
  constexpr std::uint32_t kCommandMax = 22;
  struct {
    std::uint32_t command;
    std::uint16_t in;
    std::uint16_t out;
  } header;
  if (bytes < sizeof header) return false;
  std::memcpy(&header, data, sizeof header);
  // Every command has arguments; what has none may be an eventfd's number.
  return header.command <= kCommandMax && header.in != 0 && header.in + sizeof header == bytes;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void verbena_path_offer_device(
    const verbena::path::DeviceFunctions* functions) {
  offered.store(functions, std::memory_order_release);
}

extern "C" __attribute__((visibility("default"))) void verbena_path_settle_user(unsigned user) {
  verbena::host::settle_user(user);
}

namespace verbena::path {

const DeviceFunctions* device_functions() {
  return offered.load(std::memory_order_acquire);
}

bool is_rdma_cm_channel(int fd, ino_t& inode) {
  if (!any_channel.load(std::memory_order_relaxed)) return false;
  struct stat status;
  if (!real_fstat(fd, status) || !S_ISSOCK(status.st_mode)) return false;
  inode = status.st_ino;
  return device_functions()->is_channel(inode);
}

int open_rdma_cm(int flags) {
  const DeviceFunctions* functions = device_functions();
  if (functions == nullptr) {
    errno = ENXIO;
    return -1;
  }
  const int fd = functions->open(flags);
  if (fd >= 0) any_channel.store(true, std::memory_order_relaxed);
  return fd;
}

bool write_rdma_cm(int fd, const void* data, std::size_t bytes, ssize_t& result) {
  if (!any_channel.load(std::memory_order_relaxed) || !looks_like_command(data, bytes)) return false;
  const int before = errno;
  ino_t inode = 0;
  if (!is_rdma_cm_channel(fd, inode)) {
    errno = before;
    return false;
  }
  result = device_functions()->command(fd, inode, data, bytes);
  return true;
}

}  // namespace verbena::path
