#include "verbs-shim/verbs/newer_verbs.h"

#include <unistd.h>

#include <cstdlib>

#include "emulator/host/node/port_speed.h"
#include "verbs-shim/verbs/context_ops.h"
#include "verbs-shim/verbs/live.h"
#include "verbs-shim/verbs/objects.h"
#include "verbs-shim/verbs/process.h"

/// A buffer of alloc_buf(): the application holds it as a handle.
struct ibv_buf {
  std::byte* address = nullptr;
  std::size_t bytes = 0;
  ibv_pd* pd = nullptr;
};

namespace verbena::shim {
namespace {

bool is_within(const ibv_buf& buffer, const void* address, std::size_t length) {
  const auto begin = reinterpret_cast<std::uintptr_t>(buffer.address);
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  return at >= begin && at - begin <= buffer.bytes && length <= buffer.bytes - (at - begin);
}

}  // namespace

void* alloc_buf(ibv_pd* pd, std::size_t bytes, ibv_buf** buffer) {
  if (!is_live(pd)) return fail(missing(pd));
  if (bytes == 0 || buffer == nullptr) return fail(EINVAL);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  if (bytes > SIZE_MAX - page) return fail(ENOMEM);
  auto* const memory = static_cast<std::byte*>(std::aligned_alloc(page, (bytes + page - 1) / page * page));
  auto* const made = static_cast<ibv_buf*>(std::malloc(sizeof(ibv_buf)));
  if (memory == nullptr || made == nullptr) {
    std::free(memory);
    std::free(made);
    return fail(ENOMEM);
  }
  *made = {.address = memory, .bytes = bytes, .pd = pd};
  *buffer = made;
  return memory;
}

void free_buf(ibv_buf* buffer) {
  if (buffer == nullptr) return;
  std::free(buffer->address);
  std::free(buffer);
}

ibv_mr* reg_buf_mr(ibv_pd* pd, ibv_buf* buffer, void* address, std::size_t length, int access) {
  if (!is_live(pd)) return fail(missing(pd));
  if (buffer == nullptr || buffer->pd != pd || !is_within(*buffer, address, length)) return fail(EINVAL);
  return reg_mr(pd, address, length, access);
}

ibv_mr* reg_mr_ex(ibv_pd* pd, ibv_mr_init_attr* opaque) {
  const auto& wanted = *reinterpret_cast<const MrInitAttributes*>(opaque);
  constexpr std::uint64_t kKnown =
      kMrHasIova | kMrHasAddress | kMrHasDmabuf | kMrHasDmabufOffset | kMrHasDmaHandle | kMrHasBuffer;
  const auto has = [&wanted](std::uint64_t bits) { return (wanted.mask & bits) != 0; };
  if ((wanted.mask & ~kKnown) != 0 || has(kMrHasDmaHandle)) return fail(EOPNOTSUPP);  // nobody has a handle from us
  void* const address = has(kMrHasAddress) ? wanted.address : nullptr;
  if (has(kMrHasBuffer)) {
    const ibv_buf* const buffer = wanted.buffer;
    const bool is_right = buffer != nullptr && buffer->pd == pd && has(kMrHasAddress) &&
                          is_within(*buffer, address, wanted.length) && !has(kMrHasDmabuf | kMrHasDmabufOffset);
    if (!is_right) return fail(EINVAL);
  }
  if (has(kMrHasDmabuf)) {
    if (has(kMrHasAddress)) return fail(EINVAL);
    const std::uint64_t offset = has(kMrHasDmabufOffset) ? wanted.dmabuf_offset : 0;
    return reg_dmabuf_mr(pd, offset, wanted.length, has(kMrHasIova) ? wanted.iova : offset, wanted.dmabuf,
                         wanted.access);
  }
  if (has(kMrHasDmabufOffset)) return fail(EINVAL);
  if (!has(kMrHasIova)) return reg_mr(pd, address, wanted.length, wanted.access);
  return reg_mr_iova2(pd, address, wanted.length, wanted.iova, static_cast<unsigned>(wanted.access));
}

int dm_export_dmabuf_fd(ibv_dm*) {
  errno = EOPNOTSUPP;
  return -1;
}

int export_buf_dmabuf_fd(ibv_buf*) {
  errno = ENODATA;
  return -1;
}

int query_port_speed(ibv_context* context, std::uint32_t port, std::uint64_t* speed) {
  constexpr std::uint64_t kUnitBitsPerSecond = 100'000'000;
  if (!device_of(context->device)->has_port(port)) return EINVAL;
  if (working_engine_of(context) == nullptr) return kNoDevice;
  const Device& device = *device_of(context->device);
  *speed = host::rate_of_port(device.config.fabric, device.ports[port - 1]) / kUnitBitsPerSecond;
  return 0;
}

}  // namespace verbena::shim
