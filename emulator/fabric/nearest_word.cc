#include "emulator/fabric/nearest_word.h"

#include <algorithm>
#include <vector>

namespace verbena::fabric {
namespace {

constexpr std::size_t kComparedCharactersMax = 40;

/// Levenshtein's: letters put in, left out or changed.
std::size_t edits_between(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t change = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({change, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::string plain(std::string_view word) {
  std::string text(word);
  for (char& one : text) {
    if (one == '_') one = '-';
    if (one >= 'A' && one <= 'Z') one = static_cast<char>(one - 'A' + 'a');
  }
  return text;
}

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> words) {
  if (word.empty() || word.size() > kComparedCharactersMax) return {};
  const std::string wanted = plain(word);
  std::string_view begins_like_it;
  std::string_view is_its_beginning;
  std::string_view best;
  std::size_t fewest = word.size() / 3 + 2;  // more changes than this make another word
  for (const std::string_view candidate : words) {
    const std::string known = plain(candidate);
    if (known == wanted) return candidate;
    if (begins_like_it.empty() && known.starts_with(wanted)) begins_like_it = candidate;
    if (wanted.starts_with(known) && known.size() > is_its_beginning.size()) is_its_beginning = candidate;
    const std::size_t edits = edits_between(wanted, known);
    if (edits >= fewest) continue;
    fewest = edits;
    best = candidate;
  }
  if (!begins_like_it.empty()) return begins_like_it;
  return best.empty() ? is_its_beginning : best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> words) {
  const std::string_view like = nearest(word, words);
  return like.empty() ? std::string() : "; did you mean '" + std::string(like) + "'?";
}

}  // namespace verbena::fabric
