// Decimal numbers with units, read strictly into integers: digits shifted by powers of ten, never floating point.
//
// Solely responsible for how a number is read; which units there are and what they mean is quantity.h, but for those of
// rates. Nothing is rounded: a digit that would be lost makes the text wrong. libc only, and nothing throws: the path
// shim includes it.
// Tested by: tests/fabric/qos_words_test.cc
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

namespace verbena::fabric {

/// A unit is `factor` times ten to the `digits`; fractions may have as many digits.
struct Unit {
  std::string_view name;
  int digits = 0;
  std::uint64_t factor = 1;
};

inline constexpr std::array<Unit, 6> kRateUnits{
    {{"bps", 0}, {"kbps", 3}, {"Kbps", 3}, {"Mbps", 6}, {"Gbps", 9}, {"Tbps", 12}}};

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// The first `length` characters, and what comes behind so many; there are at least as many.
constexpr std::string_view first_of(std::string_view text, std::size_t length) {
  return {text.data(), length};
}
constexpr std::string_view rest_of(std::string_view text, std::size_t from) {
  return {text.data() + from, text.size() - from};
}

/// A whole decimal number of at most 18 digits.
constexpr std::optional<std::uint64_t> parse_number(std::string_view text) {
  constexpr std::size_t kDigitsMax = 18;
  if (text.empty() || text.size() > kDigitsMax || !std::all_of(text.begin(), text.end(), is_digit)) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text) value = value * 10 + static_cast<std::uint64_t>(c - '0');
  return value;
}

/// A decimal fraction, with an exponent if need be, times 10^digits as an integer: "0.1" at 9 is 100000000. At most 18
/// digits of it count, zeros in front not.
constexpr std::optional<std::uint64_t> parse_scaled(std::string_view text, int digits) {
  constexpr std::uint64_t kMax = 999'999'999'999'999'999;
  const std::size_t exponent_at = text.find_first_of("eE");
  if (exponent_at != text.npos) {
    std::string_view exponent = rest_of(text, exponent_at + 1);
    const bool negative = !exponent.empty() && exponent.front() == '-';
    if (negative) exponent.remove_prefix(1);
    const auto power = parse_number(exponent);
    if (!power || *power > 9) return std::nullopt;
    digits += negative ? -static_cast<int>(*power) : static_cast<int>(*power);
    text = first_of(text, exponent_at);
  }
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::string_view whole = first_of(text, point);
  std::string_view fraction = point < text.size() ? rest_of(text, point + 1) : std::string_view{};
  while (!fraction.empty() && fraction.back() == '0') fraction.remove_suffix(1);
  if (whole.empty() && fraction.empty()) return std::nullopt;
  if (digits < 0 || fraction.size() > static_cast<std::size_t>(digits)) return std::nullopt;
  std::uint64_t value = 0;
  const auto append = [&value](char c) {
    if (!is_digit(c) || value > kMax / 10) return false;
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
    return true;
  };
  if (!std::all_of(whole.begin(), whole.end(), append) || !std::all_of(fraction.begin(), fraction.end(), append))
    return std::nullopt;
  for (std::size_t i = fraction.size(); i < static_cast<std::size_t>(digits); ++i)
    if (!append('0')) return std::nullopt;
  return value;
}

/// A number and one of the units, nothing between them: "1.5ms". What does not fit 63 bits is refused.
constexpr std::optional<std::uint64_t> parse_quantity(std::string_view text, std::span<const Unit> units) {
  constexpr std::uint64_t kValueMax = std::numeric_limits<std::int64_t>::max();
  std::size_t unit_at = 0;
  while (unit_at < text.size() && (is_digit(text[unit_at]) || text[unit_at] == '.')) ++unit_at;
  for (const Unit& unit : units) {
    if (unit.name != rest_of(text, unit_at)) continue;
    const auto value = parse_scaled(first_of(text, unit_at), unit.digits);
    if (!value || *value > kValueMax / unit.factor) return std::nullopt;
    return *value * unit.factor;
  }
  return std::nullopt;
}

/// "10Mbps", "2.5Gbps": bits per second.
constexpr std::optional<std::uint64_t> parse_rate(std::string_view text) {
  return parse_quantity(text, kRateUnits);
}

}  // namespace verbena::fabric
