// Every operation of a reliable connection, at every size that is special, at every MTU, on a clean wire.
#include <boost/test/unit_test.hpp>

#include "tests/support/endpoint.h"

using namespace verbena;
using namespace verbena::test;

namespace {

constexpr std::size_t kBufferBytes = (1 << 20) + 64;

std::vector<std::size_t> sizes_for(std::uint32_t mtu) {
  return {0, 1, mtu - 1, mtu, mtu + 1, 1 << 16, 1 << 20};
}
constexpr std::array<std::uint32_t, 5> kMtus{256, 512, 1024, 2048, 4096};

/// Runs `transfer` for each MTU and size with fresh contents on both sides.
template <class Transfer>
void for_all_sizes(Transfer&& transfer, QpOptions options = {}) {
  for (const std::uint32_t mtu : kMtus) {
    options.mtu = mtu;
    Pair pair(options, kBufferBytes);
    for (const std::size_t bytes : sizes_for(mtu)) {
      BOOST_TEST_CONTEXT("mtu " << mtu << " size " << bytes) {
        pair.a_buffer.fill(bytes + 1);
        pair.b_buffer.fill(bytes + 2);
        transfer(pair, bytes);
      }
    }
  }
}

/// What stood in a buffer filled with `seed`, beyond the first `bytes` octets, is still there.
bool untouched_beyond(const Buffer& buffer, std::size_t bytes, std::uint64_t seed, Pair& pair) {
  Buffer original(pair.a.nic(), pair.a.pd, kBufferBytes);
  original.fill(seed);
  const bool same = same_bytes(buffer.bytes().subspan(bytes), std::as_const(original).bytes().subspan(bytes));
  BOOST_REQUIRE(pair.a.nic().deregister_memory(original.mr()).ok());
  return same;
}

void check_one_success(const std::vector<Completion>& completions, CompletionOpcode opcode, std::uint64_t wr_id) {
  BOOST_TEST_REQUIRE(completions.size() == 1u);
  BOOST_TEST(name_of(completions[0].status) == "success");
  BOOST_CHECK(completions[0].opcode == opcode);
  BOOST_TEST(completions[0].wr_id == wr_id);
}

void write_once(Pair& pair, std::size_t bytes, bool immediate) {
  const Sge from = pair.a_buffer.sge(0, bytes);
  if (immediate) pair.b.receive(77, {});
  pair.a.post({.wr_id = 5,
               .opcode = immediate ? SendOpcode::rdma_write_with_immediate : SendOpcode::rdma_write,
               .sges = {&from, 1},
               .immediate = 0xdeadbeef,
               .operand = {.remote = {.address = pair.b_buffer.address(), .rkey = pair.b_buffer.rkey()}}});
  pair.world.run_to_rest();
  check_one_success(pair.a.poll_sent(), CompletionOpcode::rdma_write, 5);
  BOOST_TEST(same_bytes(pair.a_buffer.bytes().first(bytes), pair.b_buffer.bytes().first(bytes)));
  BOOST_TEST(untouched_beyond(pair.b_buffer, bytes, bytes + 2, pair));
  const auto received = pair.b.poll_received();
  if (!immediate) {
    BOOST_TEST(received.empty());
    return;
  }
  check_one_success(received, CompletionOpcode::receive_rdma_with_immediate, 77);
  BOOST_TEST(received[0].byte_count == bytes);
  BOOST_TEST(received[0].has_immediate);
  BOOST_TEST(received[0].immediate == 0xdeadbeefu);
}

void send_once(Pair& pair, std::size_t bytes, bool immediate) {
  const Sge from = pair.a_buffer.sge(0, bytes);
  pair.b.receive(88, {pair.b_buffer.sge()});
  pair.a.post({.wr_id = 6,
               .opcode = immediate ? SendOpcode::send_with_immediate : SendOpcode::send,
               .sges = {&from, 1},
               .immediate = 0x12345678});
  pair.world.run_to_rest();
  check_one_success(pair.a.poll_sent(), CompletionOpcode::send, 6);
  const auto received = pair.b.poll_received();
  check_one_success(received, CompletionOpcode::receive, 88);
  BOOST_TEST(received[0].byte_count == bytes);
  BOOST_TEST(received[0].has_immediate == immediate);
  if (immediate) BOOST_TEST(received[0].immediate == 0x12345678u);
  BOOST_CHECK(received[0].qpn == pair.b.qpn());
  BOOST_TEST(same_bytes(pair.a_buffer.bytes().first(bytes), pair.b_buffer.bytes().first(bytes)));
  BOOST_TEST(untouched_beyond(pair.b_buffer, bytes, bytes + 2, pair));
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_write_of_every_size_arrives_whole_and_touches_nothing_else) {
  for_all_sizes([](Pair& pair, std::size_t bytes) { write_once(pair, bytes, false); });
}

BOOST_AUTO_TEST_CASE(a_write_with_immediate_completes_a_receive_with_its_length) {
  for_all_sizes([](Pair& pair, std::size_t bytes) { write_once(pair, bytes, true); });
}

BOOST_AUTO_TEST_CASE(a_send_of_every_size_fills_the_receive_buffer) {
  for_all_sizes([](Pair& pair, std::size_t bytes) { send_once(pair, bytes, false); });
}

BOOST_AUTO_TEST_CASE(a_send_with_immediate_carries_it) {
  for_all_sizes([](Pair& pair, std::size_t bytes) { send_once(pair, bytes, true); });
}

BOOST_AUTO_TEST_CASE(a_read_of_every_size_brings_the_remote_bytes) {
  for_all_sizes([](Pair& pair, std::size_t bytes) {
    const Sge into = pair.a_buffer.sge(0, bytes);
    pair.a.post({.wr_id = 7,
                 .opcode = SendOpcode::rdma_read,
                 .sges = {&into, 1},
                 .operand = {.remote = {.address = pair.b_buffer.address(), .rkey = pair.b_buffer.rkey()}}});
    pair.world.run_to_rest();
    const auto sent = pair.a.poll_sent();
    check_one_success(sent, CompletionOpcode::rdma_read, 7);
    BOOST_TEST(sent[0].byte_count == bytes);
    BOOST_TEST(same_bytes(pair.a_buffer.bytes().first(bytes), pair.b_buffer.bytes().first(bytes)));
    BOOST_TEST(untouched_beyond(pair.a_buffer, bytes, bytes + 1, pair));
    BOOST_TEST(pair.b.poll_received().empty());
  });
}

BOOST_AUTO_TEST_CASE(unreliable_connection_carries_sends_and_writes_of_any_size) {
  const QpOptions options{.type = QpType::uc};
  for_all_sizes([](Pair& pair, std::size_t bytes) { write_once(pair, bytes, false); }, options);
  for_all_sizes([](Pair& pair, std::size_t bytes) { write_once(pair, bytes, true); }, options);
  for_all_sizes([](Pair& pair, std::size_t bytes) { send_once(pair, bytes, true); }, options);
}

BOOST_AUTO_TEST_CASE(atomics_return_the_value_before_and_leave_the_value_after) {
  Pair pair;
  pair.b_buffer.word(0) = 41;
  const Sge result = pair.a_buffer.sge(0, 8);
  const auto atomic = [&](SendOpcode opcode, std::uint64_t compare_or_add, std::uint64_t swap) {
    pair.a.post({.wr_id = 8,
                 .opcode = opcode,
                 .sges = {&result, 1},
                 .operand = {.remote = {.address = pair.b_buffer.address(),
                                        .rkey = pair.b_buffer.rkey(),
                                        .compare_or_add = compare_or_add,
                                        .swap = swap}}});
    pair.world.run_to_rest();
    check_one_success(
        pair.a.poll_sent(),
        opcode == SendOpcode::fetch_and_add ? CompletionOpcode::fetch_and_add : CompletionOpcode::compare_and_swap, 8);
    return pair.a_buffer.word(0);
  };
  BOOST_TEST(atomic(SendOpcode::fetch_and_add, 1, 0) == 41u);
  BOOST_TEST(pair.b_buffer.word(0) == 42u);
  BOOST_TEST(atomic(SendOpcode::compare_and_swap, 42, 7) == 42u);
  BOOST_TEST(pair.b_buffer.word(0) == 7u);
  BOOST_TEST(atomic(SendOpcode::compare_and_swap, 42, 9) == 7u);
  BOOST_TEST(pair.b_buffer.word(0) == 7u);
  BOOST_TEST(atomic(SendOpcode::fetch_and_add, ~std::uint64_t{0}, 0) == 7u);  // wraps
  BOOST_TEST(pair.b_buffer.word(0) == 6u);
}

BOOST_AUTO_TEST_CASE(several_sges_are_gathered_and_scattered_in_order) {
  Pair pair;
  const std::array<Sge, 4> from{pair.a_buffer.sge(0, 700), pair.a_buffer.sge(5000, 0), pair.a_buffer.sge(2000, 1),
                                pair.a_buffer.sge(3000, 1500)};
  pair.b.receive(1, {pair.b_buffer.sge(100, 1), pair.b_buffer.sge(200, 1023), pair.b_buffer.sge(4000, 3000)});
  pair.a.post({.opcode = SendOpcode::send, .sges = from});
  pair.world.run_to_rest();
  std::vector<std::byte> sent, arrived;
  for (const Sge& sge : from) {
    const auto part = pair.a_buffer.bytes().subspan(sge.address - pair.a_buffer.address(), sge.length);
    sent.insert(sent.end(), part.begin(), part.end());
  }
  const auto received = pair.b_buffer.bytes();
  arrived.push_back(received[100]);
  arrived.insert(arrived.end(), received.begin() + 200, received.begin() + 1223);
  arrived.insert(arrived.end(), received.begin() + 4000, received.begin() + 4000 + (2201 - 1024));
  BOOST_TEST(same_bytes(sent, arrived));
  BOOST_TEST(pair.b.poll_received().at(0).byte_count == 2201u);

  // A read scatters, too.
  const std::array<Sge, 2> into{pair.a_buffer.sge(0, 10), pair.a_buffer.sge(9000, 1990)};
  pair.a.post({.opcode = SendOpcode::rdma_read,
               .sges = into,
               .operand = {.remote = {.address = pair.b_buffer.address(), .rkey = pair.b_buffer.rkey()}}});
  pair.world.run_to_rest();
  BOOST_TEST(same_bytes(pair.a_buffer.bytes().first(10), received.first(10)));
  BOOST_TEST(same_bytes(pair.a_buffer.bytes().subspan(9000, 1990), received.subspan(10, 1990)));
}

BOOST_AUTO_TEST_CASE(inline_data_is_taken_at_the_post_and_needs_no_key) {
  Pair pair;
  std::array<std::uint64_t, 16> data;
  data.fill(0x1122334455667788);
  const Sge from{static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(data.data())), 128, 0};
  pair.a.post({.opcode = SendOpcode::rdma_write,
               .inline_data = true,
               .sges = {&from, 1},
               .operand = {.remote = {.address = pair.b_buffer.address(), .rkey = pair.b_buffer.rkey()}}});
  data.fill(0);  // the caller may reuse it at once
  pair.world.run_to_rest();
  check_statuses(pair.a.poll_sent(), {CompletionStatus::success});
  for (std::size_t i = 0; i < 16; ++i) BOOST_TEST(pair.b_buffer.word(i) == 0x1122334455667788u);
  const Sge too_long{from.address, pair.a.granted.max_inline_data + 1, 0};
  BOOST_TEST(!pair.a
                  .try_post({.opcode = SendOpcode::rdma_write,
                             .inline_data = true,
                             .sges = {&too_long, 1},
                             .operand = {.remote = {.address = pair.b_buffer.address(), .rkey = pair.b_buffer.rkey()}}})
                  .ok());
}

BOOST_AUTO_TEST_CASE(unsignaled_work_completes_silently_with_the_next_completion) {
  Pair pair({.capabilities = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1},
             .signal_all = false});
  const Sge from = pair.a_buffer.sge(0, 100);
  for (std::uint64_t i = 0; i < 40; ++i) {
    pair.a.post({.wr_id = i,
                 .opcode = SendOpcode::rdma_write,
                 .signaled = i % 4 == 3,
                 .sges = {&from, 1},
                 .operand = {.remote = {.address = pair.b_buffer.address(), .rkey = pair.b_buffer.rkey()}}});
    pair.world.run_to_rest();
    const auto sent = pair.a.poll_sent();
    BOOST_TEST_REQUIRE(sent.size() == (i % 4 == 3 ? 1u : 0u));
    if (!sent.empty()) BOOST_TEST(sent[0].wr_id == i);
  }
}

BOOST_AUTO_TEST_CASE(a_gid_connected_to_itself_works_over_its_own_wire) {
  World world;
  Endpoint end(world, 1);
  Buffer buffer(end.nic(), end.pd, 8192);
  buffer.fill(4);
  end.connect(1, end.qpn());
  const Sge from = buffer.sge(0, 3000);
  end.receive(2, {buffer.sge(4000, 3000)});
  end.post({.wr_id = 1, .opcode = SendOpcode::send, .sges = {&from, 1}});
  world.run_to_rest();
  check_statuses(end.poll_sent(), {CompletionStatus::success});
  check_statuses(end.poll_received(), {CompletionStatus::success});
  BOOST_TEST(same_bytes(buffer.bytes().first(3000), buffer.bytes().subspan(4000, 3000)));
}
