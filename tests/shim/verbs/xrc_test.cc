// XRC through the verbs API: domains that belong to files, SRQs that messages name, QPs with several holders.
#include <fcntl.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <cstdlib>

#include "tests/shim/verbs_fixture.h"

using namespace verbs_test;

namespace {

struct TemporaryFile {
  TemporaryFile() { BOOST_REQUIRE(fd >= 0); }
  ~TemporaryFile() {
    close(fd);
    unlink(path);
  }
  char path[64] = "/tmp/verbena-xrc-XXXXXX";
  int fd = mkstemp(path);
};

ibv_xrcd* open_domain(ibv_context* context, int fd, int oflags,
                      std::uint32_t mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS) {
  ibv_xrcd_init_attr attributes{.comp_mask = mask, .fd = fd, .oflags = oflags};
  return ibv_open_xrcd(context, &attributes);
}

ibv_srq* make_srq(const Endpoint& end, ibv_xrcd* domain) {
  ibv_srq_init_attr_ex attributes{};
  attributes.attr = {.max_wr = 16, .max_sge = 1, .srq_limit = 0};
  attributes.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
  attributes.srq_type = IBV_SRQT_XRC;
  attributes.pd = end.pd;
  attributes.xrcd = domain;
  attributes.cq = end.cq;
  return ibv_create_srq_ex(end.context, &attributes);
}

ibv_qp* make_receiver(const Endpoint& end, ibv_xrcd* domain) {
  ibv_qp_init_attr_ex attributes{};
  attributes.qp_type = IBV_QPT_XRC_RECV;
  attributes.comp_mask = IBV_QP_INIT_ATTR_XRCD;
  attributes.xrcd = domain;
  return ibv_create_qp_ex(end.context, &attributes);
}

ibv_qp* make_sender(const Endpoint& end) {
  ibv_qp_init_attr_ex attributes{};
  attributes.qp_type = IBV_QPT_XRC_SEND;
  attributes.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  attributes.send_ops_flags = IBV_QP_EX_WITH_SEND;
  attributes.pd = end.pd;
  attributes.send_cq = end.cq;
  attributes.cap = {.max_send_wr = 8, .max_recv_wr = 0, .max_send_sge = 1, .max_recv_sge = 0, .max_inline_data = 0};
  return ibv_create_qp_ex(end.context, &attributes);
}

/// Not the receiver, which stays in RTR: the first packet is then told of.
void connect(const Endpoint& end, ibv_qp* sender, ibv_qp* receiver) {
  ibv_qp_attr attr{};
  attr.port_num = 1;
  attr.ah_attr = address_of(end);
  attr.path_mtu = IBV_MTU_1024;
  attr.max_dest_rd_atomic = attr.max_rd_atomic = 1;
  attr.min_rnr_timer = 1;
  attr.timeout = 14;
  attr.retry_cnt = attr.rnr_retry = 7;
  attr.qp_state = IBV_QPS_INIT;
  constexpr int kInit = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
  constexpr int kPeer = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  for (ibv_qp* qp : {sender, receiver}) BOOST_REQUIRE_EQUAL(ibv_modify_qp(qp, &attr, kInit), 0);
  attr.qp_state = IBV_QPS_RTR;
  attr.dest_qp_num = receiver->qp_num;
  BOOST_REQUIRE_EQUAL(ibv_modify_qp(sender, &attr, kPeer), 0);
  attr.dest_qp_num = sender->qp_num;
  BOOST_CHECK_EQUAL(ibv_modify_qp(receiver, &attr, kPeer), EINVAL);  // what a responder needs is missing
  BOOST_REQUIRE_EQUAL(ibv_modify_qp(receiver, &attr, kPeer | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER), 0);
  attr.qp_state = IBV_QPS_RTS;
  BOOST_REQUIRE_EQUAL(ibv_modify_qp(sender, &attr,
                                    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                        IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
                      0);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_domain_belongs_to_its_file) {
  OpenDevice device, other;
  const TemporaryFile file, second;
  const auto refused = [](const ibv_xrcd* domain, int error) { return domain == nullptr && errno == error; };
  BOOST_CHECK(refused(open_domain(device.context, file.fd, 0), EAGAIN));
  BOOST_CHECK(refused(open_domain(device.context, 9999, O_CREAT), EBADF));
  BOOST_CHECK(refused(open_domain(device.context, file.fd, O_CREAT, IBV_XRCD_INIT_ATTR_FD), EINVAL));
  ibv_xrcd* const first = open_domain(device.context, file.fd, O_CREAT);
  BOOST_REQUIRE(first != nullptr);
  BOOST_CHECK(refused(open_domain(other.context, file.fd, O_CREAT | O_EXCL), EINVAL));
  BOOST_CHECK(refused(open_domain(other.context, second.fd, 0), EAGAIN));
  ibv_xrcd* const again = open_domain(other.context, file.fd, 0);
  BOOST_REQUIRE(again != nullptr);
  ibv_xrcd* const of_no_file = open_domain(device.context, -1, O_CREAT);
  BOOST_REQUIRE(of_no_file != nullptr);
  for (ibv_xrcd* domain : {first, again, of_no_file}) BOOST_CHECK_EQUAL(ibv_close_xrcd(domain), 0);
  BOOST_CHECK(refused(open_domain(device.context, file.fd, 0), EAGAIN));  // it ended with its last holder
}

BOOST_AUTO_TEST_CASE(a_receiver_keeps_the_protection_domain_that_it_was_given) {
  Endpoint end;
  ibv_xrcd* const domain = open_domain(end.context, -1, O_CREAT);
  BOOST_REQUIRE(domain != nullptr);
  ibv_qp_init_attr_ex attributes{};
  attributes.qp_type = IBV_QPT_XRC_RECV;
  attributes.comp_mask = IBV_QP_INIT_ATTR_XRCD | IBV_QP_INIT_ATTR_PD;
  attributes.xrcd = domain;
  attributes.pd = end.pd;
  ibv_qp* const receiver = ibv_create_qp_ex(end.context, &attributes);
  BOOST_REQUIRE(receiver != nullptr);
  BOOST_CHECK(receiver->pd == end.pd);
  BOOST_CHECK_EQUAL(ibv_destroy_qp(receiver), 0);
  BOOST_CHECK_EQUAL(ibv_close_xrcd(domain), 0);
}

BOOST_AUTO_TEST_CASE(message_reaches_the_named_queue_and_both_holders_hear_it) {
  Endpoint end;
  ibv_xrcd* const domain = open_domain(end.context, -1, O_CREAT);
  ibv_srq* const srq = make_srq(end, domain);
  ibv_qp* const receiver = make_receiver(end, domain);
  ibv_qp* const sender = make_sender(end);
  BOOST_REQUIRE(srq != nullptr && receiver != nullptr && sender != nullptr);
  ibv_qp_open_attr open{};
  open.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
  open.qp_num = end.qp->qp_num;
  open.xrcd = domain;
  open.qp_type = IBV_QPT_XRC_RECV;
  BOOST_CHECK(ibv_open_qp(end.context, &open) == nullptr && errno == EINVAL);
  open.qp_num = receiver->qp_num;
  ibv_qp* const shared = ibv_open_qp(end.context, &open);
  BOOST_REQUIRE(shared != nullptr);
  connect(end, sender, receiver);

  std::uint32_t number = 0;
  BOOST_CHECK_EQUAL(ibv_get_srq_num(srq, &number), 0);
  ibv_sge into = end.sge(4096, 64);
  ibv_recv_wr receive{.wr_id = 5, .next = nullptr, .sg_list = &into, .num_sge = 1};
  ibv_recv_wr* bad = nullptr;
  BOOST_REQUIRE_EQUAL(ibv_post_srq_recv(srq, &receive, &bad), 0);
  ibv_qp_ex* const extended = ibv_qp_to_qp_ex(sender);
  extended->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_start(extended);
  ibv_wr_send(extended);
  ibv_wr_set_xrc_srqn(extended, number);
  ibv_wr_set_sge(extended, end.mr->lkey, end.address(0), 64);
  BOOST_REQUIRE_EQUAL(ibv_wr_complete(extended), 0);
  for (int i = 0; i < 2; ++i) {
    const ibv_wc completion = next_completion(end.cq);
    BOOST_CHECK_EQUAL(completion.status, IBV_WC_SUCCESS);
    if (completion.opcode == IBV_WC_RECV) BOOST_CHECK_EQUAL(completion.qp_num, receiver->qp_num);
  }
  std::vector<ibv_qp*> told;
  for (int i = 0; i < 2; ++i) {
    ibv_async_event event{};
    BOOST_REQUIRE_EQUAL(ibv_get_async_event(end.context, &event), 0);
    BOOST_CHECK_EQUAL(event.event_type, IBV_EVENT_COMM_EST);
    told.push_back(event.element.qp);
    ibv_ack_async_event(&event);
  }
  BOOST_CHECK(told[0] != told[1]);

  BOOST_CHECK_EQUAL(ibv_close_xrcd(domain), EBUSY);
  for (ibv_qp* qp : {receiver, shared, sender}) BOOST_CHECK_EQUAL(ibv_destroy_qp(qp), 0);
  BOOST_CHECK_EQUAL(ibv_destroy_srq(srq), 0);
  BOOST_CHECK_EQUAL(ibv_close_xrcd(domain), 0);
}

BOOST_AUTO_TEST_CASE(a_receiver_needs_no_pd_and_shows_the_one_it_is_given) {
  Endpoint end;
  ibv_xrcd* const domain = open_domain(end.context, -1, O_CREAT);
  BOOST_REQUIRE(domain != nullptr);
  ibv_qp* const without = make_receiver(end, domain);
  BOOST_REQUIRE(without != nullptr);
  BOOST_CHECK(without->pd == nullptr);
  ibv_qp_init_attr_ex attributes{};
  attributes.qp_type = IBV_QPT_XRC_RECV;
  attributes.comp_mask = IBV_QP_INIT_ATTR_XRCD | IBV_QP_INIT_ATTR_PD;
  attributes.xrcd = domain;
  attributes.pd = end.pd;
  ibv_qp* const with = ibv_create_qp_ex(end.context, &attributes);
  BOOST_REQUIRE(with != nullptr);
  BOOST_CHECK(with->pd == end.pd);  // librdmacm makes the SRQ from it
  for (ibv_qp* qp : {without, with}) BOOST_CHECK_EQUAL(ibv_destroy_qp(qp), 0);
  BOOST_CHECK_EQUAL(ibv_close_xrcd(domain), 0);
}
