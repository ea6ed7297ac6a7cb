// Journal: where a run says what happens, for the event trace.
// Tested by: tests/scenarios/virtual/replay_test.cc
#pragma once

#include <string_view>

#include "wire/time.h"

namespace verbena::scenarios {

class Journal {
 public:
  virtual ~Journal() = default;
  /// Whether anybody reads it: callers make no text otherwise.
  virtual bool open() const = 0;
  virtual void line(Time time, std::string_view text) = 0;
};

}  // namespace verbena::scenarios
