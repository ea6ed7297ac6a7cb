#include "emulator/host/config/personality.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "emulator/fabric/nearest_word.h"
#include "emulator/fabric/nic_words.h"
#include "emulator/host/config/device_words.h"
#include "emulator/host/config/environment.h"
#include "emulator/host/config/nic_tuning.h"

namespace verbena::host {
namespace {

constexpr std::size_t kFileBytesMax = 1 << 20;
constexpr std::string_view kWord = "personality";
constexpr std::string_view kFolder = "/personalities/";
constexpr std::string_view kProfiles = "/profiles/";

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r";
  text.remove_prefix(std::min(text.find_first_not_of(kSpaces), text.size()));
  return text.substr(0, text.find_last_not_of(kSpaces) + 1);
}

std::optional<std::string> read_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error) || std::filesystem::file_size(path, error) > kFileBytesMax)
    return std::nullopt;
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return file ? std::optional(text.str()) : std::nullopt;
}

Failure<std::string> wrong_at(const std::string& file_name, std::size_t line, std::size_t column,
                              const std::string& text) {
  return Failure{file_name + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " + text};
}

/// A limit that is higher than ours becomes ours: what is announced can be created.
std::string within_our_limits(std::string_view key, std::string_view value) {
  for (const fabric::NicWord& word : fabric::nic_words()) {
    if (word.name != key || word.of != fabric::NicWord::Of::program || word.value != fabric::NicValue::number) continue;
    const auto number = fabric::parse_number(value);
    if (number && *number > word.most) return std::to_string(word.most);
  }
  return std::string(value);
}

struct Line {
  std::size_t number = 0;
  std::string_view key;
  std::size_t key_column = 1;
  std::string_view value;
  std::size_t value_column = 1;
  std::string_view source;
};

/// The lines that say something. `wrong`: where one is none such.
std::vector<Line> lines_of(std::string_view text, std::optional<std::size_t>& wrong) {
  std::vector<Line> lines;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view whole = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(whole.size() + 1, text.size()));
    const std::size_t comment = whole.starts_with('#') ? 0 : std::min(whole.find(" #"), whole.size());
    const std::string_view said = whole.substr(0, comment);
    if (trimmed(said).empty()) continue;
    Line line{.number = number};
    const std::size_t colon = said.find(':');
    if (colon == said.npos || trimmed(said.substr(0, colon)).empty()) {
      wrong = number;
      return lines;
    }
    line.key = trimmed(said.substr(0, colon));
    line.value = trimmed(said.substr(colon + 1));
    line.key_column = static_cast<std::size_t>(line.key.data() - whole.data()) + 1;
    line.value_column =
        line.value.empty() ? said.size() + 1 : static_cast<std::size_t>(line.value.data() - whole.data()) + 1;
    if (comment < whole.size()) line.source = trimmed(whole.substr(whole.find('#', comment) + 1));
    if (line.value.size() > 1 && line.value.front() == '"' && line.value.back() == '"')
      line.value = line.value.substr(1, line.value.size() - 2);
    lines.push_back(line);
  }
  return lines;
}

constexpr std::string_view kLineIsRight = "want a line 'key: value  # source'";

/// The words of a profile. An error names its file.
std::optional<std::string> take_profile(const std::string& path, Personality& into) {
  const auto text = read_file(path);
  if (!text) return path + ": it cannot be read";
  std::optional<std::size_t> wrong;
  for (const Line& line : lines_of(*text, wrong)) {
    if (line.key == "name" || line.key == "description") continue;
    into.values.push_back({std::string(line.key), std::string(line.value), "profile " + path, line.number});
  }
  return wrong ? std::optional(path + ":" + std::to_string(*wrong) + ":1: " + std::string(kLineIsRight)) : std::nullopt;
}

std::string known_profiles(const std::string& folder, std::string_view name) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    names.push_back(at->path().stem().string());
  std::ranges::sort(names);
  return fabric::did_you_mean(name, std::vector<std::string_view>(names.begin(), names.end()));
}

}  // namespace

Result<Personality, std::string> parse_personality(const std::string& text, const std::string& file_name,
                                                   const std::string& library) {
  Personality made;
  made.text = text;
  std::optional<std::size_t> wrong;
  const std::vector<Line> lines = lines_of(text, wrong);
  if (wrong) return wrong_at(file_name, *wrong, 1, std::string(kLineIsRight));
  std::vector<std::string_view> seen;
  for (const Line& line : lines) {
    const std::string key(line.key);
    const std::string value(line.value);
    if (std::ranges::find(seen, line.key) != seen.end())
      return wrong_at(file_name, line.number, line.key_column, key + " is written twice");
    seen.push_back(line.key);
    if (value.empty()) return wrong_at(file_name, line.number, line.value_column, key + " has no value");
    if (key == "name") {
      made.name = value;
    } else if (key == "description") {
      made.description = value;
    } else if (key == "device-name") {
      if (!is_device_name(value) || value.find(',') != value.npos)
        return wrong_at(file_name, line.number, line.value_column, "'" + value + "': want " + device_name_rule());
      made.device_name = value;
    } else if (key == "profile") {
      const std::string path = library + std::string(kProfiles) + value + ".yaml";
      if (value.find('/') != value.npos || !read_file(path))
        return wrong_at(file_name, line.number, line.value_column,
                        "'" + value + "': there is no such profile in " + library + "/profiles" +
                            known_profiles(library + "/profiles", value));
      if (const auto error = take_profile(path, made)) return Failure{*error};
    } else {
      const auto tuning = parse_nic_tuning(key + "=" + within_our_limits(key, value));
      if (!tuning && value.find(' ') != value.npos)
        return wrong_at(file_name, line.number, line.value_column, "'" + value + "': want no space in it");
      if (!tuning) return wrong_at(file_name, line.number, line.key_column, tuning.error());
      std::erase_if(made.values, [&](const Personality::Value& one) { return one.key == key; });  // of the profile
      made.values.push_back({key, value, std::string(line.source), line.number});
    }
  }
  for (const Personality::Value& one : made.values)
    made.words += (made.words.empty() ? "" : " ") + one.key + "=" + within_our_limits(one.key, one.value);
  if (const auto whole = parse_nic_tuning(made.words); !whole) return wrong_at(file_name, 1, 1, whole.error());
  return made;
}

Result<Personality, std::string> read_personality(const std::string& said, const std::string& library) {
  if (said.find('/') != said.npos) {
    const auto text = read_file(said);
    if (!text) return Failure{said + ": it cannot be read, or is no file of up to 1 MiB"};
    return parse_personality(*text, said, library);
  }
  const auto names = personality_names(library);
  if (std::ranges::find(names, said) == names.end()) {
    const std::vector<std::string_view> known(names.begin(), names.end());
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
    return Failure{"'" + said + "': there is no such personality, known are " + list +
                   ", or a path with a '/', as in ./my.yaml" + fabric::did_you_mean(said, known)};
  }
  const std::string path = library + std::string(kFolder) + said + ".yaml";
  const auto text = read_file(path);
  if (!text) return Failure{path + ": it cannot be read"};
  return parse_personality(*text, path, library);
}

std::vector<std::string> personality_names(const std::string& library) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator at(library + std::string(kFolder), error), end; !error && at != end;
       at.increment(error))
    if (at->path().extension() == ".yaml") names.push_back(at->path().stem().string());
  std::ranges::sort(names);
  return names;
}

std::string take_personality_word(std::string& nic) {
  const std::string said(nic_word(nic, kWord));
  if (said.empty()) return said;
  const std::string word = std::string(kWord) + "=" + said;
  const std::size_t at = nic.starts_with(word) ? 0 : nic.find(" " + word);
  nic.erase(at, word.size() + 1);
  return said;
}

std::string with_own_words(const Personality& personality, const std::string& own) {
  std::string words;
  for (const Personality::Value& one : personality.values)
    if (nic_word(own, one.key).empty())
      words += (words.empty() ? "" : " ") + one.key + "=" + within_our_limits(one.key, one.value);
  return words + (words.empty() || own.empty() ? "" : " ") + own;
}

}  // namespace verbena::host
