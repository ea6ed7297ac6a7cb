#include "cli/demo/programs.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/completion/split.h"
#include "cli/exec/program.h"

namespace verbena::cli::demo {
namespace {

constexpr std::string_view kPerftest = "perftest";
constexpr std::string_view kExamples = "ibverbs-utils on Debian and Ubuntu, libibverbs-utils on Fedora";
constexpr std::size_t kColumnsMin = 4;  // of a row of results

bool is_number(std::string_view word) {
  return !word.empty() && std::ranges::all_of(word, [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
}

}  // namespace

Program write_bandwidth() {
  return {"ib_write_bw, 5000 x 64 KiB",
          {"ib_write_bw", "-F", "-p", "{port}", "-s", "65536", "-n", "5000"},
          {{"bandwidth, average", " MB/s", 3}},
          kPerftest};
}

Program send_latency() {
  return {"ib_send_lat, 5000 x 8 B",
          {"ib_send_lat", "-F", "-p", "{port}", "-s", "8", "-n", "5000"},
          {{"latency, typical", " us", 4}, {"latency, average", " us", 5}, {"latency, largest", " us", 3}},
          kPerftest};
}

Program pingpong() {
  return {"ibv_rc_pingpong -c, 300 x 64 KiB",
          {"ibv_rc_pingpong", "-g", "0", "-p", "{port}", "-s", "65536", "-m", "4096", "-n", "300", "-c"},
          {},
          kExamples};
}

std::string missing_programs() {
  std::string text;
  for (const Program& program : {write_bandwidth(), send_latency(), pingpong()})
    if (!find_program(program.words.front()))
      text += fmt::format("{}{} (package {})", text.empty() ? "" : ", ", program.words.front(), program.package);
  return text;
}

Result<std::vector<std::string>, std::string> result_row(std::string_view output) {
  std::vector<std::string> row;
  while (!output.empty()) {
    const std::size_t end = output.find('\n');
    const std::vector<std::string> words = completion::at_blanks(output.substr(0, end));
    if (words.size() >= kColumnsMin && std::ranges::all_of(words, is_number)) row = words;
    output.remove_prefix(end == output.npos ? output.size() : end + 1);
  }
  if (row.empty()) return Failure{std::string("the program has printed no row of results")};
  return row;
}

bool has_damage(std::string_view output) {
  return output.find("invalid data") != output.npos;
}

}  // namespace verbena::cli::demo
