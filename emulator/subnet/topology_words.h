// The words of a line of a topology file, and of its comment.
//
// Solely where one ends and the next begins. What they mean is topology_file.h's.
// Tested by: tests/subnet/topology_file_test.cc
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>

namespace verbena::subnet {

inline bool is_space(char one) {
  return one == ' ' || one == '\t' || one == '\r';
}

/// Goes through one line.
class Words {
 public:
  explicit Words(std::string_view line) : left_(line) {}

  bool at_end() {
    skip_space();
    return left_.empty() || left_.front() == '#';
  }
  /// Up to a space, a quote or a bracket.
  std::string_view word() {
    skip_space();
    std::size_t length = 0;
    while (length < left_.size() && !is_space(left_[length]) &&
           std::string_view("\"[]()#").find(left_[length]) == std::string_view::npos)
      ++length;
    return take(length);
  }
  bool skip(char one) {
    skip_space();
    if (left_.empty() || left_.front() != one) return false;
    left_.remove_prefix(1);
    return true;
  }
  /// Where the next word stands, or would.
  const char* here() {
    skip_space();
    return left_.data();
  }
  /// What stands between two signs.
  std::optional<std::string_view> between(char open, char close) {
    skip_space();
    if (left_.empty() || left_.front() != open) return std::nullopt;
    const std::size_t end = left_.find(close, 1);
    if (end == left_.npos) return std::nullopt;
    const std::string_view inside = left_.substr(1, end - 1);
    left_.remove_prefix(end + 1);
    return inside;
  }
  std::string_view rest() const { return left_; }

 private:
  void skip_space() {
    while (!left_.empty() && is_space(left_.front())) left_.remove_prefix(1);
  }
  std::string_view take(std::size_t length) {
    const std::string_view taken = left_.substr(0, length);
    left_.remove_prefix(length);
    return taken;
  }
  std::string_view left_;
};

/// The words of a comment, as spaces part them. What stands in quotes is prose, and no word.
class CommentWords {
 public:
  explicit CommentWords(std::string_view comment) : left_(comment) {
    while (!left_.empty() && left_.front() == '#') left_.remove_prefix(1);
  }
  /// Nothing: that was the last one. An empty word stands for what is in quotes.
  std::optional<std::string_view> next() {
    while (!left_.empty() && is_space(left_.front())) left_.remove_prefix(1);
    if (left_.empty()) return std::nullopt;
    if (const std::size_t end = left_.front() == '"' ? left_.find('"', 1) : left_.npos; end != left_.npos) {
      left_.remove_prefix(end + 1);
      return std::string_view{};
    }
    const auto end = std::ranges::find_if(left_, is_space);
    const std::string_view word(left_.begin(), end);
    left_ = std::string_view(end, left_.end());
    return word;
  }

 private:
  std::string_view left_;
};

}  // namespace verbena::subnet
