// The encapsulations that there are. Add yours here. A program of tests may have a table of its own in place of this
// file (tests/support/toy_encapsulation.h).
// Tested by: tests/wire/encapsulation_test.cc
#include "wire/encapsulation.h"
#include "wire/roce_v1.h"

namespace verbena::wire {

std::span<const Encapsulation* const> encapsulations() {
  static constexpr std::array kRows{&kRoceV2, &kRoceV1, &kInfiniBand};
  return kRows;
}

}  // namespace verbena::wire
