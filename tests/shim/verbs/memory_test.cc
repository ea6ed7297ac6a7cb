// Memory beyond plain regions through the ABI: windows, regions that change, the null region, device memory, on-demand
// regions, dma-bufs, and what is imported from another context.
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstring>

#include "tests/shim/verbs_fixture.h"
#include "tests/support/unmapped.h"

using namespace verbs_test;

namespace {

constexpr int kLocalWrite = IBV_ACCESS_LOCAL_WRITE;
constexpr int kRemoteWrite = IBV_ACCESS_REMOTE_WRITE;

struct Pair {
  explicit Pair(std::uint64_t operations = 0) : a({.send_operations = operations}), b({.send_operations = operations}) {
    connect(a, b);
    window_region = ibv_reg_mr(b.pd, b.buffer.data(), b.buffer.size(), kLocalWrite | kRemoteWrite | IBV_ACCESS_MW_BIND);
    BOOST_REQUIRE(window_region != nullptr);
  }
  ~Pair() { BOOST_CHECK_EQUAL(ibv_dereg_mr(window_region), 0); }

  ibv_wc_status write(std::uint32_t rkey, std::uint64_t address) {
    ibv_sge sge = a.sge(0, 8);
    ibv_send_wr request = a.request(IBV_WR_RDMA_WRITE, &sge);
    request.wr.rdma.remote_addr = address;
    request.wr.rdma.rkey = rkey;
    BOOST_REQUIRE_EQUAL(a.post(request), 0);
    return next_completion(a.cq).status;
  }
  ibv_mw_bind_info bind_info(unsigned access = kRemoteWrite) const {
    return {.mr = window_region, .addr = b.address(64), .length = 64, .mw_access_flags = access};
  }
  Endpoint a;
  Endpoint b;
  ibv_mr* window_region = nullptr;
};

ibv_mw* window_of(const Endpoint& endpoint, ibv_mw_type type) {
  ibv_mw* const mw = ibv_alloc_mw(endpoint.pd, type);
  BOOST_REQUIRE(mw != nullptr);
  return mw;
}

/// A context that shares the descriptor of another one.
struct ImportedDevice {
  explicit ImportedDevice(const ibv_context* original) : context(ibv_import_device(dup(original->cmd_fd))) {
    BOOST_REQUIRE(context != nullptr);
  }
  ~ImportedDevice() { BOOST_CHECK_EQUAL(ibv_close_device(context), 0); }
  ibv_context* context;
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_window_of_type_1_gets_a_new_key_with_each_bind) {
  Pair pair;
  ibv_mw* const mw = window_of(pair.b, IBV_MW_TYPE_1);
  const std::uint32_t before = mw->rkey;
  ibv_mw_bind bind{.wr_id = 5, .send_flags = IBV_SEND_SIGNALED, .bind_info = pair.bind_info()};
  BOOST_REQUIRE_EQUAL(ibv_bind_mw(pair.b.qp, mw, &bind), 0);
  const ibv_wc bound = next_completion(pair.b.cq);
  BOOST_CHECK_EQUAL(bound.status, IBV_WC_SUCCESS);
  BOOST_CHECK_EQUAL(bound.opcode, IBV_WC_BIND_MW);
  BOOST_CHECK_EQUAL(bound.wr_id, 5u);
  BOOST_CHECK_EQUAL(mw->rkey, ibv_inc_rkey(before));
  BOOST_CHECK_EQUAL(ibv_dereg_mr(pair.window_region), EBUSY);
  std::strcpy(pair.a.buffer.data(), "through");
  BOOST_CHECK_EQUAL(pair.write(mw->rkey, pair.b.address(64)), IBV_WC_SUCCESS);
  BOOST_CHECK_EQUAL(pair.b.buffer.data() + 64, "through");
  const std::uint32_t rkey = mw->rkey;
  BOOST_CHECK_EQUAL(ibv_dealloc_mw(mw), 0);
  BOOST_CHECK_EQUAL(pair.write(rkey, pair.b.address(64)), IBV_WC_REM_ACCESS_ERR);
}

BOOST_AUTO_TEST_CASE(binding_is_refused_at_once_where_the_call_can_tell) {
  Pair pair;
  ibv_mw* const type1 = window_of(pair.b, IBV_MW_TYPE_1);
  ibv_mw* const type2 = window_of(pair.b, IBV_MW_TYPE_2);
  ibv_mw_bind bind{.bind_info = pair.bind_info()};
  BOOST_CHECK_EQUAL(ibv_bind_mw(pair.b.qp, type2, &bind), EINVAL);
  ibv_pd* const other = ibv_alloc_pd(pair.b.context);
  ibv_mw* const foreign = ibv_alloc_mw(other, IBV_MW_TYPE_1);
  BOOST_CHECK_EQUAL(ibv_bind_mw(pair.b.qp, foreign, &bind), EPERM);
  BOOST_CHECK_EQUAL(ibv_dealloc_pd(other), EBUSY);
  BOOST_CHECK_EQUAL(ibv_dealloc_mw(foreign), 0);
  BOOST_CHECK_EQUAL(ibv_dealloc_pd(other), 0);
  bind.bind_info.mr = nullptr;
  BOOST_CHECK_EQUAL(ibv_bind_mw(pair.b.qp, type1, &bind), EINVAL);  // an address of nothing
  bind.bind_info = pair.bind_info(kRemoteWrite | IBV_ACCESS_ZERO_BASED);
  BOOST_CHECK_EQUAL(ibv_bind_mw(pair.b.qp, type1, &bind), EINVAL);
  errno = 0;
  BOOST_CHECK(ibv_alloc_mw(pair.b.pd, out_of_range<ibv_mw_type>(3)) == nullptr);
  BOOST_CHECK_EQUAL(errno, EINVAL);
  BOOST_CHECK_EQUAL(ibv_dealloc_mw(type1), 0);
  BOOST_CHECK_EQUAL(ibv_dealloc_mw(type2), 0);
}

BOOST_AUTO_TEST_CASE(what_only_the_nic_can_tell_of_a_bind_ends_as_a_completion) {
  const auto bind = [](Pair& pair, ibv_mw* mw, const ibv_mw_bind_info& info) {
    ibv_mw_bind request{.send_flags = IBV_SEND_SIGNALED, .bind_info = info};
    BOOST_CHECK_EQUAL(ibv_bind_mw(pair.b.qp, mw, &request), 0);
  };
  const auto post = [](Pair& pair, ibv_mw* mw, const ibv_mw_bind_info& info) {
    ibv_send_wr request = pair.b.request(IBV_WR_BIND_MW, nullptr);
    request.num_sge = 0;
    request.bind_mw.mw = mw;
    request.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
    request.bind_mw.bind_info = info;
    BOOST_CHECK_EQUAL(pair.b.post(request), 0);
  };
  const auto build = [](Pair& pair, ibv_mw* mw, const ibv_mw_bind_info& info) {
    ibv_qp_ex* const qp = ibv_qp_to_qp_ex(pair.b.qp);
    ibv_wr_start(qp);
    qp->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_bind_mw(qp, mw, ibv_inc_rkey(mw->rkey), &info);
    BOOST_CHECK_EQUAL(ibv_wr_complete(qp), 0);
  };
  const auto fails = [](ibv_mw_type type, auto&& act) {
    Pair pair(IBV_QP_EX_WITH_BIND_MW);
    ibv_mw* const mw = window_of(pair.b, type);
    act(pair, mw);
    BOOST_CHECK_EQUAL(next_completion(pair.b.cq).status, IBV_WC_MW_BIND_ERR);
    BOOST_CHECK_EQUAL(ibv_dealloc_mw(mw), 0);
  };
  fails(IBV_MW_TYPE_1, [&](Pair& pair, ibv_mw*) {  // the QP is of another domain than window and region
    ibv_pd* const other = ibv_alloc_pd(pair.b.context);
    ibv_mr* const region = ibv_reg_mr(other, pair.b.buffer.data(), 4096, kLocalWrite | IBV_ACCESS_MW_BIND);
    ibv_mw* const foreign = ibv_alloc_mw(other, IBV_MW_TYPE_1);
    bind(pair, foreign, {.mr = region, .addr = pair.b.address(0), .length = 64, .mw_access_flags = kRemoteWrite});
    BOOST_CHECK_EQUAL(ibv_dealloc_mw(foreign), 0);
    BOOST_CHECK_EQUAL(ibv_dereg_mr(region), 0);
    BOOST_CHECK_EQUAL(ibv_dealloc_pd(other), 0);
  });
  fails(IBV_MW_TYPE_1, [&](Pair& pair, ibv_mw* mw) { post(pair, mw, pair.bind_info()); });
  fails(IBV_MW_TYPE_1, [&](Pair& pair, ibv_mw* mw) { build(pair, mw, pair.bind_info()); });
  fails(IBV_MW_TYPE_2, [&](Pair& pair, ibv_mw*) {
    ibv_mw no_window{};
    post(pair, &no_window, pair.bind_info());
  });
  fails(IBV_MW_TYPE_2, [&](Pair& pair, ibv_mw*) {  // what has the same number in another context
    Endpoint other;
    ibv_mw* const foreign = window_of(other, IBV_MW_TYPE_2);
    post(pair, foreign, pair.bind_info());
    BOOST_CHECK_EQUAL(ibv_dealloc_mw(foreign), 0);
  });
  fails(IBV_MW_TYPE_2, [&](Pair& pair, ibv_mw* mw) {
    ibv_mr no_region{};
    ibv_mw_bind_info info = pair.bind_info();
    info.mr = &no_region;
    post(pair, mw, info);
  });
}

BOOST_AUTO_TEST_CASE(a_region_is_refused_where_its_pages_could_not_be_pinned) {
  Endpoint endpoint;
  const auto error_of = [&](const void* place, std::size_t length, int access) {
    errno = 0;
    ibv_mr* const region = ibv_reg_mr(endpoint.pd, const_cast<void*>(place), length, access);
    if (region != nullptr) BOOST_CHECK_EQUAL(ibv_dereg_mr(region), 0);
    return region != nullptr ? 0 : errno;
  };
  constexpr std::size_t kPage = verbena::test::PagesThatGo::kPage;
  for (const std::size_t pages : {1u, 1024u}) {
    verbena::test::PagesThatGo memory(pages);
    const std::size_t length = memory.length();
    BOOST_REQUIRE_EQUAL(mprotect(memory.page(0), length, PROT_READ), 0);
    BOOST_CHECK_EQUAL(error_of(memory.page(0), length, 0), 0);
    BOOST_CHECK_EQUAL(error_of(memory.page(0), length, IBV_ACCESS_REMOTE_READ), 0);
    for (const int access : {kLocalWrite, kLocalWrite | kRemoteWrite, int{IBV_ACCESS_MW_BIND}})
      BOOST_CHECK_EQUAL(error_of(memory.page(0), length, access), EFAULT);
    BOOST_CHECK_EQUAL(error_of(memory.page(0), length, kLocalWrite | IBV_ACCESS_ON_DEMAND), 0);  // shows at the access
    ibv_mr* const readable = ibv_reg_mr(endpoint.pd, memory.page(0), length, IBV_ACCESS_REMOTE_READ);
    BOOST_REQUIRE(readable != nullptr);
    BOOST_CHECK_EQUAL(ibv_rereg_mr(readable, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, kLocalWrite),
                      IBV_REREG_MR_ERR_CMD);
    BOOST_CHECK_EQUAL(errno, EFAULT);
    BOOST_CHECK_EQUAL(ibv_dereg_mr(readable), 0);
    BOOST_REQUIRE_EQUAL(mprotect(memory.page(0), length, PROT_NONE), 0);
    BOOST_CHECK_EQUAL(error_of(memory.page(0), length, 0), EFAULT);
    memory.unmap_from(0);
    BOOST_CHECK_EQUAL(error_of(memory.page(0), length, 0), EFAULT);
  }
  verbena::test::PagesThatGo page(1);
  BOOST_CHECK_EQUAL(error_of(page.page(0), 0, 0), EINVAL);  // no page at all
  BOOST_CHECK_EQUAL(error_of(page.page(0) + 1, 0, 0), 0);
  BOOST_CHECK_EQUAL(error_of(page.page(0), SIZE_MAX - kPage, 0), EINVAL);
  errno = 0;
  BOOST_CHECK((ibv_reg_mr_iova)(endpoint.pd, page.page(0), 64, 8, 0) == nullptr);  // another place in its page
  BOOST_CHECK_EQUAL(errno, EINVAL);
}

BOOST_AUTO_TEST_CASE(type_2_window_is_bound_by_a_request_and_invalidated_by_peers) {
  Pair pair;
  ibv_mw* const mw = window_of(pair.b, IBV_MW_TYPE_2);
  ibv_send_wr bind = pair.b.request(IBV_WR_BIND_MW, nullptr);
  bind.num_sge = 0;
  bind.bind_mw.mw = mw;
  bind.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
  bind.bind_mw.bind_info = pair.bind_info();
  ibv_send_wr with_any_index = bind;
  with_any_index.bind_mw.rkey ^= 0x5a5a5a00;
  BOOST_REQUIRE_EQUAL(pair.b.post(with_any_index), 0);
  BOOST_CHECK_EQUAL(mw->rkey, bind.bind_mw.rkey);
  BOOST_CHECK_EQUAL(next_completion(pair.b.cq).status, IBV_WC_SUCCESS);
  BOOST_CHECK_EQUAL(pair.write(bind.bind_mw.rkey, pair.b.address(64)), IBV_WC_SUCCESS);

  BOOST_REQUIRE_EQUAL(pair.b.post_receive(1, 1024, 64), 0);
  ibv_sge sge = pair.a.sge(0, 8);
  ibv_send_wr invalidate = pair.a.request(IBV_WR_SEND_WITH_INV, &sge);
  invalidate.invalidate_rkey = bind.bind_mw.rkey;
  BOOST_REQUIRE_EQUAL(pair.a.post(invalidate), 0);
  BOOST_CHECK_EQUAL(next_completion(pair.a.cq).status, IBV_WC_SUCCESS);
  const ibv_wc received = next_completion(pair.b.cq);
  BOOST_CHECK_EQUAL(received.wc_flags, unsigned{IBV_WC_WITH_INV});
  BOOST_CHECK_EQUAL(received.invalidated_rkey, bind.bind_mw.rkey);
  BOOST_CHECK_EQUAL(pair.write(bind.bind_mw.rkey, pair.b.address(64)), IBV_WC_REM_ACCESS_ERR);
  BOOST_CHECK_EQUAL(ibv_dealloc_mw(mw), 0);
}

BOOST_AUTO_TEST_CASE(an_extended_qp_binds_invalidates_and_writes_atomically) {
  Pair pair(IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_SEND_WITH_INV |
            IBV_QP_EX_WITH_ATOMIC_WRITE);
  ibv_qp_ex* const qp = ibv_qp_to_qp_ex(pair.b.qp);
  ibv_mw* const mw = window_of(pair.b, IBV_MW_TYPE_2);
  const std::uint32_t rkey = ibv_inc_rkey(mw->rkey);
  const ibv_mw_bind_info info = pair.bind_info();
  ibv_wr_start(qp);
  qp->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_bind_mw(qp, mw, rkey, &info);
  ibv_wr_local_inv(qp, rkey);
  BOOST_CHECK_NE(mw->rkey, rkey);
  BOOST_REQUIRE_EQUAL(ibv_wr_complete(qp), 0);
  BOOST_CHECK_EQUAL(mw->rkey, rkey);
  BOOST_CHECK_EQUAL(next_completion(pair.b.cq).opcode, IBV_WC_BIND_MW);
  const ibv_wc invalidated = next_completion(pair.b.cq);
  BOOST_CHECK_EQUAL(invalidated.opcode, IBV_WC_LOCAL_INV);
  BOOST_CHECK_EQUAL(invalidated.status, IBV_WC_SUCCESS);
  BOOST_CHECK_EQUAL(ibv_dealloc_mw(mw), 0);

  ibv_qp_ex* const writer = ibv_qp_to_qp_ex(pair.a.qp);
  const char octets[8] = {'a', 't', 'o', 'm', 'i', 'c', '!', 0};
  ibv_wr_start(writer);
  writer->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_atomic_write(writer, pair.b.mr->rkey, pair.b.address(256), octets);
  BOOST_REQUIRE_EQUAL(ibv_wr_complete(writer), 0);
  const ibv_wc written = next_completion(pair.a.cq);
  BOOST_CHECK_EQUAL(written.status, IBV_WC_SUCCESS);
  BOOST_CHECK_EQUAL(written.opcode, IBV_WC_ATOMIC_WRITE);
  BOOST_CHECK_EQUAL(pair.b.buffer.data() + 256, "atomic!");
}

BOOST_AUTO_TEST_CASE(a_region_is_changed_or_stays_as_it_was_and_says_why) {
  Endpoint endpoint;
  ibv_mr* const mr = endpoint.mr;
  const std::uint32_t lkey = mr->lkey;
  const auto refused = [&](int flags, ibv_pd* pd, void* address, std::size_t length, int access, int error,
                           int result) {
    errno = 0;
    BOOST_CHECK_EQUAL(ibv_rereg_mr(mr, flags, pd, address, length, access), result);
    BOOST_CHECK_EQUAL(errno, error);
    BOOST_CHECK(mr->addr == endpoint.buffer.data() && mr->length == endpoint.buffer.size() && mr->pd == endpoint.pd);
  };
  constexpr int kTranslation = IBV_REREG_MR_CHANGE_TRANSLATION;
  constexpr int kAccess = IBV_REREG_MR_CHANGE_ACCESS;
  constexpr int kPd = IBV_REREG_MR_CHANGE_PD;
  verbena::test::PagesThatGo pages(2);
  void* const place = pages.page(0);
  refused(8, nullptr, nullptr, 0, 0, EINVAL, IBV_REREG_MR_ERR_INPUT);
  refused(kTranslation, nullptr, nullptr, 64, 0, EINVAL, IBV_REREG_MR_ERR_INPUT);
  refused(kTranslation, nullptr, place, 0, 0, EINVAL, IBV_REREG_MR_ERR_INPUT);
  refused(kTranslation, nullptr, place, 64, kLocalWrite, EINVAL, IBV_REREG_MR_ERR_INPUT);
  refused(0, nullptr, nullptr, 0, 0, EINVAL, IBV_REREG_MR_ERR_CMD);
  refused(kPd, nullptr, nullptr, 0, 0, EINVAL, IBV_REREG_MR_ERR_CMD);
  refused(kAccess, nullptr, nullptr, 0, kRemoteWrite, EINVAL, IBV_REREG_MR_ERR_CMD);
  refused(kAccess, nullptr, nullptr, 0, 1 << 15, EINVAL, IBV_REREG_MR_ERR_CMD);
  pages.unmap_from(1);
  refused(kTranslation, nullptr, place, 2 * verbena::test::PagesThatGo::kPage, 0, EFAULT, IBV_REREG_MR_ERR_CMD);
  BOOST_CHECK_EQUAL(ibv_rereg_mr(mr, kTranslation | kAccess, nullptr, place, 64, kLocalWrite), 0);
  BOOST_CHECK(mr->addr == place && mr->length == 64 && mr->lkey == lkey);
  ibv_pd* const other = ibv_alloc_pd(endpoint.context);
  BOOST_CHECK_EQUAL(ibv_rereg_mr(mr, kPd, other, nullptr, 0, 0), 0);
  BOOST_CHECK(mr->pd == other);
  BOOST_CHECK_EQUAL(ibv_dealloc_pd(other), EBUSY);
  BOOST_CHECK_EQUAL(ibv_rereg_mr(mr, kPd, endpoint.pd, nullptr, 0, 0), 0);
  BOOST_CHECK_EQUAL(ibv_dealloc_pd(other), 0);
}

BOOST_AUTO_TEST_CASE(the_null_region_is_made_of_zeros) {
  Endpoint a;
  Endpoint b;
  connect(a, b);
  ibv_mr* const null = ibv_alloc_null_mr(a.pd);
  BOOST_REQUIRE(null != nullptr);
  std::memset(b.buffer.data(), 'x', 64);
  ibv_sge sge{.addr = 0, .length = 32, .lkey = null->lkey};
  ibv_send_wr request = a.request(IBV_WR_RDMA_WRITE, &sge);
  request.wr.rdma.remote_addr = b.address(0);
  request.wr.rdma.rkey = b.mr->rkey;
  BOOST_REQUIRE_EQUAL(a.post(request), 0);
  BOOST_CHECK_EQUAL(next_completion(a.cq).status, IBV_WC_SUCCESS);
  BOOST_CHECK_EQUAL(b.buffer[31], 0);
  BOOST_CHECK_EQUAL(b.buffer[32], 'x');
  BOOST_CHECK_EQUAL(ibv_dereg_mr(null), 0);
}

BOOST_AUTO_TEST_CASE(device_memory_is_limited_copied_and_a_target_of_atomics) {
  Endpoint a;
  Endpoint b;
  connect(a, b);
  ibv_device_attr_ex attributes{};
  BOOST_REQUIRE_EQUAL(ibv_query_device_ex(b.context, nullptr, &attributes), 0);
  ibv_alloc_dm_attr wanted{.length = attributes.max_dm_size + 1, .log_align_req = 0, .comp_mask = 0};
  BOOST_CHECK(ibv_alloc_dm(b.context, &wanted) == nullptr && errno == ENOMEM);
  wanted = {.length = 64, .log_align_req = 0, .comp_mask = 2};
  BOOST_CHECK(ibv_alloc_dm(b.context, &wanted) == nullptr && errno == EINVAL);
  wanted = {.length = attributes.max_dm_size, .log_align_req = 6, .comp_mask = 0};
  ibv_dm* const dm = ibv_alloc_dm(b.context, &wanted);
  BOOST_REQUIRE(dm != nullptr);
  ibv_alloc_dm_attr more{.length = 4, .log_align_req = 0, .comp_mask = 0};
  BOOST_CHECK(ibv_alloc_dm(b.context, &more) == nullptr && errno == ENOMEM);

  std::uint64_t value = 40;
  BOOST_CHECK_EQUAL(ibv_memcpy_to_dm(dm, 64, &value, 8), 0);
  BOOST_CHECK_EQUAL(ibv_memcpy_to_dm(dm, 2, &value, 8), EINVAL);
  BOOST_CHECK_EQUAL(ibv_memcpy_to_dm(dm, 0, &value, 6), EINVAL);
  BOOST_CHECK_EQUAL(ibv_memcpy_from_dm(&value, dm, attributes.max_dm_size - 4, 8), EFAULT);
  constexpr unsigned kAccess = kLocalWrite | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_ZERO_BASED;
  BOOST_CHECK(ibv_reg_dm_mr(b.pd, dm, 0, 64, kLocalWrite) == nullptr && errno == EINVAL);
  BOOST_CHECK(ibv_reg_dm_mr(b.pd, dm, 64, attributes.max_dm_size, kAccess) == nullptr && errno == EINVAL);
  ibv_mr* const mr = ibv_reg_dm_mr(b.pd, dm, 64, 64, kAccess);
  BOOST_REQUIRE(mr != nullptr);
  BOOST_CHECK_EQUAL(ibv_free_dm(dm), EBUSY);
  BOOST_CHECK_EQUAL(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, kLocalWrite),
                    IBV_REREG_MR_ERR_CMD);

  ibv_sge sge = a.sge(0, 8);
  ibv_send_wr request = a.request(IBV_WR_ATOMIC_FETCH_AND_ADD, &sge);
  request.wr.atomic.remote_addr = 0;
  request.wr.atomic.rkey = mr->rkey;
  request.wr.atomic.compare_add = 2;
  BOOST_REQUIRE_EQUAL(a.post(request), 0);
  BOOST_CHECK_EQUAL(next_completion(a.cq).status, IBV_WC_SUCCESS);
  BOOST_CHECK_EQUAL(ibv_memcpy_from_dm(&value, dm, 64, 8), 0);
  BOOST_CHECK_EQUAL(value, 42u);
  BOOST_CHECK_EQUAL(ibv_dereg_mr(mr), 0);
  BOOST_CHECK_EQUAL(ibv_free_dm(dm), 0);
}

BOOST_AUTO_TEST_CASE(on_demand_region_may_cover_unmapped_memory_and_everything) {
  Endpoint a;
  Endpoint b;
  connect(a, b);
  verbena::test::PagesThatGo pages(2);
  pages.unmap_from(1);
  constexpr std::size_t kBytes = 2 * verbena::test::PagesThatGo::kPage;
  void* const place = pages.page(0);
  BOOST_CHECK(ibv_reg_mr(a.pd, place, kBytes, kLocalWrite) == nullptr && errno == EFAULT);
  ibv_mr* const some = ibv_reg_mr(a.pd, place, kBytes, kLocalWrite | IBV_ACCESS_ON_DEMAND);
  BOOST_REQUIRE(some != nullptr);
  const auto advise = [&](ibv_advise_mr_advice advice, std::uint32_t flags, std::uint64_t offset, std::uint32_t lkey) {
    ibv_sge range{.addr = reinterpret_cast<std::uint64_t>(place) + offset, .length = 4096, .lkey = lkey};
    return ibv_advise_mr(a.pd, advice, flags, &range, 1);
  };
  constexpr auto kPrefetch = IBV_ADVISE_MR_ADVICE_PREFETCH;
  constexpr std::uint32_t kFlush = IBV_ADVISE_MR_FLAG_FLUSH;
  BOOST_CHECK_EQUAL(advise(kPrefetch, kFlush, 0, some->lkey), 0);
  BOOST_CHECK_EQUAL(advise(kPrefetch, kFlush, 4096, some->lkey), EFAULT);
  BOOST_CHECK_EQUAL(advise(IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, kFlush, 4096, some->lkey), 0);
  BOOST_CHECK_EQUAL(advise(kPrefetch, kFlush, 8192, some->lkey), EFAULT);
  BOOST_CHECK_EQUAL(advise(kPrefetch, 0, 8192, some->lkey), 0);  // nobody waits for it
  BOOST_CHECK_EQUAL(advise(kPrefetch, kFlush, 0, a.mr->lkey), ENOENT);
  BOOST_CHECK_EQUAL(advise(kPrefetch, 2, 0, some->lkey), EINVAL);
  BOOST_CHECK_EQUAL(advise(out_of_range<ibv_advise_mr_advice>(9), 0, 0, some->lkey), EOPNOTSUPP);
  BOOST_CHECK_EQUAL(ibv_advise_mr(a.pd, kPrefetch, 0, nullptr, 0), EINVAL);
  BOOST_CHECK_EQUAL(ibv_dereg_mr(some), 0);

  BOOST_CHECK(ibv_reg_mr(a.pd, nullptr, SIZE_MAX, kLocalWrite) == nullptr && errno == EINVAL);
  ibv_mr* const everything = ibv_reg_mr(a.pd, nullptr, SIZE_MAX, kLocalWrite | IBV_ACCESS_ON_DEMAND);
  BOOST_REQUIRE(everything != nullptr);
  std::strcpy(a.buffer.data(), "paged in");
  ibv_sge sge = a.sge(0, 9);
  sge.lkey = everything->lkey;
  ibv_send_wr request = a.request(IBV_WR_RDMA_WRITE, &sge);
  request.wr.rdma.remote_addr = b.address(0);
  request.wr.rdma.rkey = b.mr->rkey;
  BOOST_REQUIRE_EQUAL(a.post(request), 0);
  BOOST_CHECK_EQUAL(next_completion(a.cq).status, IBV_WC_SUCCESS);
  BOOST_CHECK_EQUAL(b.buffer.data(), "paged in");
  BOOST_CHECK_EQUAL(ibv_dereg_mr(everything), 0);
}

BOOST_AUTO_TEST_CASE(a_descriptor_that_is_no_dma_buf_is_not_registered) {
  Endpoint endpoint;
  const auto answer = [&](int descriptor, std::uint64_t offset, std::uint64_t iova, int access) {
    BOOST_CHECK(ibv_reg_dmabuf_mr(endpoint.pd, offset, 64, iova, descriptor, access) == nullptr);
    return errno;
  };
  BOOST_CHECK_EQUAL(answer(-1, 0, 0, kLocalWrite), EBADF);
  const int file = memfd_create("no-dma-buf", MFD_CLOEXEC);
  BOOST_REQUIRE_EQUAL(ftruncate(file, 4096), 0);
  BOOST_CHECK_EQUAL(answer(file, 0, 0, kLocalWrite), EINVAL);
  BOOST_CHECK_EQUAL(answer(file, 8, 0, kLocalWrite), EINVAL);
  BOOST_CHECK_EQUAL(answer(file, 0, 0, IBV_ACCESS_ON_DEMAND), EOPNOTSUPP);
  close(file);
}

namespace {
boost::test_tools::assertion_result has_udmabuf(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result result(access("/dev/udmabuf", R_OK | W_OK) == 0);
  result.message() << "this kernel offers no /dev/udmabuf";
  return result;
}
}  // namespace

BOOST_AUTO_TEST_CASE(a_dma_buf_is_written_by_a_peer, *boost::unit_test::precondition(has_udmabuf)) {
  Pair pair;
  constexpr std::size_t kBytes = 8192;
  const int memory = memfd_create("for-udmabuf", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  BOOST_REQUIRE_EQUAL(ftruncate(memory, kBytes), 0);
  BOOST_REQUIRE_EQUAL(fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK), 0);
  udmabuf_create wanted{.memfd = static_cast<std::uint32_t>(memory), .flags = 0, .offset = 0, .size = kBytes};
  const int device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
  const int buffer = ioctl(device, UDMABUF_CREATE, &wanted);
  BOOST_REQUIRE(buffer >= 0);
  ibv_mr* const mr = ibv_reg_dmabuf_mr(pair.b.pd, 4096, 4096, 0x10000, buffer, kLocalWrite | kRemoteWrite);
  BOOST_REQUIRE(mr != nullptr);
  std::memcpy(pair.a.buffer.data(), "by dma.", 8);
  BOOST_CHECK_EQUAL(pair.write(mr->rkey, 0x10000), IBV_WC_SUCCESS);
  char seen[8] = {};
  BOOST_CHECK_EQUAL(pread(memory, seen, sizeof seen, 4096), 8);
  BOOST_CHECK_EQUAL(seen, "by dma.");
  BOOST_CHECK(ibv_reg_dmabuf_mr(pair.b.pd, 4096, 8192, 0, buffer, kLocalWrite) == nullptr);
  BOOST_CHECK_EQUAL(errno, EINVAL);
  BOOST_CHECK_EQUAL(ibv_dereg_mr(mr), 0);
  for (const int descriptor : {buffer, device, memory}) close(descriptor);
}

BOOST_AUTO_TEST_CASE(an_imported_context_shares_domains_regions_and_device_memory) {
  Endpoint endpoint;
  {
    ImportedDevice imported(endpoint.context);
    ibv_pd* const pd = ibv_import_pd(imported.context, endpoint.pd->handle);
    BOOST_REQUIRE(pd != nullptr);
    BOOST_CHECK(pd->context == imported.context);
    ibv_mr* const mr = ibv_import_mr(pd, endpoint.mr->handle);
    BOOST_REQUIRE(mr != nullptr);
    BOOST_CHECK_EQUAL(mr->lkey, endpoint.mr->lkey);
    BOOST_CHECK(mr->addr == nullptr);
    ibv_unimport_mr(mr);
    ibv_mr* const own = ibv_reg_mr(pd, endpoint.buffer.data(), 64, kLocalWrite);
    BOOST_REQUIRE(own != nullptr);
    BOOST_CHECK_EQUAL(ibv_dereg_mr(own), 0);
    BOOST_CHECK(ibv_import_pd(imported.context, 0x7fffffff) == nullptr && errno == ENOENT);
    BOOST_CHECK(ibv_import_mr(pd, 0x7fffffff) == nullptr && errno == ENOENT);
    ibv_unimport_pd(pd);
    BOOST_REQUIRE(ibv_import_pd(imported.context, endpoint.pd->handle) != nullptr);  // left to the closing
  }
  ibv_mr* const after = ibv_reg_mr(endpoint.pd, endpoint.buffer.data(), 64, kLocalWrite);
  BOOST_REQUIRE(after != nullptr);  // the domain outlived the import
  BOOST_CHECK_EQUAL(ibv_dereg_mr(after), 0);
}

BOOST_AUTO_TEST_CASE(imported_device_memory_is_shared_by_descriptor_only) {
  OpenDevice device;
  ibv_alloc_dm_attr wanted{.length = 64, .log_align_req = 0, .comp_mask = 0};
  ibv_dm* const dm = ibv_alloc_dm(device.context, &wanted);
  BOOST_REQUIRE(dm != nullptr);
  std::uint32_t value = 7;
  BOOST_CHECK_EQUAL(ibv_memcpy_to_dm(dm, 8, &value, 4), 0);
  {
    ImportedDevice imported(device.context);
    ibv_dm* const same = ibv_import_dm(imported.context, dm->handle);
    BOOST_REQUIRE(same != nullptr);
    std::uint32_t read = 0;
    BOOST_CHECK_EQUAL(ibv_memcpy_from_dm(&read, same, 8, 4), 0);
    BOOST_CHECK_EQUAL(read, 7u);
    ibv_unimport_dm(same);
  }
  OpenDevice stranger;
  BOOST_CHECK(ibv_import_dm(stranger.context, dm->handle) == nullptr && errno == ENOENT);
  BOOST_CHECK_EQUAL(ibv_free_dm(dm), 0);
  BOOST_CHECK(ibv_import_device(-1) == nullptr && errno == EBADF);
  const int null_device = open("/dev/null", O_RDWR | O_CLOEXEC);
  BOOST_CHECK(ibv_import_device(null_device) == nullptr && errno == ENODEV);
  close(null_device);
}
