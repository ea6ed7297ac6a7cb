// The verbs that libibverbs exports, each as C calls it (boundary.h); what it does stands in the file of its object.
// Those that inline verbs reach through a structure are put into its slots there.
// Tested by: tests/shim/verbs/errno_test.cc, tests/shim/abi/abi_test.py
#include "verbs-shim/verbs/boundary.h"
#include "verbs-shim/verbs/context_ops.h"
#include "verbs-shim/verbs/fault_boundary.h"
#include "verbs-shim/verbs/newer_verbs.h"
#include "verbs-shim/verbs/objects.h"

using namespace verbena::shim;

VERBENA_ABI ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr* attr) {
  return planned_verb<create_ah>(pd, attr);
}

VERBENA_ABI int ibv_init_ah_from_wc(ibv_context* context, std::uint8_t port_num, ibv_wc* wc, ibv_grh* grh,
                                    ibv_ah_attr* ah_attr) {
  return planned_verb<init_ah_from_wc>(context, port_num, wc, grh, ah_attr);
}

VERBENA_ABI ibv_ah* ibv_create_ah_from_wc(ibv_pd* pd, ibv_wc* wc, ibv_grh* grh, std::uint8_t port_num) {
  return planned_verb<create_ah_from_wc>(pd, wc, grh, port_num);
}

VERBENA_ABI int ibv_destroy_ah(ibv_ah* ah) {
  return planned_verb<destroy_ah>(ah);
}

VERBENA_ABI int ibv_resolve_eth_l2_from_gid(ibv_context* context, ibv_ah_attr* attr,
                                            std::uint8_t eth_mac[ETHERNET_LL_SIZE], std::uint16_t* vid) {
  return planned_verb<resolve_eth_l2_from_gid>(context, attr, eth_mac, vid);
}

VERBENA_ABI int ibv_query_device(ibv_context* context, ibv_device_attr* device_attr) {
  return planned_verb<compat_query_device>(context, device_attr);
}

VERBENA_ABI int ibv_query_port(ibv_context* context, std::uint8_t port_num, _compat_ibv_port_attr* port_attr) {
  return planned_verb<compat_query_port>(context, port_num, port_attr);
}

VERBENA_ABI int _ibv_query_gid_ex(ibv_context* context, std::uint32_t port_num, std::uint32_t gid_index,
                                  ibv_gid_entry* entry, std::uint32_t flags, std::size_t entry_size) {
  return planned_verb<query_gid_ex>(context, port_num, gid_index, entry, flags, entry_size);
}

VERBENA_ABI ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* entries, std::size_t max_entries,
                                         std::uint32_t flags, std::size_t entry_size) {
  return planned_verb<query_gid_table, Answers::negative_error>(context, entries, max_entries, flags, entry_size);
}

VERBENA_ABI int ibv_query_gid(ibv_context* context, std::uint8_t port_num, int index, ibv_gid* gid) {
  return planned_verb<query_gid>(context, port_num, index, gid);
}

VERBENA_ABI int ibv_query_gid_type(ibv_context* context, std::uint8_t port_num, unsigned int index, int* type) {
  return planned_verb<query_gid_type>(context, port_num, index, type);
}

VERBENA_ABI int ibv_query_pkey(ibv_context* context, std::uint8_t port_num, int index, __be16* pkey) {
  return planned_verb<query_pkey>(context, port_num, index, pkey);
}

VERBENA_ABI int ibv_get_pkey_index(ibv_context* context, std::uint8_t port_num, __be16 pkey) {
  return planned_verb<get_pkey_index, Answers::count>(context, port_num, pkey);
}

VERBENA_ABI ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  return planned_verb<create_comp_channel>(context);
}

VERBENA_ABI int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  return planned_verb<destroy_comp_channel>(channel);
}

VERBENA_ABI ibv_cq* ibv_create_cq(ibv_context* context, int cqe, void* cq_context, ibv_comp_channel* channel,
                                  int comp_vector) {
  return planned_verb<create_cq>(context, cqe, cq_context, channel, comp_vector);
}

VERBENA_ABI int ibv_resize_cq(ibv_cq* cq, int cqe) {
  return planned_verb<resize_cq>(cq, cqe);
}

VERBENA_ABI int ibv_destroy_cq(ibv_cq* cq) {
  return planned_verb<destroy_cq>(cq);
}

VERBENA_ABI ibv_device** ibv_get_device_list(int* num_devices) {
  return planned_verb<get_device_list>(num_devices);
}

VERBENA_ABI void ibv_free_device_list(ibv_device** list) {
  planned_verb<free_device_list>(list);
}

VERBENA_ABI ibv_context* ibv_open_device(ibv_device* device) {
  return planned_verb<open_device>(device);
}

VERBENA_ABI ibv_context* ibv_import_device(int cmd_fd) {
  return planned_verb<import_device>(cmd_fd);
}

VERBENA_ABI int ibv_close_device(ibv_context* context) {
  return planned_verb<close_device>(context);
}

VERBENA_ABI ibv_dm* ibv_import_dm(ibv_context* context, std::uint32_t dm_handle) {
  return planned_verb<import_dm>(context, dm_handle);
}

VERBENA_ABI void ibv_unimport_dm(ibv_dm* dm) {
  planned_verb<unimport_dm>(dm);
}

VERBENA_ABI int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context) {
  return planned_verb<get_cq_event>(channel, cq, cq_context);
}

VERBENA_ABI void ibv_ack_cq_events(ibv_cq* cq, unsigned int nevents) {
  planned_verb<ack_cq_events>(cq, nevents);
}

VERBENA_ABI int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  return planned_verb<get_async_event>(context, event);
}

VERBENA_ABI void ibv_ack_async_event(ibv_async_event* event) {
  planned_verb<ack_async_event>(event);
}

VERBENA_ABI ibv_mr* ibv_reg_mr(ibv_pd* pd, void* addr, std::size_t length, int access) {
  return planned_verb<reg_mr>(pd, addr, length, access);
}

VERBENA_ABI ibv_mr* ibv_reg_mr_iova(ibv_pd* pd, void* addr, std::size_t length, std::uint64_t iova, int access) {
  return planned_verb<reg_mr_iova>(pd, addr, length, iova, access);
}

VERBENA_ABI ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* addr, std::size_t length, std::uint64_t iova, unsigned access) {
  return planned_verb<reg_mr_iova2>(pd, addr, length, iova, access);
}

VERBENA_ABI ibv_mr* ibv_reg_dmabuf_mr(ibv_pd* pd, std::uint64_t offset, std::size_t length, std::uint64_t iova, int fd,
                                      int access) {
  return planned_verb<reg_dmabuf_mr>(pd, offset, length, iova, fd, access);
}

VERBENA_ABI int ibv_rereg_mr(ibv_mr* mr, int flags, ibv_pd* pd, void* addr, std::size_t length, int access) {
  return planned_verb<rereg_mr>(mr, flags, pd, addr, length, access);
}

VERBENA_ABI int ibv_dereg_mr(ibv_mr* mr) {
  return planned_verb<dereg_mr>(mr);
}

VERBENA_ABI ibv_mr* ibv_import_mr(ibv_pd* pd, std::uint32_t mr_handle) {
  return planned_verb<import_mr>(pd, mr_handle);
}

VERBENA_ABI void ibv_unimport_mr(ibv_mr* mr) {
  planned_verb<unimport_mr>(mr);
}

VERBENA_ABI int ibv_attach_mcast(ibv_qp* qp, const ibv_gid* gid, std::uint16_t lid) {
  return planned_verb<attach_mcast>(qp, gid, lid);
}

VERBENA_ABI int ibv_detach_mcast(ibv_qp* qp, const ibv_gid* gid, std::uint16_t lid) {
  return planned_verb<detach_mcast>(qp, gid, lid);
}

VERBENA_ABI ibv_pd* ibv_alloc_pd(ibv_context* context) {
  return planned_verb<alloc_pd>(context);
}

VERBENA_ABI ibv_pd* ibv_import_pd(ibv_context* context, std::uint32_t pd_handle) {
  return planned_verb<import_pd>(context, pd_handle);
}

VERBENA_ABI void ibv_unimport_pd(ibv_pd* pd) {
  planned_verb<unimport_pd>(pd);
}

VERBENA_ABI int ibv_dealloc_pd(ibv_pd* pd) {
  return planned_verb<dealloc_pd>(pd);
}

VERBENA_ABI ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* qp_init_attr) {
  return planned_verb<create_qp>(pd, qp_init_attr);
}

VERBENA_ABI int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attr, int attr_mask) {
  return planned_verb<modify_qp>(qp, attr, attr_mask);
}

VERBENA_ABI int ibv_query_qp(ibv_qp* qp, ibv_qp_attr* attr, int attr_mask, ibv_qp_init_attr* init_attr) {
  return planned_verb<query_qp>(qp, attr, attr_mask, init_attr);
}

VERBENA_ABI int ibv_destroy_qp(ibv_qp* qp) {
  return planned_verb<destroy_qp>(qp);
}

VERBENA_ABI ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr* srq_init_attr) {
  return planned_verb<create_srq>(pd, srq_init_attr);
}

VERBENA_ABI int ibv_modify_srq(ibv_srq* srq, ibv_srq_attr* srq_attr, int srq_attr_mask) {
  return planned_verb<modify_srq>(srq, srq_attr, srq_attr_mask);
}

VERBENA_ABI int ibv_query_srq(ibv_srq* srq, ibv_srq_attr* srq_attr) {
  return planned_verb<query_srq>(srq, srq_attr);
}

VERBENA_ABI int ibv_destroy_srq(ibv_srq* srq) {
  return planned_verb<destroy_srq>(srq);
}

VERBENA_ABI int ibv_set_ece(ibv_qp* qp, ibv_ece* ece) {
  return planned_verb<set_ece>(qp, ece);
}

VERBENA_ABI int ibv_query_ece(ibv_qp* qp, ibv_ece* ece) {
  return planned_verb<query_ece>(qp, ece);
}

// -- Those of newer releases (newer_verbs.h) --------------------------------------------------------------------------

VERBENA_ABI void* ibv_alloc_buf(ibv_pd* pd, std::size_t size, ibv_buf** buffer) {
  return planned_verb<alloc_buf>(pd, size, buffer);
}
VERBENA_ABI void ibv_free_buf(ibv_buf* buffer) {
  planned_verb<free_buf>(buffer);
}
VERBENA_ABI ibv_mr* ibv_reg_buf_mr(ibv_pd* pd, ibv_buf* buffer, void* address, std::size_t length, int access) {
  return planned_verb<reg_buf_mr>(pd, buffer, address, length, access);
}
VERBENA_ABI ibv_mr* ibv_reg_mr_ex(ibv_pd* pd, ibv_mr_init_attr* attributes) {
  return planned_verb<reg_mr_ex>(pd, attributes);
}
VERBENA_ABI int ibv_export_buf_dmabuf_fd(ibv_buf* buffer) {
  return planned_verb<export_buf_dmabuf_fd, Answers::count>(buffer);
}
VERBENA_ABI int ibv_query_port_speed(ibv_context* context, std::uint32_t port, std::uint64_t* speed) {
  return planned_verb<query_port_speed>(context, port, speed);
}

VERBENA_ABI ibv_dmah* ibv_alloc_dmah(ibv_context* context, ibv_dmah_init_attr* attributes) {
  return planned_verb<none_supported<ibv_dmah, ibv_context*, ibv_dmah_init_attr*>>(context, attributes);
}
VERBENA_ABI int ibv_dealloc_dmah(ibv_dmah* handle) {
  return planned_verb<not_supported<ibv_dmah*>>(handle);
}
VERBENA_ABI int ibv_dm_export_dmabuf_fd(ibv_dm* dm) {
  return planned_verb<dm_export_dmabuf_fd, Answers::count>(dm);
}

VERBENA_ABI ibv_comp_cntr* ibv_create_comp_cntr(ibv_context* context, ibv_comp_cntr_init_attr* attributes) {
  return planned_verb<none_supported<ibv_comp_cntr, ibv_context*, ibv_comp_cntr_init_attr*>>(context, attributes);
}
VERBENA_ABI int ibv_destroy_comp_cntr(ibv_comp_cntr* counter) {
  return planned_verb<not_supported<ibv_comp_cntr*>>(counter);
}
VERBENA_ABI int ibv_set_comp_cntr(ibv_comp_cntr* counter, std::uint64_t value) {
  return planned_verb<not_supported<ibv_comp_cntr*, std::uint64_t>>(counter, value);
}
VERBENA_ABI int ibv_set_err_comp_cntr(ibv_comp_cntr* counter, std::uint64_t value) {
  return planned_verb<not_supported<ibv_comp_cntr*, std::uint64_t>>(counter, value);
}
VERBENA_ABI int ibv_inc_comp_cntr(ibv_comp_cntr* counter, std::uint64_t amount) {
  return planned_verb<not_supported<ibv_comp_cntr*, std::uint64_t>>(counter, amount);
}
VERBENA_ABI int ibv_inc_err_comp_cntr(ibv_comp_cntr* counter, std::uint64_t amount) {
  return planned_verb<not_supported<ibv_comp_cntr*, std::uint64_t>>(counter, amount);
}
VERBENA_ABI int ibv_read_comp_cntr(ibv_comp_cntr* counter, std::uint64_t* value) {
  return planned_verb<not_supported<ibv_comp_cntr*, std::uint64_t*>>(counter, value);
}
VERBENA_ABI int ibv_read_err_comp_cntr(ibv_comp_cntr* counter, std::uint64_t* value) {
  return planned_verb<not_supported<ibv_comp_cntr*, std::uint64_t*>>(counter, value);
}
VERBENA_ABI int ibv_qp_attach_comp_cntr(ibv_qp* qp, ibv_comp_cntr* counter, void* attributes) {
  return planned_verb<not_supported<ibv_qp*, ibv_comp_cntr*, void*>>(qp, counter, attributes);
}
VERBENA_ABI int _ibv_query_comp_cntr_caps(ibv_context* context, void* capabilities, std::size_t size) {
  return planned_verb<not_supported<ibv_context*, void*, std::size_t>>(context, capabilities, size);
}
