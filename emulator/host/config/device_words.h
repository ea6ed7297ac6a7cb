// What the text of VERBENA_NIC says of one device, where devices may differ as a whole: "mtu=1024|mtu=4096".
//
// Solely finding the words of a device, and one word among them. libc only, and nothing is allocated: the path shim
// includes it. What the words mean is nic_tuning.h's and look_words.h's.
// Tested by: tests/host/config/look_words_test.cc
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace verbena::host {

inline constexpr char kDeviceWordsSign = '|';

/// One part is that of all devices. Empty: there are several, and none of this device.
constexpr std::string_view words_of_device(std::string_view text, std::uint32_t device) {
  if (text.find(kDeviceWordsSign) == text.npos) return text;
  for (; device != 0; --device) {
    const auto end = text.find(kDeviceWordsSign);
    if (end == text.npos) return {};
    text.remove_prefix(end + 1);
  }
  return {text.data(), std::min(text.find(kDeviceWordsSign), text.size())};
}

/// The value of a word ("speed=25Gbps numa=0"); empty: it is not there.
constexpr std::string_view nic_word(std::string_view words, std::string_view name) {
  while (!words.empty()) {
    const std::string_view word{words.data(), std::min(words.find(' '), words.size())};
    if (word.size() > name.size() && word.starts_with(name) && word[name.size()] == '=')
      return {word.data() + name.size() + 1, word.size() - name.size() - 1};
    words.remove_prefix(std::min(word.size() + 1, words.size()));
  }
  return {};
}

}  // namespace verbena::host
