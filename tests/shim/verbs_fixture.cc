#include "tests/shim/verbs_fixture.h"

#include <boost/test/unit_test.hpp>
#include <thread>

namespace verbs_test {

OpenDevice::OpenDevice() {
  int number = 0;
  ibv_device** const list = ibv_get_device_list(&number);
  BOOST_REQUIRE(list != nullptr && number == 1);
  context = ibv_open_device(list[0]);
  ibv_free_device_list(list);
  BOOST_REQUIRE(context != nullptr);
}

OpenDevice::~OpenDevice() {
  if (context != nullptr) BOOST_CHECK_EQUAL(ibv_close_device(context), 0);
}

Endpoint::Endpoint(EndpointOptions chosen) : options(chosen) {
  pd = ibv_alloc_pd(context);
  BOOST_REQUIRE(pd != nullptr);
  mr = ibv_reg_mr(pd, buffer.data(), buffer.size(), kAllAccess);
  BOOST_REQUIRE(mr != nullptr);
  if (options.with_channel) {
    channel = ibv_create_comp_channel(context);
    BOOST_REQUIRE(channel != nullptr);
  }
  cq = ibv_create_cq(context, options.cq_entries, this, channel, 0);
  BOOST_REQUIRE(cq != nullptr);
  if (options.with_srq) {
    ibv_srq_init_attr srq_attributes{.srq_context = this, .attr = {.max_wr = 16, .max_sge = 2, .srq_limit = 0}};
    srq = ibv_create_srq(pd, &srq_attributes);
    BOOST_REQUIRE(srq != nullptr);
  }
  ibv_qp_init_attr_ex attributes{};
  attributes.qp_context = this;
  attributes.send_cq = cq;
  attributes.recv_cq = cq;
  attributes.srq = srq;
  attributes.cap = options.capabilities;
  attributes.qp_type = options.type;
  attributes.comp_mask = IBV_QP_INIT_ATTR_PD;
  attributes.pd = pd;
  if (options.send_operations != 0) {
    attributes.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    attributes.send_ops_flags = options.send_operations;
  }
  qp = ibv_create_qp_ex(context, &attributes);
  BOOST_REQUIRE(qp != nullptr);
}

Endpoint::~Endpoint() {
  if (qp != nullptr) BOOST_CHECK_EQUAL(ibv_destroy_qp(qp), 0);
  if (srq != nullptr) BOOST_CHECK_EQUAL(ibv_destroy_srq(srq), 0);
  if (cq != nullptr) BOOST_CHECK_EQUAL(ibv_destroy_cq(cq), 0);
  if (channel != nullptr) BOOST_CHECK_EQUAL(ibv_destroy_comp_channel(channel), 0);
  if (mr != nullptr) BOOST_CHECK_EQUAL(ibv_dereg_mr(mr), 0);
  if (pd != nullptr) BOOST_CHECK_EQUAL(ibv_dealloc_pd(pd), 0);
}

ibv_sge Endpoint::sge(std::size_t offset, std::size_t length) const {
  return {.addr = address(offset), .length = static_cast<std::uint32_t>(length), .lkey = mr->lkey};
}

int Endpoint::post_receive(std::uint64_t wr_id, std::size_t offset, std::size_t length) {
  ibv_sge scatter = sge(offset, length);
  ibv_recv_wr request{.wr_id = wr_id, .next = nullptr, .sg_list = &scatter, .num_sge = 1};
  ibv_recv_wr* bad = nullptr;
  return srq != nullptr ? ibv_post_srq_recv(srq, &request, &bad) : ibv_post_recv(qp, &request, &bad);
}

ibv_send_wr Endpoint::request(ibv_wr_opcode opcode, ibv_sge* sge) const {
  ibv_send_wr request{};
  request.wr_id = 7;
  request.opcode = opcode;
  request.send_flags = IBV_SEND_SIGNALED;
  request.sg_list = sge;
  request.num_sge = sge == nullptr ? 0 : 1;
  return request;
}

int Endpoint::post(ibv_send_wr& request) {
  ibv_send_wr* bad = nullptr;
  return ibv_post_send(qp, &request, &bad);
}

ibv_ah_attr address_of(const Endpoint& endpoint, int gid_index) {
  ibv_ah_attr attributes{};
  attributes.is_global = 1;
  attributes.port_num = endpoint.options.port;
  attributes.grh.hop_limit = 64;
  BOOST_REQUIRE_EQUAL(ibv_query_gid(endpoint.context, endpoint.options.port, gid_index, &attributes.grh.dgid), 0);
  attributes.grh.sgid_index = static_cast<std::uint8_t>(gid_index);
  return attributes;
}

int to_init(Endpoint& endpoint) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = endpoint.options.port;
  int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
  if (endpoint.options.type == IBV_QPT_UD) {
    attributes.qkey = kQkey;
    mask |= IBV_QP_QKEY;
  } else {
    attributes.qp_access_flags = kAllAccess & ~IBV_ACCESS_LOCAL_WRITE;
    if (endpoint.options.type == IBV_QPT_UC) attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    mask |= IBV_QP_ACCESS_FLAGS;
  }
  return ibv_modify_qp(endpoint.qp, &attributes, mask);
}

int to_rtr(Endpoint& endpoint, const Endpoint& peer, int gid_index) {
  return to_rtr(endpoint, peer.qp->qp_num, address_of(peer, gid_index));
}

int to_rtr(Endpoint& endpoint, std::uint32_t peer_qpn, const ibv_ah_attr& peer) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  int mask = IBV_QP_STATE;
  if (endpoint.options.type != IBV_QPT_UD) {
    attributes.ah_attr = peer;
    attributes.path_mtu = IBV_MTU_1024;
    attributes.dest_qp_num = peer_qpn;
    attributes.rq_psn = 100;
    mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  }
  if (endpoint.options.type == IBV_QPT_RC) {
    attributes.max_dest_rd_atomic = 4;
    attributes.min_rnr_timer = 1;
    mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  }
  return ibv_modify_qp(endpoint.qp, &attributes, mask);
}

int to_rts(Endpoint& endpoint) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTS;
  attributes.sq_psn = 100;
  int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
  if (endpoint.options.type == IBV_QPT_RC) {
    attributes.timeout = 14;
    attributes.retry_cnt = 7;
    attributes.rnr_retry = 7;
    attributes.max_rd_atomic = 4;
    mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  }
  return ibv_modify_qp(endpoint.qp, &attributes, mask);
}

void connect(Endpoint& a, Endpoint& b, int gid_index) {
  for (Endpoint* endpoint : {&a, &b}) {
    BOOST_REQUIRE_EQUAL(to_init(*endpoint), 0);
    BOOST_REQUIRE_EQUAL(to_rtr(*endpoint, endpoint == &a ? b : a, gid_index), 0);
    BOOST_REQUIRE_EQUAL(to_rts(*endpoint), 0);
  }
}

bool wait_for(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

ibv_wc next_completion(ibv_cq* cq) {
  ibv_wc completion{};
  BOOST_REQUIRE(wait_for([&] {
    const int polled = ibv_poll_cq(cq, 1, &completion);
    BOOST_REQUIRE_GE(polled, 0);
    return polled == 1;
  }));
  return completion;
}

}  // namespace verbs_test
