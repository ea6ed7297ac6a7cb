// Quantities as text: numbers, probabilities, times, ranges, strictly read into integers (scaled_number.h).
//
// Solely responsible for the spelling of numbers in faults and scenarios. What a number may be is its reader's
// business. Nothing here speaks in errors: the reader knows what would have been right.
// Tested by: tests/cli/help_test.cc, tests/fabric/qos_words_test.cc
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/fabric/scaled_number.h"
#include "wire/time.h"

namespace verbena::fabric {

/// A name in the text and what it stands for.
template <class T>
struct Named {
  std::string_view name;
  T value;
};

template <class T>
std::optional<T> find_named(std::span<const Named<T>> table, std::string_view name) {
  for (const Named<T>& entry : table)
    if (entry.name == name) return entry.value;
  return std::nullopt;
}
template <class T, std::size_t n>
std::optional<T> find_named(const std::array<Named<T>, n>& table, std::string_view name) {
  return find_named(std::span<const Named<T>>(table), name);
}

/// "drop, duplicate, delay".
template <class T>
std::string names_of(std::span<const Named<T>> table) {
  std::string names;
  for (const Named<T>& entry : table) names += (names.empty() ? "" : ", ") + std::string(entry.name);
  return names;
}
template <class T, std::size_t n>
std::string names_of(const std::array<Named<T>, n>& table) {
  return names_of(std::span<const Named<T>>(table));
}

/// What may be written for a quantity, for the page on faults.
struct QuantityForm {
  std::string_view name;  // as usages have it: TIME
  std::string units;      // all of them, with commas; empty: none
  std::string_view text;
  std::vector<std::string_view> examples;
};
std::vector<QuantityForm> quantity_forms();

/// "500ns", "1.5us", "2ms", "1s".
std::optional<Duration> parse_duration(std::string_view text, Duration most);
/// "64", "4KiB", "1MB".
std::optional<std::uint64_t> parse_octets(std::string_view text);
/// "0.1%", "0.001" or "1e-3" in parts per billion; at most 1.
std::optional<std::uint32_t> parse_probability(std::string_view text);

}  // namespace verbena::fabric
