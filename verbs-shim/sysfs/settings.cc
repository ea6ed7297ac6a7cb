// Hooks: mkdir and rmdir, by which configfs shows a device or no longer does.
#include "verbs-shim/sysfs/settings.h"

#include <errno.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "emulator/host/config/variables.h"
#include "emulator/host/node/roce_mode.h"
#include "verbs-shim/sysfs/own_devices.h"
#include "verbs-shim/sysfs/real.h"

namespace verbena::path {
namespace {

std::string_view own_fabric() {
  return host::variable(host::kFabricVariable, host::kFabricDefault);
}

/// The files that this process has opened for writing, by which a descriptor is known again after dup(). The oldest
/// makes room.
struct Opened {
  std::atomic<dev_t> device{0};
  std::atomic<ino_t> inode{0};
  std::atomic<std::size_t> node{0};
};
constexpr std::size_t kOpenedMax = 16;
Opened opened[kOpenedMax];
std::atomic<std::size_t> opened_count{0};

void note_opened(int fd, Node node) {
  struct stat status{};
  if (!real_fstat(fd, status)) return;
  Opened& place = opened[opened_count.load() % kOpenedMax];
  place.device = status.st_dev;
  place.inode = status.st_ino;
  place.node = index_of(node);
  ++opened_count;
}

/// The one that the descriptor stands for, or none.
Node setting_of(int fd) {
  struct stat status{};
  if (opened_count.load(std::memory_order_relaxed) == 0 || !real_fstat(fd, status)) return {};
  for (const Opened& place : opened)
    if (place.inode == status.st_ino && place.device == status.st_dev && status.st_ino != 0) return node_at(place.node);
  return {};
}

std::size_t finish(int written, std::size_t size) {
  return written < 0 ? 0 : static_cast<std::size_t>(written) < size ? static_cast<std::size_t>(written) : size - 1;
}

}  // namespace

int open_setting(Node node, int flags) {
  const auto what = static_cast<host::PortDefault>(node->argument);
  const auto path = host::detail::default_path(own_fabric(), node.identity(), what);
  const int kept = flags & (O_ACCMODE | O_CLOEXEC | O_NONBLOCK);  // no O_TRUNC: a word that is refused changes nothing
  const int fd = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path.c_str(), kept | O_CREAT | O_NOFOLLOW, 0600));
  if (fd >= 0) note_opened(fd, node);
  return fd;
}

bool write_setting(int fd, const void* data, std::size_t bytes, ssize_t& result) {
  const Node node = setting_of(fd);
  if (!node) return false;
  const int error = node->set(node.identity(), static_cast<const char*>(data), bytes);
  if (error != 0) errno = error;
  result = error != 0 ? -1 : static_cast<ssize_t>(bytes);
  return true;
}

std::size_t write_roce_mode(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned) {
  const auto mode = host::default_roce_mode(own_fabric(), of);
  return finish(std::snprintf(into, size, "%s\n", wire::gid_type_text(mode).data()), size);
}

std::size_t write_roce_tos(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned) {
  return finish(std::snprintf(into, size, "%u\n", unsigned{host::default_roce_tos(own_fabric(), of)}), size);
}

int set_roce_mode(const host::DeviceIdentity& of, const char* text, std::size_t bytes) {
  return host::set_default_roce_mode(own_fabric(), of, {text, bytes});
}

int set_roce_tos(const host::DeviceIdentity& of, const char* text, std::size_t bytes) {
  return host::set_default_roce_tos(own_fabric(), of, {text, bytes});
}

bool has_settings(const host::DeviceIdentity& of, unsigned) {
  return host::has_config_folder(own_fabric(), of);
}

namespace {

constexpr std::string_view kFolder = "/sys/kernel/config/rdma_cm/";

int fail(int error) {
  errno = error;
  return -1;
}

/// "verbena0" of a path to a device's folder, with one slash behind it or none; empty: it is none.
std::string_view device_of_path(const char* path) {
  std::string_view rest(path);
  if (!rest.starts_with(kFolder)) return {};
  rest.remove_prefix(kFolder.size());
  if (rest.ends_with('/')) rest.remove_suffix(1);
  return rest.find('/') == rest.npos ? rest : std::string_view();
}

/// Its first port; none: the process has no such device.
bool find_device(std::string_view name, host::DeviceIdentity& device) {
  for (std::size_t i = 0; i < own_port_count(); ++i) {
    const host::DeviceIdentity one = own_port(i);
    if (one.number.port != 1 || one.name.view() != name) continue;
    device = one;
    return true;
  }
  return false;
}

int make_folder(std::string_view name) {
  host::DeviceIdentity device;
  if (!find_device(name, device)) return fail(ENODEV);  // make_cma_dev of the kernel's cma_configfs.c
  const int error = host::make_config_folder(own_fabric(), device);
  return error == 0 ? 0 : fail(error);
}

/// What was set stays, as in the kernel; what says no more than there was at first goes.
int remove_folder(std::string_view name) {
  host::DeviceIdentity device;
  if (!find_device(name, device)) return fail(ENOENT);
  const int error = host::remove_config_folder(own_fabric(), device);
  if (error != 0) return fail(error);
  for (std::size_t i = 0; i < own_port_count(); ++i) {
    const host::DeviceIdentity port = own_port(i);
    if (port.number.device != device.number.device) continue;
    host::set_default_roce_mode(own_fabric(), port, wire::gid_type_text(host::default_roce_mode(own_fabric(), port)));
    host::FixedText<16> tos;
    tos.append_number(host::default_roce_tos(own_fabric(), port));
    host::set_default_roce_tos(own_fabric(), port, tos.view());
  }
  return 0;
}

}  // namespace
}  // namespace verbena::path

using verbena::path::device_of_path;

VERBENA_HOOK(int, mkdir, (const char* path, mode_t mode)) {
  if (const auto device = device_of_path(path); !device.empty()) return verbena::path::make_folder(device);
  return VERBENA_REAL(mkdir)(path, mode);
}

VERBENA_HOOK(int, mkdirat, (int directory, const char* path, mode_t mode)) {
  if (const auto device = device_of_path(path); !device.empty()) return verbena::path::make_folder(device);
  return VERBENA_REAL(mkdirat)(directory, path, mode);
}

VERBENA_HOOK(int, rmdir, (const char* path)) {
  if (const auto device = device_of_path(path); !device.empty()) return verbena::path::remove_folder(device);
  return VERBENA_REAL(rmdir)(path);
}

VERBENA_HOOK(int, unlinkat, (int directory, const char* path, int flags)) {
  if (const auto device = device_of_path(path); !device.empty() && (flags & AT_REMOVEDIR) != 0)
    return verbena::path::remove_folder(device);
  return VERBENA_REAL(unlinkat)(directory, path, flags);
}
