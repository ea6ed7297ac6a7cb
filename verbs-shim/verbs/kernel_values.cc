// What libibverbs offers besides verbs: sysfs files, values in the kernel's form (librdmacm gets them from the
// connection manager), and fork support.
// Tested by: tests/shim/verbs/errno_test.cc
#include <fcntl.h>
#include <infiniband/sa.h>
#include <rdma/ib_user_sa.h>
#include <rdma/ib_user_verbs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "verbs-shim/verbs/objects.h"

namespace {

constexpr std::size_t kSysfsPathMax = 4096;

}  // namespace

VERBENA_ABI const char* ibv_get_sysfs_path() {
  const char* const path = std::getenv("SYSFS_PATH");
  return path != nullptr && path[0] == '/' ? path : "/sys";
}

VERBENA_ABI int ibv_read_sysfs_file(const char* dir, const char* file, char* buf, std::size_t size) {
  char path[kSysfsPathMax];
  if (static_cast<std::size_t>(std::snprintf(path, sizeof path, "%s/%s", dir, file)) >= sizeof path) return -1;
  const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return -1;
  ssize_t length = read(descriptor, buf, size);
  close(descriptor);
  // Sysfs ends a value with a newline, for which the caller's zero takes the place.
  if (length > 0) {
    if (buf[length - 1] == '\n')
      buf[--length] = '\0';
    else if (static_cast<std::size_t>(length) < size)
      buf[length] = '\0';
    else
      return -1;
  }
  return static_cast<int>(length);
}

VERBENA_ABI void ibv_copy_ah_attr_from_kern(ibv_ah_attr* dst, ib_uverbs_ah_attr* src) {
  std::ranges::copy(src->grh.dgid, dst->grh.dgid.raw);
  dst->grh.flow_label = src->grh.flow_label;
  dst->grh.sgid_index = src->grh.sgid_index;
  dst->grh.hop_limit = src->grh.hop_limit;
  dst->grh.traffic_class = src->grh.traffic_class;
  dst->dlid = src->dlid;
  dst->sl = src->sl;
  dst->src_path_bits = src->src_path_bits;
  dst->static_rate = src->static_rate;
  dst->is_global = src->is_global;
  dst->port_num = src->port_num;
}

VERBENA_ABI void ibv_copy_qp_attr_from_kern(ibv_qp_attr* dst, ib_uverbs_qp_attr* src) {
  dst->qp_state = static_cast<ibv_qp_state>(src->qp_state);
  dst->cur_qp_state = static_cast<ibv_qp_state>(src->cur_qp_state);
  dst->path_mtu = static_cast<ibv_mtu>(src->path_mtu);
  dst->path_mig_state = static_cast<ibv_mig_state>(src->path_mig_state);
  dst->qkey = src->qkey;
  dst->rq_psn = src->rq_psn;
  dst->sq_psn = src->sq_psn;
  dst->dest_qp_num = src->dest_qp_num;
  dst->qp_access_flags = src->qp_access_flags;
  dst->cap.max_send_wr = src->max_send_wr;
  dst->cap.max_recv_wr = src->max_recv_wr;
  dst->cap.max_send_sge = src->max_send_sge;
  dst->cap.max_recv_sge = src->max_recv_sge;
  dst->cap.max_inline_data = src->max_inline_data;
  ibv_copy_ah_attr_from_kern(&dst->ah_attr, &src->ah_attr);
  ibv_copy_ah_attr_from_kern(&dst->alt_ah_attr, &src->alt_ah_attr);
  dst->pkey_index = src->pkey_index;
  dst->alt_pkey_index = src->alt_pkey_index;
  dst->en_sqd_async_notify = src->en_sqd_async_notify;
  dst->sq_draining = src->sq_draining;
  dst->max_rd_atomic = src->max_rd_atomic;
  dst->max_dest_rd_atomic = src->max_dest_rd_atomic;
  dst->min_rnr_timer = src->min_rnr_timer;
  dst->port_num = src->port_num;
  dst->timeout = src->timeout;
  dst->retry_cnt = src->retry_cnt;
  dst->rnr_retry = src->rnr_retry;
  dst->alt_port_num = src->alt_port_num;
  dst->alt_timeout = src->alt_timeout;
}

namespace {

/// The fields that both forms of a path record share by name and meaning.
template <class To, class From>
void copy_path(To& to, const From& from) {
  to.dlid = from.dlid;
  to.slid = from.slid;
  to.flow_label = from.flow_label;
  to.mtu = static_cast<decltype(to.mtu)>(from.mtu);
  to.pkey = from.pkey;
  to.hop_limit = from.hop_limit;
  to.traffic_class = from.traffic_class;
  to.numb_path = from.numb_path;
  to.sl = from.sl;
  to.mtu_selector = from.mtu_selector;
  to.rate_selector = from.rate_selector;
  to.rate = from.rate;
  to.packet_life_time_selector = from.packet_life_time_selector;
  to.packet_life_time = from.packet_life_time;
  to.preference = from.preference;
}

}  // namespace

VERBENA_ABI void ibv_copy_path_rec_from_kern(ibv_sa_path_rec* dst, ib_user_path_rec* src) {
  copy_path(*dst, *src);
  std::ranges::copy(src->dgid, dst->dgid.raw);
  std::ranges::copy(src->sgid, dst->sgid.raw);
  dst->raw_traffic = static_cast<int>(src->raw_traffic);
  dst->reversible = static_cast<int>(src->reversible);
}

VERBENA_ABI void ibv_copy_path_rec_to_kern(ib_user_path_rec* dst, ibv_sa_path_rec* src) {
  copy_path(*dst, *src);
  std::ranges::copy(src->dgid.raw, dst->dgid);
  std::ranges::copy(src->sgid.raw, dst->sgid);
  dst->raw_traffic = static_cast<std::uint32_t>(src->raw_traffic);
  dst->reversible = static_cast<std::uint32_t>(src->reversible);
}

// The NIC reaches registered memory through the process's own page tables: fork needs no preparation, and copies of
// pages never part the NIC from the application.
VERBENA_ABI int ibv_fork_init() {
  return 0;
}
VERBENA_ABI ibv_fork_status ibv_is_fork_initialized() {
  return IBV_FORK_UNNEEDED;
}
VERBENA_ABI int ibv_dontfork_range(void*, std::size_t) {
  return 0;
}
VERBENA_ABI int ibv_dofork_range(void*, std::size_t) {
  return 0;
}
