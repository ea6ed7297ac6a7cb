// P_Keys of connections and datagrams: what a QP sends is the key of its index, and it takes what matches.
#include <boost/test/unit_test.hpp>

#include "emulator/nic/port_management.h"
#include "tests/support/script.h"

using namespace verbena;
using namespace verbena::test;
using enum CompletionStatus;

namespace {

constexpr std::uint16_t kFull = 0x8005;
constexpr std::uint16_t kLimited = 0x0005;

/// Whether a SEND from a node with this table to one with that arrives, each by index 1.
bool passes(std::uint16_t from, std::uint16_t to) {
  World world({.limits = {.max_qp = 8, .max_cq = 8, .max_mr = 8, .max_ah = 8, .max_srq = 4, .pkeys = 2}});
  std::uint16_t seen = 0;
  world.filter = [&](const Traced& traced, std::vector<std::byte>& frame) {
    if (traced.from == 1 || seen == 0) seen = wire::parse_frame(frame)->bth().pkey;
    return true;
  };
  Endpoint a(world, 1, {.pkey_index = 1});
  Endpoint b(world, 2, {.pkey_index = 1});
  PortManagement(a.nic()).set_pkeys(1, std::array<std::uint16_t, 2>{wire::kPkeyDefault, from});
  PortManagement(b.nic()).set_pkeys(1, std::array<std::uint16_t, 2>{wire::kPkeyDefault, to});
  a.connect(2, b.qpn());
  b.connect(1, a.qpn());
  Buffer from_buffer(a.nic(), a.pd, 100);
  Buffer to_buffer(b.nic(), b.pd, 100);
  const Sge source = from_buffer.sge();
  a.post({.wr_id = 5,
          .opcode = SendOpcode::rdma_write,
          .sges = {&source, 1},
          .operand = {.remote = {.address = to_buffer.address(), .rkey = to_buffer.rkey()}}});
  world.run_to_rest();
  BOOST_TEST(seen == from);
  const auto sent = a.poll_sent();
  BOOST_REQUIRE(sent.size() == 1u);
  const bool is_dropped = b.counters().get(Counter::rx_dropped_pkey) != 0;
  BOOST_TEST((sent[0].status == success) == !is_dropped);
  return sent[0].status == success;
}

}  // namespace

BOOST_AUTO_TEST_CASE(one_of_both_ends_is_a_full_member) {
  BOOST_TEST(passes(kFull, kFull));
  BOOST_TEST(passes(kFull, kLimited));
  BOOST_TEST(passes(kLimited, kFull));
  BOOST_TEST(!passes(kLimited, kLimited));
}

BOOST_AUTO_TEST_CASE(another_partition_hears_nothing) {
  BOOST_TEST(!passes(kFull, 0x8006));
  BOOST_TEST(!passes(0x8006, kFull));
}

BOOST_AUTO_TEST_CASE(an_index_without_a_key_takes_nothing) {
  BOOST_TEST(!passes(kFull, 0));
  BOOST_TEST(!passes(0x8000, 0x8000));
}

BOOST_AUTO_TEST_CASE(a_filter_takes_what_matches) {
  using wire::PkeyFilter;
  BOOST_TEST(PkeyFilter().takes(0xffff));
  BOOST_TEST(PkeyFilter().takes(0x7fff));
  BOOST_TEST(!PkeyFilter(0x7fff).takes(0x7fff));
  BOOST_TEST(!PkeyFilter(0).takes(0));
  BOOST_TEST(!PkeyFilter(0x8000).takes(0x8000));
}
