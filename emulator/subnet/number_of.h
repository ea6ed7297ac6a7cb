// A number as topology files have it: in a base of its place, or hexadecimal behind 0x.
// Tested by: tests/subnet/topology_file_test.cc
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace verbena::subnet {

/// Nothing: it is none, or does not fit.
template <class Number>
std::optional<Number> number_of(std::string_view text, int base) {
  if (text.starts_with("0x") || text.starts_with("0X")) {
    text.remove_prefix(2);
    base = 16;
  }
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace verbena::subnet
