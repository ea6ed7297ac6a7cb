// Where in the scenario's file something stands, as errors begin: "LINE:COLUMN".
// Tested by: tests/scenarios/real/run_real_test.cc
#pragma once

#include <string>

#include "scenarios/language/scenario.h"

namespace verbena::scenarios {

inline std::string place_text(Place place) {
  return std::to_string(place.line) + ":" + std::to_string(place.column);
}

}  // namespace verbena::scenarios
