// Style: the little colour that the command's words have, where a person looks at them.
//
// Solely responsible for whether there is any, and for which: on a terminal that is not "dumb", never with NO_COLOR,
// always with CLICOLOR_FORCE (unless it is 0). What is written is the same text either way.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace verbena::cli {

class Style {
 public:
  explicit Style(std::FILE* stream);
  /// For tests.
  explicit Style(bool has_colours) : has_colours_(has_colours) {}

  std::string strong(std::string_view text) const;  // bold
  std::string good(std::string_view text) const;    // green
  std::string bad(std::string_view text) const;     // red
  std::string doubt(std::string_view text) const;   // yellow
  std::string faint(std::string_view text) const;

  /// A text of help: lines that begin at the margin and end in a colon are headings, and "Usage:" is one.
  std::string headings(std::string_view text) const;
  /// A report: lines are coloured by how they begin (held, NOT HELD, !, No violations).
  std::string report(std::string_view text) const;

 private:
  std::string painted(const char* code, std::string_view text) const;
  bool has_colours_;
};

}  // namespace verbena::cli
