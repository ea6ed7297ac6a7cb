// shell_word: text as one word of a command line that a shell reads.
// Tested by: tests/cli/run_test.cc
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wire/printable.h"

namespace verbena::scenarios {

/// As it is where no character means anything to a shell, else in single quotes; what is not to be shown (printable.h)
/// as \xNN in $'...', which shells read (POSIX.1-2024, 2.2.4).
inline std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == text.npos) return std::string(text);
  const bool is_printable = wire::printable(text) == text;
  std::string word = is_printable ? "'" : "$'";
  if (!is_printable) {
    for (const char one : text) word += (one == '\'' || one == '\\' ? "\\" : "") + std::string(1, one);
    return wire::printable(word) + "'";
  }
  for (const char one : text) word += one == '\'' ? std::string("'\\''") : std::string(1, one);
  return word + "'";
}

/// Several of them, as a command line.
inline std::string shell_words(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + shell_word(word);
  return text;
}

}  // namespace verbena::scenarios
