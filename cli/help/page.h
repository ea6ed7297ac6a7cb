// Page: a page of help as headings, paragraphs and explained words, shown on a terminal, as Markdown or as a man page.
//
// Solely the ways of showing it. What the page says is its maker's work.
// Tested by: tests/cli/help_test.cc
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace verbena::cli::help {

class Roff;

class Page {
 public:
  explicit Page(std::string title) : title_(std::move(title)) {}

  void heading(std::string text);
  void paragraph(std::string text);
  /// A word that may be written, what it takes (may be empty), what it means, and an example (may be empty).
  void word(std::string_view term, std::string_view value, std::string_view text, std::string_view example);
  /// The same, as part of the word before it.
  void part(std::string_view term, std::string_view value, std::string_view text, std::string_view example);
  /// Lines as they are.
  void lines(std::vector<std::string> lines);

  std::string terminal() const;
  std::string markdown() const;
  void add_to(Roff& roff) const;

 private:
  struct Block {
    enum class Kind { heading, paragraph, word, part, lines } kind{};
    std::string term;
    std::string value;
    std::string text;
    std::string example;
    std::vector<std::string> lines{};
  };
  std::string title_;
  std::vector<Block> blocks_;
};

}  // namespace verbena::cli::help
