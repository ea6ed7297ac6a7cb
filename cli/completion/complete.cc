#include "cli/completion/complete.h"

#include "cli/completion/answer.h"
#include "cli/completion/split.h"

namespace verbena::cli::completion {
namespace {

/// A menu has room for the first sentence.
std::string short_note(const std::string& note) {
  constexpr std::size_t kNoteMax = 70;
  std::string text = note.substr(0, note.find(". "));
  if (text.ends_with('.')) text.pop_back();
  return text.size() > kNoteMax ? text.substr(0, kNoteMax - 3) + "..." : text;
}

void answer_bash(const std::string& text, std::string replaced) {
  std::vector<std::string> words = as_shell(text);
  words.erase(words.begin());  // the command's own name
  if (words.empty()) return;
  // bash gives a lone break as if it were what is written.
  if (replaced == "=" || replaced == ":" || replaced == ">") replaced.clear();
  for (const char quote : {'\'', '"'})
    if (replaced.starts_with(quote)) replaced.erase(0, 1);
  const std::string& word = words.back();
  const std::size_t kept = word.ends_with(replaced) ? word.size() - replaced.size() : 0;
  for (const Candidate& one : answer(words)) fmt::print("{}\n", one.text.substr(kept));
}

}  // namespace

int run_complete(const Arguments& arguments) {
  if (arguments.size() == 3 && arguments.front() == "bash") answer_bash(arguments[1], arguments[2]);
  if (arguments.size() < 2 || (arguments.front() != "zsh" && arguments.front() != "fish")) return 0;
  for (const Candidate& one : answer({arguments.begin() + 1, arguments.end()}))
    fmt::print("{}{}{}\n", one.text, one.note.empty() ? "" : "\t", short_note(one.note));
  return 0;
}

}  // namespace verbena::cli::completion
