// Lists in a text, whose items commas part; and such inside of a value, whose items are parted by '+'.
//
// Solely that. Needs nothing, allocates nothing: the path shim includes it.
// Tested by: tests/host/config/own_devices_test.cc
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace verbena::host {

/// An empty text has one item, which is empty.
constexpr std::size_t list_size(std::string_view list) {
  return 1 + static_cast<std::size_t>(std::count(list.begin(), list.end(), ','));
}

/// Empty: it is an empty one, or past the end.
constexpr std::string_view list_item(std::string_view list, std::size_t index) {
  for (; index != 0; --index) {
    const auto comma = list.find(',');
    if (comma == list.npos) return {};
    list.remove_prefix(comma + 1);
  }
  return std::string_view(list.data(), std::min(list.find(','), list.size()));
}

/// Items of a value, parted by '+': "uc+srq". Empty: past the end.
constexpr std::string_view plus_item(std::string_view list, std::size_t index) {
  for (; index != 0; --index) {
    const auto plus = list.find('+');
    if (plus == list.npos) return {};
    list.remove_prefix(plus + 1);
  }
  return {list.data(), std::min(list.find('+'), list.size())};
}
constexpr std::size_t plus_size(std::string_view list) {
  return list.empty() ? 0 : 1 + static_cast<std::size_t>(std::count(list.begin(), list.end(), '+'));
}

}  // namespace verbena::host
