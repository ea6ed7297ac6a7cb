// Queues and what feeds them: multicast groups, raw packets with flows and counters, work queues, moderation, rates.
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>

#include <boost/test/unit_test.hpp>
#include <cerrno>

#include "tests/shim/verbs_fixture.h"

using namespace verbs_test;

namespace {

ibv_gid group_gid(std::uint8_t last) {
  ibv_gid gid{};
  gid.raw[10] = gid.raw[11] = 0xff;
  gid.raw[12] = 239;
  gid.raw[15] = last;
  return gid;
}

constexpr std::uint8_t kGroupMac[6] = {0x01, 0x50, 0x56, 0x19, 0x20, 0xa7};

/// A rule with the specifications of one flow behind each other, as ibv_create_flow wants them.
class GroupFlow {
 public:
  explicit GroupFlow(ibv_counters* counters) {
    ibv_flow_attr attributes{};
    attributes.type = IBV_FLOW_ATTR_NORMAL;
    attributes.num_of_specs = 2;
    attributes.port = 1;
    append(attributes);
    ibv_flow_spec_eth ethernet{};
    ethernet.type = IBV_FLOW_SPEC_ETH;
    ethernet.size = sizeof ethernet;
    std::copy(kGroupMac, kGroupMac + 6, ethernet.val.dst_mac);
    std::fill_n(ethernet.mask.dst_mac, 6, std::uint8_t{0xff});
    append(ethernet);
    ibv_flow_spec_counter_action count{};
    count.type = IBV_FLOW_SPEC_ACTION_COUNT;
    count.size = sizeof count;
    count.counters = counters;
    append(count);
  }
  ibv_flow_attr& attributes() { return *reinterpret_cast<ibv_flow_attr*>(octets_); }

 private:
  template <class Part>
  void append(const Part& part) {
    std::memcpy(octets_ + used_, &part, sizeof part);
    used_ += sizeof part;
  }
  alignas(8) char octets_[256] = {};
  std::size_t used_ = 0;
};

void to_rts_raw(ibv_qp* qp) {
  ibv_qp_attr attr{};
  attr.port_num = 1;
  attr.qp_state = IBV_QPS_INIT;
  BOOST_REQUIRE_EQUAL(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT), 0);
  for (const ibv_qp_state state : {IBV_QPS_RTR, IBV_QPS_RTS}) {
    attr.qp_state = state;
    BOOST_REQUIRE_EQUAL(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
  }
}

bool readable(int fd, int timeout_ms) {
  pollfd descriptor{fd, POLLIN, 0};
  return poll(&descriptor, 1, timeout_ms) == 1;
}

}  // namespace

BOOST_AUTO_TEST_CASE(members_of_a_group_get_its_datagrams) {
  Endpoint a({.type = IBV_QPT_UD}), b({.type = IBV_QPT_UD}), connected;
  connect(a, b);
  const ibv_gid group = group_gid(1);
  const ibv_ah_attr self = address_of(a);
  BOOST_CHECK_EQUAL(ibv_attach_mcast(connected.qp, &group, 0), EINVAL);
  BOOST_CHECK_EQUAL(ibv_attach_mcast(a.qp, &self.grh.dgid, 0), EINVAL);
  BOOST_CHECK_EQUAL(ibv_detach_mcast(a.qp, &group, 0), EINVAL);
  for (Endpoint* end : {&a, &b}) BOOST_CHECK_EQUAL(ibv_attach_mcast(end->qp, &group, 0), 0);
  BOOST_CHECK_EQUAL(ibv_attach_mcast(b.qp, &group, 0), 0);
  BOOST_CHECK_EQUAL(ibv_destroy_qp(b.qp), EBUSY);
  for (Endpoint* end : {&a, &b}) BOOST_REQUIRE_EQUAL(end->post_receive(1, 4096, 256), 0);
  ibv_ah_attr to_group = self;
  to_group.grh.dgid = group;
  ibv_ah* const ah = ibv_create_ah(a.pd, &to_group);
  BOOST_REQUIRE(ah != nullptr);
  std::strcpy(a.buffer.data(), "to all of you");
  ibv_sge sge = a.sge(0, 64);
  ibv_send_wr request = a.request(IBV_WR_SEND, &sge);
  request.wr.ud.ah = ah;
  request.wr.ud.remote_qpn = 0xffffff;
  request.wr.ud.remote_qkey = kQkey;
  BOOST_REQUIRE_EQUAL(a.post(request), 0);
  for (Endpoint* end : {&a, &b}) {
    ibv_wc completion = next_completion(end->cq);
    if (completion.opcode != IBV_WC_RECV) completion = next_completion(end->cq);
    BOOST_CHECK_EQUAL(completion.opcode, IBV_WC_RECV);
    BOOST_CHECK_EQUAL(completion.byte_len, 104u);
    BOOST_CHECK_EQUAL(completion.src_qp, a.qp->qp_num);
    BOOST_CHECK((completion.wc_flags & IBV_WC_GRH) != 0);
    BOOST_CHECK_EQUAL(std::string(end->buffer.data() + 4096 + 40), "to all of you");
  }
  for (Endpoint* end : {&a, &b}) BOOST_CHECK_EQUAL(ibv_detach_mcast(end->qp, &group, 0), 0);
  BOOST_CHECK_EQUAL(ibv_destroy_ah(ah), 0);
}

BOOST_AUTO_TEST_CASE(a_flow_brings_frames_and_its_counters_count_them) {
  Endpoint end({.type = IBV_QPT_UD});
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = end.cq;
  init.cap = end.options.capabilities;
  init.qp_type = IBV_QPT_RAW_PACKET;
  ibv_qp* const qp = ibv_create_qp(end.pd, &init);
  BOOST_REQUIRE(qp != nullptr);
  to_rts_raw(qp);
  ibv_counters_init_attr none{};
  ibv_counters* const counters = ibv_create_counters(end.context, &none);
  BOOST_REQUIRE(counters != nullptr);
  ibv_counter_attach_attr bytes{.counter_desc = IBV_COUNTER_BYTES, .index = 0, .comp_mask = 0};
  ibv_counter_attach_attr packets{.counter_desc = IBV_COUNTER_PACKETS, .index = 1, .comp_mask = 0};
  for (auto* attributes : {&bytes, &packets})
    BOOST_CHECK_EQUAL(ibv_attach_counters_point_flow(counters, attributes, nullptr), 0);
  GroupFlow wanted(counters);
  BOOST_CHECK(ibv_create_flow(end.qp, &wanted.attributes()) == nullptr && errno == EINVAL);  // no raw packet QP
  ibv_flow* const flow = ibv_create_flow(qp, &wanted.attributes());
  BOOST_REQUIRE(flow != nullptr);
  wanted.attributes().port = 2;
  BOOST_CHECK(ibv_create_flow(qp, &wanted.attributes()) == nullptr && errno == EINVAL);
  BOOST_CHECK_EQUAL(ibv_destroy_counters(counters), EBUSY);
  BOOST_CHECK_EQUAL(ibv_destroy_qp(qp), EBUSY);

  std::copy(kGroupMac, kGroupMac + 6, end.buffer.data());
  ibv_sge into = end.sge(4096, 128), from = end.sge(0, 64);
  ibv_recv_wr receive{.wr_id = 5, .next = nullptr, .sg_list = &into, .num_sge = 1};
  ibv_recv_wr* bad_receive = nullptr;
  BOOST_REQUIRE_EQUAL(ibv_post_recv(qp, &receive, &bad_receive), 0);
  ibv_send_wr request = end.request(IBV_WR_SEND, &from);
  ibv_send_wr* bad = nullptr;
  BOOST_REQUIRE_EQUAL(ibv_post_send(qp, &request, &bad), 0);
  for (int i = 0; i < 2; ++i) BOOST_CHECK_EQUAL(next_completion(end.cq).status, IBV_WC_SUCCESS);
  BOOST_CHECK(std::equal(kGroupMac, kGroupMac + 6, reinterpret_cast<std::uint8_t*>(end.buffer.data() + 4096)));
  std::uint64_t values[2] = {};
  BOOST_CHECK_EQUAL(ibv_read_counters(counters, values, 1, 0), EINVAL);
  BOOST_CHECK_EQUAL(ibv_read_counters(counters, values, 2, 0), 0);
  BOOST_CHECK_EQUAL(values[0], 64u);
  BOOST_CHECK_EQUAL(values[1], 1u);
  BOOST_CHECK_EQUAL(ibv_destroy_flow(flow), 0);
  BOOST_CHECK_EQUAL(ibv_destroy_counters(counters), 0);
  BOOST_CHECK_EQUAL(ibv_destroy_qp(qp), 0);
}

BOOST_AUTO_TEST_CASE(work_queues_and_their_table_are_checked_and_ended_in_order) {
  Endpoint end;
  ibv_wq_init_attr init{};
  init.wq_type = IBV_WQT_RQ;
  init.max_wr = 4;
  init.max_sge = 1;
  init.pd = end.pd;
  BOOST_CHECK(ibv_create_wq(end.context, &init) == nullptr && errno == EINVAL);  // no CQ
  init.cq = end.cq;
  ibv_wq* queues[2] = {ibv_create_wq(end.context, &init), ibv_create_wq(end.context, &init)};
  BOOST_REQUIRE(queues[0] != nullptr && queues[1] != nullptr);
  ibv_wq_attr attr{};
  attr.attr_mask = IBV_WQ_ATTR_STATE;
  attr.wq_state = IBV_WQS_ERR;
  BOOST_CHECK_EQUAL(ibv_modify_wq(queues[0], &attr), EINVAL);  // not from reset
  attr.wq_state = IBV_WQS_RDY;
  for (ibv_wq* queue : queues) BOOST_CHECK_EQUAL(ibv_modify_wq(queue, &attr), 0);
  BOOST_CHECK_EQUAL(queues[0]->state, IBV_WQS_RDY);
  ibv_rwq_ind_table_init_attr table_init{.log_ind_tbl_size = 1, .ind_tbl = queues, .comp_mask = 0};
  ibv_rwq_ind_table* const table = ibv_create_rwq_ind_table(end.context, &table_init);
  BOOST_REQUIRE(table != nullptr);
  BOOST_CHECK_EQUAL(ibv_destroy_wq(queues[0]), EBUSY);
  std::uint8_t key[40] = {1, 2, 3};
  ibv_qp_init_attr_ex spread{};
  spread.qp_type = IBV_QPT_RAW_PACKET;
  spread.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH;
  spread.pd = end.pd;
  spread.rwq_ind_tbl = table;
  spread.rx_hash_conf = {.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
                         .rx_hash_key_len = 39,
                         .rx_hash_key = key,
                         .rx_hash_fields_mask = IBV_RX_HASH_SRC_IPV4};
  BOOST_CHECK(ibv_create_qp_ex(end.context, &spread) == nullptr && errno == EINVAL);
  spread.rx_hash_conf.rx_hash_key_len = 40;
  spread.cap.max_recv_wr = 1;  // of a queue of its own
  BOOST_CHECK(ibv_create_qp_ex(end.context, &spread) == nullptr && errno == EINVAL);
  spread.cap.max_recv_wr = 0;
  ibv_qp* const qp = ibv_create_qp_ex(end.context, &spread);
  BOOST_REQUIRE(qp != nullptr);
  BOOST_CHECK_EQUAL(ibv_destroy_rwq_ind_table(table), EBUSY);
  BOOST_CHECK_EQUAL(ibv_destroy_qp(qp), 0);
  BOOST_CHECK_EQUAL(ibv_destroy_rwq_ind_table(table), 0);
  for (ibv_wq* queue : queues) BOOST_CHECK_EQUAL(ibv_destroy_wq(queue), 0);
}

BOOST_AUTO_TEST_CASE(a_moderated_channel_wakes_for_many_completions_together) {
  Endpoint a({.with_channel = true}), b;
  connect(a, b);
  ibv_modify_cq_attr attributes{.attr_mask = IBV_CQ_ATTR_MODERATE, .moderate = {.cq_count = 3, .cq_period = 0}};
  BOOST_REQUIRE_EQUAL(ibv_modify_cq(a.cq, &attributes), 0);
  attributes.attr_mask = 0;
  BOOST_CHECK_EQUAL(ibv_modify_cq(a.cq, &attributes), EINVAL);
  BOOST_REQUIRE_EQUAL(ibv_req_notify_cq(a.cq, 0), 0);
  const auto write = [&] {
    ibv_sge sge = a.sge(0, 8);
    ibv_send_wr request = a.request(IBV_WR_RDMA_WRITE, &sge);
    request.wr.rdma.remote_addr = b.address(0);
    request.wr.rdma.rkey = b.mr->rkey;
    BOOST_REQUIRE_EQUAL(a.post(request), 0);
    BOOST_CHECK_EQUAL(next_completion(a.cq).status, IBV_WC_SUCCESS);
  };
  write();
  write();
  BOOST_CHECK(!readable(a.channel->fd, 0));
  write();
  BOOST_CHECK(readable(a.channel->fd, 20'000));
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  BOOST_REQUIRE_EQUAL(ibv_get_cq_event(a.channel, &cq, &context), 0);
  ibv_ack_cq_events(cq, 1);
}

BOOST_AUTO_TEST_CASE(what_is_announced_is_accepted_and_no_more) {
  Endpoint a, b;
  connect(a, b);
  ibv_device_attr_ex device{};
  BOOST_REQUIRE_EQUAL(ibv_query_device_ex(a.context, nullptr, &device), 0);
  BOOST_CHECK((device.orig_attr.device_cap_flags & IBV_DEVICE_XRC) != 0);
  BOOST_CHECK((device.packet_pacing_caps.supported_qpts & (1u << IBV_QPT_RC)) != 0);
  ibv_qp_rate_limit_attr rate{};
  rate.rate_limit = device.packet_pacing_caps.qp_rate_limit_max;
  BOOST_CHECK_EQUAL(ibv_modify_qp_rate_limit(a.qp, &rate), 0);
  ++rate.rate_limit;
  BOOST_CHECK_EQUAL(ibv_modify_qp_rate_limit(a.qp, &rate), EINVAL);
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  BOOST_CHECK_EQUAL(ibv_query_qp(a.qp, &attr, IBV_QP_RATE_LIMIT, &init), 0);
  BOOST_CHECK_EQUAL(attr.rate_limit, device.packet_pacing_caps.qp_rate_limit_max);
  ibv_modify_cq_attr moderation{.attr_mask = IBV_CQ_ATTR_MODERATE,
                                .moderate = {.cq_count = 1, .cq_period = device.cq_mod_caps.max_cq_period}};
  BOOST_CHECK_EQUAL(ibv_modify_cq(a.cq, &moderation), 0);
  ++moderation.moderate.cq_period;
  BOOST_CHECK_EQUAL(ibv_modify_cq(a.cq, &moderation), EINVAL);
}
