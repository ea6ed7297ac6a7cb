#include "cli/completion/fault_words.h"

#include <algorithm>

#include "cli/completion/running.h"
#include "cli/completion/split.h"
#include "emulator/fabric/fault_words.h"
#include "emulator/fabric/verb_rule.h"
#include "emulator/host/fabric_process/fabric_commands.h"

namespace verbena::cli::completion {
namespace {

/// "p" is written as a bare "0.1%", whose digits nobody can guess.
constexpr std::string_view kProbability = "p";

void add_keys(Candidates& all, const std::vector<fabric::FaultWord>& words) {
  for (const fabric::FaultWord& word : words) {
    const std::string text = std::string(word.name) + (word.value.empty() ? "" : "=");
    if (word.name != kProbability) all.push_back({text, std::string(word.text)});
  }
}

bool has_key(const std::vector<std::string>& words, std::string_view key) {
  return std::ranges::any_of(words, [key](const std::string& word) {
    return word.starts_with(key) && (key.ends_with('=') || word.size() == key.size());
  });
}

/// What stands for a word of a usage: "LINK", "NODE,...", "[one-way]".
Candidates of_placeholder(std::string word, const std::string& fabric) {
  std::erase_if(word, [](char c) { return c == '[' || c == ']'; });
  if (word == "LINK") return links(fabric);
  if (word == "NODE,...") return nodes(fabric);
  if (word == "SWITCH,...") return switches(fabric);
  if (word == "NUMBER") return faults(fabric);
  const bool is_literal = std::ranges::none_of(word, [](char c) { return c >= 'A' && c <= 'Z'; });
  return is_literal ? Candidates{{word, ""}} : Candidates{};
}

}  // namespace

Candidates command_words() {
  Candidates all;
  for (const host::FabricCommands::Explained& word : host::FabricCommands::explained())
    all.push_back({word.name, word.text});
  return all;
}

Candidates next_of_command(const std::vector<std::string>& words, const std::string& fabric) {
  for (const host::FabricCommands::Explained& known : host::FabricCommands::explained()) {
    if (known.name != words.front()) continue;
    const std::vector<std::string> usage = at_blanks(known.usage);
    const auto rule = static_cast<std::size_t>(std::ranges::find(usage, "RULE") - usage.begin());
    if (words.size() >= rule) return next_of_rule({words.begin() + static_cast<std::ptrdiff_t>(rule), words.end()});
    return words.size() < usage.size() ? of_placeholder(usage[words.size()], fabric) : Candidates{};
  }
  return {};
}

Candidates next_of_rule(const std::vector<std::string>& words) {
  Candidates all;
  for (const fabric::FaultActionWords& entry : fabric::fault_action_words()) {
    if (words.empty()) all.push_back({std::string(entry.action.name), std::string(entry.action.text)});
    if (!words.empty() && words.front() == entry.action.name) add_keys(all, entry.parameters);
  }
  if (words.empty()) return all;
  add_keys(all, fabric::fault_condition_words());
  std::erase_if(all, [&words](const Candidate& one) { return has_key(words, one.text); });
  return all;
}

namespace {
/// What may follow in a rule of --fault: of packets, or of verbs.
Candidates next_of_any_rule(const std::vector<std::string>& words, const std::string& so_far) {
  const bool is_of_verbs = fabric::is_verb_rule(so_far);
  Candidates all = is_of_verbs ? Candidates{} : next_of_rule(words);
  for (const fabric::FaultActionWords& entry : fabric::verb_action_words()) {
    const bool is_known = std::ranges::any_of(all, [&](const Candidate& one) { return one.text == entry.action.name; });
    if (words.empty() && !is_known) all.push_back({std::string(entry.action.name), std::string(entry.action.text)});
    if (!is_of_verbs || words.front() != entry.action.name) continue;
    add_keys(all, entry.parameters);
    if (entry.takes_conditions) add_keys(all, fabric::verb_condition_words());
  }
  std::erase_if(all, [&words](const Candidate& one) { return has_key(words, one.text); });
  return all;
}
}  // namespace

Candidates rules(const std::string& word) {
  const std::size_t blank = word.rfind(' ');
  if (blank == word.npos) return next_of_any_rule({}, "");
  const std::string so_far = word.substr(0, blank);
  return behind(so_far + " ", next_of_any_rule(at_blanks(so_far), so_far));
}

}  // namespace verbena::cli::completion
