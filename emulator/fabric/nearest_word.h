// nearest: which of the words that are known somebody may have meant who wrote another one.
//
// Solely responsible for likeness: capitals and underscores count as what they stand for, then what is longer than the
// word and begins like it, then as few letters as possible put in, left out or changed.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace verbena::fabric {

/// Empty: none is like it.
std::string_view nearest(std::string_view word, std::span<const std::string_view> words);
/// "; did you mean 'drop'?"; empty: none is like it.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> words);
inline std::string did_you_mean(std::string_view word, std::initializer_list<std::string_view> words) {
  return did_you_mean(word, std::span(words.begin(), words.size()));
}

}  // namespace verbena::fabric
