// The verbs of IBVERBS_1.15 to 1.18, which rdma-core has had since its releases 57 to 65: newer than the headers that
// Verbena is built with. Programs of newer releases bind them at load.
//
// Solely their signatures, and the layouts of what is passed: the man pages of rdma-core 65 (ibv_reg_mr_ex,
// ibv_alloc_buf, ibv_query_port_speed, ibv_create_comp_cntr, ibv_alloc_dmah, ibv_dm_export_dmabuf_fd). What a device
// cannot do is refused as there: EOPNOTSUPP.
#pragma once

#include <infiniband/verbs.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

// As a newer header names them; nothing of them but MrInitAttributes is looked into.
struct ibv_buf;
struct ibv_comp_cntr;
struct ibv_comp_cntr_init_attr;
struct ibv_dmah;
struct ibv_dmah_init_attr;
struct ibv_mr_init_attr;

namespace verbena::shim {

/// Which of ibv_mr_init_attr's fields the caller has filled in.
enum MrInitMask : std::uint64_t {
  kMrHasIova = 1 << 0,
  kMrHasAddress = 1 << 1,
  kMrHasDmabuf = 1 << 2,
  kMrHasDmabufOffset = 1 << 3,
  kMrHasDmaHandle = 1 << 4,
  kMrHasBuffer = 1 << 5,
};
/// The layout of ibv_mr_init_attr; older programs pass less of it, and say so by the mask.
struct MrInitAttributes {
  std::size_t length;
  int access;
  std::uint64_t mask;  // MrInitMask
  std::uint64_t iova;
  void* address;
  int dmabuf;
  std::uint64_t dmabuf_offset;
  ibv_dmah* dma_handle;
  ibv_buf* buffer;
};
static_assert(offsetof(MrInitAttributes, mask) == 16 && offsetof(MrInitAttributes, buffer) == 64);

/// Memory for applications, whole pages, which they register. Null: EINVAL, ENOMEM, or the PD's device is gone.
void* alloc_buf(ibv_pd* pd, std::size_t bytes, ibv_buf** buffer);
void free_buf(ibv_buf* buffer);
/// A region over a buffer of this PD, or a part. EINVAL: it is another PD's, or the range is not within it.
ibv_mr* reg_buf_mr(ibv_pd* pd, ibv_buf* buffer, void* address, std::size_t length, int access);
ibv_mr* reg_mr_ex(ibv_pd* pd, ibv_mr_init_attr* attributes);
/// -1: the buffer is no dma-buf (ENODATA), as all of ours.
int export_buf_dmabuf_fd(ibv_buf* buffer);
/// -1 and EOPNOTSUPP: device memory of ours is no dma-buf.
int dm_export_dmabuf_fd(ibv_dm* dm);
/// In units of 100 Mbit/s.
int query_port_speed(ibv_context* context, std::uint32_t port, std::uint64_t* speed);

/// What a device answers that has no DMA handles and no completion counters.
template <class... Arguments>
int not_supported(Arguments...) {
  return EOPNOTSUPP;
}
template <class Result, class... Arguments>
Result* none_supported(Arguments...) {
  errno = EOPNOTSUPP;
  return nullptr;
}

}  // namespace verbena::shim
