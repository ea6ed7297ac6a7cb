#include "cli/exec/faults.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "emulator/fabric/fault_rule.h"
#include "emulator/fabric/verb_rule.h"

namespace verbena::cli {

std::optional<std::string> wrong_fault(const std::string& fault, std::string_view said_by) {
  if (!fabric::is_verb_rule(fault)) {
    const auto parsed = fabric::parse_fault(fault);
    return parsed ? std::nullopt : std::optional(fmt::format("{}: {}", said_by, parsed.error()));
  }
  const auto parsed = fabric::parse_verb_rule(fault);
  if (!parsed) return fmt::format("{}: {}", said_by, parsed.error());
  if (const std::string odd = fabric::warning_of(*parsed); !odd.empty())
    fmt::print(stderr, "verbena exec: {} '{}': {}\n", said_by, fault, odd);
  return std::nullopt;
}

Result<std::vector<std::string>, std::string> read_fault_plan(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> faults;
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == line.npos || line[begin] == '#') continue;
    faults.push_back(line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin));
    if (auto wrong = wrong_fault(faults.back(), fmt::format("{}:{}", path, number))) return Failure{std::move(*wrong)};
  }
  if (!file.eof()) return Failure{fmt::format("{}: {}", path, std::strerror(errno == 0 ? EIO : errno))};
  if (faults.empty()) return Failure{path + ": no fault is in it: write one a line, such as drop 0.1%"};
  return faults;
}

}  // namespace verbena::cli
