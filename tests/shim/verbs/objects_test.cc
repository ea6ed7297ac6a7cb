// Objects: what creating, asking, changing and destroying them answers, in any order.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <vector>

#include "tests/shim/verbs_fixture.h"
#include "tests/support/unmapped.h"

using namespace verbs_test;

namespace {

constexpr int kLocalWrite = IBV_ACCESS_LOCAL_WRITE;
constexpr int kRemoteWrite = IBV_ACCESS_REMOTE_WRITE;

}  // namespace

BOOST_AUTO_TEST_CASE(an_object_in_use_is_busy_and_a_stale_pointer_is_not_found) {
  Endpoint endpoint({.with_channel = true});
  BOOST_CHECK_EQUAL(ibv_dealloc_pd(endpoint.pd), EBUSY);
  BOOST_CHECK_EQUAL(ibv_destroy_cq(endpoint.cq), EBUSY);
  BOOST_CHECK_EQUAL(ibv_destroy_comp_channel(endpoint.channel), EBUSY);
  ibv_qp* const qp = endpoint.qp;
  endpoint.qp = nullptr;
  BOOST_CHECK_EQUAL(ibv_destroy_qp(qp), 0);
  BOOST_CHECK_EQUAL(ibv_destroy_qp(qp), ENOENT);
  ibv_mr* const mr = endpoint.mr;
  endpoint.mr = nullptr;
  BOOST_CHECK_EQUAL(ibv_dereg_mr(mr), 0);
  BOOST_CHECK_EQUAL(ibv_dereg_mr(mr), ENOENT);
}

BOOST_AUTO_TEST_CASE(objects_may_be_destroyed_after_their_context) {
  OpenDevice other;
  Endpoint endpoint({.with_channel = true, .with_srq = true});
  ibv_context* const context = endpoint.device.context;
  endpoint.device.context = nullptr;
  BOOST_CHECK_EQUAL(ibv_close_device(context), 0);
  ibv_wc completion{};
  BOOST_CHECK_EQUAL(ibv_poll_cq(endpoint.cq, 1, &completion), -1);
  BOOST_CHECK_NE(endpoint.post_receive(1, 0, 8), 0);
  BOOST_CHECK(ibv_alloc_pd(other.context) != nullptr);  // left to the closing of its context
}

BOOST_AUTO_TEST_CASE(memory_that_is_not_there_cannot_be_registered) {
  Endpoint endpoint;
  const verbena::test::PagesThatGo pages(2);
  pages.unmap_from(1);
  BOOST_CHECK(ibv_reg_mr(endpoint.pd, pages.page(0), pages.length(), kLocalWrite) == nullptr);
  BOOST_CHECK_EQUAL(errno, EFAULT);
  ibv_mr* const mr = ibv_reg_mr(endpoint.pd, pages.page(0), verbena::test::PagesThatGo::kPage, kLocalWrite);
  BOOST_REQUIRE(mr != nullptr);
  BOOST_CHECK_EQUAL(mr->length, verbena::test::PagesThatGo::kPage);
  BOOST_CHECK_EQUAL(ibv_dereg_mr(mr), 0);
}

BOOST_AUTO_TEST_CASE(remote_writing_needs_local_writing) {
  Endpoint endpoint;
  BOOST_CHECK(ibv_reg_mr(endpoint.pd, endpoint.buffer.data(), 64, kRemoteWrite) == nullptr);
  BOOST_CHECK_EQUAL(errno, EINVAL);
  int access = kLocalWrite | IBV_ACCESS_RELAXED_ORDERING;  // a hint: accepted
  ibv_mr* const mr = ibv_reg_mr(endpoint.pd, endpoint.buffer.data(), 64, access);
  BOOST_REQUIRE(mr != nullptr);
  BOOST_CHECK_EQUAL(ibv_dereg_mr(mr), 0);
}

BOOST_AUTO_TEST_CASE(a_completion_queue_can_be_resized) {
  Endpoint endpoint;
  BOOST_CHECK_EQUAL(ibv_resize_cq(endpoint.cq, 500), 0);
  BOOST_CHECK_GE(endpoint.cq->cqe, 500);
  BOOST_CHECK_EQUAL(ibv_resize_cq(endpoint.cq, 0), EINVAL);
}

BOOST_AUTO_TEST_CASE(a_qp_takes_objects_of_its_own_context_only) {
  Endpoint endpoint;
  Endpoint other;
  ibv_qp_init_attr attributes{};
  attributes.send_cq = other.cq;
  attributes.recv_cq = endpoint.cq;
  attributes.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
  attributes.qp_type = IBV_QPT_RC;
  BOOST_CHECK(ibv_create_qp(endpoint.pd, &attributes) == nullptr);
  BOOST_CHECK_EQUAL(errno, ENOENT);
  attributes.send_cq = endpoint.cq;
  attributes.qp_type = IBV_QPT_DRIVER;
  BOOST_CHECK(ibv_create_qp(endpoint.pd, &attributes) == nullptr);
  BOOST_CHECK_EQUAL(errno, EOPNOTSUPP);
}

BOOST_AUTO_TEST_CASE(a_qp_reports_what_it_was_told) {
  Endpoint a;
  Endpoint b;
  connect(a, b);
  ibv_qp_attr attributes{};
  ibv_qp_init_attr init{};
  BOOST_REQUIRE_EQUAL(ibv_query_qp(a.qp, &attributes, IBV_QP_STATE, &init), 0);
  BOOST_CHECK_EQUAL(attributes.qp_state, IBV_QPS_RTS);
  BOOST_CHECK_EQUAL(attributes.path_mtu, IBV_MTU_1024);
  BOOST_CHECK_EQUAL(attributes.dest_qp_num, b.qp->qp_num);
  BOOST_CHECK_EQUAL(attributes.timeout, 14);
  BOOST_CHECK_EQUAL(attributes.ah_attr.grh.dgid.raw[15], 1);
  BOOST_CHECK(init.qp_context == &a && init.send_cq == a.cq);
  BOOST_CHECK_GE(init.cap.max_send_wr, 16u);
  BOOST_CHECK_EQUAL(ibv_query_qp_data_in_order(a.qp, IBV_WR_RDMA_WRITE, 0), 1);
}

BOOST_AUTO_TEST_CASE(a_wrong_transition_changes_nothing) {
  Endpoint a;
  Endpoint b;
  BOOST_CHECK_EQUAL(to_rts(a), EINVAL);
  BOOST_CHECK_EQUAL(a.qp->state, IBV_QPS_RESET);
  BOOST_REQUIRE_EQUAL(to_init(a), 0);
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = out_of_range<ibv_mtu>(9);
  attributes.ah_attr = address_of(b);
  BOOST_CHECK_EQUAL(ibv_modify_qp(a.qp, &attributes,
                                  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                      IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
                    EINVAL);
  BOOST_CHECK_EQUAL(a.qp->state, IBV_QPS_INIT);
  BOOST_CHECK_EQUAL(to_rtr(a, b), 0);
}

namespace {
/// A LID, as on InfiniBand.
ibv_ah_attr without_grh(const Endpoint& of) {
  ibv_ah_attr attributes = address_of(of);
  attributes.is_global = 0;
  attributes.dlid = 0x5b01;
  return attributes;
}

constexpr int kToRtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
}  // namespace

BOOST_AUTO_TEST_CASE(an_address_handle_needs_a_grh_on_ethernet) {
  Endpoint endpoint;
  ibv_ah_attr attributes = without_grh(endpoint);
  ibv_pd* const domain = ibv_alloc_pd(endpoint.context);
  BOOST_REQUIRE(domain != nullptr);
  BOOST_CHECK(ibv_create_ah(domain, &attributes) == nullptr);
  BOOST_CHECK_EQUAL(errno, EINVAL);
  BOOST_CHECK_EQUAL(ibv_dealloc_pd(domain), 0);  // nothing that was refused is in it
  attributes.is_global = 1;
  ibv_ah* const ah = ibv_create_ah(endpoint.pd, &attributes);
  BOOST_REQUIRE(ah != nullptr);
  BOOST_CHECK_EQUAL(ibv_destroy_ah(ah), 0);
  attributes.port_num = 2;
  BOOST_CHECK(ibv_create_ah(endpoint.pd, &attributes) == nullptr);
  BOOST_CHECK_EQUAL(errno, EINVAL);
}

BOOST_AUTO_TEST_CASE(a_path_without_a_grh_is_refused_on_ethernet) {
  for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC}) {
    Endpoint a({.type = type});
    Endpoint b({.type = type});
    BOOST_REQUIRE_EQUAL(to_init(a), 0);
    BOOST_CHECK_EQUAL(to_rtr(a, b.qp->qp_num, without_grh(b)), EINVAL);
    ibv_qp_attr seen{};
    ibv_qp_init_attr init{};
    BOOST_REQUIRE_EQUAL(ibv_query_qp(a.qp, &seen, IBV_QP_STATE, &init), 0);
    BOOST_CHECK_EQUAL(seen.qp_state, IBV_QPS_INIT);
    BOOST_CHECK_EQUAL(a.qp->state, IBV_QPS_INIT);
    BOOST_CHECK_EQUAL(seen.dest_qp_num, 0u);
    BOOST_CHECK_EQUAL(to_rtr(a, b), 0);
    BOOST_CHECK_EQUAL(to_rts(a), 0);
  }
}

BOOST_AUTO_TEST_CASE(a_path_is_not_changed_to_one_without_a_grh) {
  Endpoint a;
  Endpoint b;
  connect(a, b);
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_SQD;
  BOOST_REQUIRE_EQUAL(ibv_modify_qp(a.qp, &attributes, IBV_QP_STATE), 0);
  attributes.ah_attr = without_grh(b);
  attributes.ah_attr.grh.dgid.raw[15] = 2;
  BOOST_CHECK_EQUAL(ibv_modify_qp(a.qp, &attributes, IBV_QP_STATE | IBV_QP_AV), EINVAL);
  ibv_qp_init_attr init{};
  BOOST_REQUIRE_EQUAL(ibv_query_qp(a.qp, &attributes, IBV_QP_STATE | IBV_QP_AV, &init), 0);
  BOOST_CHECK_EQUAL(attributes.qp_state, IBV_QPS_SQD);
  BOOST_CHECK_EQUAL(attributes.ah_attr.is_global, 1);
  BOOST_CHECK_EQUAL(attributes.ah_attr.grh.dgid.raw[15], 1);
}

BOOST_AUTO_TEST_CASE(there_is_no_alternate_path_on_ethernet) {
  Endpoint a;
  Endpoint b;
  BOOST_REQUIRE_EQUAL(to_init(a), 0);
  for (const ibv_ah_attr& alternate : {address_of(b), without_grh(b)}) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTR;
    attributes.path_mtu = IBV_MTU_1024;
    attributes.dest_qp_num = b.qp->qp_num;
    attributes.ah_attr = address_of(b);
    attributes.alt_ah_attr = alternate;
    attributes.alt_port_num = 1;
    constexpr int kOfReliable = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    BOOST_CHECK_EQUAL(ibv_modify_qp(a.qp, &attributes, kToRtr | kOfReliable | IBV_QP_ALT_PATH), EINVAL);
    BOOST_CHECK_EQUAL(a.qp->state, IBV_QPS_INIT);
  }
  BOOST_CHECK_EQUAL(to_rtr(a, b), 0);
}

BOOST_AUTO_TEST_CASE(the_ethernet_address_of_a_group_follows_from_its_address) {
  Endpoint endpoint;
  ibv_ah_attr attributes = address_of(endpoint);
  std::uint8_t mac[6] = {};
  std::uint16_t vlan = 0;
  BOOST_REQUIRE_EQUAL(ibv_resolve_eth_l2_from_gid(endpoint.context, &attributes, mac, &vlan), 0);
  const std::uint8_t own[6] = {0x02, 0x56, 0x7f, 0x2f, 0x5b, 0x01};
  BOOST_CHECK_EQUAL_COLLECTIONS(mac, mac + 6, own, own + 6);
  attributes.is_global = 0;  // not looked at
  BOOST_CHECK_EQUAL(ibv_resolve_eth_l2_from_gid(endpoint.context, &attributes, mac, &vlan), 0);
  const std::uint8_t ipv4_group[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 129, 2, 3};
  std::copy(ipv4_group, ipv4_group + 16, attributes.grh.dgid.raw);
  BOOST_REQUIRE_EQUAL(ibv_resolve_eth_l2_from_gid(endpoint.context, &attributes, mac, &vlan), 0);
  const std::uint8_t ipv4_mac[6] = {0x01, 0x00, 0x5e, 0x01, 2, 3};
  BOOST_CHECK_EQUAL_COLLECTIONS(mac, mac + 6, ipv4_mac, ipv4_mac + 6);
  const std::uint8_t ipv6_group[16] = {0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4};
  std::copy(ipv6_group, ipv6_group + 16, attributes.grh.dgid.raw);
  BOOST_REQUIRE_EQUAL(ibv_resolve_eth_l2_from_gid(endpoint.context, &attributes, mac, &vlan), 0);
  const std::uint8_t ipv6_mac[6] = {0x33, 0x33, 1, 2, 3, 4};
  BOOST_CHECK_EQUAL_COLLECTIONS(mac, mac + 6, ipv6_mac, ipv6_mac + 6);
}

BOOST_AUTO_TEST_CASE(a_parent_domain_stands_for_its_domain) {
  Endpoint endpoint;
  ibv_td_init_attr td_attributes{};
  ibv_td* const td = ibv_alloc_td(endpoint.context, &td_attributes);
  BOOST_REQUIRE(td != nullptr);
  ibv_parent_domain_init_attr attributes{};
  attributes.pd = endpoint.pd;
  attributes.td = td;
  ibv_pd* const domain = ibv_alloc_parent_domain(endpoint.context, &attributes);
  BOOST_REQUIRE(domain != nullptr);
  BOOST_CHECK_EQUAL(ibv_dealloc_td(td), EBUSY);
  ibv_mr* const mr = ibv_reg_mr(domain, endpoint.buffer.data(), 64, kLocalWrite);
  BOOST_REQUIRE(mr != nullptr);
  BOOST_CHECK_EQUAL(ibv_dereg_mr(mr), 0);
  BOOST_CHECK_EQUAL(ibv_dealloc_pd(domain), 0);
  BOOST_CHECK_EQUAL(ibv_dealloc_td(td), 0);
}

namespace {

/// What an application keeps behind a parent domain: how its allocator answers, and what it was asked for.
struct Arena {
  enum class Answer { memory, use_default, none } answer = Answer::memory;
  ibv_pd* domain = nullptr;
  std::vector<void*> pieces;
  bool was_asked_wrongly = false;
};

void* arena_allocate(ibv_pd* pd, void* context, size_t bytes, size_t alignment, std::uint64_t) {
  auto& arena = *static_cast<Arena*>(context);
  arena.was_asked_wrongly |= pd != arena.domain || bytes == 0 || alignment == 0 || (alignment & (alignment - 1)) != 0;
  if (arena.answer == Arena::Answer::use_default) return IBV_ALLOCATOR_USE_DEFAULT;
  if (arena.answer == Arena::Answer::none) return nullptr;
  return arena.pieces.emplace_back(std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment));
}

void arena_free(ibv_pd* pd, void* context, void* piece, std::uint64_t) {
  auto& arena = *static_cast<Arena*>(context);
  arena.was_asked_wrongly |= pd != arena.domain || std::erase(arena.pieces, piece) != 1;
  std::free(piece);
}

}  // namespace

BOOST_AUTO_TEST_CASE(objects_on_a_parent_domain_lie_in_memory_of_its_allocator) {
  Endpoint endpoint;
  Arena arena;
  ibv_parent_domain_init_attr attributes{};
  attributes.pd = endpoint.pd;
  attributes.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
  attributes.pd_context = &arena;
  BOOST_TEST((ibv_alloc_parent_domain(endpoint.context, &attributes) == nullptr && errno == EINVAL));  // none given
  attributes.alloc = arena_allocate;
  attributes.free = arena_free;
  arena.domain = ibv_alloc_parent_domain(endpoint.context, &attributes);
  BOOST_REQUIRE(arena.domain != nullptr);

  ibv_cq_init_attr_ex cq_attributes{};
  cq_attributes.cqe = 4;
  cq_attributes.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;
  cq_attributes.parent_domain = endpoint.pd;
  BOOST_TEST((ibv_create_cq_ex(endpoint.context, &cq_attributes) == nullptr && errno == EINVAL));  // a plain domain
  cq_attributes.parent_domain = arena.domain;
  ibv_cq* const cq = ibv_cq_ex_to_cq(ibv_create_cq_ex(endpoint.context, &cq_attributes));
  ibv_srq_init_attr srq_attributes{.srq_context = nullptr, .attr = {.max_wr = 1, .max_sge = 1, .srq_limit = 0}};
  ibv_srq* const srq = ibv_create_srq(arena.domain, &srq_attributes);
  BOOST_REQUIRE((cq != nullptr && srq != nullptr));
  ibv_qp_init_attr qp_attributes{};
  qp_attributes.send_cq = qp_attributes.recv_cq = cq;
  qp_attributes.srq = srq;
  qp_attributes.cap = {.max_send_wr = 1, .max_recv_wr = 0, .max_send_sge = 1, .max_recv_sge = 0, .max_inline_data = 0};
  qp_attributes.qp_type = IBV_QPT_RC;
  ibv_qp* const qp = ibv_create_qp(arena.domain, &qp_attributes);
  BOOST_REQUIRE(qp != nullptr);
  BOOST_TEST(arena.pieces.size() == 3u);
  BOOST_TEST(std::ranges::count(arena.pieces, static_cast<void*>(qp)) == 1);
  BOOST_CHECK_EQUAL(ibv_dealloc_pd(arena.domain), EBUSY);

  arena.answer = Arena::Answer::none;
  BOOST_TEST((ibv_create_qp(arena.domain, &qp_attributes) == nullptr && errno == ENOMEM));
  arena.answer = Arena::Answer::use_default;
  ibv_qp* const plain = ibv_create_qp(arena.domain, &qp_attributes);
  BOOST_REQUIRE(plain != nullptr);
  BOOST_TEST(arena.pieces.size() == 3u);
  arena.answer = Arena::Answer::memory;
  qp_attributes.cap.max_send_wr = UINT32_MAX;  // the NIC refuses it: the memory is given back
  BOOST_TEST(ibv_create_qp(arena.domain, &qp_attributes) == nullptr);
  BOOST_TEST(arena.pieces.size() == 3u);

  BOOST_CHECK_EQUAL(ibv_destroy_qp(plain), 0);
  BOOST_CHECK_EQUAL(ibv_destroy_qp(qp), 0);
  BOOST_CHECK_EQUAL(ibv_destroy_srq(srq), 0);
  BOOST_CHECK_EQUAL(ibv_destroy_cq(cq), 0);
  BOOST_TEST(arena.pieces.empty());
  BOOST_TEST(!arena.was_asked_wrongly);
  BOOST_CHECK_EQUAL(ibv_dealloc_pd(arena.domain), 0);
}

BOOST_AUTO_TEST_CASE(what_is_not_built_is_not_supported) {
  Endpoint endpoint;
  ibv_ece ece{};
  BOOST_CHECK_EQUAL(ibv_query_ece(endpoint.qp, &ece), EOPNOTSUPP);
}

BOOST_AUTO_TEST_CASE(region_over_no_application_memory_never_changes) {
  Endpoint endpoint;
  ibv_mr* const null = ibv_alloc_null_mr(endpoint.pd);
  ibv_mr* const imported = ibv_import_mr(endpoint.pd, endpoint.mr->handle);
  BOOST_REQUIRE(null != nullptr && imported != nullptr);
  for (ibv_mr* const mr : {null, imported})
    for (const int flags : {0, int{IBV_REREG_MR_CHANGE_ACCESS}, int{IBV_REREG_MR_CHANGE_PD}, 8}) {
      errno = 0;
      BOOST_CHECK_EQUAL(ibv_rereg_mr(mr, flags, endpoint.pd, nullptr, 0, 0), IBV_REREG_MR_ERR_INPUT);
      BOOST_CHECK_EQUAL(errno, EINVAL);
    }
  ibv_unimport_mr(imported);
  BOOST_CHECK_EQUAL(ibv_dereg_mr(null), 0);
}
