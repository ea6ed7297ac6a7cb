// The verbs that a fault can name, each with the errors that its man page has.
//
// Solely the list. A row is a name, and the errors, of which the first is meant where none is said: what the verb gives
// when a resource is short, or what goes wrong most often. Sources: the man pages of libibverbs and librdmacm; where
// one names no errors, those that the kernel's uverbs answer with.
// Tested by: tests/fabric/verb_rule_test.cc
#pragma once

#include <cerrno>
#include <cstdint>

// clang-format off
#define VERBENA_FAULT_VERBS(X)                                    \
  X(open_device, ENODEV, ENOMEM)                                  \
  X(close_device, EBUSY, EIO)                                     \
  X(query_device, EIO, ENOMEM)                                    \
  X(query_port, EIO, EINVAL)                                      \
  X(query_gid, EIO, EINVAL)                                       \
  X(query_pkey, EIO, EINVAL)                                      \
  X(alloc_pd, ENOMEM, EINVAL)                                     \
  X(dealloc_pd, EBUSY, EINVAL)                                    \
  X(reg_mr, ENOMEM, EINVAL, EFAULT, EPERM, EAGAIN)                \
  X(rereg_mr, ENOMEM, EINVAL, EFAULT, EBUSY)                      \
  X(dereg_mr, EBUSY, EINVAL)                                      \
  X(create_comp_channel, ENOMEM, EMFILE, ENFILE)                  \
  X(destroy_comp_channel, EBUSY)                                  \
  X(create_cq, ENOMEM, EINVAL, ENOSYS)                            \
  X(resize_cq, ENOMEM, EINVAL, ENOSYS)                            \
  X(destroy_cq, EBUSY)                                            \
  X(req_notify_cq, EIO, EINVAL)                                   \
  X(get_cq_event, EIO, EAGAIN, EINTR)                             \
  X(poll_cq, EIO)                                                 \
  X(get_async_event, EIO, EAGAIN, EINTR)                          \
  X(create_qp, ENOMEM, EINVAL, ENOSYS, EPERM, EAGAIN)             \
  X(modify_qp, EINVAL, ENOMEM, ETIMEDOUT, EIO, EHOSTUNREACH)      \
  X(query_qp, EIO, ENOMEM)                                        \
  X(destroy_qp, EBUSY)                                            \
  X(post_send, ENOMEM, EINVAL, EFAULT, EIO)                       \
  X(post_recv, ENOMEM, EINVAL, EFAULT, EIO)                       \
  X(create_srq, ENOMEM, EINVAL)                                   \
  X(modify_srq, ENOMEM, EINVAL)                                   \
  X(query_srq, EIO)                                               \
  X(destroy_srq, EBUSY)                                           \
  X(post_srq_recv, ENOMEM, EINVAL, EFAULT)                        \
  X(create_ah, ENOMEM, EINVAL, ETIMEDOUT, EHOSTUNREACH)           \
  X(destroy_ah, EBUSY)                                            \
  X(attach_mcast, ENOMEM, EINVAL)                                 \
  X(detach_mcast, EINVAL)                                         \
  X(alloc_mw, ENOMEM, EOPNOTSUPP)                                 \
  X(bind_mw, ENOMEM, EINVAL, EOPNOTSUPP)                          \
  X(dealloc_mw, EBUSY)                                            \
  X(alloc_dm, ENOMEM, EINVAL, EOPNOTSUPP)                         \
  X(open_xrcd, ENOMEM, EINVAL)                                    \
  X(create_flow, ENOMEM, EINVAL, EOPNOTSUPP)                      \
  X(import_pd, ENOENT, EINVAL, ENOMEM)                            \
  X(import_mr, ENOENT, EINVAL, ENOMEM)                            \
  X(import_dm, ENOENT, EINVAL, ENOMEM)                            \
  X(query_gid_table, EINVAL, EOPNOTSUPP)                          \
  X(get_pkey_index, EINVAL, EIO)                                  \
  X(query_rt_values, EIO, EOPNOTSUPP)                             \
  X(alloc_td, ENOMEM, EOPNOTSUPP)                                 \
  X(dealloc_td, EBUSY, EINVAL)                                    \
  X(alloc_parent_domain, ENOMEM, EINVAL, EOPNOTSUPP)              \
  X(alloc_null_mr, ENOMEM, EOPNOTSUPP)                            \
  X(reg_dm_mr, ENOMEM, EINVAL, EOPNOTSUPP)                        \
  X(advise_mr, EINVAL, EFAULT, EOPNOTSUPP)                        \
  X(free_dm, EBUSY, EINVAL)                                       \
  X(modify_cq, EINVAL, EOPNOTSUPP)                                \
  X(open_qp, EINVAL, ENOMEM)                                      \
  X(modify_qp_rate_limit, EINVAL, EOPNOTSUPP)                     \
  X(query_ece, EOPNOTSUPP, EINVAL)                                \
  X(set_ece, EOPNOTSUPP, EINVAL)                                  \
  X(close_xrcd, EBUSY, EINVAL)                                    \
  X(get_srq_num, EOPNOTSUPP, EINVAL)                              \
  X(create_wq, ENOMEM, EINVAL, EOPNOTSUPP)                        \
  X(modify_wq, EINVAL, EOPNOTSUPP)                                \
  X(destroy_wq, EBUSY, EINVAL)                                    \
  X(post_wq_recv, ENOMEM, EINVAL)                                 \
  X(create_rwq_ind_table, ENOMEM, EINVAL, EOPNOTSUPP)             \
  X(destroy_rwq_ind_table, EBUSY, EINVAL)                         \
  X(destroy_flow, EINVAL, EIO)                                    \
  X(create_counters, ENOMEM, EINVAL, EOPNOTSUPP)                  \
  X(destroy_counters, EBUSY, EINVAL)                              \
  X(attach_counters_point_flow, EINVAL, EBUSY, EOPNOTSUPP)        \
  X(read_counters, EINVAL, EOPNOTSUPP)                            \
  X(init_ah_from_wc, EINVAL, EIO)                                 \
  X(rdma_create_id, ENOMEM, ENODEV, EINVAL)                       \
  X(rdma_destroy_id, EBUSY, EINVAL)                               \
  X(rdma_bind_addr, EADDRINUSE, EADDRNOTAVAIL, EINVAL, ENODEV)    \
  X(rdma_resolve_addr, ENODEV, EADDRNOTAVAIL, EINVAL, ENOMEM)     \
  X(rdma_resolve_route, ENOMEM, EINVAL, EAGAIN, ENODEV)           \
  X(rdma_connect, ENOMEM, EINVAL, ENODEV)                         \
  X(rdma_listen, EADDRINUSE, ENOMEM, EINVAL)                      \
  X(rdma_accept, ENOMEM, EINVAL, ENODEV)                          \
  X(rdma_reject, EINVAL, ENOMEM)                                  \
  X(rdma_disconnect, EINVAL, ENODEV)                              \
  X(rdma_get_cm_event, EIO, EAGAIN, EINTR)                        \
  X(rdma_set_option, EINVAL, ENOSYS)                              \
  X(rdma_join_multicast, ENOMEM, EINVAL, ENODEV)                  \
  X(rdma_leave_multicast, ENOENT, EINVAL)                         \
  X(rdma_migrate_id, ENOENT, EINVAL)
// clang-format on

namespace verbena::fabric {

enum class Verb : std::uint8_t {
  any,
#define VERBENA_VERB(name, ...) name,
  VERBENA_FAULT_VERBS(VERBENA_VERB)
#undef VERBENA_VERB
};

}  // namespace verbena::fabric
