// The functions that inline verbs reach through struct ibv_context and struct verbs_context, each defined in the file
// of its object; context.cc puts them into their slots.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>

#include "verbs-shim/objects.h"

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
nic::WindowBinding binding_of(const ibv_mw& window, std::uint32_t rkey, const ibv_mw_bind_info& info);
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

/// Fills the slots of verbs that are not built, each with a function that says EOPNOTSUPP (unsupported.cc).
void fill_unsupported(Context& context);
/// Fills the reading slots of a CQ (cq_ex.cc), and the building slots of a QP (qp_ex.cc).
void fill_reading(Cq& cq);
void fill_building(Qp& qp);

}  // namespace verbena::shim
