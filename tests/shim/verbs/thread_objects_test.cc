// 64 threads that make and end the rarer objects on one context: windows, XRC domains, device memory, flows, work
// queues, counters, parent domains, groups. What one thread does never shows in another's answers.
#include <fcntl.h>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <thread>

#include "tests/shim/verbs_fixture.h"

using namespace verbs_test;

namespace {

constexpr int kThreads = 64;
constexpr int kRounds = 3;  // of each thread

/// Each step runs on all threads at once; it returns what went wrong, or null.
using Step = const char* (*)(Endpoint& shared, ibv_cq* cq, int number);

void run_on_all_threads(Step step) {
  Endpoint shared({.cq_entries = 1024});
  std::atomic<const char*> wrong{nullptr};
  std::vector<std::thread> threads;
  for (int number = 0; number < kThreads; ++number)
    threads.emplace_back([&, number] {
      ibv_cq* const cq = ibv_create_cq(shared.context, 16, nullptr, nullptr, 0);
      if (cq == nullptr) wrong = "no CQ";
      for (int round = 0; round < kRounds && cq != nullptr; ++round)
        if (const char* const what = step(shared, cq, number)) wrong = what;
      if (cq != nullptr && ibv_destroy_cq(cq) != 0) wrong = "the CQ is still in use";
    });
  for (std::thread& thread : threads) thread.join();
  BOOST_TEST(wrong.load() == nullptr, wrong.load());
}

ibv_qp* make_qp(const Endpoint& shared, ibv_cq* cq, ibv_qp_type type) {
  ibv_qp_init_attr attributes{};
  attributes.send_cq = attributes.recv_cq = cq;
  attributes.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
  attributes.qp_type = type;
  return ibv_create_qp(shared.pd, &attributes);
}

}  // namespace

BOOST_AUTO_TEST_CASE(windows_and_regions_that_change) {
  run_on_all_threads([](Endpoint& shared, ibv_cq*, int number) -> const char* {
    char* const place = shared.buffer.data() + 64 * number;
    ibv_mw* const one = ibv_alloc_mw(shared.pd, IBV_MW_TYPE_1);
    ibv_mw* const two = ibv_alloc_mw(shared.pd, IBV_MW_TYPE_2);
    ibv_mr* const mr = ibv_reg_mr(shared.pd, place, 32, kAllAccess);
    if (one == nullptr || two == nullptr || mr == nullptr) return "no window or region";
    if (one->rkey == two->rkey || mr->rkey == one->rkey) return "two have one key";
    if (ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, place, 64, 0) != 0) return "rereg_mr";
    return ibv_dealloc_mw(one) == 0 && ibv_dealloc_mw(two) == 0 && ibv_dereg_mr(mr) == 0 ? nullptr : "still in use";
  });
}

BOOST_AUTO_TEST_CASE(xrc_domains_with_their_queues) {
  run_on_all_threads([](Endpoint& shared, ibv_cq* cq, int) -> const char* {
    ibv_xrcd_init_attr domain_attributes{
        .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1, .oflags = O_CREAT};
    ibv_xrcd* const domain = ibv_open_xrcd(shared.context, &domain_attributes);
    if (domain == nullptr) return "no domain";
    ibv_srq_init_attr_ex attributes{};
    attributes.attr = {.max_wr = 4, .max_sge = 1, .srq_limit = 0};
    attributes.comp_mask =
        IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
    attributes.srq_type = IBV_SRQT_XRC;
    attributes.pd = shared.pd;
    attributes.xrcd = domain;
    attributes.cq = cq;
    ibv_srq* const srq = ibv_create_srq_ex(shared.context, &attributes);
    ibv_qp_init_attr_ex receiver_attributes{};
    receiver_attributes.qp_type = IBV_QPT_XRC_RECV;
    receiver_attributes.comp_mask = IBV_QP_INIT_ATTR_XRCD;
    receiver_attributes.xrcd = domain;
    ibv_qp* const receiver = ibv_create_qp_ex(shared.context, &receiver_attributes);
    if (srq == nullptr || receiver == nullptr) return "no SRQ or QP";
    if (ibv_close_xrcd(domain) != EBUSY) return "a domain in use can be closed";
    return ibv_destroy_qp(receiver) == 0 && ibv_destroy_srq(srq) == 0 && ibv_close_xrcd(domain) == 0 ? nullptr
                                                                                                     : "still in use";
  });
}

BOOST_AUTO_TEST_CASE(device_memory_and_parent_domains) {
  run_on_all_threads([](Endpoint& shared, ibv_cq*, int number) -> const char* {
    ibv_alloc_dm_attr attributes{.length = 64, .log_align_req = 0, .comp_mask = 0};
    ibv_dm* const memory = ibv_alloc_dm(shared.context, &attributes);
    ibv_td_init_attr none{};
    ibv_td* const thread_domain = ibv_alloc_td(shared.context, &none);
    if (memory == nullptr || thread_domain == nullptr) return "no memory or domain";
    ibv_parent_domain_init_attr parts{};
    parts.pd = shared.pd;
    parts.td = thread_domain;
    ibv_pd* const parent = ibv_alloc_parent_domain(shared.context, &parts);
    if (parent == nullptr) return "no parent domain";
    ibv_mr* const mr = ibv_reg_dm_mr(parent, memory, 0, 64, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE);
    if (mr == nullptr) return "no region of device memory";
    int back = -1;
    if (ibv_memcpy_to_dm(memory, 0, &number, sizeof number) != 0 ||
        ibv_memcpy_from_dm(&back, memory, 0, sizeof back) != 0 || back != number)
      return "device memory is shared";
    return ibv_dereg_mr(mr) == 0 && ibv_free_dm(memory) == 0 && ibv_dealloc_pd(parent) == 0 &&
                   ibv_dealloc_td(thread_domain) == 0
               ? nullptr
               : "still in use";
  });
}

BOOST_AUTO_TEST_CASE(flows_with_counters_and_groups) {
  run_on_all_threads([](Endpoint& shared, ibv_cq* cq, int number) -> const char* {
    struct {
      ibv_flow_attr attributes;
      ibv_flow_spec_eth ethernet;
    } flow{};
    flow.attributes.type = IBV_FLOW_ATTR_NORMAL;
    flow.attributes.size = sizeof flow;
    flow.attributes.num_of_specs = 1;
    flow.attributes.port = 1;
    flow.ethernet.type = IBV_FLOW_SPEC_ETH;
    flow.ethernet.size = sizeof flow.ethernet;
    flow.ethernet.val.dst_mac[5] = static_cast<std::uint8_t>(number);
    flow.ethernet.mask.dst_mac[5] = 0xff;
    ibv_qp* const raw = make_qp(shared, cq, IBV_QPT_RAW_PACKET);
    ibv_qp* const datagrams = make_qp(shared, cq, IBV_QPT_UD);
    ibv_counters_init_attr none{};
    ibv_counters* const counters = ibv_create_counters(shared.context, &none);
    if (raw == nullptr || datagrams == nullptr || counters == nullptr) return "no QP or counters";
    ibv_flow* const rule = ibv_create_flow(raw, &flow.attributes);
    if (rule == nullptr) return "no flow";
    const ibv_gid group{.raw = {0xff, 0x0e}};  // everybody's
    if (ibv_attach_mcast(datagrams, &group, 0) != 0) return "attach";
    if (ibv_destroy_qp(raw) != EBUSY || ibv_destroy_qp(datagrams) != EBUSY) return "a QP in use can be destroyed";
    if (ibv_detach_mcast(datagrams, &group, 0) != 0 || ibv_detach_mcast(datagrams, &group, 0) != EINVAL)
      return "detach";
    return ibv_destroy_flow(rule) == 0 && ibv_destroy_counters(counters) == 0 && ibv_destroy_qp(raw) == 0 &&
                   ibv_destroy_qp(datagrams) == 0
               ? nullptr
               : "still in use";
  });
}

BOOST_AUTO_TEST_CASE(work_queues_with_their_tables) {
  run_on_all_threads([](Endpoint& shared, ibv_cq* cq, int) -> const char* {
    ibv_wq_init_attr attributes{};
    attributes.wq_type = IBV_WQT_RQ;
    attributes.max_wr = attributes.max_sge = 1;
    attributes.pd = shared.pd;
    attributes.cq = cq;
    ibv_wq* queue = ibv_create_wq(shared.context, &attributes);
    if (queue == nullptr) return "no work queue";
    ibv_rwq_ind_table_init_attr table_attributes{.log_ind_tbl_size = 0, .ind_tbl = &queue, .comp_mask = 0};
    ibv_rwq_ind_table* const table = ibv_create_rwq_ind_table(shared.context, &table_attributes);
    if (table == nullptr) return "no table";
    ibv_wq_attr ready{};
    ready.attr_mask = IBV_WQ_ATTR_STATE;
    ready.wq_state = IBV_WQS_RDY;
    if (ibv_modify_wq(queue, &ready) != 0) return "modify_wq";
    if (ibv_destroy_wq(queue) != EBUSY) return "a queue in use can be destroyed";
    return ibv_destroy_rwq_ind_table(table) == 0 && ibv_destroy_wq(queue) == 0 ? nullptr : "still in use";
  });
}
