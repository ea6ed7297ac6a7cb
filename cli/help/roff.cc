#include "cli/help/roff.h"

#include <algorithm>
#include <cctype>

namespace verbena::cli::help {
namespace {

/// One line or several. Hyphens stay what can be copied into a shell, and no line begins a request.
std::string escaped(std::string_view text) {
  std::string all;
  bool at_margin = true;
  for (const char c : text) {
    if (at_margin && (c == '.' || c == '\'')) all += "\\&";
    at_margin = c == '\n';
    if (c == '\\')
      all += "\\e";
    else if (c == '-')
      all += "\\-";
    else if (c == '\'')
      all += "\\(aq";
    else if (c == '`')
      all += "\\(ga";
    else if (c == '^')
      all += "\\(ha";
    else if (c == '~')
      all += "\\(ti";
    else
      all += c;
  }
  return all;
}

/// What stands between backquotes is a command: bold, without them.
std::string prose(std::string_view text) {
  std::string all;
  for (bool is_command = false;; is_command = !is_command) {
    const std::size_t end = text.find('`');
    const std::string part = escaped(text.substr(0, end));
    all += is_command && !part.empty() ? "\\fB" + part + "\\fR" : part;
    if (end == text.npos) return all;
    text.remove_prefix(end + 1);
  }
}

std::string in_quotes(std::string_view text) {
  std::string all = "\"";
  for (const char c : escaped(text)) all += c == '"' ? std::string("\\(dq") : std::string(1, c);
  return all + "\"";
}

std::string upper(std::string_view text) {
  std::string all(text);
  std::ranges::transform(all, all.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return all;
}

}  // namespace

Roff::Roff(std::string_view name, char section, std::string_view version) {
  text_ = ".TH " + in_quotes(upper(name)) + " " + std::string(1, section) + " \"\" " +
          in_quotes("verbena " + std::string(version)) + "\n";
  // Words of option lists must not be torn, and nothing is to be spread.
  text_ += ".nh\n.ad l\n";
}

void Roff::leave_step() {
  if (is_further_in_) request("RE");
  is_further_in_ = false;
}

void Roff::heading(std::string_view text) {
  leave_step();
  text_ += ".SH " + in_quotes(upper(text)) + "\n";
}

void Roff::paragraph(std::string_view text) {
  leave_step();
  request("PP");
  text_ += prose(text) + "\n";
}

void Roff::item(std::string_view term, std::string_view value, std::string_view text) {
  leave_step();
  request("TP");
  text_ += "\\fB" + escaped(term) + "\\fR";
  if (!value.empty()) text_ += " \\fI" + escaped(value) + "\\fR";
  text_ += "\n" + prose(text) + "\n";
}

void Roff::sub_item(std::string_view term, std::string_view value, std::string_view text) {
  const bool was_further_in = is_further_in_;
  is_further_in_ = false;
  if (!was_further_in) request("RS");
  item(term, value, text);
  is_further_in_ = true;
}

void Roff::lines(std::string_view text) {
  leave_step();
  request("PP");
  request("nf");
  text_ += escaped(text) + "\n";
  request("fi");
}

}  // namespace verbena::cli::help
