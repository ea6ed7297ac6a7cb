// What the device announces is what it has: so many of each object, so much of each size, and not one more.
#include <boost/test/unit_test.hpp>
#include <functional>

#include "tests/shim/verbs_fixture.h"

using namespace verbs_test;

namespace {

struct Device {
  Device() {
    BOOST_REQUIRE(pd != nullptr);
    BOOST_REQUIRE_EQUAL(ibv_query_device_ex(context, nullptr, &announced), 0);
  }
  ibv_cq* make_cq() const { return ibv_create_cq(context, 1, nullptr, nullptr, 0); }
  ibv_qp* make_qp(ibv_cq* cq, ibv_qp_type type, const ibv_qp_cap& capabilities) const {
    ibv_qp_init_attr attributes{};
    attributes.send_cq = attributes.recv_cq = cq;
    attributes.qp_type = type;
    attributes.cap = capabilities;
    return ibv_create_qp(pd, &attributes);
  }
  ibv_srq* make_srq(std::uint32_t max_wr, std::uint32_t max_sge) const {
    ibv_srq_init_attr attributes{};
    attributes.attr = {.max_wr = max_wr, .max_sge = max_sge, .srq_limit = 0};
    return ibv_create_srq(pd, &attributes);
  }
  ibv_wq* make_wq(ibv_cq* cq) const {
    ibv_wq_init_attr attributes{};
    attributes.wq_type = IBV_WQT_RQ;
    attributes.max_wr = attributes.max_sge = 1;
    attributes.pd = pd;
    attributes.cq = cq;
    return ibv_create_wq(context, &attributes);
  }

  OpenDevice device;
  ibv_context* context = device.context;
  ibv_pd* pd = ibv_alloc_pd(context);
  ibv_device_attr_ex announced{};
  const ibv_device_attr& plain = announced.orig_attr;
};

/// Makes `count` objects; the next one has no memory, until one of the others has gone.
template <class Object>
void check_count(const char* name, std::int64_t count, const std::function<Object*()>& make,
                 const std::function<int(Object*)>& end) {
  BOOST_TEST_CONTEXT(name) {
    std::vector<Object*> objects;
    BOOST_REQUIRE_GT(count, 0);
    for (std::int64_t i = 0; i < count; ++i) {
      Object* const object = make();
      BOOST_REQUIRE_MESSAGE(object != nullptr, "only " << i << " of " << count << ": " << std::strerror(errno));
      objects.push_back(object);
    }
    errno = 0;
    BOOST_CHECK(make() == nullptr);
    BOOST_CHECK_EQUAL(errno, ENOMEM);
    BOOST_REQUIRE_EQUAL(end(objects.back()), 0);
    objects.back() = make();
    BOOST_REQUIRE(objects.back() != nullptr);
    for (Object* const object : objects) BOOST_REQUIRE_EQUAL(end(object), 0);
  }
}

/// `make` gets what is announced, and is refused one more.
template <class Object>
void check_size(const char* name, std::uint32_t announced, const std::function<Object*(std::uint32_t)>& make,
                const std::function<int(Object*)>& end) {
  BOOST_TEST_CONTEXT(name) {
    Object* const object = make(announced);
    BOOST_REQUIRE_MESSAGE(object != nullptr, announced << ": " << std::strerror(errno));
    BOOST_CHECK_EQUAL(end(object), 0);
    errno = 0;
    BOOST_CHECK(make(announced + 1) == nullptr);
    BOOST_CHECK_EQUAL(errno, EINVAL);
  }
}

constexpr ibv_qp_cap kLeast{
    .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};

}  // namespace

BOOST_AUTO_TEST_CASE(as_many_objects_as_announced_and_not_one_more) {
  Device device;
  const ibv_device_attr& most = device.plain;
  check_count<ibv_pd>("pd", most.max_pd - 1, [&] { return ibv_alloc_pd(device.context); }, ibv_dealloc_pd);
  check_count<ibv_cq>("cq", most.max_cq, [&] { return device.make_cq(); }, ibv_destroy_cq);
  check_count<ibv_srq>("srq", most.max_srq, [&] { return device.make_srq(1, 1); }, ibv_destroy_srq);
  std::uint64_t word = 0;
  check_count<ibv_mr>("mr", most.max_mr, [&] { return ibv_reg_mr(device.pd, &word, 8, 0); }, ibv_dereg_mr);
  check_count<ibv_mw>("mw", most.max_mw, [&] { return ibv_alloc_mw(device.pd, IBV_MW_TYPE_1); }, ibv_dealloc_mw);
  Endpoint endpoint;
  ibv_ah_attr address = address_of(endpoint);
  check_count<ibv_ah>("ah", most.max_ah, [&] { return ibv_create_ah(device.pd, &address); }, ibv_destroy_ah);
}

BOOST_AUTO_TEST_CASE(as_many_queues_as_announced_and_not_one_more) {
  Device device;
  ibv_cq* const cq = device.make_cq();
  BOOST_REQUIRE(cq != nullptr);
  check_count<ibv_qp>(
      "qp", device.plain.max_qp, [&] { return device.make_qp(cq, IBV_QPT_RC, kLeast); }, ibv_destroy_qp);
  check_count<ibv_wq>("wq", device.announced.max_wq_type_rq, [&] { return device.make_wq(cq); }, ibv_destroy_wq);

  ibv_wq* wq = device.make_wq(cq);
  BOOST_REQUIRE(wq != nullptr);
  ibv_rwq_ind_table_init_attr attributes{.log_ind_tbl_size = 0, .ind_tbl = &wq, .comp_mask = 0};
  check_count<ibv_rwq_ind_table>(
      "table", device.announced.rss_caps.max_rwq_indirection_tables,
      [&] { return ibv_create_rwq_ind_table(device.context, &attributes); }, ibv_destroy_rwq_ind_table);
  std::vector<ibv_wq*> many(2 * device.announced.rss_caps.max_rwq_indirection_table_size, wq);
  attributes.ind_tbl = many.data();
  while ((1u << attributes.log_ind_tbl_size) < device.announced.rss_caps.max_rwq_indirection_table_size)
    ++attributes.log_ind_tbl_size;
  ibv_rwq_ind_table* const widest = ibv_create_rwq_ind_table(device.context, &attributes);
  BOOST_REQUIRE(widest != nullptr);
  BOOST_CHECK_EQUAL(ibv_destroy_rwq_ind_table(widest), 0);
  ++attributes.log_ind_tbl_size;
  BOOST_CHECK(ibv_create_rwq_ind_table(device.context, &attributes) == nullptr);
  BOOST_CHECK_EQUAL(errno, EINVAL);
  BOOST_CHECK_EQUAL(ibv_destroy_wq(wq), 0);
  BOOST_CHECK_EQUAL(ibv_destroy_cq(cq), 0);
}

BOOST_AUTO_TEST_CASE(queues_and_lists_are_as_long_as_announced_and_not_longer) {
  Device device;
  const ibv_device_attr& most = device.plain;
  const auto entries = [&](std::uint32_t count) {
    return ibv_create_cq(device.context, static_cast<int>(count), nullptr, nullptr, 0);
  };
  check_size<ibv_cq>("cqe", static_cast<std::uint32_t>(most.max_cqe), entries, ibv_destroy_cq);
  ibv_cq* const cq = device.make_cq();
  BOOST_REQUIRE(cq != nullptr);
  BOOST_CHECK_EQUAL(ibv_resize_cq(cq, most.max_cqe), 0);
  BOOST_CHECK_EQUAL(ibv_resize_cq(cq, most.max_cqe + 1), EINVAL);

  const auto check_capability = [&](const char* name, int announced, std::uint32_t ibv_qp_cap::* member) {
    const auto make = [&](std::uint32_t value) {
      ibv_qp_cap wanted = kLeast;
      wanted.*member = value;
      return device.make_qp(cq, IBV_QPT_RC, wanted);
    };
    check_size<ibv_qp>(name, static_cast<std::uint32_t>(announced), make, ibv_destroy_qp);
  };
  check_capability("max_send_wr", most.max_qp_wr, &ibv_qp_cap::max_send_wr);
  check_capability("max_recv_wr", most.max_qp_wr, &ibv_qp_cap::max_recv_wr);
  check_capability("max_send_sge", most.max_sge, &ibv_qp_cap::max_send_sge);
  check_capability("max_recv_sge", most.max_sge, &ibv_qp_cap::max_recv_sge);
  check_size<ibv_srq>(
      "max_srq_wr", static_cast<std::uint32_t>(most.max_srq_wr),
      [&](std::uint32_t value) { return device.make_srq(value, 1); }, ibv_destroy_srq);
  check_size<ibv_srq>(
      "max_srq_sge", static_cast<std::uint32_t>(most.max_srq_sge),
      [&](std::uint32_t value) { return device.make_srq(1, value); }, ibv_destroy_srq);
  BOOST_CHECK_EQUAL(ibv_destroy_cq(cq), 0);
}

BOOST_AUTO_TEST_CASE(groups_are_as_many_and_as_large_as_announced_and_not_more) {
  Device device;
  ibv_cq* const cq = device.make_cq();
  BOOST_REQUIRE(cq != nullptr);
  std::vector<ibv_qp*> qps;
  for (int i = 0; i <= device.plain.max_mcast_qp_attach; ++i) {
    qps.push_back(device.make_qp(cq, IBV_QPT_UD, kLeast));
    BOOST_REQUIRE(qps.back() != nullptr);
  }
  ibv_gid group{.raw = {0xff, 0x0e}};
  const auto number = [&group](int value) -> const ibv_gid* {
    group.raw[14] = static_cast<std::uint8_t>(value >> 8);
    group.raw[15] = static_cast<std::uint8_t>(value & 0xff);
    return &group;
  };
  for (int i = 0; i < device.plain.max_mcast_qp_attach; ++i)
    BOOST_REQUIRE_EQUAL(ibv_attach_mcast(qps[static_cast<std::size_t>(i)], number(0), 0), 0);
  BOOST_CHECK_EQUAL(ibv_attach_mcast(qps.back(), number(0), 0), ENOMEM);
  for (int i = 1; i < device.plain.max_mcast_grp; ++i) BOOST_REQUIRE_EQUAL(ibv_attach_mcast(qps[0], number(i), 0), 0);
  BOOST_CHECK_EQUAL(ibv_attach_mcast(qps[0], number(device.plain.max_mcast_grp), 0), ENOMEM);
  BOOST_CHECK_EQUAL(ibv_destroy_qp(qps[0]), EBUSY);
  for (int i = 0; i < device.plain.max_mcast_grp; ++i) BOOST_REQUIRE_EQUAL(ibv_detach_mcast(qps[0], number(i), 0), 0);
  for (int i = 1; i < device.plain.max_mcast_qp_attach; ++i)
    BOOST_REQUIRE_EQUAL(ibv_detach_mcast(qps[static_cast<std::size_t>(i)], number(0), 0), 0);
  for (ibv_qp* const qp : qps) BOOST_REQUIRE_EQUAL(ibv_destroy_qp(qp), 0);
  BOOST_CHECK_EQUAL(ibv_destroy_cq(cq), 0);
}

BOOST_AUTO_TEST_CASE(what_lies_in_a_work_request_is_no_less_than_its_list_takes) {
  Device device;
  ibv_cq* const cq = device.make_cq();
  BOOST_REQUIRE(cq != nullptr);
  for (const auto& [asked, sges, granted] : {std::tuple{0u, 1u, 16u}, {0u, 4u, 64u}, {100u, 4u, 100u}}) {
    ibv_qp_init_attr attributes{};
    attributes.send_cq = attributes.recv_cq = cq;
    attributes.qp_type = IBV_QPT_RC;
    attributes.cap = kLeast;
    attributes.cap.max_send_sge = sges;
    attributes.cap.max_inline_data = asked;
    ibv_qp* const qp = ibv_create_qp(device.pd, &attributes);
    BOOST_REQUIRE(qp != nullptr);
    BOOST_CHECK_EQUAL(attributes.cap.max_inline_data, granted);
    BOOST_CHECK_EQUAL(ibv_destroy_qp(qp), 0);
  }
  BOOST_CHECK_EQUAL(ibv_destroy_cq(cq), 0);
}

BOOST_AUTO_TEST_CASE(what_was_destroyed_or_is_of_another_context_is_refused) {
  Device device;
  Endpoint other;
  ibv_cq* const cq = device.make_cq();
  ibv_qp* const qp = device.make_qp(cq, IBV_QPT_UD, kLeast);
  ibv_srq* const srq = device.make_srq(1, 1);
  ibv_pd* const pd = ibv_alloc_pd(device.context);
  BOOST_REQUIRE(cq != nullptr && qp != nullptr && srq != nullptr && pd != nullptr);
  BOOST_CHECK(device.make_qp(other.cq, IBV_QPT_RC, kLeast) == nullptr);
  BOOST_CHECK_EQUAL(errno, ENOENT);
  ibv_comp_channel* const foreign = ibv_create_comp_channel(other.context);
  BOOST_REQUIRE(foreign != nullptr);
  BOOST_CHECK(ibv_create_cq(device.context, 1, nullptr, foreign, 0) == nullptr);
  BOOST_CHECK_EQUAL(errno, ENOENT);
  BOOST_REQUIRE_EQUAL(ibv_destroy_comp_channel(foreign), 0);
  BOOST_REQUIRE_EQUAL(ibv_destroy_qp(qp), 0);
  BOOST_REQUIRE_EQUAL(ibv_destroy_cq(cq), 0);
  BOOST_REQUIRE_EQUAL(ibv_destroy_srq(srq), 0);
  BOOST_REQUIRE_EQUAL(ibv_dealloc_pd(pd), 0);

  ibv_qp_attr attributes{};
  ibv_qp_init_attr init{};
  ibv_srq_attr srq_attributes{};
  const ibv_gid group{.raw = {0xff, 0x0e}};
  BOOST_CHECK_EQUAL(ibv_modify_qp(qp, &attributes, IBV_QP_STATE), ENOENT);
  BOOST_CHECK_EQUAL(ibv_query_qp(qp, &attributes, IBV_QP_STATE, &init), ENOENT);
  BOOST_CHECK_EQUAL(ibv_attach_mcast(qp, &group, 0), ENOENT);
  BOOST_CHECK_EQUAL(ibv_resize_cq(cq, 2), ENOENT);
  BOOST_CHECK_EQUAL(ibv_modify_srq(srq, &srq_attributes, IBV_SRQ_LIMIT), ENOENT);
  BOOST_CHECK_EQUAL(ibv_query_srq(srq, &srq_attributes), ENOENT);
  std::uint64_t word = 0;
  BOOST_CHECK(ibv_reg_mr(pd, &word, sizeof word, 0) == nullptr);
  BOOST_CHECK_EQUAL(errno, ENOENT);
  ibv_srq_init_attr srq_init{};
  srq_init.attr = {.max_wr = 1, .max_sge = 1, .srq_limit = 0};
  BOOST_CHECK(ibv_create_srq(pd, &srq_init) == nullptr);
  ibv_ah_attr address = address_of(other);
  BOOST_CHECK(ibv_create_ah(pd, &address) == nullptr);
  init.send_cq = init.recv_cq = cq;
  init.qp_type = IBV_QPT_RC;
  init.cap = kLeast;
  BOOST_CHECK(ibv_create_qp(device.pd, &init) == nullptr);
  BOOST_CHECK_EQUAL(errno, ENOENT);
  BOOST_CHECK(ibv_create_qp(pd, &init) == nullptr);
  BOOST_CHECK_EQUAL(errno, ENOENT);
}
