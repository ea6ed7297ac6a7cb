// Random scenarios for the test suite and for `make soak`: small topologies, mixed traffic, faults that RC survives.
//
// Solely responsible for the text. The same seed gives the same text, with every compiler. All of it is expected to
// hold: the faults end, the retry budgets are larger than they are, and the transports that lose messages get no
// faults.
#pragma once

#include <cstdint>
#include <string>

namespace verbena::scenarios {

std::string random_scenario(std::uint64_t seed);

}  // namespace verbena::scenarios
