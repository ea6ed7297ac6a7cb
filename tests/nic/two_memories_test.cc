// One NIC with regions in two memories: what is written, read and changed atomically is in the memory that the region
// named when it was registered, whatever stands at the same addresses of the other one.
#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <utility>

#include "tests/support/script.h"

using namespace verbena;
using namespace verbena::test;
using enum CompletionStatus;

namespace {

constexpr std::size_t kDeviceBytes = 1 << 14;

/// Its addresses are those of the host's region, too: only the memory tells one from the other. It counts its calls.
class DeviceMemory final : public Memory {
 public:
  explicit DeviceMemory(std::span<const std::byte> beside)
      : base(static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(beside.data()))) {}
  bool read(std::uint64_t address, std::span<std::byte> into) override {
    ++calls;
    std::memcpy(into.data(), place(address - base, into.size()), into.size());
    return true;
  }
  bool write(std::uint64_t address, std::span<const std::byte> from) override {
    ++calls;
    std::memcpy(place(address - base, from.size()), from.data(), from.size());
    return true;
  }
  std::optional<std::uint64_t> compare_swap(std::uint64_t address, std::uint64_t compare, std::uint64_t swap) override {
    ++calls;
    std::uint64_t& at = word(address - base);
    const std::uint64_t before = at;
    if (before == compare) at = swap;
    return before;
  }
  std::optional<std::uint64_t> fetch_add(std::uint64_t address, std::uint64_t add) override {
    ++calls;
    return std::exchange(word(address - base), word(address - base) + add);
  }
  std::uint64_t& word(std::uint64_t offset) { return words_.at(offset / 8); }
  const std::byte* place(std::uint64_t offset) const {
    return reinterpret_cast<const std::byte*>(words_.data()) + offset;
  }

  const std::uint64_t base;
  std::size_t calls = 0;

 private:
  std::byte* place(std::uint64_t offset, std::size_t bytes) {
    BOOST_REQUIRE(offset + bytes <= kDeviceBytes);
    return reinterpret_cast<std::byte*>(words_.data()) + offset;
  }
  std::array<std::uint64_t, kDeviceBytes / 8> words_{};
};

/// Two QPs, and on the side of `b` a region in each memory, both for the same addresses.
struct TwoMemories : Pair {
  explicit TwoMemories(const QpOptions& options = {}, const WorldOptions& world_options = {})
      : Pair(options, kDeviceBytes, world_options), in_device(Endpoint::take(b.nic().register_memory(init()))) {}

  MemoryRegionInit init() {
    return {.pd = b.pd,
            .address = device.base,
            .length = kDeviceBytes,
            .iova = Buffer::kIova,
            .access = kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic | kMwBind,
            .memory = &device};
  }
  /// By `a`, on octets from `offset` of a region of `b`.
  void run(SendOpcode opcode, const Sge& sge, std::uint32_t rkey, std::size_t offset, std::uint64_t compare_or_add = 0,
           std::uint64_t swap = 0) {
    a.post(
        {.opcode = opcode,
         .sges = {&sge, 1},
         .operand = {
             .remote = {
                 .address = Buffer::address(offset), .rkey = rkey, .compare_or_add = compare_or_add, .swap = swap}}});
    world.run_to_rest();
    check_statuses(a.poll_sent(), {success});
  }
  /// The same octets as `octets` lie in the device, from there on.
  bool device_has(std::span<const std::byte> octets, std::uint64_t at = 0) const {
    return std::equal(octets.begin(), octets.end(), device.place(at));
  }
  Sge device_sge(std::size_t offset, std::uint32_t bytes) const {
    return {Buffer::address(offset), bytes, in_device.lkey};
  }

  DeviceMemory device{b_buffer.bytes()};
  MemoryRegion in_device;
};

constexpr std::size_t kMessageBytes = 10'000;

}  // namespace

BOOST_AUTO_TEST_CASE(write_lands_in_the_memory_of_its_region) {
  TwoMemories pair;
  const std::vector<std::byte> host_before(pair.b_buffer.bytes().begin(), pair.b_buffer.bytes().end());
  pair.run(SendOpcode::rdma_write, pair.a_buffer.sge(0, kMessageBytes), pair.in_device.rkey, 64);
  BOOST_TEST(pair.device_has(pair.a_buffer.bytes().first(kMessageBytes), 64));
  BOOST_TEST(same_bytes(pair.b_buffer.bytes(), host_before));
  const std::size_t calls = pair.device.calls;
  pair.run(SendOpcode::rdma_write, pair.a_buffer.sge(0, kMessageBytes), pair.b_buffer.rkey(), 0);
  BOOST_TEST(same_bytes(pair.b_buffer.bytes().first(kMessageBytes), pair.a_buffer.bytes().first(kMessageBytes)));
  BOOST_TEST(pair.device.calls == calls);
}

BOOST_AUTO_TEST_CASE(read_comes_from_the_memory_of_its_region) {
  TwoMemories pair;
  for (std::uint64_t at = 0; at < kDeviceBytes; at += 8) pair.device.word(at) = at;
  pair.run(SendOpcode::rdma_read, pair.a_buffer.sge(0, kMessageBytes), pair.in_device.rkey, 128);
  BOOST_TEST(pair.device_has(pair.a_buffer.bytes().first(kMessageBytes), 128));
  pair.run(SendOpcode::rdma_read, pair.a_buffer.sge(0, kMessageBytes), pair.b_buffer.rkey(), 128);
  BOOST_TEST(same_bytes(pair.a_buffer.bytes().first(kMessageBytes), pair.b_buffer.bytes().subspan(128, kMessageBytes)));
}

BOOST_AUTO_TEST_CASE(atomics_change_the_memory_of_their_region) {
  TwoMemories pair;
  pair.b_buffer.word(2) = 1000;
  pair.device.word(16) = 40;
  const Sge before = pair.a_buffer.sge(0, 8);
  pair.run(SendOpcode::fetch_and_add, before, pair.in_device.rkey, 16, 2);
  BOOST_TEST(pair.a_buffer.word(0) == 40u);
  pair.run(SendOpcode::compare_and_swap, before, pair.in_device.rkey, 16, 42, 7);
  BOOST_TEST(pair.a_buffer.word(0) == 42u);
  BOOST_TEST(pair.device.word(16) == 7u);
  BOOST_TEST(pair.b_buffer.word(2) == 1000u);
  pair.run(SendOpcode::fetch_and_add, before, pair.b_buffer.rkey(), 16, 1);
  BOOST_TEST(pair.a_buffer.word(0) == 1000u);
  BOOST_TEST(pair.b_buffer.word(2) == 1001u);
  BOOST_TEST(pair.device.word(16) == 7u);
}

BOOST_AUTO_TEST_CASE(local_buffers_of_one_message_are_in_both_memories) {
  TwoMemories pair;
  pair.b.receive(1, {pair.b_buffer.sge(0, 1000), pair.device_sge(512, 3000)});
  const Sge sent = pair.a_buffer.sge(0, 4000);
  pair.a.post({.opcode = SendOpcode::send, .sges = {&sent, 1}});
  pair.world.run_to_rest();
  check_statuses(pair.a.poll_sent(), {success});
  BOOST_TEST(same_bytes(pair.b_buffer.bytes().first(1000), pair.a_buffer.bytes().first(1000)));
  BOOST_TEST(pair.device_has(pair.a_buffer.bytes().subspan(1000, 3000), 512));

  const std::array<Sge, 2> back{pair.device_sge(512, 3000), pair.b_buffer.sge(0, 1000)};
  pair.b.post({.opcode = SendOpcode::rdma_write,
               .sges = back,
               .operand = {.remote = {.address = Buffer::address(8000), .rkey = pair.a_buffer.rkey()}}});
  pair.world.run_to_rest();
  check_statuses(pair.b.poll_sent(), {success});
  BOOST_TEST(same_bytes(pair.a_buffer.bytes().subspan(8000, 3000), pair.a_buffer.bytes().subspan(1000, 3000)));
  BOOST_TEST(same_bytes(pair.a_buffer.bytes().subspan(11'000, 1000), pair.a_buffer.bytes().first(1000)));
}

BOOST_AUTO_TEST_CASE(region_keeps_its_memory_when_it_changes) {
  TwoMemories pair;
  const MemoryRegionChange moved{.translation =
                                     MemoryRegionChange::Translation{pair.device.base + 4096, 64, Buffer::kIova}};
  BOOST_TEST(pair.b.nic().reregister_memory(pair.in_device.handle, moved).ok());
  pair.run(SendOpcode::rdma_write, pair.a_buffer.sge(0, 64), pair.in_device.rkey, 0);
  BOOST_TEST(pair.device_has(pair.a_buffer.bytes().first(64), 4096));
}

BOOST_AUTO_TEST_CASE(window_is_in_the_memory_of_its_region) {
  TwoMemories pair;
  for (const WindowType type : {WindowType::type1, WindowType::type2}) {
    const MemoryWindow window = Endpoint::take(pair.b.nic().allocate_window(pair.b.pd, type));
    pair.b.post({.opcode = SendOpcode::bind_memory_window,
                 .operand = {.binding = {.window = window.handle,
                                         .rkey = window.rkey,
                                         .lkey = pair.in_device.lkey,
                                         .address = Buffer::address(256),
                                         .length = 128,
                                         .access = kRemoteWrite}}});
    pair.world.run_to_rest();
    check_statuses(pair.b.poll_sent(), {success});
    pair.a_buffer.fill(static_cast<std::uint64_t>(type) + 7);
    pair.run(SendOpcode::rdma_write, pair.a_buffer.sge(0, 128), window.rkey, 256);
    BOOST_TEST(pair.device_has(pair.a_buffer.bytes().first(128), 256));
  }
}

/// Octets that came early lie in one memory; what comes late for the same addresses of the other is not cut short.
BOOST_AUTO_TEST_CASE(early_packet_of_one_memory_hides_nothing_in_the_other) {
  for (const bool is_selective : {false, true}) {
    WorldOptions options;
    if (is_selective) options.loss_recovery = {.policy = RecoveryPolicy::selective_repeat, .negotiates = false};
    TwoMemories pair({}, options);
    unsigned packets = 0;
    pair.world.filter = [&](const Traced& traced, std::vector<std::byte>&) {
      return traced.from != 1 || ++packets != 1;
    };
    const Sge first = pair.a_buffer.sge(0, 256);
    const Sge second = pair.a_buffer.sge(1024, 256);
    pair.a.post({.opcode = SendOpcode::rdma_write,
                 .sges = {&first, 1},
                 .operand = {.remote = {.address = Buffer::address(), .rkey = pair.in_device.rkey}}});
    pair.a.post({.opcode = SendOpcode::rdma_write,
                 .sges = {&second, 1},
                 .operand = {.remote = {.address = Buffer::address(), .rkey = pair.b_buffer.rkey()}}});
    pair.world.run_to_rest();
    check_statuses(pair.a.poll_sent(), {success, success});
    BOOST_TEST(pair.device_has(pair.a_buffer.bytes().first(256)));
    BOOST_TEST(same_bytes(pair.b_buffer.bytes().first(256), pair.a_buffer.bytes().subspan(1024, 256)));
  }
}

/// The WRITE is executed before the READ is answered, so that what it overwrites is kept for READs: of its memory only.
BOOST_AUTO_TEST_CASE(read_gets_nothing_that_a_write_took_from_the_other_memory) {
  TwoMemories pair;
  for (std::uint64_t at = 0; at < kDeviceBytes; at += 8) pair.device.word(at) = at;
  const Sge into = pair.a_buffer.sge(0, 1000);
  const Sge from = pair.a_buffer.sge(2000, 1000);
  pair.a.post({.opcode = SendOpcode::rdma_read,
               .sges = {&into, 1},
               .operand = {.remote = {.address = Buffer::address(), .rkey = pair.in_device.rkey}}});
  pair.a.post({.opcode = SendOpcode::rdma_write,
               .sges = {&from, 1},
               .operand = {.remote = {.address = Buffer::address(), .rkey = pair.b_buffer.rkey()}}});
  pair.world.run_to_rest();
  check_statuses(pair.a.poll_sent(), {success, success});
  BOOST_TEST(pair.device_has(pair.a_buffer.bytes().first(1000)));
  BOOST_TEST(same_bytes(pair.b_buffer.bytes().first(1000), pair.a_buffer.bytes().subspan(2000, 1000)));
}

/// A memory without octets beside one with them: a packet could carry only one of both.
BOOST_AUTO_TEST_CASE(memory_without_octets_is_refused_beside_one_with_them) {
  class NoMemory final : public Memory {
   public:
    bool has_octets() const override { return false; }
    bool read(std::uint64_t, std::span<std::byte>) override { return false; }
    bool write(std::uint64_t, std::span<const std::byte>) override { return true; }
    std::optional<std::uint64_t> compare_swap(std::uint64_t, std::uint64_t, std::uint64_t) override { return 0; }
    std::optional<std::uint64_t> fetch_add(std::uint64_t, std::uint64_t) override { return 0; }
  };
  TwoMemories pair;
  NoMemory nothing;
  MemoryRegionInit init = pair.init();
  init.memory = &nothing;
  BOOST_CHECK(pair.b.nic().register_memory(init).error() == VerbsError::invalid_argument);
}
