#include "cli/completion/split.h"

#include <sstream>

namespace verbena::cli::completion {

std::vector<std::string> as_shell(std::string_view text) {
  std::vector<std::string> words{""};
  char quote = '\0';
  bool in_word = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool is_blank = c == ' ' || c == '\t' || c == '\n';
    if (quote == '\0' && is_blank) {
      if (in_word) words.emplace_back();
      in_word = false;
      continue;
    }
    in_word = true;
    if (quote == '\0' && (c == '\'' || c == '"'))
      quote = c;
    else if (c == quote)
      quote = '\0';
    else if (c == '\\' && quote != '\'' && i + 1 < text.size())
      words.back() += text[++i];
    else
      words.back() += c;
  }
  return words;
}

std::vector<std::string> at_blanks(std::string_view text) {
  std::istringstream stream{std::string(text)};
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

}  // namespace verbena::cli::completion
