// The verbs of rdma-core 58 to 65 through the ABI: buffers, regions with a mask, a port's speed, and refusals.
#include <boost/test/unit_test.hpp>

#include "tests/shim/verbs/newer_verbs_c.h"
#include "tests/shim/verbs_fixture.h"

using namespace verbs_test;
using verbena::shim::MrInitAttributes;

namespace {

constexpr int kLocalWrite = IBV_ACCESS_LOCAL_WRITE;

ibv_mr* register_with(ibv_pd* pd, MrInitAttributes attributes) {
  return ibv_reg_mr_ex(pd, reinterpret_cast<ibv_mr_init_attr*>(&attributes));
}
bool is_refused(const ibv_mr* mr, int error) {
  return mr == nullptr && errno == error;
}

struct Buffer {
  explicit Buffer(ibv_pd* pd) : memory(static_cast<std::byte*>(ibv_alloc_buf(pd, kBytes, &handle))) {
    BOOST_REQUIRE(memory != nullptr);
  }
  ~Buffer() { ibv_free_buf(handle); }
  static constexpr std::size_t kBytes = 5000;
  ibv_buf* handle = nullptr;
  std::byte* memory = nullptr;
};

}  // namespace

BOOST_AUTO_TEST_CASE(buffers_are_registered_within_their_pd_and_bounds) {
  Endpoint endpoint;
  Endpoint other;
  const Buffer buffer(endpoint.pd);
  ibv_mr* const mr = ibv_reg_buf_mr(endpoint.pd, buffer.handle, buffer.memory + 8, 4096, kLocalWrite);
  BOOST_REQUIRE(mr != nullptr);
  BOOST_TEST(mr->addr == buffer.memory + 8);
  BOOST_TEST(mr->length == 4096u);
  BOOST_TEST(ibv_dereg_mr(mr) == 0);
  BOOST_TEST(is_refused(ibv_reg_buf_mr(other.pd, buffer.handle, buffer.memory, 8, kLocalWrite), EINVAL));
  BOOST_TEST(is_refused(ibv_reg_buf_mr(endpoint.pd, buffer.handle, buffer.memory - 1, 8, kLocalWrite), EINVAL));
  BOOST_TEST(
      is_refused(ibv_reg_buf_mr(endpoint.pd, buffer.handle, buffer.memory + 1, Buffer::kBytes, kLocalWrite), EINVAL));
  BOOST_TEST(ibv_export_buf_dmabuf_fd(buffer.handle) == -1);
  BOOST_TEST(errno == ENODATA);
  ibv_buf* none = nullptr;
  BOOST_TEST(ibv_alloc_buf(endpoint.pd, 0, &none) == nullptr);
  BOOST_TEST(errno == EINVAL);
  BOOST_TEST(ibv_alloc_buf(endpoint.pd, SIZE_MAX, &none) == nullptr);
  BOOST_TEST(errno == ENOMEM);
}

BOOST_AUTO_TEST_CASE(reg_mr_ex_does_what_its_mask_names) {
  using namespace verbena::shim;
  Endpoint endpoint;
  const Buffer buffer(endpoint.pd);
  MrInitAttributes plain{.length = 4096, .access = kLocalWrite, .mask = kMrHasAddress, .iova = 7};
  plain.address = buffer.memory;
  ibv_mr* const mr = register_with(endpoint.pd, plain);
  BOOST_REQUIRE(mr != nullptr);
  BOOST_TEST(ibv_dereg_mr(mr) == 0);
  MrInitAttributes with_buffer = plain;
  with_buffer.mask |= kMrHasBuffer;
  with_buffer.buffer = buffer.handle;
  ibv_mr* const over_buffer = register_with(endpoint.pd, with_buffer);
  BOOST_REQUIRE(over_buffer != nullptr);
  BOOST_TEST(ibv_dereg_mr(over_buffer) == 0);
  MrInitAttributes placed = plain;
  placed.mask |= kMrHasIova;
  placed.iova = 0x10000;
  ibv_mr* const at_iova = register_with(endpoint.pd, placed);
  BOOST_REQUIRE(at_iova != nullptr);
  BOOST_TEST(ibv_dereg_mr(at_iova) == 0);

  with_buffer.length = Buffer::kBytes + 1;
  BOOST_TEST(is_refused(register_with(endpoint.pd, with_buffer), EINVAL));
  with_buffer.length = 8;
  with_buffer.mask = kMrHasBuffer;  // and no address
  BOOST_TEST(is_refused(register_with(endpoint.pd, with_buffer), EINVAL));
  plain.mask = kMrHasAddress | kMrHasDmabufOffset;
  BOOST_TEST(is_refused(register_with(endpoint.pd, plain), EINVAL));
  plain.mask = kMrHasAddress | kMrHasDmaHandle;
  BOOST_TEST(is_refused(register_with(endpoint.pd, plain), EOPNOTSUPP));
  plain.mask = kMrHasAddress | 1 << 6;
  BOOST_TEST(is_refused(register_with(endpoint.pd, plain), EOPNOTSUPP));
}

BOOST_AUTO_TEST_CASE(port_speed_is_in_units_of_100_mbit) {
  Endpoint endpoint;
  ibv_context* const context = endpoint.pd->context;
  std::uint64_t speed = 0;
  BOOST_TEST(ibv_query_port_speed(context, 1, &speed) == 0);
  BOOST_TEST(speed == 1000u);  // 100 Gbit/s
  BOOST_TEST(ibv_query_port_speed(context, 2, &speed) == EINVAL);
}

BOOST_AUTO_TEST_CASE(verbs_a_device_lacks_are_refused_with_eopnotsupp) {
  Endpoint endpoint;
  ibv_context* const context = endpoint.pd->context;
  BOOST_TEST(ibv_alloc_dmah(context, nullptr) == nullptr);
  BOOST_TEST(errno == EOPNOTSUPP);
  BOOST_TEST(ibv_create_comp_cntr(context, nullptr) == nullptr);
  BOOST_TEST(errno == EOPNOTSUPP);
  std::uint64_t value = 0;
  BOOST_TEST(ibv_read_comp_cntr(nullptr, &value) == EOPNOTSUPP);
  BOOST_TEST(_ibv_query_comp_cntr_caps(context, &value, sizeof value) == EOPNOTSUPP);
  BOOST_TEST(ibv_dm_export_dmabuf_fd(nullptr) == -1);
  BOOST_TEST(errno == EOPNOTSUPP);
}
