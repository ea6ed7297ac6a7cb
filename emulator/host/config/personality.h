// Personality: a NIC that a device is to be like: its names and numbers, its limits, what it refuses, its habits.
//
// Solely the file, scenarios/personalities/NAME.yaml or a user's own, and the words that it comes to. A line is
// "key: value  # source"; a key is a word of `--nic` (nic_tuning.h), or one of name, description, device-name and
// profile, whose words (scenarios/profiles) are the personality's as well. What the words do is theirs.
// Tested by: tests/host/config/personality_test.cc
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wire/result.h"

namespace verbena::host {

struct Personality {
  struct Value {
    std::string key;
    std::string value;
    std::string source;  // behind '#'; empty: none is given
    std::size_t line = 0;
  };
  std::string name;
  std::string description;
  std::string device_name;    // "mlx5_%d"; empty: ours
  std::vector<Value> values;  // each as the NIC has it, those of a profile first
  std::string words;          // for `--nic`: limits no higher than ours
  std::string text;           // of the file
};

/// `said`: a name of one of the library's, or a path with a '/'. The error is one line.
Result<Personality, std::string> read_personality(const std::string& said, const std::string& library);
/// The same of a text. An error names the file, the line and the column.
Result<Personality, std::string> parse_personality(const std::string& text, const std::string& file_name,
                                                   const std::string& library);
/// In alphabetical order.
std::vector<std::string> personality_names(const std::string& library);

/// Takes "personality=.." out of the words of `--nic`. Empty: it is not there.
std::string take_personality_word(std::string& nic);
/// The personality's words, but where `own` has the same word: own words go before.
std::string with_own_words(const Personality& personality, const std::string& own);

/// The file of a personality from the text that `ibv_devinfo -v` has printed of a device, the first one in it. An error
/// names the file, the line and the column.
Result<std::string, std::string> personality_from_devinfo(const std::string& text, const std::string& file_name);

}  // namespace verbena::host
