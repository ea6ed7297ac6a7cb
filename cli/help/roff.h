// Roff: pieces of a man page, with everything escaped that troff would take for its own.
//
// Solely the escapes and the requests of man(7); what the page says is its maker's work.
// Tested by: tests/cli/man_test.cc
#pragma once

#include <string>
#include <string_view>

namespace verbena::cli::help {

class Roff {
 public:
  /// `date` is left out: a page made again from the same sources is the same page.
  Roff(std::string_view name, char section, std::string_view version);

  void heading(std::string_view text);
  void paragraph(std::string_view text);
  /// A term in bold, what it takes in italics (may be empty), and below it its text.
  void item(std::string_view term, std::string_view value, std::string_view text);
  /// The same one step further in, until the next heading, paragraph or item.
  void sub_item(std::string_view term, std::string_view value, std::string_view text);
  /// Lines as they are.
  void lines(std::string_view text);

  const std::string& text() const { return text_; }

 private:
  void request(std::string_view name) { (text_ += '.') += std::string(name) + "\n"; }
  void leave_step();
  std::string text_;
  bool is_further_in_ = false;
};

}  // namespace verbena::cli::help
