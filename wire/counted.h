// counted: how many there are of a thing, as text: "1 packet", "2 packets", "0 retries".
//
// Solely responsible for the plural, for whoever prints a number before a noun.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace verbena::wire {

/// `plural`: where it is not the noun with an s.
inline std::string counted(std::uint64_t number, std::string_view noun, std::string_view plural = {}) {
  std::string text = std::to_string(number) + " ";
  if (number == 1 || plural.empty()) text += noun;
  if (number != 1) text += plural.empty() ? std::string_view("s") : plural;
  return text;
}

}  // namespace verbena::wire
