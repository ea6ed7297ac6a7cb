#include "cli/exec/crash_report.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <sstream>

namespace verbena::cli {
namespace {

/// "_Z3foov at prog+0x12" has "foo()".
std::string with_plain_name(const std::string& line) {
  const std::size_t begin = line.find_first_not_of(' ');
  if (begin == line.npos || line.compare(begin, 2, "_Z") != 0) return line;
  const std::size_t end = line.find(' ', begin);
  const std::string symbol = line.substr(begin, end - begin);
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> plain(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  if (status != 0) return line;
  return line.substr(0, begin) + plain.get() + (end == line.npos ? "" : line.substr(end));
}

}  // namespace

std::string CrashReport::text() const {
  std::istringstream lines(file_.text());
  std::string text;
  for (std::string line; std::getline(lines, line);) text += with_plain_name(line) + "\n";
  return text;
}

}  // namespace verbena::cli
