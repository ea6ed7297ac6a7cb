// ICRC offload: a frame that is built without its ICRC and completed later is the frame that is built with it.
#include "tests/wire/wire_support.h"
#include "wire/icrc.h"

namespace verbena::wire::test {

BOOST_AUTO_TEST_CASE(completed_frame_equals_the_one_built_with_its_icrc) {
  for (const FramePath& path : all_paths()) {
    for (const Opcode opcode : defined_opcodes()) {
      for (const std::size_t payload : std::initializer_list<std::size_t>{0, 1, 2, 3, 8, 64, 191, 1024, 4095, 4096}) {
        const Bytes whole = sample(path, opcode, payload);
        Bytes deferred = sample(path, opcode, payload, IcrcState::deferred);
        BOOST_REQUIRE(deferred.size() == whole.size());
        CompletedFrame completed;
        const auto copy = completed.copy_of(deferred);
        BOOST_REQUIRE(std::ranges::equal(copy, whole));
        complete_icrc(deferred);
        BOOST_REQUIRE(deferred == whole);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(until_then_zeros_stand_where_the_icrc_belongs) {
  const Bytes whole = sample(ipv4_path(), kRcWriteOnly, 100);
  const Bytes deferred = sample(ipv4_path(), kRcWriteOnly, 100, IcrcState::deferred);
  BOOST_TEST(std::equal(deferred.begin(), deferred.end() - kIcrcBytes, whole.begin()));
  BOOST_TEST(std::all_of(deferred.end() - kIcrcBytes, deferred.end(), [](std::byte b) { return b == std::byte{0}; }));
  BOOST_TEST(!parse_frame(deferred)->icrc_is_valid());
}

BOOST_AUTO_TEST_CASE(padding_behind_the_packet_stays_as_it_is) {
  Bytes frame = sample(ipv4_path(), make_opcode(Transport::rc, OperationCode::acknowledge), 0, IcrcState::deferred);
  const Bytes whole = sample(ipv4_path(), make_opcode(Transport::rc, OperationCode::acknowledge), 0);
  frame.insert(frame.end(), 7, std::byte{0xee});
  complete_icrc(frame);
  BOOST_TEST(std::equal(whole.begin(), whole.end(), frame.begin()));
  BOOST_TEST(std::all_of(frame.end() - 7, frame.end(), [](std::byte b) { return b == std::byte{0xee}; }));
}

BOOST_AUTO_TEST_CASE(what_is_no_packet_is_left_alone) {
  for (const std::size_t bytes : std::initializer_list<std::size_t>{0, 1, 13, 14, 41, 60, 4096}) {
    Bytes frame = pattern(bytes);
    complete_icrc(frame);
    BOOST_TEST(frame == pattern(bytes));
  }
  // Cut short: the place of its ICRC is not there.
  const Bytes whole = sample(ipv4_path(), kRcWriteOnly, 100);
  const WalledBytes cut(first_of(whole, whole.size() - 1));
  complete_icrc(cut.get());
  BOOST_TEST(std::ranges::equal(cut.get(), first_of(whole, whole.size() - 1)));
}

BOOST_AUTO_TEST_CASE(the_builder_never_reads_or_writes_beyond_its_room) {
  for (const std::size_t payload : std::initializer_list<std::size_t>{0, 1, 3, 61, 4096}) {
    const Bytes whole = sample(ipv4_path(), kRcWriteOnly, payload);
    const WalledBytes room(Bytes(whole.size()));
    const FrameTemplate flow(ipv4_path());
    PacketBuilder builder(room.get(), flow, {.opcode = kRcWriteOnly}, payload, IcrcState::deferred);
    builder.append(kReth);
    builder.append_payload(pattern(payload));
    BOOST_TEST(builder.finish() == whole.size());
  }
}

}  // namespace verbena::wire::test
