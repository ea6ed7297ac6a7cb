// The verbs, each defined in the file of its object: those that inline verbs reach through struct ibv_context and
// struct verbs_context (context.cc puts them into their slots), and those that are exported (exports.cc). C gets none
// of them but through the boundary (boundary.h).
// Tested by: tests/shim/verbs/handles_test.cc
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>

#include "verbs-shim/verbs/objects.h"

namespace verbena::shim {

void fill_context(Context& context, Device& device);
/// Gives every NIC object of the context back; the C structures stay until the application destroys them.
void release_objects(Context& context);

int poll_cq(ibv_cq* cq, int entries, ibv_wc* into);
int req_notify_cq(ibv_cq* cq, int solicited_only);
int post_send(ibv_qp* qp, ibv_send_wr* request, ibv_send_wr** bad_request);
int post_recv(ibv_qp* qp, ibv_recv_wr* request, ibv_recv_wr** bad_request);
int post_srq_recv(ibv_srq* srq, ibv_recv_wr* request, ibv_recv_wr** bad_request);

ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attributes);
ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attributes);
ibv_srq* create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex* attributes);
ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type);
int bind_mw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* bind);
int dealloc_mw(ibv_mw* mw);
/// What a bind to `rkey` asks of the NIC; without a region it unbinds.
nic::WindowBinding binding_of(const ibv_qp& qp, const ibv_mw& window, ibv_mw_type type, std::uint32_t rkey,
                              const ibv_mw_bind_info& info);
/// A window of type 2 has its new key when the bind is posted, as with irdma: the low bits are the consumer's.
void note_bind(ibv_mw& window, std::uint32_t rkey);
ibv_mr* alloc_null_mr(ibv_pd* pd);
ibv_mr* reg_dm_mr(ibv_pd* pd, ibv_dm* dm, std::uint64_t offset, std::size_t length, unsigned access);
int advise_mr(ibv_pd* pd, ibv_advise_mr_advice advice, std::uint32_t flags, ibv_sge* sges, std::uint32_t sge_count);
ibv_dm* alloc_dm(ibv_context* context, ibv_alloc_dm_attr* attributes);
int free_dm(ibv_dm* dm);
ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr* attributes);
int dealloc_td(ibv_td* thread_domain);
ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* attributes);

int modify_cq(ibv_cq* cq, ibv_modify_cq_attr* attributes);
int modify_qp_rate_limit(ibv_qp* qp, ibv_qp_rate_limit_attr* attributes);
ibv_qp* open_qp(ibv_context* context, ibv_qp_open_attr* attributes);
ibv_xrcd* open_xrcd(ibv_context* context, ibv_xrcd_init_attr* attributes);
int close_xrcd(ibv_xrcd* xrcd);
int get_srq_num(ibv_srq* srq, std::uint32_t* number);
ibv_wq* create_wq(ibv_context* context, ibv_wq_init_attr* attributes);
int modify_wq(ibv_wq* queue, ibv_wq_attr* attributes);
int destroy_wq(ibv_wq* queue);
ibv_rwq_ind_table* create_rwq_ind_table(ibv_context* context, ibv_rwq_ind_table_init_attr* attributes);
int destroy_rwq_ind_table(ibv_rwq_ind_table* table);
ibv_flow* create_flow(ibv_qp* qp, ibv_flow_attr* attributes);
int destroy_flow(ibv_flow* flow);
ibv_counters* create_counters(ibv_context* context, ibv_counters_init_attr* attributes);
int destroy_counters(ibv_counters* counters);
int attach_counters_point_flow(ibv_counters* counters, ibv_counter_attach_attr* attributes, ibv_flow* flow);
int read_counters(ibv_counters* counters, std::uint64_t* values, std::uint32_t count, std::uint32_t flags);

nic::XrcDomainHandle domain_of(const Xrcd& xrcd);
/// Gives up what the descriptor holds, in a run of the engine. 0 or an errno value.
int leave_domain(nic::Nic& nic, Xrcd& xrcd);

int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input, ibv_device_attr_ex* attributes,
                    std::size_t size);
int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes, std::size_t size);
int query_rt_values(ibv_context* context, ibv_values_ex* values);

// The exported ones (exports.cc), by file.
ibv_device** get_device_list(int* num_devices);
void free_device_list(ibv_device** list);
ibv_context* open_device(ibv_device* device);
ibv_context* import_device(int cmd_fd);
int close_device(ibv_context* context);

int compat_query_device(ibv_context* context, ibv_device_attr* device_attr);
int compat_query_port(ibv_context* context, std::uint8_t port_num, _compat_ibv_port_attr* port_attr);
int query_gid_ex(ibv_context* context, std::uint32_t port_num, std::uint32_t gid_index, ibv_gid_entry* entry,
                 std::uint32_t flags, std::size_t entry_size);
ssize_t query_gid_table(ibv_context* context, ibv_gid_entry* entries, std::size_t max_entries, std::uint32_t flags,
                        std::size_t entry_size);
int query_gid(ibv_context* context, std::uint8_t port_num, int index, ibv_gid* gid);
int query_gid_type(ibv_context* context, std::uint8_t port_num, unsigned int index, int* type);
int query_pkey(ibv_context* context, std::uint8_t port_num, int index, __be16* pkey);
int get_pkey_index(ibv_context* context, std::uint8_t port_num, __be16 pkey);

ibv_pd* alloc_pd(ibv_context* context);
ibv_pd* import_pd(ibv_context* context, std::uint32_t pd_handle);
void unimport_pd(ibv_pd* pd);
int dealloc_pd(ibv_pd* pd);

ibv_mr* reg_mr(ibv_pd* pd, void* addr, std::size_t length, int access);
ibv_mr* reg_mr_iova(ibv_pd* pd, void* addr, std::size_t length, std::uint64_t iova, int access);
ibv_mr* reg_mr_iova2(ibv_pd* pd, void* addr, std::size_t length, std::uint64_t iova, unsigned access);
ibv_mr* reg_dmabuf_mr(ibv_pd* pd, std::uint64_t offset, std::size_t length, std::uint64_t iova, int fd, int access);
int rereg_mr(ibv_mr* mr, int flags, ibv_pd* pd, void* addr, std::size_t length, int access);
int dereg_mr(ibv_mr* mr);
ibv_mr* import_mr(ibv_pd* pd, std::uint32_t mr_handle);
void unimport_mr(ibv_mr* mr);

ibv_comp_channel* create_comp_channel(ibv_context* context);
int destroy_comp_channel(ibv_comp_channel* channel);
ibv_cq* create_cq(ibv_context* context, int cqe, void* cq_context, ibv_comp_channel* channel, int comp_vector);
int resize_cq(ibv_cq* cq, int cqe);
int destroy_cq(ibv_cq* cq);

int get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context);
void ack_cq_events(ibv_cq* cq, unsigned int nevents);
int get_async_event(ibv_context* context, ibv_async_event* event);
void ack_async_event(ibv_async_event* event);

ibv_qp* create_qp(ibv_pd* pd, ibv_qp_init_attr* qp_init_attr);
int modify_qp(ibv_qp* qp, ibv_qp_attr* attr, int attr_mask);
int query_qp(ibv_qp* qp, ibv_qp_attr* attr, int, ibv_qp_init_attr* init_attr);
int destroy_qp(ibv_qp* qp);

ibv_srq* create_srq(ibv_pd* pd, ibv_srq_init_attr* srq_init_attr);
int modify_srq(ibv_srq* srq, ibv_srq_attr* srq_attr, int srq_attr_mask);
int query_srq(ibv_srq* srq, ibv_srq_attr* srq_attr);
int destroy_srq(ibv_srq* srq);

ibv_ah* create_ah(ibv_pd* pd, ibv_ah_attr* attr);
int init_ah_from_wc(ibv_context* context, std::uint8_t port_num, ibv_wc* wc, ibv_grh* grh, ibv_ah_attr* ah_attr);
ibv_ah* create_ah_from_wc(ibv_pd* pd, ibv_wc* wc, ibv_grh* grh, std::uint8_t port_num);
int destroy_ah(ibv_ah* ah);
int resolve_eth_l2_from_gid(ibv_context* context, ibv_ah_attr* attr, std::uint8_t eth_mac[ETHERNET_LL_SIZE],
                            std::uint16_t* vid);

int attach_mcast(ibv_qp* qp, const ibv_gid* gid, std::uint16_t);
int detach_mcast(ibv_qp* qp, const ibv_gid* gid, std::uint16_t);

ibv_dm* import_dm(ibv_context* context, std::uint32_t dm_handle);
void unimport_dm(ibv_dm* dm);

int set_ece(ibv_qp*, ibv_ece*);
int query_ece(ibv_qp*, ibv_ece* ece);

/// Fills the slots of verbs that are not built, each with a function that says EOPNOTSUPP (unsupported.cc).
void fill_unsupported(Context& context);
/// Fills the reading slots of a CQ (cq_ex.cc), and the building slots of a QP (qp_ex.cc).
void fill_reading(Cq& cq);
void fill_building(Qp& qp);
/// What of the data path looks at the plan of faults, and what does not, as the plan is now: in a context that is whole
/// otherwise, and in objects with slots of their own. Programs may be calling them.
void plan_slots(Context& context);
void plan_slots(Cq& cq);
void plan_slots(Qp& qp);
void plan_slots(Wq& queue);

}  // namespace verbena::shim
