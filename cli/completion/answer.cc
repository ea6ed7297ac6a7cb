#include "cli/completion/answer.h"

#include <algorithm>
#include <optional>

#include "cli/completion/fault_words.h"
#include "cli/completion/places.h"
#include "cli/completion/running.h"
#include "cli/completion/shells.h"
#include "cli/help/man_page.h"
#include "cli/subcommands.h"
#include "emulator/fabric/shape_table.h"
#include "emulator/host/config/link_kind.h"
#include "emulator/host/config/nic_tuning.h"
#include "emulator/host/config/own_node.h"
#include "emulator/host/config/variables.h"
#include "wire/roce_version.h"

namespace verbena::cli::completion {
namespace {

using Words = std::vector<std::string>;

const std::vector<std::string_view> kCaptureEndings{".pcap",    ".pcapng",    ".cap",      ".pcap.gz",   ".pcapng.gz",
                                                    ".pcap.xz", ".pcapng.xz", ".pcap.zst", ".pcapng.zst"};
const std::vector<std::string_view> kScenarioEndings{".yaml", ".yml"};

/// A command line so far, understood as its command would.
struct Line {
  help::Description command;
  Words given;  // options, without their values
  std::string fabric = host::kFabricDefault;
  const help::OptionText* awaited = nullptr;  // the last option, whose value comes next
  Words positional;                           // from the first that is no option
  bool is_behind_dashes = false;              // "--": what follows is no option
};

const help::OptionText* find_option(const help::Description& command, std::string_view word) {
  const auto found = std::ranges::find(command.options, word.substr(0, word.find('=')), &help::OptionText::name);
  return found == command.options.end() ? nullptr : &*found;
}

/// Whether everything from the first argument on is somebody else's: a program's, or the fabric's.
bool hands_over(const help::Description& command) {
  return command.name == "verbena exec" || command.name == "verbena fault";
}

void read(const Words& words, Line& line) {
  for (const std::string& word : words) {
    if (line.awaited != nullptr) {
      if (line.awaited->name == "--fabric") line.fabric = word;
      line.awaited = nullptr;
    } else if (line.is_behind_dashes || (hands_over(line.command) && !line.positional.empty())) {
      line.positional.push_back(word);
    } else if (word == "--") {
      line.is_behind_dashes = true;
    } else if (const help::OptionText* const option = find_option(line.command, word)) {
      line.given.push_back(option->name);
      const std::size_t equals = word.find('=');
      if (equals == word.npos && !option->type.empty()) line.awaited = option;
      if (equals != word.npos && option->name == "--fabric") line.fabric = word.substr(equals + 1);
    } else if (!word.starts_with('-')) {
      line.positional.push_back(word);
    }
  }
}

/// "cut|uncut|TIME" offers cut and uncut.
Candidates alternatives(std::string_view type) {
  Candidates all;
  if (type.find('|') == type.npos) return all;
  for (bool is_last = false; !is_last;) {
    const std::string_view one = type.substr(0, type.find('|'));
    if (std::ranges::none_of(one, [](char c) { return c >= 'A' && c <= 'Z'; })) all.push_back({std::string(one), ""});
    is_last = one.size() == type.size();
    type.remove_prefix(is_last ? one.size() : one.size() + 1);
  }
  return all;
}

Candidates link_kinds(std::string_view prefix) {
  Candidates all;
  for (const host::LinkKind& kind : host::kLinkKinds) {
    const std::string name(kind.name);
    if (!kind.has_interface)
      all.push_back({name, ""});
    else if (prefix.starts_with(name + ":"))
      for (const std::string& interface : interfaces()) all.push_back({name + ":" + interface, ""});
    else
      all.push_back({name + ":", "and an interface"});
  }
  return all;
}

Candidates shapes() {
  Candidates all;
  for (const fabric::Shape& shape : fabric::shapes()) all.push_back({std::string(shape.name), ""});
  return all;
}

Candidates wires() {
  Candidates all;
  for (const wire::WireKind& kind : wire::kWireKinds) all.push_back({std::string(kind.name), ""});
  return all;
}

/// One word with blanks in it, of which the last is being written.
Candidates nic_settings(const std::string& word) {
  const std::size_t blank = word.rfind(' ');
  Candidates all{{"personality=", ""}};
  if (constexpr std::string_view kPersonality = "personality=";
      word.compare(blank + 1, kPersonality.size(), kPersonality) == 0) {
    const std::size_t behind_name = word.find_last_of("=,") + 1;
    return behind(word.substr(0, behind_name), personalities());
  }
  for (const std::string_view name : host::nic_tuning_words()) all.push_back({std::string(name) + "=", ""});
  return blank == word.npos ? all : behind(word.substr(0, blank + 1), all);
}

Candidates values_of(const Line& line, const help::OptionText& option, const std::string& word) {
  if (option.name == "--fabric") return fabrics();
  if (option.name == "--link") return link_kinds(word);
  if (option.name == "--topology") return shapes();
  if (option.name == "--wire") return wires();
  if (option.name == "--fault") return rules(word);
  if (option.name == "--nic") return nic_settings(word);
  if (option.type == "DIR" || option.type == "DIRECTORY") return folders(word);
  Candidates all = alternatives(option.type);
  if (option.type.starts_with("FILE")) {
    const Candidates here = files(word);
    all.insert(all.end(), here.begin(), here.end());
  }
  if (option.name == "--node" || option.name == "--wait-for-listener") {
    Candidates numbers = node_numbers(line.fabric);
    all.insert(all.begin(), numbers.begin(), numbers.end());
  }
  return all;
}

Candidates options_of(const Line& line) {
  Candidates all;
  for (const help::OptionText& option : line.command.options)
    if (option.is_list || std::ranges::find(line.given, option.name) == line.given.end())
      all.push_back({option.name, option.text});
  all.push_back({"--help", "what the command takes"});
  return all;
}

Candidates scenarios_or_files(const std::string& word) {
  Candidates all = word.find('/') == word.npos ? scenarios() : Candidates{};
  const Candidates here = files(word, kScenarioEndings);
  all.insert(all.end(), here.begin(), here.end());
  return all;
}

Candidates positional_of(const Line& line, const std::string& word) {
  const std::string& name = line.command.name;
  const bool is_first = line.positional.empty();
  if (name == "verbena exec") return is_first ? programs(word) : files(word);
  if (name == "verbena fault") return is_first ? command_words() : next_of_command(line.positional, line.fabric);
  if (name == "verbena run") return scenarios_or_files(word);
  if (name == "verbena fabric") return is_first ? scenarios_or_files(word) : Candidates{};
  if (name == "verbena explain" && !is_first) return {};
  if (name == "verbena explain" || name == "verbena check") return files(word, kCaptureEndings);
  if (name == "verbena init") return is_first ? folders(word) : Candidates{};
  if (name == "verbena personality") return is_first ? personalities() : Candidates{};
  if (name == "verbena completion") return is_first ? shells() : Candidates{};
  return {};
}

/// Names with commas between them: the last one is being written.
Candidates one_of_list(const std::string& word, Candidates all) {
  const std::size_t comma = word.rfind(',');
  return comma == word.npos ? all : behind(word.substr(0, comma + 1), std::move(all));
}

Candidates commands() {
  Candidates all;
  for (const Subcommand& one : subcommands()) all.push_back({std::string(one.name), std::string(one.summary)});
  return all;
}

Candidates topics(const Words& words) {
  Candidates all;
  if (words.size() == 2) {
    all = commands();
    all.push_back({"faults", "all that can be made to go wrong"});
    all.push_back({"--man", "as a man page"});
  } else if (words.size() == 3 && words[1] == "--man") {
    for (const help::ManPage& page : help::man_pages()) all.push_back({page.name, ""});
  }
  return all;
}

}  // namespace

Candidates answer(const Words& words) {
  if (words.empty()) return {};
  const std::string& word = words.back();
  if (words.size() == 1) {
    Candidates all = commands();
    all.push_back({"help", "the help of a command, and all that can go wrong"});
    for (const char* option : {"--help", "--version"}) all.push_back({option, ""});
    return matching(std::move(all), word);
  }
  if (words.front() == "help") return matching(topics(words), word);
  const Subcommand* const subcommand = find_subcommand(words.front());
  if (subcommand == nullptr) return {};
  Line line{.command = describe(subcommand->run)};
  read({words.begin() + 1, words.end() - 1}, line);
  if (line.awaited != nullptr) return matching(values_of(line, *line.awaited, word), word);
  const bool takes_options = !line.is_behind_dashes && !(hands_over(line.command) && !line.positional.empty());
  if (takes_options && word.starts_with('-')) {
    const std::size_t equals = word.find('=');
    const help::OptionText* const option = find_option(line.command, word);
    if (equals == word.npos || option == nullptr) return matching(options_of(line), word);
    return matching(behind(word.substr(0, equals + 1), values_of(line, *option, word.substr(equals + 1))), word);
  }
  return matching(one_of_list(word, positional_of(line, word)), word);
}

}  // namespace verbena::cli::completion
