// RoCE v1: a global routing header behind its EtherType, whatever stands in front (IBTA annex A16).
// Tested by: tests/captures/peel/peeler_test.cc
#include "captures/peel/layer.h"
#include "wire/roce_v1.h"

namespace verbena::captures {

Step find_roce_v1(Walk& walk) {
  constexpr std::uint32_t kUsnicVersion = 8;  // Cisco's usNIC took the EtherType with another version
  if (!walk.left.has(wire::GrhLayout::bytes)) return Step::short_of;
  if (walk.left.u8(0) >> 4 == kUsnicVersion) {
    walk.name = "usNIC";
    return Step::named;
  }
  constexpr std::size_t kLengthAt = 4;
  walk.left.limit(wire::GrhLayout::bytes + walk.left.u16(kLengthAt));
  walk.is_roce_v1 = true;
  return Step::found;
}

}  // namespace verbena::captures
