#include "cli/style.h"

#include <unistd.h>

#include <cstdlib>
#include <functional>

namespace verbena::cli {
namespace {

bool is_set(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

bool wants_colours(std::FILE* stream) {
  if (is_set("NO_COLOR")) return false;
  if (is_set("CLICOLOR_FORCE") && std::string_view(std::getenv("CLICOLOR_FORCE")) != "0") return true;
  const char* const terminal = std::getenv("TERM");
  return isatty(fileno(stream)) == 1 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

/// Each line, without its end, through `paint`.
std::string by_line(std::string_view text, const std::function<std::string(std::string_view)>& paint) {
  std::string all;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    all += paint(text.substr(0, end));
    if (end == text.npos) break;
    all += '\n';
    text.remove_prefix(end + 1);
  }
  return all;
}

}  // namespace

Style::Style(std::FILE* stream) : has_colours_(wants_colours(stream)) {}

std::string Style::painted(const char* code, std::string_view text) const {
  if (!has_colours_ || text.empty()) return std::string(text);
  return "\033[" + std::string(code) + "m" + std::string(text) + "\033[0m";
}

std::string Style::strong(std::string_view text) const {
  return painted("1", text);
}
std::string Style::good(std::string_view text) const {
  return painted("32", text);
}
std::string Style::bad(std::string_view text) const {
  return painted("31", text);
}
std::string Style::doubt(std::string_view text) const {
  return painted("33", text);
}
std::string Style::faint(std::string_view text) const {
  return painted("2", text);
}

std::string Style::headings(std::string_view text) const {
  if (!has_colours_) return std::string(text);
  return by_line(text, [this](std::string_view line) {
    constexpr std::string_view kUsage = "Usage:";
    if (line.starts_with(kUsage)) return strong(kUsage) + std::string(line.substr(kUsage.size()));
    return !line.starts_with(' ') && line.ends_with(':') ? strong(line) : std::string(line);
  });
}

std::string Style::report(std::string_view text) const {
  if (!has_colours_) return std::string(text);
  return by_line(text, [this](std::string_view line) {
    constexpr std::string_view kHeld = "held";
    constexpr std::string_view kNotHeld = "NOT HELD";
    if (line.starts_with(kNotHeld)) return bad(kNotHeld) + std::string(line.substr(kNotHeld.size()));
    if (line.starts_with(kHeld)) return good(kHeld) + std::string(line.substr(kHeld.size()));
    const std::size_t first = line.find_first_not_of(' ');
    if (first != line.npos && line[first] == '!') return doubt(line);
    return line == "No violations." ? good(line) : std::string(line);
  });
}

}  // namespace verbena::cli
