// Finding: one thing that was tried on this machine, and what comes of it.
// Tested by: tests/cli/doctor_test.cc
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace verbena::cli::doctor {

enum class State : std::uint8_t {
  ok,
  limited,  // it works, or is not needed, but something that users may want does not
  missing,  // it does not work
};

struct Finding {
  std::string what;  // a few words
  State state = State::ok;
  std::string found;      // what the try gave
  std::string follows;    // what does not work for want of it; empty where all is well
  std::string remedy;     // what to do; empty where there is nothing
  bool is_vital = false;  // programs cannot run over shared memory without it
};

struct Group {
  std::string title;
  std::vector<Finding> findings;
};

}  // namespace verbena::cli::doctor
