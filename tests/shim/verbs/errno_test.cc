// What is true of every verb: errno is what a failing verb answers, and stays as it was when the verb succeeds.
#include <fcntl.h>

#include <boost/test/unit_test.hpp>

#include "tests/shim/verbs/every_verb.h"
#include "tests/shim/verbs/newer_verbs_c.h"

using namespace verbs_test;

namespace {

/// Objects whose context has been closed before them: whatever needs the device fails with EIO.
struct Orphans {
  Orphans() {
    OpenDevice device;
    context = device.context;
    channel = ibv_create_comp_channel(context);
    cq = ibv_create_cq(context, 1, nullptr, nullptr, 0);
    BOOST_REQUIRE((channel && cq));
  }
  ~Orphans() {
    BOOST_TEST(ibv_destroy_cq(cq) == 0);
    BOOST_TEST(ibv_destroy_comp_channel(channel) == 0);  // the last: the context goes with it
  }
  ibv_context* context;
  ibv_comp_channel* channel;
  ibv_cq* cq;
};

/// A queue read by the extended interface, with one completion in it.
struct Flushed {
  explicit Flushed(Endpoint& endpoint) {
    ibv_cq_init_attr_ex attributes{};
    attributes.cqe = 4;
    cq = ibv_create_cq_ex(endpoint.context, &attributes);
    BOOST_REQUIRE(cq != nullptr);
    ibv_qp_init_attr queue = qp_attributes(ibv_cq_ex_to_cq(cq));
    qp = ibv_create_qp(endpoint.pd, &queue);
    BOOST_REQUIRE(qp != nullptr);
    ibv_qp_attr state{};
    state.qp_state = IBV_QPS_INIT;
    state.port_num = 1;
    BOOST_REQUIRE_EQUAL(ibv_modify_qp(qp, &state, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
                        0);
    ibv_recv_wr receive{};
    ibv_recv_wr* bad = nullptr;
    BOOST_REQUIRE_EQUAL(ibv_post_recv(qp, &receive, &bad), 0);
    state.qp_state = IBV_QPS_ERR;
    BOOST_REQUIRE_EQUAL(ibv_modify_qp(qp, &state, IBV_QP_STATE), 0);
  }
  ~Flushed() {
    BOOST_TEST(ibv_destroy_qp(qp) == 0);
    BOOST_TEST(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)) == 0);
  }
  ibv_cq_ex* cq;
  ibv_qp* qp;
};

using Calls = std::vector<Call>;

/// A request that the QP refuses to build fails when all are posted.
int complete_segmentation(ibv_qp_ex* qp) {
  ibv_wr_start(qp);
  ibv_wr_send_tso(qp, nullptr, 0, 0);
  return ibv_wr_complete(qp);
}

int read_past_the_last(ibv_cq_ex* cq) {
  ibv_poll_cq_attr poll{};
  if (ibv_start_poll(cq, &poll) != 0) return 0;
  errno = kBefore;
  const int answer = ibv_next_poll(cq);
  ibv_end_poll(cq);
  return answer;
}

/// The calls name what stands here: they are valid as long as it lives.
struct Failing {
  Failing();
  Calls of_device();
  Calls of_addresses();
  Calls of_domains_and_memory();
  Calls of_queues();
  Calls of_requests();
  Calls of_ethernet();
  Calls of_what_is_not_built();
  Calls all();

  OneOfEverything world;
  Orphans orphans;
  Flushed flushed{world};
  // Arguments that are wrong, most of them because they ask for nothing.
  ibv_port_attr port{};
  ibv_device_attr_ex device{};
  ibv_query_device_ex_input input{.comp_mask = 1};
  ibv_values_ex clock{};
  ibv_async_event event{};
  std::uint16_t key = 0;
  char octets[64] = {};
  ibv_buf* no_buffer = nullptr;
  std::uint64_t speed = 0;
  verbena::shim::MrInitAttributes dmabuf_offset_alone{.length = 8, .mask = verbena::shim::kMrHasDmabufOffset};
  int number = 0;
  std::uint32_t srq_number = 0;
  ibv_gid gid{};
  ibv_gid_entry entry{};
  ibv_ah_attr address{};
  ibv_wc completion{};
  ibv_grh header{};
  std::uint8_t mac[ETHERNET_LL_SIZE] = {};
  ibv_qp_attr state{};
  ibv_qp_init_attr made{};
  ibv_qp_init_attr no_type{};
  ibv_qp_init_attr_ex no_type_ex{};
  ibv_qp_open_attr opening{};
  ibv_srq_init_attr no_room{};
  ibv_srq_init_attr_ex no_domain{};
  ibv_srq_attr limit{};
  ibv_cq_init_attr_ex unknown_flags{};
  ibv_modify_cq_attr moderation{}, unknown_moderation{.attr_mask = 1 << 20};
  ibv_srq_attr beyond_limit{.srq_limit = UINT32_MAX};
  ibv_qp_rate_limit_attr rate{};
  ibv_xrcd_init_attr no_file{};
  ibv_wq_init_attr no_queue{};
  ibv_wq_attr queue_state{};
  ibv_rwq_ind_table_init_attr spread{};
  ibv_flow_attr rule = flow_attributes();
  ibv_counters_init_attr counting{.comp_mask = 1};
  ibv_counter_attach_attr attach{};
  ibv_td_init_attr threads{.comp_mask = 1};
  ibv_parent_domain_init_attr no_domains{};
  ibv_alloc_dm_attr nothing{};
  ibv_mw_bind bind{};
  ibv_send_wr send{};
  ibv_recv_wr receive{};
  ibv_send_wr* bad_send = nullptr;
  ibv_recv_wr* bad_receive = nullptr;
  ibv_ops_wr operation{};
  ibv_ops_wr* bad_operation = nullptr;
  ibv_poll_cq_attr poll{};
  ibv_ece ece{};
  ibv_cq* event_cq = nullptr;
  void* cq_context = nullptr;
  ibv_sge range{};
  // Structures of the right form that are no objects: the inline verbs follow their context.
  ibv_pd no_pd{.context = world.context, .handle = 0};
  ibv_mw no_mw{};
  ibv_srq no_srq{};
  ibv_rwq_ind_table no_table{};
  ibv_flow no_flow{};
  ibv_counters no_counters{.context = world.context};
  std::uint64_t value = 0;
  ibv_flow_action action{.context = world.context};
  ibv_flow_action_esp_attr esp{};
};

Failing::Failing() {
  clock.comp_mask = 1 << 20;
  address.port_num = 9;
  state.qp_state = IBV_QPS_SQE;
  no_type = qp_attributes(world.cq);
  no_type.qp_type = IBV_QPT_DRIVER;
  no_type_ex.qp_type = IBV_QPT_DRIVER;
  no_type_ex.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS;
  no_type_ex.pd = world.pd;
  no_room.attr.max_wr = UINT32_MAX;
  no_domain = xrc_srq_attributes(world.pd, world.cq, nullptr);
  no_domain.comp_mask &= ~std::uint32_t{IBV_SRQ_INIT_ATTR_XRCD};
  unknown_flags.comp_mask = 1u << 30;
  rate.comp_mask = 1;
  no_queue = wq_attributes(world.pd, world.cq);
  no_queue.wq_type = out_of_range<ibv_wq_type>(9);
  queue_state.attr_mask = 1u << 30;
  spread = {.log_ind_tbl_size = 0, .ind_tbl = &world.wq, .comp_mask = 1};
  rule.port = 9;
  attach.comp_mask = 1;
  no_domains.comp_mask = 1u << 30;
  send.opcode = out_of_range<ibv_wr_opcode>(77);
  receive.num_sge = 100;
  no_mw.context = no_srq.context = no_table.context = no_flow.context = world.context;
}

Calls Failing::of_device() {
  return {
      FAILS(open_device, ENODEV, ibv_open_device(nullptr)),
      FAILS(import_device, EBADF, ibv_import_device(-1)),
      FAILS(close_device, EINVAL, ibv_close_device(nullptr)),
      FAILS(query_device_ex, EINVAL,  // as its inline part would call it, which judges the input itself
            verbs_get_ctx(world.context)->query_device_ex(world.context, &input, &device, sizeof device)),
      FAILS(query_rt_values, EIO, ibv_query_rt_values_ex(orphans.context, &clock)),
      FAILS(query_port, EINVAL, ibv_query_port(world.context, 9, &port)),
      FAILS(compat_query_port, EINVAL,
            (ibv_query_port)(world.context, 9, reinterpret_cast<_compat_ibv_port_attr*>(&port))),
      FAILS(query_gid_ex, EINVAL, ibv_query_gid_ex(world.context, 9, 0, &entry, 0)),
      FAILS(query_gid_table, EINVAL, static_cast<int>(-ibv_query_gid_table(world.context, &entry, 0, 0))),
      FAILS(query_gid, EINVAL, ibv_query_gid(world.context, 9, 0, &gid)),
      FAILS(query_gid_type, EINVAL, ibv_query_gid_type(world.context, 9, 0, &number)),
      FAILS(query_pkey, EINVAL, ibv_query_pkey(world.context, 1, -1, &key)),
      FAILS(query_pkey, EIO, ibv_query_pkey(orphans.context, 1, 0, &key)),
      FAILS(get_pkey_index, EINVAL, ibv_get_pkey_index(world.context, 1, 0x1234)),
      FAILS(get_pkey_index, EIO, ibv_get_pkey_index(orphans.context, 1, 0xffff)),
      FAILS(get_async_event, EIO, ibv_get_async_event(orphans.context, &event)),
      FAILS(ibv_read_sysfs_file, ENOENT, ibv_read_sysfs_file("/nowhere", "nothing", octets, sizeof octets)),
  };
}

Calls Failing::of_addresses() {
  return {
      FAILS(create_ah, EINVAL, ibv_create_ah(world.pd, &address)),
      FAILS(init_ah_from_wc, EINVAL, ibv_init_ah_from_wc(world.context, 1, &completion, &header, &address)),
      FAILS(create_ah_from_wc, EINVAL, ibv_create_ah_from_wc(world.pd, &completion, &header, 1)),
      FAILS(create_ah_from_wc, EINVAL, ibv_create_ah_from_wc(nullptr, &completion, &header, 1)),
      FAILS(destroy_ah, EINVAL, ibv_destroy_ah(nullptr)),
      FAILS(resolve_eth_l2_from_gid, EINVAL, ibv_resolve_eth_l2_from_gid(world.context, &address, mac, &key)),
      FAILS(attach_mcast, EINVAL, ibv_attach_mcast(world.qp, &gid, 0)),
      FAILS(detach_mcast, EINVAL, ibv_detach_mcast(world.qp, &gid, 0)),
  };
}

Calls Failing::of_domains_and_memory() {
  constexpr int kRemoteOnly = IBV_ACCESS_REMOTE_WRITE;
  constexpr int kFlush = 1 << 8;  // of newer headers
  constexpr std::uint32_t kNobody = 1 << 30;
  return {
      FAILS(alloc_pd, EIO, ibv_alloc_pd(orphans.context)),
      FAILS(import_pd, ENOENT, ibv_import_pd(world.context, kNobody)),
      FAILS(dealloc_pd, EBUSY, ibv_dealloc_pd(world.pd)),
      FAILS(alloc_td, EINVAL, ibv_alloc_td(world.context, &threads)),
      FAILS(dealloc_td, EBUSY, ibv_dealloc_td(world.td)),
      FAILS(alloc_parent_domain, EINVAL, ibv_alloc_parent_domain(world.context, &no_domains)),
      FAILS(open_xrcd, EINVAL, ibv_open_xrcd(world.context, &no_file)),
      FAILS(close_xrcd, EBUSY, ibv_close_xrcd(world.xrcd)),
      FAILS(alloc_buf, EINVAL, ibv_alloc_buf(world.pd, 0, &no_buffer)),
      FAILS(reg_buf_mr, EINVAL, ibv_reg_buf_mr(world.pd, nullptr, octets, 8, 0)),
      FAILS(reg_mr_ex, EINVAL, ibv_reg_mr_ex(world.pd, reinterpret_cast<ibv_mr_init_attr*>(&dmabuf_offset_alone))),
      FAILS(export_buf_dmabuf_fd, ENODATA, ibv_export_buf_dmabuf_fd(nullptr)),
      FAILS(dm_export_dmabuf_fd, EOPNOTSUPP, ibv_dm_export_dmabuf_fd(world.dm)),
      FAILS(query_port_speed, EINVAL, ibv_query_port_speed(world.context, 9, &speed)),
      FAILS(reg_mr, EINVAL, (ibv_reg_mr)(world.pd, octets, 8, kRemoteOnly)),
      FAILS(reg_mr, EOPNOTSUPP, (ibv_reg_mr)(world.pd, octets, 8, kFlush)),
      FAILS(reg_mr_iova, EINVAL, (ibv_reg_mr_iova)(world.pd, octets, 8, 0, kRemoteOnly)),
      FAILS(reg_mr_iova2, EINVAL, ibv_reg_mr_iova2(world.pd, octets, 8, 0, kRemoteOnly)),
      FAILS(reg_dmabuf_mr, EBADF, ibv_reg_dmabuf_mr(world.pd, 0, 8, 0, -1, 0)),
      FAILS(rereg_mr, EINVAL, ibv_rereg_mr(world.mr, 1 << 20, world.pd, octets, 8, 0)),
      FAILS(dereg_mr, EINVAL, ibv_dereg_mr(nullptr)),
      FAILS(import_mr, ENOENT, ibv_import_mr(world.pd, kNobody)),
      FAILS(alloc_null_mr, ENOENT, ibv_alloc_null_mr(&no_pd)),
      FAILS(advise_mr, EINVAL, ibv_advise_mr(world.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 1u << 20, &range, 1)),
      FAILS(alloc_dm, EINVAL, ibv_alloc_dm(world.context, &nothing)),
      FAILS(import_dm, ENOENT, ibv_import_dm(world.context, kNobody)),
      FAILS(free_dm, EBUSY, ibv_free_dm(world.dm)),
      FAILS(reg_dm_mr, EINVAL, ibv_reg_dm_mr(world.pd, world.dm, 0, 8, 0)),
      FAILS(copy_to, EFAULT, ibv_memcpy_to_dm(world.dm, 1 << 20, octets, 4)),
      FAILS(copy_from, EINVAL, ibv_memcpy_from_dm(octets, world.dm, 2, 4)),
      FAILS(alloc_mw, EINVAL, ibv_alloc_mw(world.pd, out_of_range<ibv_mw_type>(9))),
      FAILS(bind_mw, EINVAL, ibv_bind_mw(world.xrc_qp, world.mw, &bind)),
      FAILS(dealloc_mw, ENOENT, ibv_dealloc_mw(&no_mw)),
  };
}

Calls Failing::of_queues() {
  return {
      FAILS(create_comp_channel, EIO, ibv_create_comp_channel(orphans.context)),
      FAILS(destroy_comp_channel, EBUSY, ibv_destroy_comp_channel(world.channel)),
      FAILS(get_cq_event, EIO, ibv_get_cq_event(orphans.channel, &event_cq, &cq_context)),
      FAILS(create_cq, EINVAL, ibv_create_cq(world.context, -1, nullptr, nullptr, 0)),
      FAILS(create_cq_ex, EOPNOTSUPP, ibv_create_cq_ex(world.context, &unknown_flags)),
      FAILS(modify_cq, EINVAL, ibv_modify_cq(world.cq, &moderation)),
      FAILS(modify_cq, EOPNOTSUPP, ibv_modify_cq(world.cq, &unknown_moderation)),
      FAILS(resize_cq, EINVAL, ibv_resize_cq(world.cq, 0)),
      FAILS(destroy_cq, EBUSY, ibv_destroy_cq(world.cq)),
      FAILS(create_srq, EINVAL, ibv_create_srq(world.pd, &no_room)),
      FAILS(create_srq_ex, EINVAL, ibv_create_srq_ex(world.context, &no_domain)),
      FAILS(modify_srq, EINVAL, ibv_modify_srq(world.srq, &beyond_limit, IBV_SRQ_LIMIT)),
      FAILS(query_srq, ENOENT, ibv_query_srq(&no_srq, &limit)),
      FAILS(get_srq_num, EOPNOTSUPP, ibv_get_srq_num(world.srq, &srq_number)),
      FAILS(destroy_srq, EBUSY, ibv_destroy_srq(world.srq)),
      FAILS(create_qp, EOPNOTSUPP, ibv_create_qp(world.pd, &no_type)),
      FAILS(create_qp_ex, EOPNOTSUPP, ibv_create_qp_ex(world.context, &no_type_ex)),
      FAILS(open_qp, EINVAL, ibv_open_qp(world.context, &opening)),
      FAILS(modify_qp, EINVAL, ibv_modify_qp(world.qp, &state, IBV_QP_STATE)),
      FAILS(modify_qp, EINVAL, ibv_modify_qp(world.qp, &state, IBV_QP_ALT_PATH)),
      FAILS(modify_qp, EOPNOTSUPP, ibv_modify_qp(world.qp, &state, 1 << 21)),
      FAILS(modify_qp_rate_limit, EINVAL, ibv_modify_qp_rate_limit(world.qp, &rate)),
      FAILS(query_qp, EINVAL, ibv_query_qp(nullptr, &state, 0, &made)),
      FAILS(destroy_qp, EINVAL, ibv_destroy_qp(nullptr)),
  };
}

Calls Failing::of_requests() {
  return {
      FAILS(post_send, EINVAL, ibv_post_send(world.qp, &send, &bad_send)),
      FAILS(post_recv, EINVAL, ibv_post_recv(world.raw, &receive, &bad_receive)),
      FAILS(post_srq_recv, EINVAL, ibv_post_srq_recv(world.srq, &receive, &bad_receive)),
      FAILS(post_wq_receive, EINVAL, ibv_post_wq_recv(world.wq, &receive, &bad_receive)),
      FAILS(wr_complete, EOPNOTSUPP, complete_segmentation(ibv_qp_to_qp_ex(world.qp))),
      FAILS(poll_cq, EINVAL, ibv_poll_cq(world.cq, -1, nullptr)),
      FAILS(req_notify_cq, EIO, ibv_req_notify_cq(orphans.cq, 0)),
      FAILS(start_poll, EINVAL, (poll.comp_mask = 1, ibv_start_poll(flushed.cq, &poll))),
      FAILS(next_poll, ENOENT, read_past_the_last(flushed.cq)),
  };
}

Calls Failing::of_ethernet() {
  return {
      FAILS(create_wq, EINVAL, ibv_create_wq(world.context, &no_queue)),
      FAILS(modify_wq, EINVAL, ibv_modify_wq(world.wq, &queue_state)),
      FAILS(destroy_wq, EBUSY, ibv_destroy_wq(world.wq)),
      FAILS(create_rwq_ind_table, EOPNOTSUPP, ibv_create_rwq_ind_table(world.context, &spread)),
      FAILS(destroy_rwq_ind_table, ENOENT, ibv_destroy_rwq_ind_table(&no_table)),
      FAILS(create_flow, EINVAL, ibv_create_flow(world.raw, &rule)),
      FAILS(destroy_flow, ENOENT, ibv_destroy_flow(&no_flow)),
      FAILS(create_counters, EOPNOTSUPP, ibv_create_counters(world.context, &counting)),
      FAILS(destroy_counters, ENOENT, ibv_destroy_counters(&no_counters)),
      FAILS(attach_counters_point_flow, EOPNOTSUPP, ibv_attach_counters_point_flow(world.counters, &attach, nullptr)),
      FAILS(read_counters, EINVAL, ibv_read_counters(world.counters, &value, 1, 1u << 20)),
  };
}

Calls Failing::of_what_is_not_built() {
  return {
      FAILS(set_ece, EOPNOTSUPP, ibv_set_ece(world.qp, &ece)),
      FAILS(query_ece, EOPNOTSUPP, ibv_query_ece(world.qp, &ece)),
      FAILS(refuse_post_srq_ops, EOPNOTSUPP, ibv_post_srq_ops(world.srq, &operation, &bad_operation)),
      FAILS(create_flow_action_esp, EOPNOTSUPP, ibv_create_flow_action_esp(world.context, &esp)),
      FAILS(modify_flow_action_esp, EOPNOTSUPP, ibv_modify_flow_action_esp(&action, &esp)),
      FAILS(destroy_flow_action, EOPNOTSUPP, ibv_destroy_flow_action(&action)),
  };
}

Calls Failing::all() {
  Calls calls;
  for (const Calls& part : {of_device(), of_addresses(), of_domains_and_memory(), of_queues(), of_requests(),
                            of_ethernet(), of_what_is_not_built()})
    calls.insert(calls.end(), part.begin(), part.end());
  return calls;
}

/// Verbs without an answer, and those whose every answer is a right one.
const std::set<std::string> kCannotFail = {
    "free_device_list", "free_buf", "unimport_dm", "unimport_mr", "unimport_pd", "ack_cq_events", "ack_async_event",
    // What these say is no failure: names, numbers, conversions.
    "ibv_qp_to_qp_ex", "ibv_query_qp_data_in_order", "ibv_wc_status_str", "ibv_event_type_str", "ibv_port_state_str",
    "ibv_node_type_str", "ibv_rate_to_mult", "mult_to_ibv_rate", "ibv_rate_to_mbps", "mbps_to_ibv_rate",
    "ibv_get_device_name", "ibv_get_device_index", "ibv_get_device_guid", "ibv_get_sysfs_path",
    "ibv_copy_ah_attr_from_kern", "ibv_copy_qp_attr_from_kern", "ibv_copy_path_rec_from_kern",
    "ibv_copy_path_rec_to_kern", "ibv_fork_init", "ibv_is_fork_initialized", "ibv_dontfork_range", "ibv_dofork_range",
    "get_device_list",      // but for want of memory
    "compat_query_device",  // of what the context knows, as long as its device is there
};

}  // namespace

BOOST_AUTO_TEST_CASE(errno_is_what_a_failing_verb_answers) {
  Failing failing;
  const Calls calls = failing.all();
  check(calls);
  check_all_tried(calls, kCannotFail);
}

BOOST_AUTO_TEST_CASE(a_verb_that_succeeds_leaves_errno_alone) {
  errno = kBefore;
  {
    const OneOfEverything world;
    BOOST_TEST(errno == kBefore);
    ibv_wc completion{};
    ibv_port_attr port{};
    ibv_gid gid{};
    ibv_gid_entry entry{};
    ibv_srq_attr limit{};
    ibv_values_ex clock{.comp_mask = 1 << 20};
    ibv_qp_attr state{};
    ibv_qp_init_attr made{};
    std::uint16_t key = 0;
    std::uint32_t number = 0;
    std::uint64_t value = 0;
    check({SUCCEEDS(poll_cq, ibv_poll_cq(world.cq, 1, &completion)),
           SUCCEEDS(req_notify_cq, ibv_req_notify_cq(world.cq, 0)), SUCCEEDS(resize_cq, ibv_resize_cq(world.cq, 100)),
           SUCCEEDS(query_port, ibv_query_port(world.context, 1, &port)),
           SUCCEEDS(query_gid, ibv_query_gid(world.context, 1, 0, &gid)),
           SUCCEEDS(query_gid_ex, ibv_query_gid_ex(world.context, 1, 0, &entry, 0)),
           SUCCEEDS(query_pkey, ibv_query_pkey(world.context, 1, 0, &key)),
           SUCCEEDS(get_pkey_index, ibv_get_pkey_index(world.context, 1, 0xffff)),
           SUCCEEDS(query_srq, ibv_query_srq(world.srq, &limit)),
           SUCCEEDS(modify_srq, ibv_modify_srq(world.srq, &limit, 1 << 20)),
           SUCCEEDS(query_rt_values, ibv_query_rt_values_ex(world.context, &clock)),
           SUCCEEDS(get_srq_num, ibv_get_srq_num(world.xrc_srq, &number)),
           SUCCEEDS(query_qp, ibv_query_qp(world.qp, &state, IBV_QP_STATE, &made)),
           SUCCEEDS(rereg_mr, ibv_rereg_mr(world.mr, IBV_REREG_MR_CHANGE_PD, world.pd, nullptr, 0, 0)),
           SUCCEEDS(copy_to, ibv_memcpy_to_dm(world.dm, 0, &value, sizeof value)),
           SUCCEEDS(copy_from, ibv_memcpy_from_dm(&value, world.dm, 0, sizeof value)),
           SUCCEEDS(read_counters, ibv_read_counters(world.counters, &value, 1, 0))});
  }
  BOOST_TEST(errno == kBefore);  // nor has any of those that end what has been made touched it
}
