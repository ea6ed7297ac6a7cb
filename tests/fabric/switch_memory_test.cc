// A switch's memory: what is shared, what is headroom, and who has to pause.
#include "emulator/fabric/switch_memory.h"

#include <boost/test/unit_test.hpp>

using namespace verbena::fabric;

namespace {

Qos fixed(std::uint64_t buffer, std::uint64_t xoff, std::uint32_t xon_offset) {
  Qos qos;
  qos.lossless = bit_of(3);
  qos.buffer_bytes = buffer;
  qos.xoff = {.alpha = 0, .bytes = xoff};
  qos.xon_offset_bytes = xon_offset;
  return qos;
}

}  // namespace

BOOST_AUTO_TEST_CASE(lossless_class_fills_its_threshold_then_its_headroom) {
  const Qos qos = fixed(100'000, 10'000, 2'000);
  SwitchMemory memory(qos);
  IngressPort port;
  memory.add_port(port, 5'000);
  BOOST_TEST(memory.shared_max_bytes() == 95'000u);
  int shared = 0;
  for (; !memory.has_to_pause(port, 3); ++shared) BOOST_TEST_REQUIRE(memory.admit(port, 3, 1000));
  BOOST_TEST(shared == 11);  // the one that goes beyond is shared
  BOOST_TEST(port.groups[3].headroom_bytes == 0u);
  for (int i = 0; i < 5; ++i) BOOST_TEST(memory.admit(port, 3, 1000));
  BOOST_TEST(port.groups[3].headroom_bytes == 5000u);
  BOOST_TEST(memory.shared_bytes() == 11'000u);
  BOOST_TEST(!memory.admit(port, 3, 1));
}

BOOST_AUTO_TEST_CASE(headroom_is_freed_first_and_the_other_end_resumes_below_xon) {
  const Qos qos = fixed(100'000, 10'000, 2'000);
  SwitchMemory memory(qos);
  IngressPort port;
  memory.add_port(port, 5'000);
  for (int i = 0; i < 14; ++i) memory.admit(port, 3, 1000);
  BOOST_TEST(port.groups[3].headroom_bytes == 3000u);
  for (int i = 0; i < 5; ++i) {
    BOOST_TEST(!memory.may_go_on(port, 3));
    memory.release(port, 3, 1000);
  }
  BOOST_TEST(port.groups[3].headroom_bytes == 0u);
  BOOST_TEST(port.groups[3].shared_bytes == 9000u);
  BOOST_TEST(!memory.may_go_on(port, 3));
  memory.release(port, 3, 1000);
  BOOST_TEST(memory.may_go_on(port, 3));
}

BOOST_AUTO_TEST_CASE(a_dynamic_threshold_shrinks_as_the_memory_fills) {
  Qos qos;
  qos.lossless = bit_of(0);
  qos.buffer_bytes = 100'000;
  qos.xoff = {.alpha = Threshold::kWhole};  // as much as is free
  SwitchMemory memory(qos);
  IngressPort first;
  IngressPort second;
  for (IngressPort* port : {&first, &second}) memory.add_port(*port, 10'000);
  // One alone has half of what there is, then a second one gets a third of it at most.
  std::uint32_t frames = 0;
  for (; !memory.has_to_pause(first, 0); ++frames) memory.admit(first, 0, 1000);
  BOOST_TEST(frames == 41u);
  for (frames = 0; !memory.has_to_pause(second, 0); ++frames) memory.admit(second, 0, 1000);
  BOOST_TEST(frames == 20u);
}

BOOST_AUTO_TEST_CASE(other_classes_share_what_is_not_headroom_by_their_queue) {
  Qos qos;
  qos.lossless = bit_of(3);
  qos.buffer_bytes = 30'000;
  qos.egress = {.alpha = Threshold::kWhole / 2};
  SwitchMemory memory(qos);
  IngressPort port;
  memory.add_port(port, 10'000);
  std::uint64_t queue = 0;
  while (memory.admit_lossy(queue, 1000)) queue += 1000;
  BOOST_TEST(queue == 7000u);  // 7 of 20, half of the 13 that are free
  for (; queue != 0; queue -= 1000) memory.release_lossy(1000);
  BOOST_TEST(memory.shared_bytes() == 0u);
}
