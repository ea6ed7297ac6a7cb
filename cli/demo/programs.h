// The programs that `verbena demo` runs, and what is read from their outputs.
//
// Solely which they are and what their figures mean; running a pair is pair.h's, showing the table demo.cc's.
// Tested by: tests/cli/init_test.cc
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wire/result.h"

namespace verbena::cli::demo {

/// A figure of perftest's one row of results.
struct Figure {
  std::string_view name;
  std::string_view unit;
  std::size_t column;
};

struct Program {
  std::string_view title;
  std::vector<std::string> words;
  std::vector<Figure> figures;
  std::string_view package;
};

Program write_bandwidth();
Program send_latency();
/// It looks at every octet that it gets.
Program pingpong();

/// The packages, with the programs that are not there: "ib_write_bw (perftest)". Empty: all are there.
std::string missing_programs();

/// The columns of the last row of numbers. An error is one line.
Result<std::vector<std::string>, std::string> result_row(std::string_view output);
/// What `ibv_rc_pingpong -c` says of damage is no exit status.
bool has_damage(std::string_view output);

}  // namespace verbena::cli::demo
