// What is true of every verb: errno is what a failing verb answers, and stays as it was when the verb succeeds; an
// object whose handle or context has been overwritten is not found, whatever is asked of it.
#include <fcntl.h>

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <functional>
#include <string>
#include <vector>

#include "tests/shim/verbs_fixture.h"

using namespace verbs_test;

namespace {

constexpr int kBefore = EXFULL;  // no verb says that

/// One of everything, on one context.
struct World : Endpoint {
  World() : Endpoint({.with_channel = true, .with_srq = true}) {
    to_init(*this);
    to_rtr(*this, *this);
    ibv_ah_attr address = address_of(*this);
    ah = ibv_create_ah(pd, &address);
    mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
    ibv_alloc_dm_attr memory{.length = 64, .log_align_req = 0, .comp_mask = 0};
    dm = ibv_alloc_dm(context, &memory);
    ibv_xrcd_init_attr domain{
        .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1, .oflags = O_CREAT};
    xrcd = ibv_open_xrcd(context, &domain);
    ibv_wq_init_attr queue{};
    queue.wq_type = IBV_WQT_RQ;
    queue.max_wr = queue.max_sge = 1;
    queue.pd = pd;
    queue.cq = cq;
    wq = ibv_create_wq(context, &queue);
    ibv_rwq_ind_table_init_attr spread{.log_ind_tbl_size = 0, .ind_tbl = &wq, .comp_mask = 0};
    table = ibv_create_rwq_ind_table(context, &spread);
    ibv_counters_init_attr counting{};
    counters = ibv_create_counters(context, &counting);
    ibv_qp_init_attr raw_attributes{};
    raw_attributes.send_cq = raw_attributes.recv_cq = cq;
    raw_attributes.cap = {
        .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
    raw_attributes.qp_type = IBV_QPT_RAW_PACKET;
    raw = ibv_create_qp(pd, &raw_attributes);
    ibv_qp_attr init{};
    init.qp_state = IBV_QPS_INIT;
    init.port_num = 1;
    ibv_modify_qp(raw, &init, IBV_QP_STATE | IBV_QP_PORT);
    ibv_flow_attr rule{};
    rule.type = IBV_FLOW_ATTR_NORMAL;
    rule.size = sizeof rule;
    rule.port = 1;
    flow = ibv_create_flow(raw, &rule);
    BOOST_REQUIRE(ah && mw && dm && xrcd && wq && table && counters && raw && flow);
  }
  ~World() {
    int failed = ibv_destroy_flow(flow) + ibv_destroy_qp(raw) + ibv_destroy_counters(counters);
    failed += ibv_destroy_rwq_ind_table(table) + ibv_destroy_wq(wq) + ibv_close_xrcd(xrcd) + ibv_free_dm(dm);
    BOOST_CHECK_EQUAL(failed + ibv_dealloc_mw(mw) + ibv_destroy_ah(ah), 0);
  }
  ibv_ah* ah;
  ibv_mw* mw;
  ibv_dm* dm;
  ibv_xrcd* xrcd;
  ibv_wq* wq;
  ibv_rwq_ind_table* table;
  ibv_counters* counters;
  ibv_qp* raw;
  ibv_flow* flow;
};

using Verb = std::function<int()>;
struct Named {
  std::string name;
  Verb call;
};

/// A verb that answers with a pointer, as one that answers with an errno value.
template <class Object>
int error_of(Object* made) {
  return made == nullptr ? errno : 0;
}

#define VERB(expression)                    \
  Named {                                   \
    #expression, [&] { return expression; } \
  }
#define MAKES(expression)                             \
  Named {                                             \
    #expression, [&] { return error_of(expression); } \
  }

void check_not_found(const std::vector<Named>& verbs, const char* what) {
  for (const Named& verb : verbs) {
    BOOST_TEST_CONTEXT(verb.name << " with a wrong " << what) {
      errno = kBefore;
      const int answer = verb.call();
      BOOST_TEST(answer == ENOENT);
      BOOST_TEST(errno == ENOENT);
    }
  }
}

/// Tries the verbs with the object's handle overwritten, then its context; both are as they were after it.
template <class Handle>
void check_corrupted(Handle& handle, ibv_context*& context, ibv_context* other, const std::vector<Named>& verbs) {
  const Handle own = handle;
  handle = own + 1000;
  check_not_found(verbs, "handle");
  handle = own;
  ibv_context* const owner = context;
  context = other;
  check_not_found(verbs, "context");
  context = owner;
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_object_whose_handle_or_context_was_overwritten_is_not_found) {
  World world;
  const OpenDevice other;
  ibv_context* const own = world.context;
  ibv_pd* const pd = world.pd;
  ibv_mr* const mr = world.mr;
  ibv_cq* const cq = world.cq;
  ibv_srq* const srq = world.srq;
  ibv_qp* const qp = world.qp;
  ibv_ah_attr address = address_of(world);
  ibv_srq_init_attr srq_init{.srq_context = nullptr, .attr = {.max_wr = 1, .max_sge = 1, .srq_limit = 0}};
  ibv_qp_init_attr qp_init{};
  qp_init.send_cq = qp_init.recv_cq = cq;
  qp_init.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
  qp_init.qp_type = IBV_QPT_RC;
  ibv_qp_init_attr with_srq = qp_init;
  with_srq.srq = srq;
  ibv_wq_init_attr wq_init{};
  wq_init.wq_type = IBV_WQT_RQ;
  wq_init.max_wr = wq_init.max_sge = 1;
  wq_init.pd = pd;
  wq_init.cq = cq;
  ibv_parent_domain_init_attr parent{};
  parent.pd = pd;
  char* const memory = world.buffer.data();
  check_corrupted(
      pd->handle, pd->context, other.context,
      {VERB(ibv_dealloc_pd(pd)), MAKES(ibv_reg_mr(pd, memory, 8, IBV_ACCESS_LOCAL_WRITE)), MAKES(ibv_alloc_null_mr(pd)),
       MAKES(ibv_create_ah(pd, &address)), MAKES(ibv_create_srq(pd, &srq_init)), MAKES(ibv_create_qp(pd, &qp_init)),
       MAKES(ibv_create_wq(own, &wq_init)), MAKES(ibv_alloc_parent_domain(own, &parent)),
       MAKES(ibv_reg_dm_mr(pd, world.dm, 0, 8, IBV_ACCESS_ZERO_BASED))});
  check_corrupted(mr->handle, mr->context, other.context, {VERB(ibv_dereg_mr(mr))});
  ibv_modify_cq_attr moderation{.attr_mask = IBV_CQ_ATTR_MODERATE, .moderate = {.cq_count = 0, .cq_period = 0}};
  check_corrupted(cq->handle, cq->context, other.context,
                  {VERB(ibv_destroy_cq(cq)), VERB(ibv_resize_cq(cq, 8)), MAKES(ibv_create_qp(pd, &qp_init)),
                   MAKES(ibv_create_wq(own, &wq_init))});
  const std::uint32_t cq_handle = cq->handle;
  cq->handle += 1000;
  check_not_found({VERB(ibv_modify_cq(cq, &moderation))}, "handle");
  cq->handle = cq_handle;
  ibv_srq_attr limit{};
  check_corrupted(srq->handle, srq->context, other.context,
                  {VERB(ibv_destroy_srq(srq)), VERB(ibv_query_srq(srq, &limit)),
                   VERB(ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT)), MAKES(ibv_create_qp(pd, &with_srq))});
  ibv_qp_attr state{};
  ibv_qp_init_attr made{};
  ibv_gid group{};
  group.raw[0] = 0xff;
  check_corrupted(qp->handle, qp->context, other.context,
                  {VERB(ibv_destroy_qp(qp)), VERB(ibv_modify_qp(qp, &state, IBV_QP_STATE)),
                   VERB(ibv_query_qp(qp, &state, IBV_QP_STATE, &made)), VERB(ibv_attach_mcast(qp, &group, 0)),
                   VERB(ibv_detach_mcast(qp, &group, 0))});
}

BOOST_AUTO_TEST_CASE(nor_is_any_of_the_rarer_objects) {
  World world;
  const OpenDevice other;
  ibv_context* const own = world.context;
  check_corrupted(world.ah->handle, world.ah->context, other.context, {VERB(ibv_destroy_ah(world.ah))});
  const std::uint32_t window = world.mw->handle;
  world.mw->handle += 1000;
  check_not_found({VERB(ibv_dealloc_mw(world.mw))}, "handle");
  world.mw->handle = window;
  const std::uint32_t memory = world.dm->handle;
  world.dm->handle += 1000;
  check_not_found({VERB(ibv_free_dm(world.dm)),
                   MAKES(ibv_reg_dm_mr(world.pd, world.dm, 0, 8, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE))},
                  "handle");
  world.dm->handle = memory;
  ibv_wq_attr queue{};
  queue.attr_mask = IBV_WQ_ATTR_STATE;
  ibv_rwq_ind_table_init_attr spread{.log_ind_tbl_size = 0, .ind_tbl = &world.wq, .comp_mask = 0};
  const std::uint32_t wq = world.wq->handle;
  world.wq->handle += 1000;
  check_not_found({VERB(ibv_destroy_wq(world.wq)), VERB(ibv_modify_wq(world.wq, &queue)),
                   MAKES(ibv_create_rwq_ind_table(own, &spread))},
                  "handle");
  world.wq->handle = wq;
  world.table->ind_tbl_handle += 1000;
  check_not_found({VERB(ibv_destroy_rwq_ind_table(world.table))}, "handle");
  world.table->ind_tbl_handle -= 1000;
  world.flow->handle += 1000;
  check_not_found({VERB(ibv_destroy_flow(world.flow))}, "handle");
  world.flow->handle -= 1000;
  const std::uint32_t raw = world.raw->handle;
  ibv_flow_attr rule{};
  rule.size = sizeof rule;
  rule.port = 1;
  world.raw->handle += 1000;
  check_not_found({MAKES(ibv_create_flow(world.raw, &rule))}, "handle");
  world.raw->handle = raw;
}

BOOST_AUTO_TEST_CASE(errno_is_what_a_failing_verb_answers) {
  World world;
  ibv_qp_attr wrong{};
  wrong.qp_state = IBV_QPS_SQE;
  ibv_port_attr port{};
  ibv_srq_attr limit{};
  ibv_send_wr send{};
  ibv_send_wr* bad_send = nullptr;
  send.opcode = out_of_range<ibv_wr_opcode>(77);
  ibv_recv_wr receive{};
  ibv_recv_wr* bad_receive = nullptr;
  receive.num_sge = 100;
  ibv_modify_cq_attr moderation{};
  ibv_qp_rate_limit_attr rate{};
  rate.comp_mask = 1;
  ibv_wq_attr queue{};
  queue.attr_mask = 1u << 30;
  ibv_counter_attach_attr attach{};
  attach.comp_mask = 1;
  ibv_ece ece{};
  ibv_gid group{};
  std::uint32_t number = 0;
  char octets[64] = {};
  ibv_sge range{};
  const std::vector<Named> verbs{
      VERB(ibv_modify_qp(world.qp, &wrong, IBV_QP_STATE)),
      VERB(ibv_query_port(world.context, 9, &port)),
      VERB(ibv_modify_srq(world.srq, &limit, 1 << 20)),
      VERB(ibv_post_send(world.qp, &send, &bad_send)),
      VERB(ibv_post_srq_recv(world.srq, &receive, &bad_receive)),
      VERB(ibv_post_recv(world.raw, &receive, &bad_receive)),
      VERB(ibv_modify_cq(world.cq, &moderation)),
      VERB(ibv_resize_cq(world.cq, 0)),
      VERB(ibv_modify_qp_rate_limit(world.qp, &rate)),
      VERB(ibv_modify_wq(world.wq, &queue)),
      VERB(ibv_attach_counters_point_flow(world.counters, &attach, nullptr)),
      VERB(ibv_set_ece(world.qp, &ece)),
      VERB(ibv_query_ece(world.qp, &ece)),
      VERB(ibv_attach_mcast(world.qp, &group, 0)),
      VERB(ibv_get_srq_num(world.srq, &number)),
      VERB(ibv_memcpy_to_dm(world.dm, 1 << 20, octets, 4)),
      VERB(ibv_memcpy_from_dm(octets, world.dm, 2, 4)),
      VERB(ibv_advise_mr(world.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 1u << 20, &range, 1)),
      VERB(ibv_dealloc_pd(world.pd)),
      VERB(ibv_destroy_cq(world.cq)),
      VERB(ibv_destroy_srq(world.srq)),
      VERB(ibv_destroy_wq(world.wq)),
      VERB(ibv_destroy_comp_channel(world.channel)),
      VERB(ibv_close_device(nullptr)),
  };
  for (const Named& verb : verbs) {
    BOOST_TEST_CONTEXT(verb.name) {
      errno = kBefore;
      const int answer = verb.call();
      BOOST_TEST(answer > 0);
      BOOST_TEST(errno == answer);
    }
  }
  errno = kBefore;
  BOOST_TEST(ibv_poll_cq(world.cq, -1, nullptr) < 0);
  BOOST_TEST(errno == EINVAL);
}

BOOST_AUTO_TEST_CASE(a_verb_that_succeeds_leaves_errno_alone) {
  errno = kBefore;
  {
    World world;
    BOOST_TEST(errno == kBefore);
    ibv_wc completion{};
    ibv_port_attr port{};
    ibv_gid gid{};
    for (int i = 0; i < 100; ++i) BOOST_TEST_REQUIRE(ibv_poll_cq(world.cq, 1, &completion) == 0);
    BOOST_TEST(ibv_req_notify_cq(world.cq, 0) == 0);
    BOOST_TEST(ibv_query_port(world.context, 1, &port) == 0);
    BOOST_TEST(ibv_query_gid(world.context, 1, 0, &gid) == 0);
    BOOST_TEST(errno == kBefore);
  }
  BOOST_TEST(errno == kBefore);
}
