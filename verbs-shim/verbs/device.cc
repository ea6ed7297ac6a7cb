// The device list, and opening and closing a device: ibv_get_device_list .. ibv_close_device.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <span>

#include "verbs-shim/verbs/connection_device.h"
#include "verbs-shim/verbs/context_ops.h"
#include "verbs-shim/verbs/objects.h"
#include "verbs-shim/verbs/process.h"
#include "verbs-shim/verbs/translate.h"

namespace verbena::shim {
namespace {

constexpr const char* kDeviceFilePrefix = "verbena-uverbs";

/// What stands for the open uverbs file. It has an identity of its own, which dup() and inheritance keep.
int make_device_file(const Device& device) {
  char name[64];
  std::snprintf(name, sizeof name, "%s%u", kDeviceFilePrefix, device.identity.number.device);
  const int file = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file >= 0) fcntl(file, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_WRITE);
  return file;
}

/// Whether the descriptor is such a file, of whatever process.
bool is_device_file(int file) {
  char link[64];
  char name[64] = {};
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  constexpr const char* kMemfd = "/memfd:";
  return readlink(link, name, sizeof name - 1) > 0 && std::strncmp(name, kMemfd, std::strlen(kMemfd)) == 0 &&
         std::strncmp(name + std::strlen(kMemfd), kDeviceFilePrefix, std::strlen(kDeviceFilePrefix)) == 0;
}

std::uint64_t identity_of(int file) {
  struct stat status{};
  return fstat(file, &status) == 0 ? status.st_ino : 0;
}

/// Takes `file` over as the context's cmd_fd if it succeeds.
ibv_context* open_context(Device* device, int file) {
  auto* const context = new (std::nothrow) Context();
  if (context == nullptr) return fail(ENOMEM);
  fill_context(*context, *device);
  if (const int error = context->async_events.open(); error != 0) {
    delete context;
    return fail(error);
  }
  context->context.async_fd = context->async_events.descriptor();
  context->context.cmd_fd = file;
  context->device_file = identity_of(file);
  if (Process::instance().attach(*context, *device) == nullptr) {
    const int error = errno;
    delete context;
    return fail(error);
  }
  context->limits = context->engine.load(std::memory_order_relaxed)->nic_config().limits;
  return &context->context;
}

}  // namespace
ibv_device** get_device_list(int* num_devices) {
  const std::span<Device* const> devices = all_devices();
  auto** const list = static_cast<ibv_device**>(std::calloc(devices.size() + 1, sizeof(ibv_device*)));
  if (num_devices != nullptr) *num_devices = 0;
  if (list == nullptr) return fail(ENOMEM);
  for (std::size_t i = 0; i < devices.size(); ++i) list[i] = &devices[i]->device;
  if (num_devices != nullptr) *num_devices = static_cast<int>(devices.size());
  return list;
}

void free_device_list(ibv_device** list) {
  std::free(list);
}

VERBENA_ABI const char* ibv_get_device_name(ibv_device* device) {
  return device->name;
}

VERBENA_ABI int ibv_get_device_index(ibv_device* device) {
  return static_cast<int>(device_of(device)->identity.number.device);
}

VERBENA_ABI __be64 ibv_get_device_guid(ibv_device* device) {
  return node_guid(*device_of(device));
}

ibv_context* open_device(ibv_device* device) {
  const std::span<Device* const> devices = all_devices();
  if (device == nullptr || std::ranges::find(devices, device_of(device)) == devices.end()) return fail(ENODEV);
  const int file = make_device_file(*device_of(device));
  if (file < 0) return fail(errno);
  ibv_context* const context = open_context(device_of(device), file);
  if (context == nullptr) {
    const int error = errno;
    close(file);
    return fail(error);
  }
  return context;
}

// Contexts of this process only: what a descriptor of another process stands for lies in that process.
ibv_context* import_device(int cmd_fd) {
  const std::uint64_t wanted = identity_of(cmd_fd);
  if (wanted == 0) return fail(EBADF);
  if (!is_device_file(cmd_fd)) return fail(ENODEV);
  auto* const original = static_cast<Context*>(Process::instance().find(
      Kind::context, [&](void* object) { return static_cast<Context*>(object)->device_file == wanted; }));
  if (original == nullptr) return fail(EOPNOTSUPP);
  return open_context(device_of(original->context.device), cmd_fd);
}

int close_device(ibv_context* context) {
  if (context == nullptr) return EINVAL;
  Context* const closing = context_of(context);
  Process& process = Process::instance();
  if (!process.is_live(Kind::context, closing)) return EINVAL;
  release_objects(*closing);
  host::Engine* const engine = closing->engine.load(std::memory_order_relaxed);
  const bool was_removed = engine != nullptr && engine->is_removed();
  if (!process.detach(*closing)) return EINVAL;
  if (closing->context.cmd_fd >= 0) close(closing->context.cmd_fd);
  closing->context.cmd_fd = -1;
  release(closing);
  if (was_removed) removed_device_is_free();
  return 0;
}

}  // namespace verbena::shim
