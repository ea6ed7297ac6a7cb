// Regions that change, that have no memory, that are paged in on demand; and ATOMIC WRITE.
#include <boost/test/unit_test.hpp>

#include "tests/support/script.h"

using namespace verbena;
using namespace verbena::test;
using enum CompletionStatus;

namespace {

std::vector<Completion> write_to(Pair& pair, std::uint64_t address, std::size_t bytes = 8) {
  const Sge sge = pair.a_buffer.sge(0, bytes);
  pair.a.post({.opcode = SendOpcode::rdma_write,
               .sges = {&sge, 1},
               .operand = {.remote = {.address = address, .rkey = pair.b_buffer.rkey()}}});
  pair.world.run_to_rest();
  return pair.a.poll_sent();
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_region_keeps_its_key_and_loses_the_right_that_is_taken) {
  Pair pair;
  check_statuses(write_to(pair, Buffer::address()), {success});
  BOOST_TEST(pair.b.nic().reregister_memory(pair.b_buffer.mr(), {.access = kLocalWrite | kRemoteRead}).ok());
  check_statuses(write_to(pair, Buffer::address()), {remote_access_error});
}

BOOST_AUTO_TEST_CASE(a_region_moves) {
  Pair pair;
  std::vector<std::uint64_t> elsewhere(8);
  const auto place = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(elsewhere.data()));
  const MemoryRegionChange change{.translation = MemoryRegionChange::Translation{place, 64, 0x5000}};
  BOOST_TEST(pair.b.nic().reregister_memory(pair.b_buffer.mr(), change).ok());
  check_statuses(write_to(pair, 0x5008), {success});
  BOOST_TEST(elsewhere[1] == pair.a_buffer.word(0));
  check_statuses(write_to(pair, 0x5000 + 57), {remote_access_error});
}

BOOST_AUTO_TEST_CASE(a_region_goes_to_another_domain_and_holds_that_one) {
  Pair pair;
  Nic& nic = pair.b.nic();
  const PdHandle other = Endpoint::take(nic.allocate_pd());
  BOOST_TEST(nic.reregister_memory(pair.b_buffer.mr(), {.pd = other}).ok());
  BOOST_CHECK(nic.deallocate_pd(other).error() == VerbsError::busy);
  check_statuses(write_to(pair, Buffer::address()), {remote_access_error});
  BOOST_TEST(nic.reregister_memory(pair.b_buffer.mr(), {.pd = pair.b.pd}).ok());
  BOOST_TEST(nic.deallocate_pd(other).ok());
}

BOOST_AUTO_TEST_CASE(a_change_that_is_refused_changes_nothing) {
  Pair pair;
  Nic& nic = pair.b.nic();
  const auto refused = [&](const MemoryRegionChange& change) {
    BOOST_CHECK(nic.reregister_memory(pair.b_buffer.mr(), change).error() == VerbsError::invalid_argument);
    check_statuses(write_to(pair, Buffer::address()), {success});
  };
  refused({.access = kRemoteWrite});  // without local write
  refused({.pd = PdHandle{0x123456}});
  refused({.translation = MemoryRegionChange::Translation{UINT64_MAX - 7, 64, 0}, .access = kLocalWrite});
  BOOST_CHECK(nic.reregister_memory(MrHandle{0x1234}, {.access = kLocalWrite}).error() == VerbsError::invalid_argument);
}

BOOST_AUTO_TEST_CASE(the_null_region_gives_zeros_and_swallows_what_is_written) {
  Pair pair;
  const auto null =
      Endpoint::take(pair.a.nic().register_memory({.pd = pair.a.pd, .access = kLocalWrite, .is_null = true}));
  BOOST_TEST(null.rkey == 0u);
  const std::uint64_t first = pair.a_buffer.word(0);
  const Sge pieces[] = {pair.a_buffer.sge(0, 8), {0xdead0000, 2000, null.lkey}, pair.a_buffer.sge(8, 8)};
  pair.a.post({.opcode = SendOpcode::rdma_write,
               .sges = pieces,
               .operand = {.remote = {.address = Buffer::address(), .rkey = pair.b_buffer.rkey()}}});
  pair.world.run_to_rest();
  check_statuses(pair.a.poll_sent(), {success});
  BOOST_TEST(pair.b_buffer.word(0) == first);
  for (std::size_t i = 1; i <= 250; ++i) BOOST_TEST_REQUIRE(pair.b_buffer.word(i) == 0u);
  BOOST_TEST(pair.b_buffer.word(251) == pair.a_buffer.word(1));

  pair.b_buffer.fill(7);
  const Sge back[] = {{0, 8, null.lkey}, pair.a_buffer.sge(0, 8)};
  pair.a.post({.opcode = SendOpcode::rdma_read,
               .sges = back,
               .operand = {.remote = {.address = Buffer::address(), .rkey = pair.b_buffer.rkey()}}});
  pair.world.run_to_rest();
  check_statuses(pair.a.poll_sent(), {success});
  BOOST_TEST(pair.a_buffer.word(0) == pair.b_buffer.word(1));
}

BOOST_AUTO_TEST_CASE(the_null_region_is_of_its_domain_and_not_for_peers) {
  Pair pair;
  const PdHandle other = Endpoint::take(pair.a.nic().allocate_pd());
  const auto null = Endpoint::take(pair.a.nic().register_memory({.pd = other, .access = kLocalWrite, .is_null = true}));
  const Sge sge{0, 8, null.lkey};
  pair.a.post({.opcode = SendOpcode::rdma_write,
               .sges = {&sge, 1},
               .operand = {.remote = {.address = Buffer::address(), .rkey = pair.b_buffer.rkey()}}});
  pair.world.run_to_rest();
  check_statuses(pair.a.poll_sent(), {local_protection_error});

  Pair second;
  const auto theirs =
      Endpoint::take(second.b.nic().register_memory({.pd = second.b.pd, .access = kLocalWrite, .is_null = true}));
  const Sge from = second.a_buffer.sge(0, 8);
  second.a.post({.opcode = SendOpcode::rdma_write, .sges = {&from, 1}, .operand = {.remote = {.rkey = theirs.lkey}}});
  second.world.run_to_rest();
  check_statuses(second.a.poll_sent(), {remote_access_error});
}

BOOST_AUTO_TEST_CASE(pages_of_an_on_demand_region_fault_once) {
  Pair pair;
  constexpr std::size_t kPage = 4096;
  constexpr std::uint32_t kAccess = kLocalWrite | kRemoteWrite | kOnDemand;
  Counters& counters = pair.b.counters();
  const auto place = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(pair.b_buffer.bytes().data()));
  const MemoryRegionChange paged{.translation = MemoryRegionChange::Translation{place, 8 * kPage, place},
                                 .access = kAccess};
  BOOST_TEST_REQUIRE(pair.b.nic().reregister_memory(pair.b_buffer.mr(), paged).ok());
  const std::uint64_t second_page = (place / kPage + 1) * kPage;
  check_statuses(write_to(pair, second_page, 2 * kPage), {success});
  BOOST_TEST(counters.get(Counter::page_faults) == 2u);
  check_statuses(write_to(pair, second_page, 2 * kPage), {success});
  BOOST_TEST(counters.get(Counter::page_faults) == 2u);
  const Sge ahead{second_page + 2 * kPage, kPage, pair.b_buffer.lkey()};
  BOOST_TEST(*pair.b.nic().prefetch_memory(pair.b.pd, ahead, true) == ahead.address);
  BOOST_TEST(counters.get(Counter::page_prefetch) == 1u);
  check_statuses(write_to(pair, ahead.address, kPage), {success});
  BOOST_TEST(counters.get(Counter::page_faults) == 2u);
  BOOST_TEST(pair.b.nic().deregister_memory(pair.b_buffer.mr()).ok());
  BOOST_TEST(counters.get(Counter::page_invalidations) == 3u);
}

BOOST_AUTO_TEST_CASE(one_on_demand_region_is_the_whole_address_space) {
  Pair pair;
  const auto all = Endpoint::take(
      pair.a.nic().register_memory({.pd = pair.a.pd, .length = UINT64_MAX, .access = kLocalWrite | kOnDemand}));
  const auto place = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(pair.a_buffer.bytes().data()));
  const Sge sge{place, 3000, all.lkey};
  pair.a.post({.opcode = SendOpcode::rdma_write,
               .sges = {&sge, 1},
               .operand = {.remote = {.address = Buffer::address(), .rkey = pair.b_buffer.rkey()}}});
  pair.world.run_to_rest();
  check_statuses(pair.a.poll_sent(), {success});
  BOOST_TEST(same_bytes(pair.a_buffer.bytes().first(3000), pair.b_buffer.bytes().first(3000)));
}

BOOST_AUTO_TEST_CASE(advice_is_for_on_demand_regions_of_the_pd_within_bounds) {
  Pair pair;
  Nic& nic = pair.a.nic();
  const auto region = Endpoint::take(
      nic.register_memory({.pd = pair.a.pd, .address = 0x10000, .length = 4096, .iova = 0x10000, .access = kOnDemand}));
  const auto answer = [&](const Sge& range, PdHandle pd, bool for_writing) {
    return nic.prefetch_memory(pd, range, for_writing).error();
  };
  BOOST_CHECK(answer(pair.a_buffer.sge(0, 8), pair.a.pd, false) == VerbsError::not_found);
  BOOST_CHECK(answer({0, 8, 0xffffffff}, pair.a.pd, false) == VerbsError::not_found);
  const PdHandle other = Endpoint::take(nic.allocate_pd());
  BOOST_CHECK(answer({0x10000, 8, region.lkey}, other, false) == VerbsError::not_permitted);
  BOOST_CHECK(answer({0x10000, 8, region.lkey}, pair.a.pd, true) == VerbsError::not_permitted);
  BOOST_CHECK(answer({0x10ffc, 8, region.lkey}, pair.a.pd, false) == VerbsError::fault);
  BOOST_TEST(nic.prefetch_memory(pair.a.pd, {0x10ff8, 8, region.lkey}, false).ok());
}

namespace {

PacketSpec atomic_write(const Script& script, std::uint32_t psn, std::uint8_t value, std::size_t offset = 0) {
  return {.opcode = rc(OperationCode::atomic_write),
          .psn = psn,
          .ack_request = true,
          .reth = {script.buffer.address(offset), wire::Rkey{script.buffer.rkey()}, 8},
          .payload = std::vector<std::byte>(8, std::byte{value})};
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_atomic_write_is_answered_as_a_read_of_nothing) {
  Pair pair;
  const std::uint64_t value = 0x1122334455667788;
  const Sge sge{static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(&value)), 8, 0};
  pair.a.post({.wr_id = 3,
               .opcode = SendOpcode::atomic_write,
               .inline_data = true,
               .sges = {&sge, 1},
               .operand = {.remote = {.address = Buffer::address(16), .rkey = pair.b_buffer.rkey()}}});
  pair.world.run_to_rest();
  const auto completions = pair.a.poll_sent();
  check_statuses(completions, {success});
  BOOST_CHECK(completions[0].opcode == CompletionOpcode::atomic_write);
  BOOST_TEST(pair.b_buffer.word(2) == value);

  Script script;
  script.peer(atomic_write(script, 100, 0xab));
  const Traced answer = script.expect(rc(OperationCode::read_response_only), 100);
  BOOST_TEST(answer.msn == 1u);
  BOOST_TEST(wire::parse_frame(script.last_frame)->payload().empty());
}

BOOST_AUTO_TEST_CASE(repeated_atomic_write_is_answered_and_not_executed) {
  Script script;
  script.peer(atomic_write(script, 100, 0xab));
  script.expect(rc(OperationCode::read_response_only), 100);
  script.buffer.word(0) = 5;
  script.peer(atomic_write(script, 100, 0xab));
  script.expect(rc(OperationCode::read_response_only), 100);
  BOOST_TEST(script.buffer.word(0) == 5u);
}

BOOST_AUTO_TEST_CASE(an_atomic_write_is_eight_aligned_octets) {
  Pair pair;
  const Sge seven = pair.a_buffer.sge(0, 7);
  pair.a.post({.opcode = SendOpcode::atomic_write,
               .sges = {&seven, 1},
               .operand = {.remote = {.address = Buffer::address(), .rkey = pair.b_buffer.rkey()}}});
  pair.world.run_to_rest();
  check_statuses(pair.a.poll_sent(), {local_length_error});
  Script unaligned;
  unaligned.peer(atomic_write(unaligned, 100, 1, 4));
  unaligned.expect_nak(wire::NakCode::invalid_request, 100);
  Script forbidden;
  forbidden.peer({.opcode = rc(OperationCode::atomic_write),
                  .psn = 100,
                  .reth = {forbidden.buffer.address(), wire::Rkey{forbidden.buffer.rkey() ^ 1}, 8},
                  .payload = std::vector<std::byte>(8)});
  forbidden.expect_nak(wire::NakCode::remote_access_error, 100);
}

BOOST_AUTO_TEST_CASE(what_is_pinned_is_counted_in_pages_and_ends_at_the_limit) {
  constexpr std::uint64_t kPage = 4096;
  NicLimits limits = WorldOptions{}.limits;
  limits.max_pinned_bytes = 4 * kPage;
  World world({.limits = limits});
  Nic& nic = world.nic(1);
  const PdHandle pd = Endpoint::take(nic.allocate_pd());
  const auto add = [&](std::uint64_t address, std::uint64_t length, std::uint32_t access = kLocalWrite) {
    return nic.register_memory({.pd = pd, .address = address, .length = length, .iova = address, .access = access});
  };
  const auto across = add(2 * kPage - 1, 2);  // two pages
  BOOST_REQUIRE(across.ok());
  BOOST_TEST(add(10 * kPage, 2 * kPage).ok());
  BOOST_CHECK(add(10 * kPage, 1).error() == VerbsError::no_memory);
  BOOST_TEST(add(10 * kPage, 64 * kPage, kLocalWrite | kOnDemand).ok());
  BOOST_TEST(nic.register_memory({.pd = pd, .length = 64 * kPage, .access = kLocalWrite, .is_pinned = false}).ok());
  BOOST_CHECK(nic.reregister_memory(across->handle, {.translation = MemoryRegionChange::Translation{0, 3 * kPage, 0}})
                  .error() == VerbsError::no_memory);
  BOOST_TEST(nic.reregister_memory(across->handle, {.translation = MemoryRegionChange::Translation{0, kPage, 0}}).ok());
  const auto last = add(20 * kPage, kPage);
  BOOST_REQUIRE(last.ok());
  BOOST_TEST(nic.deregister_memory(last->handle).ok());
  BOOST_TEST(add(30 * kPage, kPage).ok());
}
