#include "emulator/fabric/rule_reader.h"

namespace verbena::fabric::rule_text {

std::string quote(std::string_view word) {
  return "'" + std::string(word) + "'";
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  constexpr std::string_view kBlank = " \t\r\n";
  for (std::size_t at = text.find_first_not_of(kBlank); at != text.npos; at = text.find_first_not_of(kBlank, at)) {
    const std::size_t end = std::min(text.find_first_of(kBlank, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

std::string names_joined(std::span<const std::string_view> names) {
  std::string joined;
  for (const std::string_view name : names) joined += (joined.empty() ? "" : ", ") + std::string(name);
  return joined;
}

std::optional<std::uint32_t> parse_number_in(std::string_view text, std::uint64_t least, std::uint64_t most) {
  const auto value = parse_number(text);
  if (!value || *value < least || *value > most) return std::nullopt;
  return static_cast<std::uint32_t>(*value);
}

std::optional<Range> parse_range(std::string_view text, std::uint64_t least, std::uint64_t most) {
  if (text == "all") return Range{};
  const std::size_t dash = text.find('-');
  const auto first = parse_number_in(text.substr(0, dash), least, most);
  const auto last = dash == text.npos ? first : parse_number_in(text.substr(dash + 1), least, most);
  if (!first || !last || *last < *first) return std::nullopt;
  return Range{*first, *last};
}

std::string failure(std::string_view text, std::string_view what, std::size_t column) {
  constexpr std::size_t kShown = 80;
  std::string shown(text.substr(0, kShown));
  std::replace_if(shown.begin(), shown.end(), [](char c) { return c < ' ' || c == 0x7f; }, '?');
  const std::string at = column == 0 ? std::string() : ", column " + std::to_string(column);
  std::string line = "fault " + quote(shown) + at + ": " + std::string(what);
  std::replace_if(line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return line;
}

}  // namespace verbena::fabric::rule_text
