// An object whose handle or context has been overwritten is not found, nor is one of another context: whatever it is,
// and whatever is asked of it.
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstring>
#include <utility>

#include "tests/shim/verbs/every_verb.h"
#include "tests/shim/verbs/newer_verbs_c.h"

using namespace verbs_test;

namespace {

using Calls = std::vector<Call>;

#define NOT_FOUND(verb, ...) FAILS(verb, ENOENT, __VA_ARGS__)

/// Verbs that are given no object but their context, or follow the objects that they are given.
const std::set<std::string> kLookNothingUp = {
    // asked of a context or of nothing
    "open_device", "import_device", "close_device", "get_device_list", "free_device_list", "query_device_ex",
    "compat_query_device", "compat_query_port", "query_port", "query_rt_values", "query_gid", "query_gid_ex",
    "query_gid_table", "query_gid_type", "query_pkey", "get_pkey_index", "get_async_event", "ack_async_event",
    "init_ah_from_wc", "resolve_eth_l2_from_gid", "alloc_pd", "alloc_td", "alloc_dm", "open_xrcd",
    "create_comp_channel", "create_counters", "import_pd", "import_dm", "ibv_qp_to_qp_ex", "ibv_query_qp_data_in_order",
    "ibv_wc_status_str", "ibv_event_type_str", "ibv_port_state_str", "ibv_node_type_str", "ibv_rate_to_mult",
    "mult_to_ibv_rate", "ibv_rate_to_mbps", "mbps_to_ibv_rate", "ibv_get_device_name", "ibv_get_device_index",
    "ibv_get_device_guid", "ibv_get_sysfs_path", "ibv_read_sysfs_file", "ibv_copy_ah_attr_from_kern",
    "ibv_copy_qp_attr_from_kern", "ibv_copy_path_rec_from_kern", "ibv_copy_path_rec_to_kern", "ibv_fork_init",
    "ibv_is_fork_initialized", "ibv_dontfork_range", "ibv_dofork_range", "query_port_speed", "free_buf",
    "export_buf_dmabuf_fd", "dm_export_dmabuf_fd",
    // the data path
    "post_send", "post_recv", "post_srq_recv", "post_wq_receive", "bind_mw", "poll_cq", "req_notify_cq", "start_poll",
    "next_poll", "wr_complete", "get_cq_event", "ack_cq_events", "copy_to", "copy_from",
    // without an answer: see unimport_leaves_what_it_does_not_find
    "unimport_pd", "unimport_mr", "unimport_dm",
    // not built
    "set_ece", "query_ece", "refuse_post_srq_ops", "create_flow_action_esp", "modify_flow_action_esp",
    "destroy_flow_action"};

/// The two contexts, and attributes for what is made of their objects. The calls name what stands here.
struct Worlds {
  Worlds();
  OneOfEverything own;
  OneOfEverything other;
  ibv_buf* buffer = nullptr;
  verbena::shim::MrInitAttributes plain_region{.length = 8, .mask = verbena::shim::kMrHasAddress};
  ibv_ah_attr address = address_of(own);
  ibv_wc completion{};
  ibv_grh header{};
  ibv_qp_init_attr plain_qp = qp_attributes(own.cq);
  ibv_qp_init_attr qp_with_srq = qp_attributes(own.cq);
  ibv_qp_init_attr_ex qp_ex{};
  ibv_qp_init_attr_ex xrc_qp = xrc_qp_attributes(own.xrcd);
  ibv_qp_init_attr_ex spread_qp{};
  std::uint8_t hash_key[40] = {};
  ibv_qp_open_attr opening{};
  ibv_srq_init_attr plain_srq{.srq_context = nullptr, .attr = {.max_wr = 1, .max_sge = 1, .srq_limit = 0}};
  ibv_srq_init_attr_ex xrc_srq = xrc_srq_attributes(own.pd, own.cq, own.xrcd);
  ibv_cq_init_attr_ex cq_on_domain{};
  ibv_wq_init_attr queue = wq_attributes(own.pd, own.cq);
  ibv_rwq_ind_table_init_attr spread{.log_ind_tbl_size = 0, .ind_tbl = &own.wq, .comp_mask = 0};
  ibv_parent_domain_init_attr domains{};
  /// A rule that names counters: its specifications lie behind it without regard to alignment.
  alignas(ibv_flow_attr) std::byte counted[sizeof(ibv_flow_attr) + sizeof(ibv_flow_spec_counter_action)];
  ibv_flow_attr* counting_into(ibv_counters* counters);
  ibv_flow_attr rule = flow_attributes();
  ibv_counter_attach_attr attach{};
  ibv_modify_cq_attr moderation{.attr_mask = IBV_CQ_ATTR_MODERATE, .moderate = {.cq_count = 0, .cq_period = 0}};
  ibv_srq_attr limit{};
  ibv_qp_attr state{};
  ibv_qp_init_attr made{};
  ibv_qp_rate_limit_attr rate{};
  ibv_wq_attr queue_state{};
  ibv_gid group{};
  ibv_sge range{};
  std::uint32_t number = 0;
  std::uint64_t value = 0;
};

Worlds::Worlds() {
  completion.wc_flags = IBV_WC_GRH;
  qp_with_srq.srq = own.srq;
  qp_ex.send_cq = qp_ex.recv_cq = own.cq;
  qp_ex.cap = plain_qp.cap;
  qp_ex.qp_type = IBV_QPT_RC;
  qp_ex.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS;
  qp_ex.pd = own.pd;
  spread_qp.qp_type = IBV_QPT_RAW_PACKET;
  spread_qp.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH;
  spread_qp.pd = own.pd;
  spread_qp.rwq_ind_tbl = own.table;
  spread_qp.rx_hash_conf = {.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
                            .rx_hash_key_len = sizeof hash_key,
                            .rx_hash_key = hash_key,
                            .rx_hash_fields_mask = IBV_RX_HASH_SRC_IPV4};
  opening.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
  opening.qp_num = own.xrc_qp->qp_num;
  opening.xrcd = own.xrcd;
  opening.qp_type = IBV_QPT_XRC_RECV;
  cq_on_domain.cqe = 1;
  cq_on_domain.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;
  cq_on_domain.parent_domain = own.parent;
  domains.pd = own.pd;
  domains.td = own.td;
  queue_state.attr_mask = IBV_WQ_ATTR_STATE;
  group.raw[0] = 0xff;
}

ibv_flow_attr* Worlds::counting_into(ibv_counters* counters) {
  ibv_flow_attr attributes = flow_attributes();
  attributes.size = sizeof counted;
  attributes.num_of_specs = 1;
  const ibv_flow_spec_counter_action count{
      .type = IBV_FLOW_SPEC_ACTION_COUNT, .size = sizeof count, .counters = counters};
  std::memcpy(counted, &attributes, sizeof attributes);
  std::memcpy(counted + sizeof attributes, &count, sizeof count);
  return reinterpret_cast<ibv_flow_attr*>(counted);
}

/// What is asked of an object, and what of it says which one it is.
struct Subject {
  const char* name;
  ibv_context** context;
  std::uint32_t* handle;  // null: its structure has none
  Calls asked;
  std::function<int()> use;  // 0: the object is as it was
};

int undo(ibv_mw* window) {
  return window == nullptr ? errno : ibv_dealloc_mw(window);
}
int undo(ibv_qp* qp) {
  return qp == nullptr ? errno : ibv_destroy_qp(qp);
}
int undo(ibv_cq* cq) {
  return cq == nullptr ? errno : ibv_destroy_cq(cq);
}
int undo(ibv_pd* pd) {
  return pd == nullptr ? errno : ibv_dealloc_pd(pd);
}
int undo(ibv_ah* ah) {
  return ah == nullptr ? errno : ibv_destroy_ah(ah);
}
int undo(ibv_flow* flow) {
  return flow == nullptr ? errno : ibv_destroy_flow(flow);
}
int undo(ibv_rwq_ind_table* table) {
  return table == nullptr ? errno : ibv_destroy_rwq_ind_table(table);
}
int undo(ibv_mr* region) {
  return region == nullptr ? errno : ibv_dereg_mr(region);
}

Subject pd(Worlds& w) {
  return {"PD",
          &w.own.pd->context,
          &w.own.pd->handle,
          {NOT_FOUND(dealloc_pd, ibv_dealloc_pd(w.own.pd)),
           NOT_FOUND(reg_mr, (ibv_reg_mr)(w.own.pd, w.own.buffer.data(), 8, 0)),
           NOT_FOUND(reg_mr_iova, (ibv_reg_mr_iova)(w.own.pd, w.own.buffer.data(), 8, w.own.address(0), 0)),
           NOT_FOUND(reg_mr_iova2, ibv_reg_mr_iova2(w.own.pd, w.own.buffer.data(), 8, w.own.address(0), 0)),
           NOT_FOUND(reg_dmabuf_mr, ibv_reg_dmabuf_mr(w.own.pd, 0, 8, 0, -1, 0)),
           NOT_FOUND(alloc_buf, ibv_alloc_buf(w.own.pd, 8, &w.buffer)),
           NOT_FOUND(reg_buf_mr, ibv_reg_buf_mr(w.own.pd, w.buffer, nullptr, 8, 0)),
           NOT_FOUND(reg_mr_ex, ibv_reg_mr_ex(w.own.pd, reinterpret_cast<ibv_mr_init_attr*>(&w.plain_region))),
           NOT_FOUND(import_mr, ibv_import_mr(w.own.pd, w.own.mr->handle)),
           NOT_FOUND(rereg_mr, ibv_rereg_mr(w.own.mr, IBV_REREG_MR_CHANGE_PD, w.own.pd, nullptr, 0, 0)),
           NOT_FOUND(alloc_null_mr, ibv_alloc_null_mr(w.own.pd)),
           NOT_FOUND(reg_dm_mr, ibv_reg_dm_mr(w.own.pd, w.own.dm, 0, 8, IBV_ACCESS_ZERO_BASED)),
           NOT_FOUND(advise_mr, ibv_advise_mr(w.own.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &w.range, 1)),
           NOT_FOUND(alloc_mw, ibv_alloc_mw(w.own.pd, IBV_MW_TYPE_1)),
           NOT_FOUND(create_ah, ibv_create_ah(w.own.pd, &w.address)),
           NOT_FOUND(create_ah_from_wc, ibv_create_ah_from_wc(w.own.pd, &w.completion, &w.header, 1)),
           NOT_FOUND(create_srq, ibv_create_srq(w.own.pd, &w.plain_srq)),
           NOT_FOUND(create_srq_ex, ibv_create_srq_ex(w.own.context, &w.xrc_srq)),
           NOT_FOUND(create_qp, ibv_create_qp(w.own.pd, &w.plain_qp)),
           NOT_FOUND(create_qp_ex, ibv_create_qp_ex(w.own.context, &w.qp_ex)),
           NOT_FOUND(create_wq, ibv_create_wq(w.own.context, &w.queue)),
           NOT_FOUND(alloc_parent_domain, ibv_alloc_parent_domain(w.own.context, &w.domains))},
          [&w] { return undo(ibv_alloc_mw(w.own.pd, IBV_MW_TYPE_1)); }};
}

Subject parent_domain(Worlds& w) {
  return {"parent domain",
          &w.own.parent->context,
          &w.own.parent->handle,
          {NOT_FOUND(dealloc_pd, ibv_dealloc_pd(w.own.parent)),
           NOT_FOUND(create_cq_ex, ibv_create_cq_ex(w.own.context, &w.cq_on_domain)),
           NOT_FOUND(create_qp, ibv_create_qp(w.own.parent, &w.plain_qp)),
           NOT_FOUND(reg_mr, (ibv_reg_mr)(w.own.parent, w.own.buffer.data(), 8, 0))},
          [&w] { return undo(ibv_alloc_mw(w.own.parent, IBV_MW_TYPE_1)); }};
}

Subject thread_domain(Worlds& w) {
  return {"TD",
          &w.own.td->context,
          nullptr,
          {NOT_FOUND(dealloc_td, ibv_dealloc_td(w.own.td)),
           NOT_FOUND(alloc_parent_domain, ibv_alloc_parent_domain(w.own.context, &w.domains))},
          [&w] { return undo(ibv_alloc_parent_domain(w.own.context, &w.domains)); }};
}

Subject region(Worlds& w) {
  return {"MR",
          &w.own.mr->context,
          &w.own.mr->handle,
          {NOT_FOUND(dereg_mr, ibv_dereg_mr(w.own.mr)),
           NOT_FOUND(rereg_mr, ibv_rereg_mr(w.own.mr, IBV_REREG_MR_CHANGE_PD, w.own.pd, nullptr, 0, 0))},
          [&w] { return ibv_rereg_mr(w.own.mr, IBV_REREG_MR_CHANGE_PD, w.own.pd, nullptr, 0, 0); }};
}

Subject window(Worlds& w) {
  return {"MW", &w.own.mw->context, &w.own.mw->handle, {NOT_FOUND(dealloc_mw, ibv_dealloc_mw(w.own.mw))}, [&w] {
            return undo(std::exchange(w.own.mw, ibv_alloc_mw(w.own.pd, IBV_MW_TYPE_1)));
          }};
}

Subject device_memory(Worlds& w) {
  return {"DM",
          &w.own.dm->context,
          &w.own.dm->handle,
          {NOT_FOUND(free_dm, ibv_free_dm(w.own.dm)),
           NOT_FOUND(reg_dm_mr, ibv_reg_dm_mr(w.own.pd, w.own.dm, 0, 8, IBV_ACCESS_ZERO_BASED))},
          [&w] { return undo(ibv_reg_dm_mr(w.own.pd, w.own.dm, 0, 8, IBV_ACCESS_ZERO_BASED)); }};
}

Subject address(Worlds& w) {
  return {"AH", &w.own.ah->context, &w.own.ah->handle, {NOT_FOUND(destroy_ah, ibv_destroy_ah(w.own.ah))}, [&w] {
            return undo(std::exchange(w.own.ah, ibv_create_ah(w.own.pd, &w.address)));
          }};
}

Subject channel(Worlds& w) {
  return {"completion channel",
          &w.own.channel->context,
          nullptr,
          {NOT_FOUND(destroy_comp_channel, ibv_destroy_comp_channel(w.own.channel)),
           NOT_FOUND(create_cq, ibv_create_cq(w.own.context, 1, nullptr, w.own.channel, 0))},
          [&w] { return undo(ibv_create_cq(w.own.context, 1, nullptr, w.own.channel, 0)); }};
}

Subject completion_queue(Worlds& w) {
  return {"CQ",
          &w.own.cq->context,
          &w.own.cq->handle,
          {NOT_FOUND(destroy_cq, ibv_destroy_cq(w.own.cq)), NOT_FOUND(resize_cq, ibv_resize_cq(w.own.cq, 8)),
           NOT_FOUND(modify_cq, ibv_modify_cq(w.own.cq, &w.moderation)),
           NOT_FOUND(create_qp, ibv_create_qp(w.own.pd, &w.plain_qp)),
           NOT_FOUND(create_qp_ex, ibv_create_qp_ex(w.own.context, &w.qp_ex)),
           NOT_FOUND(create_srq_ex, ibv_create_srq_ex(w.own.context, &w.xrc_srq)),
           NOT_FOUND(create_wq, ibv_create_wq(w.own.context, &w.queue))},
          [&w] { return undo(ibv_create_qp(w.own.pd, &w.plain_qp)); }};
}

Subject shared_queue(Worlds& w) {
  return {"SRQ",
          &w.own.srq->context,
          &w.own.srq->handle,
          {NOT_FOUND(destroy_srq, ibv_destroy_srq(w.own.srq)), NOT_FOUND(query_srq, ibv_query_srq(w.own.srq, &w.limit)),
           NOT_FOUND(modify_srq, ibv_modify_srq(w.own.srq, &w.limit, IBV_SRQ_LIMIT)),
           NOT_FOUND(create_qp, ibv_create_qp(w.own.pd, &w.qp_with_srq))},
          [&w] { return ibv_query_srq(w.own.srq, &w.limit); }};
}

Subject xrc_shared_queue(Worlds& w) {
  return {"XRC SRQ",
          &w.own.xrc_srq->context,
          &w.own.xrc_srq->handle,
          {NOT_FOUND(get_srq_num, ibv_get_srq_num(w.own.xrc_srq, &w.number))},
          [&w] { return ibv_get_srq_num(w.own.xrc_srq, &w.number); }};
}

Subject xrc_domain(Worlds& w) {
  return {"XRCD",
          &w.own.xrcd->context,
          nullptr,
          {NOT_FOUND(close_xrcd, ibv_close_xrcd(w.own.xrcd)),
           NOT_FOUND(create_srq_ex, ibv_create_srq_ex(w.own.context, &w.xrc_srq)),
           NOT_FOUND(create_qp_ex, ibv_create_qp_ex(w.own.context, &w.xrc_qp)),
           NOT_FOUND(open_qp, ibv_open_qp(w.own.context, &w.opening))},
          [&w] { return undo(ibv_open_qp(w.own.context, &w.opening)); }};
}

Subject queue_pair(Worlds& w) {
  return {"QP",
          &w.own.qp->context,
          &w.own.qp->handle,
          {NOT_FOUND(destroy_qp, ibv_destroy_qp(w.own.qp)),
           NOT_FOUND(modify_qp, ibv_modify_qp(w.own.qp, &w.state, IBV_QP_STATE)),
           NOT_FOUND(modify_qp_rate_limit, ibv_modify_qp_rate_limit(w.own.qp, &w.rate)),
           NOT_FOUND(query_qp, ibv_query_qp(w.own.qp, &w.state, IBV_QP_STATE, &w.made)),
           NOT_FOUND(attach_mcast, ibv_attach_mcast(w.own.qp, &w.group, 0)),
           NOT_FOUND(detach_mcast, ibv_detach_mcast(w.own.qp, &w.group, 0))},
          [&w] { return ibv_query_qp(w.own.qp, &w.state, IBV_QP_STATE, &w.made); }};
}

Subject raw_queue_pair(Worlds& w) {
  return {"raw packet QP",
          &w.own.raw->context,
          &w.own.raw->handle,
          {NOT_FOUND(create_flow, ibv_create_flow(w.own.raw, &w.rule))},
          [&w] { return undo(ibv_create_flow(w.own.raw, &w.rule)); }};
}

Subject work_queue(Worlds& w) {
  return {
      "WQ",
      &w.own.wq->context,
      &w.own.wq->handle,
      {NOT_FOUND(destroy_wq, ibv_destroy_wq(w.own.wq)), NOT_FOUND(modify_wq, ibv_modify_wq(w.own.wq, &w.queue_state)),
       NOT_FOUND(create_rwq_ind_table, ibv_create_rwq_ind_table(w.own.context, &w.spread))},
      [&w] { return undo(ibv_create_rwq_ind_table(w.own.context, &w.spread)); }};
}

Subject indirection_table(Worlds& w) {
  return {"RWQ table",
          &w.own.table->context,
          reinterpret_cast<std::uint32_t*>(&w.own.table->ind_tbl_handle),
          {NOT_FOUND(destroy_rwq_ind_table, ibv_destroy_rwq_ind_table(w.own.table)),
           NOT_FOUND(create_qp_ex, ibv_create_qp_ex(w.own.context, &w.spread_qp))},
          [&w] { return undo(ibv_create_qp_ex(w.own.context, &w.spread_qp)); }};
}

Subject flow(Worlds& w) {
  return {
      "flow", &w.own.flow->context, &w.own.flow->handle, {NOT_FOUND(destroy_flow, ibv_destroy_flow(w.own.flow))}, [&w] {
        return undo(std::exchange(w.own.flow, ibv_create_flow(w.own.raw, &w.rule)));
      }};
}

Subject counters(Worlds& w) {
  return {"counters",
          &w.own.counters->context,
          nullptr,
          {NOT_FOUND(destroy_counters, ibv_destroy_counters(w.own.counters)),
           NOT_FOUND(read_counters, ibv_read_counters(w.own.counters, &w.value, 1, 0)),
           NOT_FOUND(attach_counters_point_flow, ibv_attach_counters_point_flow(w.own.counters, &w.attach, nullptr)),
           NOT_FOUND(create_flow, ibv_create_flow(w.own.raw, w.counting_into(w.own.counters)))},
          [&w] { return undo(ibv_create_flow(w.own.raw, w.counting_into(w.own.counters))); }};
}

std::vector<Subject> all_subjects(Worlds& w) {
  return {pd(w),
          parent_domain(w),
          thread_domain(w),
          region(w),
          window(w),
          device_memory(w),
          address(w),
          channel(w),
          completion_queue(w),
          shared_queue(w),
          xrc_shared_queue(w),
          xrc_domain(w),
          queue_pair(w),
          raw_queue_pair(w),
          work_queue(w),
          indirection_table(w),
          flow(w),
          counters(w)};
}

}  // namespace

BOOST_AUTO_TEST_CASE(object_with_an_overwritten_handle_or_context_is_not_found) {
  Worlds worlds;
  Calls all;
  for (const Subject& subject : all_subjects(worlds)) {
    if (subject.handle != nullptr) {
      BOOST_TEST_CONTEXT(subject.name << " with another handle") {
        const Overwritten handle(*subject.handle, *subject.handle + 1000);
        check(subject.asked);
      }
    }
    BOOST_TEST_CONTEXT(subject.name << " with another context") {
      const Overwritten context(*subject.context, worlds.other.context);
      check(subject.asked);
    }
    BOOST_TEST_CONTEXT(subject.name << " afterwards") BOOST_TEST(subject.use() == 0);
    all.insert(all.end(), subject.asked.begin(), subject.asked.end());
  }
  check_all_tried(all, kLookNothingUp);
}

BOOST_AUTO_TEST_CASE(nor_is_one_of_another_context) {
  Worlds w;
  w.plain_qp.send_cq = w.other.cq;
  w.qp_with_srq.srq = w.other.srq;
  w.qp_ex.pd = w.other.pd;
  w.xrc_qp.xrcd = w.opening.xrcd = w.other.xrcd;
  w.spread_qp.rwq_ind_tbl = w.other.table;
  w.xrc_srq.cq = w.other.cq;
  w.cq_on_domain.parent_domain = w.other.parent;
  w.spread.ind_tbl = &w.other.wq;
  w.domains.td = w.other.td;
  ibv_wq_init_attr queue = wq_attributes(w.own.pd, w.other.cq);
  ibv_srq_init_attr_ex of_domain = xrc_srq_attributes(w.own.pd, w.own.cq, w.other.xrcd);
  check({NOT_FOUND(create_qp, ibv_create_qp(w.own.pd, &w.plain_qp)),
         NOT_FOUND(create_qp, ibv_create_qp(w.own.pd, &w.qp_with_srq)),
         NOT_FOUND(create_qp_ex, ibv_create_qp_ex(w.own.context, &w.qp_ex)),
         NOT_FOUND(create_qp_ex, ibv_create_qp_ex(w.own.context, &w.xrc_qp)),
         NOT_FOUND(create_qp_ex, ibv_create_qp_ex(w.own.context, &w.spread_qp)),
         NOT_FOUND(open_qp, ibv_open_qp(w.own.context, &w.opening)),
         NOT_FOUND(create_srq_ex, ibv_create_srq_ex(w.own.context, &w.xrc_srq)),
         NOT_FOUND(create_srq_ex, ibv_create_srq_ex(w.own.context, &of_domain)),
         NOT_FOUND(create_cq, ibv_create_cq(w.own.context, 1, nullptr, w.other.channel, 0)),
         NOT_FOUND(create_cq_ex, ibv_create_cq_ex(w.own.context, &w.cq_on_domain)),
         NOT_FOUND(create_wq, ibv_create_wq(w.own.context, &queue)),
         NOT_FOUND(create_rwq_ind_table, ibv_create_rwq_ind_table(w.own.context, &w.spread)),
         NOT_FOUND(alloc_parent_domain, ibv_alloc_parent_domain(w.own.context, &w.domains)),
         NOT_FOUND(reg_dm_mr, ibv_reg_dm_mr(w.own.pd, w.other.dm, 0, 8, IBV_ACCESS_ZERO_BASED)),
         NOT_FOUND(rereg_mr, ibv_rereg_mr(w.own.mr, IBV_REREG_MR_CHANGE_PD, w.other.pd, nullptr, 0, 0)),
         NOT_FOUND(create_flow, ibv_create_flow(w.own.raw, w.counting_into(w.other.counters)))});
}

BOOST_AUTO_TEST_CASE(unimport_leaves_what_it_does_not_find) {
  Worlds w;
  {
    const Overwritten pd(w.own.pd->handle, w.own.pd->handle + 1000);
    const Overwritten region(w.own.mr->handle, w.own.mr->handle + 1000);
    const Overwritten memory(w.own.dm->context, w.other.context);
    ibv_unimport_pd(w.own.pd);
    ibv_unimport_mr(w.own.mr);
    ibv_unimport_dm(w.own.dm);
  }
  for (const Subject& subject : {pd(w), region(w), device_memory(w)})
    BOOST_TEST_CONTEXT(subject.name) BOOST_TEST(subject.use() == 0);
}
