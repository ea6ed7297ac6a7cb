// shell_word: text as one word of a command line that a shell reads.
#pragma once

#include <string>
#include <string_view>

namespace verbena::scenarios {

/// As it is where no character means anything to a shell, else in single quotes.
inline std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == text.npos) return std::string(text);
  std::string word = "'";
  for (const char one : text) word += one == '\'' ? std::string("'\\''") : std::string(1, one);
  return word + "'";
}

}  // namespace verbena::scenarios
