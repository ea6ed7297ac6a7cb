#include "verbs-shim/verbs/newer_verbs.h"

#include <unistd.h>

#include <cstdlib>

#include "emulator/host/node/port_speed.h"
#include "verbs-shim/verbs/boundary.h"
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

/// What a device without them answers: no DMA handles, completion counters, or device memory as a dma-buf.
template <class... Arguments>
int not_supported(Arguments...) {
  return EOPNOTSUPP;
}
template <class Result, class... Arguments>
Result* none_supported(Arguments...) {
  return fail(EOPNOTSUPP);
}
int no_descriptor(ibv_dm*) {
  errno = EOPNOTSUPP;
  return -1;
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

int export_buf_dmabuf_fd(ibv_buf*) {
  errno = ENODATA;
  return -1;
}

int query_port_speed(ibv_context* context, std::uint32_t port, std::uint64_t* speed) {
  constexpr std::uint64_t kUnitBitsPerSecond = 100'000'000;
  if (port != 1) return EINVAL;
  if (working_engine_of(context) == nullptr) return kNoDevice;
  const auto& tuning = device_of(context->device)->config.nic;
  *speed = tuning.speed_bits_per_second.value_or(host::kPortRateDefault) / kUnitBitsPerSecond;
  return 0;
}

}  // namespace verbena::shim

// -- What C calls -----------------------------------------------------------------------------------------------------

using namespace verbena::shim;

VERBENA_ABI void* ibv_alloc_buf(ibv_pd* pd, std::size_t size, ibv_buf** buffer) {
  return verb<alloc_buf>(pd, size, buffer);
}
VERBENA_ABI void ibv_free_buf(ibv_buf* buffer) {
  verb<free_buf>(buffer);
}
VERBENA_ABI ibv_mr* ibv_reg_buf_mr(ibv_pd* pd, ibv_buf* buffer, void* address, std::size_t length, int access) {
  return verb<reg_buf_mr>(pd, buffer, address, length, access);
}
VERBENA_ABI ibv_mr* ibv_reg_mr_ex(ibv_pd* pd, ibv_mr_init_attr* attributes) {
  return verb<reg_mr_ex>(pd, attributes);
}
VERBENA_ABI int ibv_export_buf_dmabuf_fd(ibv_buf* buffer) {
  return verb<export_buf_dmabuf_fd, Answers::count>(buffer);
}
VERBENA_ABI int ibv_query_port_speed(ibv_context* context, std::uint32_t port, std::uint64_t* speed) {
  return verb<query_port_speed>(context, port, speed);
}

VERBENA_ABI ibv_dmah* ibv_alloc_dmah(ibv_context* context, ibv_dmah_init_attr* attributes) {
  return verb<none_supported<ibv_dmah, ibv_context*, ibv_dmah_init_attr*>>(context, attributes);
}
VERBENA_ABI int ibv_dealloc_dmah(ibv_dmah* handle) {
  return verb<not_supported<ibv_dmah*>>(handle);
}
VERBENA_ABI int ibv_dm_export_dmabuf_fd(ibv_dm* dm) {
  return verb<no_descriptor, Answers::count>(dm);
}

VERBENA_ABI ibv_comp_cntr* ibv_create_comp_cntr(ibv_context* context, ibv_comp_cntr_init_attr* attributes) {
  return verb<none_supported<ibv_comp_cntr, ibv_context*, ibv_comp_cntr_init_attr*>>(context, attributes);
}
VERBENA_ABI int ibv_destroy_comp_cntr(ibv_comp_cntr* counter) {
  return verb<not_supported<ibv_comp_cntr*>>(counter);
}
VERBENA_ABI int ibv_set_comp_cntr(ibv_comp_cntr* counter, std::uint64_t value) {
  return verb<not_supported<ibv_comp_cntr*, std::uint64_t>>(counter, value);
}
VERBENA_ABI int ibv_set_err_comp_cntr(ibv_comp_cntr* counter, std::uint64_t value) {
  return verb<not_supported<ibv_comp_cntr*, std::uint64_t>>(counter, value);
}
VERBENA_ABI int ibv_inc_comp_cntr(ibv_comp_cntr* counter, std::uint64_t amount) {
  return verb<not_supported<ibv_comp_cntr*, std::uint64_t>>(counter, amount);
}
VERBENA_ABI int ibv_inc_err_comp_cntr(ibv_comp_cntr* counter, std::uint64_t amount) {
  return verb<not_supported<ibv_comp_cntr*, std::uint64_t>>(counter, amount);
}
VERBENA_ABI int ibv_read_comp_cntr(ibv_comp_cntr* counter, std::uint64_t* value) {
  return verb<not_supported<ibv_comp_cntr*, std::uint64_t*>>(counter, value);
}
VERBENA_ABI int ibv_read_err_comp_cntr(ibv_comp_cntr* counter, std::uint64_t* value) {
  return verb<not_supported<ibv_comp_cntr*, std::uint64_t*>>(counter, value);
}
VERBENA_ABI int ibv_qp_attach_comp_cntr(ibv_qp* qp, ibv_comp_cntr* counter, void* attributes) {
  return verb<not_supported<ibv_qp*, ibv_comp_cntr*, void*>>(qp, counter, attributes);
}
VERBENA_ABI int _ibv_query_comp_cntr_caps(ibv_context* context, void* capabilities, std::size_t size) {
  return verb<not_supported<ibv_context*, void*, std::size_t>>(context, capabilities, size);
}
