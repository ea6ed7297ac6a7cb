// Memory windows: binding, what may go through them, invalidation, and how local operations keep their turn.
#include <boost/test/unit_test.hpp>

#include "tests/support/script.h"

using namespace verbena;
using namespace verbena::test;
using enum CompletionStatus;

namespace {

constexpr std::uint32_t kRegionAccess = kLocalWrite | kRemoteWrite | kRemoteRead | kMwBind;
constexpr std::size_t kRegionBytes = 4096;

/// Two QPs, and on the side of `b` a region that windows can be bound to.
struct WindowPair : Pair {
  WindowPair() : region(b.nic(), b.pd, kRegionBytes, kRegionAccess) { region.clear(); }

  MemoryWindow window(WindowType type) { return Endpoint::take(b.nic().allocate_window(b.pd, type)); }
  WindowBinding binding(const MemoryWindow& window, std::uint32_t rkey) const {
    return {.window = window.handle,
            .rkey = rkey,
            .lkey = region.lkey(),
            .address = Buffer::address(64),
            .length = 128,
            .access = kRemoteWrite};
  }
  std::vector<Completion> bind(const WindowBinding& wanted) {
    b.post({.wr_id = 9, .opcode = SendOpcode::bind_memory_window, .operand = {.binding = wanted}});
    world.run_to_rest();
    return b.poll_sent();
  }
  /// What a write of eight octets by `from` completes with.
  std::vector<Completion> write(Endpoint& from, std::uint32_t rkey, std::uint64_t address) {
    const Sge eight = a_buffer.sge(0, 8);
    from.post({.opcode = SendOpcode::rdma_write,
               .sges = {&eight, 1},
               .operand = {.remote = {.address = address, .rkey = rkey}}});
    world.run_to_rest();
    return from.poll_sent();
  }
  Buffer region;
};

std::uint32_t next_key(std::uint32_t rkey) {
  return (rkey & ~0xffu) | ((rkey + 1) & 0xffu);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_window_lets_through_what_it_was_bound_to) {
  for (const WindowType type : {WindowType::type1, WindowType::type2}) {
    WindowPair pair;
    const MemoryWindow window = pair.window(type);
    const std::uint32_t rkey = next_key(window.rkey);
    const auto bound = pair.bind(pair.binding(window, rkey));
    check_statuses(bound, {success});
    BOOST_CHECK(bound[0].opcode == CompletionOpcode::bind_memory_window);
    BOOST_TEST(bound[0].wr_id == 9u);
    check_statuses(pair.write(pair.a, rkey, Buffer::address(64)), {success});
    BOOST_TEST(pair.region.word(8) == pair.a_buffer.word(0));
    check_statuses(pair.write(pair.a, rkey, Buffer::address(184)), {success});
    check_statuses(pair.write(pair.a, rkey, Buffer::address(192)), {remote_access_error});
  }
}

BOOST_AUTO_TEST_CASE(window_refuses_outside_octets_missing_rights_and_old_keys) {
  const auto refused = [](auto&& access) {
    WindowPair pair;
    const MemoryWindow window = pair.window(WindowType::type1);
    check_statuses(pair.bind(pair.binding(window, next_key(window.rkey))), {success});
    check_statuses(access(pair, window), {remote_access_error});
  };
  refused([](WindowPair& pair, const MemoryWindow& window) {
    return pair.write(pair.a, next_key(window.rkey), Buffer::address(63));
  });
  refused([](WindowPair& pair, const MemoryWindow& window) {
    return pair.write(pair.a, window.rkey, Buffer::address(64));
  });
  refused([](WindowPair& pair, const MemoryWindow& window) {
    const Sge eight = pair.a_buffer.sge(0, 8);
    pair.a.post({.opcode = SendOpcode::rdma_read,
                 .sges = {&eight, 1},
                 .operand = {.remote = {.address = Buffer::address(64), .rkey = next_key(window.rkey)}}});
    pair.world.run_to_rest();
    return pair.a.poll_sent();
  });
}

BOOST_AUTO_TEST_CASE(a_key_of_a_window_names_no_local_buffer) {
  WindowPair pair;
  const MemoryWindow window = pair.window(WindowType::type1);
  const std::uint32_t rkey = next_key(window.rkey);
  check_statuses(pair.bind(pair.binding(window, rkey)), {success});
  pair.a.receive(1, {});
  const Sge sge{Buffer::address(64), 8, rkey};
  pair.b.post({.opcode = SendOpcode::send, .sges = {&sge, 1}});
  pair.world.run_to_rest();
  check_statuses(pair.b.poll_sent(), {local_protection_error});
}

BOOST_AUTO_TEST_CASE(type_1_window_is_rebound_and_unbound_by_length_zero) {
  WindowPair pair;
  const MemoryWindow window = pair.window(WindowType::type1);
  const std::uint32_t second = next_key(next_key(window.rkey));
  check_statuses(pair.bind(pair.binding(window, next_key(window.rkey))), {success});
  WindowBinding elsewhere = pair.binding(window, second);
  elsewhere.address = Buffer::address(1024);
  check_statuses(pair.bind(elsewhere), {success});
  check_statuses(pair.write(pair.a, second, Buffer::address(1024)), {success});
  check_statuses(pair.bind({.window = window.handle, .rkey = next_key(second)}), {success});
  BOOST_TEST(pair.b.nic().deregister_memory(pair.region.mr()).ok());
  check_statuses(pair.write(pair.a, next_key(second), Buffer::address(1024)), {remote_access_error});
}

BOOST_AUTO_TEST_CASE(a_zero_based_window_of_type_2_begins_at_nothing) {
  WindowPair pair;
  const MemoryWindow window = pair.window(WindowType::type2);
  WindowBinding binding = pair.binding(window, next_key(window.rkey));
  binding.access |= kZeroBased;
  check_statuses(pair.bind(binding), {success});
  check_statuses(pair.write(pair.a, binding.rkey, 8), {success});
  BOOST_TEST(pair.region.word(9) == pair.a_buffer.word(0));
  check_statuses(pair.write(pair.a, binding.rkey, Buffer::address(64)), {remote_access_error});
}

BOOST_AUTO_TEST_CASE(a_window_of_type_2_serves_the_qp_that_bound_it_and_no_other) {
  for (const WindowType type : {WindowType::type1, WindowType::type2}) {
    WindowPair pair;
    Endpoint other_a(pair.a, {});
    Endpoint other_b(pair.b, {});
    other_a.connect(2, other_b.qpn());
    other_b.connect(1, other_a.qpn());
    const MemoryWindow window = pair.window(type);
    check_statuses(pair.bind(pair.binding(window, next_key(window.rkey))), {success});
    check_statuses(pair.write(other_a, next_key(window.rkey), Buffer::address(64)),
                   {type == WindowType::type1 ? success : remote_access_error});
  }
}

BOOST_AUTO_TEST_CASE(a_bind_that_breaks_a_rule_fails_and_takes_the_qp_with_it) {
  const auto refused = [](WindowType type, auto&& spoil) {
    WindowPair pair;
    const MemoryWindow window = pair.window(type);
    WindowBinding binding = pair.binding(window, next_key(window.rkey));
    spoil(pair, binding);
    check_statuses(pair.bind(binding), {memory_window_bind_error});
    BOOST_CHECK(pair.b.state() == QpState::error);
    BOOST_TEST(pair.b.nic().deregister_memory(pair.region.mr()).ok());  // nothing is bound to it
  };
  using Wanted = WindowBinding&;
  for (const WindowType type : {WindowType::type1, WindowType::type2}) {
    refused(type, [](WindowPair&, Wanted binding) { binding.address = Buffer::address(kRegionBytes - 127); });
    refused(type, [](WindowPair&, Wanted binding) { binding.address = Buffer::address() - 1; });
    refused(type, [](WindowPair&, Wanted binding) { binding.lkey = next_key(binding.lkey); });
    refused(type, [](WindowPair& pair, Wanted binding) { binding.lkey = pair.b_buffer.lkey(); });  // no kMwBind
    refused(type, [](WindowPair& pair, Wanted binding) {  // remote write needs local write
      binding.lkey = Buffer(pair.b.nic(), pair.b.pd, kRegionBytes, kRemoteRead | kMwBind).lkey();
    });
    refused(type, [](WindowPair& pair, Wanted binding) {
      const MemoryRegionInit region{.pd = pair.b.pd,
                                    .address = reinterpret_cast<std::uintptr_t>(pair.region.bytes().data()),
                                    .length = kRegionBytes,
                                    .access = kLocalWrite | kRemoteWrite | kMwBind | kZeroBased};
      binding.lkey = Endpoint::take(pair.b.nic().register_memory(region)).lkey;
      binding.address = 0;
    });
    refused(type, [](WindowPair& pair, Wanted binding) {
      const PdHandle pd = Endpoint::take(pair.b.nic().allocate_pd());
      binding.window = Endpoint::take(pair.b.nic().allocate_window(pd, WindowType::type2)).handle;
    });
    refused(type,
            [](WindowPair& pair, Wanted binding) { BOOST_TEST(pair.b.nic().deallocate_window(binding.window).ok()); });
  }
  refused(WindowType::type1, [](WindowPair&, Wanted binding) { binding.access |= kZeroBased; });
  refused(WindowType::type1, [](WindowPair&, Wanted binding) { binding.rkey ^= 0x100; });
  refused(WindowType::type2, [](WindowPair&, Wanted binding) { binding.length = 0; });
}

BOOST_AUTO_TEST_CASE(type_2_window_takes_only_the_low_bits_of_its_bound_key) {
  WindowPair pair;
  const MemoryWindow window = pair.window(WindowType::type2);
  const MemoryWindow other = pair.window(WindowType::type2);
  const std::uint32_t low = (window.rkey + 7) & 0xff;
  check_statuses(pair.bind(pair.binding(window, (other.rkey & ~0xffu) | low)), {success});
  check_statuses(pair.write(pair.a, (window.rkey & ~0xffu) | low, Buffer::address(64)), {success});
  check_statuses(pair.write(pair.a, (other.rkey & ~0xffu) | low, Buffer::address(64)), {remote_access_error});
}

BOOST_AUTO_TEST_CASE(a_window_of_type_2_is_invalidated_before_it_is_bound_again) {
  WindowPair pair;
  const MemoryWindow window = pair.window(WindowType::type2);
  const std::uint32_t rkey = next_key(window.rkey);
  check_statuses(pair.bind(pair.binding(window, rkey)), {success});
  pair.b.post({.opcode = SendOpcode::local_invalidate, .immediate = rkey});
  pair.world.run_to_rest();
  const auto invalidated = pair.b.poll_sent();
  check_statuses(invalidated, {success});
  BOOST_CHECK(invalidated[0].opcode == CompletionOpcode::local_invalidate);
  check_statuses(pair.bind(pair.binding(window, next_key(rkey))), {success});
  check_statuses(pair.write(pair.a, next_key(rkey), Buffer::address(64)), {success});
  check_statuses(pair.bind(pair.binding(window, next_key(rkey))), {memory_window_bind_error});
}

BOOST_AUTO_TEST_CASE(what_is_not_a_bound_window_of_type_2_cannot_be_invalidated) {
  for (int which = 0; which < 3; ++which) {
    WindowPair pair;
    const MemoryWindow window = pair.window(which == 0 ? WindowType::type1 : WindowType::type2);
    const std::uint32_t rkey = next_key(window.rkey);
    if (which != 1) check_statuses(pair.bind(pair.binding(window, rkey)), {success});
    const std::uint32_t key = which == 2 ? pair.region.rkey() : rkey;
    pair.b.post({.opcode = SendOpcode::local_invalidate, .immediate = key});
    pair.world.run_to_rest();
    check_statuses(pair.b.poll_sent(), {memory_window_bind_error});
  }
}

BOOST_AUTO_TEST_CASE(a_peer_invalidates_with_its_message) {
  WindowPair pair;
  const MemoryWindow window = pair.window(WindowType::type2);
  const std::uint32_t rkey = next_key(window.rkey);
  check_statuses(pair.bind(pair.binding(window, rkey)), {success});
  pair.b.receive(4, {pair.b_buffer.sge(0, 4096)});
  const Sge sge = pair.a_buffer.sge(0, 3000);
  pair.a.post({.opcode = SendOpcode::send_with_invalidate, .sges = {&sge, 1}, .immediate = rkey});
  pair.world.run_to_rest();
  check_statuses(pair.a.poll_sent(), {success});
  const auto received = pair.b.poll_received();
  check_statuses(received, {success});
  BOOST_TEST(received[0].has_invalidate);
  BOOST_TEST(!received[0].has_immediate);
  BOOST_TEST(received[0].immediate == rkey);
  BOOST_TEST(received[0].byte_count == 3000u);
  check_statuses(pair.write(pair.a, rkey, Buffer::address(64)), {remote_access_error});
}

/// A SEND of 8 octets at `psn` that invalidates the key of a region, which nobody may.
PacketSpec wrong_invalidation(const Script& script, std::uint32_t psn) {
  return {.opcode = rc(OperationCode::send_only_with_invalidate),
          .psn = psn,
          .ack_request = true,
          .ieth = {wire::Rkey{script.buffer.rkey()}},
          .payload = std::vector<std::byte>(8, std::byte{0x21})};
}

BOOST_AUTO_TEST_CASE(invalidating_an_unbound_key_ends_the_connection_silently) {
  Script script({.mtu = 256});
  for (std::uint64_t i = 4; i < 6; ++i) script.end.receive(i, {script.buffer.sge(0, 64)});
  for (int sendings = 0; sendings < 2; ++sendings) {  // its timer runs out
    script.peer(wrong_invalidation(script, 100));
    script.expect_silence();
  }
  BOOST_CHECK(script.buffer.bytes()[7] == std::byte{0x21});
  check_statuses(script.end.poll_received(), {remote_invalid_request, flushed});
  BOOST_CHECK(script.end.state() == QpState::error);
  BOOST_TEST(script.end.poll_events().empty());
}

BOOST_AUTO_TEST_CASE(what_came_before_an_invalidation_that_fails_is_answered) {
  for (const bool is_read : {false, true}) {
    Script script({.mtu = 256});
    script.end.receive(4, {script.buffer.sge(0, 64)});
    PacketSpec before{.opcode = rc(OperationCode::read_request),
                      .psn = 100,
                      .reth = {script.buffer.address(), wire::Rkey{script.buffer.rkey()}, 8}};
    if (!is_read) {
      before.opcode = rc(OperationCode::write_only);
      before.ack_request = true;
      before.payload = std::vector<std::byte>(8);
    }
    script.peer_batch({before, wrong_invalidation(script, 101)});
    if (is_read) script.expect(rc(OperationCode::read_response_only), 100);
    BOOST_TEST(script.expect(rc(OperationCode::acknowledge), 100).msn == 1u);
    script.expect_silence();
    check_statuses(script.end.poll_received(), {remote_invalid_request});
  }
}

BOOST_AUTO_TEST_CASE(a_region_with_a_window_is_busy_until_the_window_goes) {
  WindowPair pair;
  Nic& nic = pair.b.nic();
  const MemoryWindow window = pair.window(WindowType::type2);
  const std::uint32_t rkey = next_key(window.rkey);
  check_statuses(pair.bind(pair.binding(window, rkey)), {success});
  BOOST_CHECK(nic.deregister_memory(pair.region.mr()).error() == VerbsError::busy);
  BOOST_CHECK(nic.reregister_memory(pair.region.mr(), {.access = kLocalWrite}).error() == VerbsError::busy);
  BOOST_TEST(nic.deallocate_window(window.handle).ok());
  BOOST_CHECK(nic.deallocate_window(window.handle).error() == VerbsError::invalid_argument);
  BOOST_TEST(nic.deregister_memory(pair.region.mr()).ok());
  check_statuses(pair.write(pair.a, rkey, Buffer::address(64)), {remote_access_error});
}

BOOST_AUTO_TEST_CASE(as_many_windows_as_announced_and_one_more_is_refused) {
  World world({.limits = {.max_mw = 3}});
  Endpoint end(world, 1);
  std::vector<MemoryWindow> windows;
  for (int i = 0; i < 3; ++i) windows.push_back(Endpoint::take(end.nic().allocate_window(end.pd, WindowType::type1)));
  BOOST_CHECK(end.nic().allocate_window(end.pd, WindowType::type2).error() == VerbsError::no_memory);
  BOOST_TEST(end.nic().deallocate_window(windows[1].handle).ok());
  BOOST_TEST(end.nic().allocate_window(end.pd, WindowType::type2).ok());
}

BOOST_AUTO_TEST_CASE(local_operations_are_not_of_a_datagram_qp) {
  for (const SendOpcode opcode :
       {SendOpcode::local_invalidate, SendOpcode::bind_memory_window, SendOpcode::send_with_invalidate}) {
    World world;
    Endpoint end(world, 1, {.type = QpType::ud});
    end.connect(1, end.qpn());
    SendRequest request{.opcode = opcode};
    request.address_handle = Endpoint::take(end.nic().create_ah(end.pd, Endpoint::path_to(1)));
    end.post(request);
    world.run_to_rest();
    check_statuses(end.poll_sent(), {local_qp_operation_error});
  }
}

namespace {

struct WindowScript : Script {
  WindowScript() : region(end.nic(), end.pd, kRegionBytes, kRegionAccess) {}
  void post_write() {
    const Sge eight = buffer.sge(0, 8);
    end.post(
        {.opcode = SendOpcode::rdma_write, .sges = {&eight, 1}, .operand = {.remote = {.address = 0x1000, .rkey = 7}}});
  }
  void post_bind(bool fence) {
    const MemoryWindow window = Endpoint::take(end.nic().allocate_window(end.pd, WindowType::type2));
    end.post({.opcode = SendOpcode::bind_memory_window,
              .fence = fence,
              .operand = {.binding = {.window = window.handle,
                                      .rkey = window.rkey,
                                      .lkey = region.lkey(),
                                      .address = Buffer::address(),
                                      .length = 8,
                                      .access = kRemoteWrite}}});
  }
  bool is_bound() { return end.nic().deregister_memory(region.mr()).error() == VerbsError::busy; }
  Buffer region;
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_bind_takes_no_psn_and_completes_in_its_turn) {
  WindowScript script;
  script.post_write();
  script.post_bind(false);
  script.post_write();
  script.world.run_until(script.world.now());
  script.expect(rc(OperationCode::write_only), 100);
  script.expect(rc(OperationCode::write_only), 101);
  BOOST_TEST(script.is_bound());
  check_statuses(script.end.poll_sent(), {});  // the write before it is not acknowledged
  script.acknowledge(100, 1);
  check_statuses(script.end.poll_sent(), {success, success});
  script.acknowledge(101, 2);
  check_statuses(script.end.poll_sent(), {success});
}

BOOST_AUTO_TEST_CASE(what_is_sent_again_passes_a_bind_by) {
  WindowScript script;
  script.post_write();
  script.post_bind(false);
  script.post_write();
  script.world.run_until(script.world.now());
  script.expect(rc(OperationCode::write_only), 100);
  script.expect(rc(OperationCode::write_only), 101);
  script.acknowledge(100, 0, wire::nak_syndrome(wire::NakCode::psn_sequence_error));
  script.expect(rc(OperationCode::write_only), 100);
  script.expect(rc(OperationCode::write_only), 101);
  script.acknowledge(101, 2);
  const auto completions = script.end.poll_sent();
  check_statuses(completions, {success, success, success});
  BOOST_CHECK(completions[1].opcode == CompletionOpcode::bind_memory_window);
}

BOOST_AUTO_TEST_CASE(fenced_bind_waits_for_earlier_reads_even_if_repeated) {
  WindowScript script;
  const Sge eight = script.buffer.sge(0, 8);
  script.end.post(
      {.opcode = SendOpcode::rdma_read, .sges = {&eight, 1}, .operand = {.remote = {.address = 0x1000, .rkey = 7}}});
  script.post_bind(true);
  script.post_write();
  script.world.run_until(script.world.now());
  script.expect(rc(OperationCode::read_request), 100);
  script.expect_silence();
  script.expect(rc(OperationCode::read_request), 100, seconds(1));  // the timer ran out
  script.expect_silence();
  script.peer({.opcode = rc(OperationCode::read_response_only),
               .psn = 100,
               .aeth = {wire::ack_syndrome(31), 1},
               .payload = std::vector<std::byte>(8)});
  script.expect(rc(OperationCode::write_only), 101);
  check_statuses(script.end.poll_sent(), {success, success});
  BOOST_TEST(script.is_bound());
}
