#include "cli/help/page.h"

#include <algorithm>

#include "cli/help/roff.h"

namespace verbena::cli::help {
namespace {

constexpr std::size_t kTerminalWidth = 80;
constexpr std::size_t kMarkdownWidth = 140;

/// `text` in lines of at most `width`, the first after `first`, the others after `others`.
std::string wrapped(std::string_view text, std::string first, const std::string& others, std::size_t width) {
  std::string all;
  std::string line = std::move(first);
  bool has_words = false;
  while (!text.empty()) {
    std::size_t end = std::min(text.find(' '), text.size());
    // What stands between backquotes is not broken.
    const std::size_t opens = text.find('`');
    if (opens < end)
      if (const std::size_t closes = text.find('`', opens + 1); closes != text.npos)
        end = std::min(text.find(' ', closes), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (has_words && line.size() + 1 + word.size() > width) {
      all += line + "\n";
      line = others;
      has_words = false;
    }
    line += (has_words ? " " : "") + std::string(word);
    has_words = true;
  }
  return all + line + "\n";
}

/// Backquotes are Markdown's.
std::string plain(std::string text) {
  std::erase(text, '`');
  return text;
}

}  // namespace

void Page::heading(std::string text) {
  blocks_.push_back({Block::Kind::heading, {}, {}, std::move(text), {}});
}
void Page::paragraph(std::string text) {
  blocks_.push_back({Block::Kind::paragraph, {}, {}, std::move(text), {}});
}
void Page::word(std::string_view term, std::string_view value, std::string_view text, std::string_view example) {
  blocks_.push_back(
      {Block::Kind::word, std::string(term), std::string(value), std::string(text), std::string(example)});
}
void Page::part(std::string_view term, std::string_view value, std::string_view text, std::string_view example) {
  word(term, value, text, example);
  blocks_.back().kind = Block::Kind::part;
}
void Page::lines(std::vector<std::string> lines) {
  blocks_.push_back({Block::Kind::lines, {}, {}, {}, {}, std::move(lines)});
}

std::string Page::terminal() const {
  std::string text = title_ + "\n";
  for (const Block& block : blocks_) {
    const std::string margin = block.kind == Block::Kind::part ? "      " : "  ";
    switch (block.kind) {
      case Block::Kind::heading:
        text += "\n" + block.text + "\n";
        break;
      case Block::Kind::paragraph:
        text += "\n" + wrapped(plain(block.text), "  ", "  ", kTerminalWidth);
        break;
      case Block::Kind::word:
      case Block::Kind::part:
        text += "\n" + margin + block.term + "\n";
        if (!block.value.empty()) text += wrapped(block.value, margin + "    value: ", margin + "    ", kTerminalWidth);
        text += wrapped(plain(block.text), margin + "    ", margin + "    ", kTerminalWidth);
        if (!block.example.empty()) text += margin + "    example: " + block.example + "\n";
        break;
      case Block::Kind::lines:
        text += "\n";
        for (const std::string& line : block.lines) text += "    " + line + "\n";
        break;
    }
  }
  return text;
}

std::string Page::markdown() const {
  std::string text = "# " + title_ + "\n";
  bool in_list = false;
  for (const Block& block : blocks_) {
    const bool is_part = block.kind == Block::Kind::part;
    const bool is_item = is_part || block.kind == Block::Kind::word;
    if (!is_item || !in_list) text += "\n";
    in_list = is_item;
    switch (block.kind) {
      case Block::Kind::heading:
        text += "## " + block.text + "\n";
        break;
      case Block::Kind::paragraph:
        text += wrapped(block.text, "", "", kMarkdownWidth);
        break;
      case Block::Kind::word:
      case Block::Kind::part: {
        const std::string margin = is_part ? "  " : "";
        std::string item = "`" + block.term + "`: ";
        if (!block.value.empty()) item += block.value + ". ";
        item += block.text;
        if (!block.example.empty()) item += " Example: `" + block.example + "`";
        text += wrapped(item, margin + "- ", margin + "  ", kMarkdownWidth);
        break;
      }
      case Block::Kind::lines:
        for (const std::string& line : block.lines) text += "    " + line + "\n";
        break;
    }
  }
  return text;
}

void Page::add_to(Roff& roff) const {
  for (const Block& block : blocks_) {
    std::string text = block.text;
    if (!block.example.empty()) text += " Example: `" + block.example + "`";
    std::string lines;
    switch (block.kind) {
      case Block::Kind::heading:
        roff.heading(block.text);
        break;
      case Block::Kind::paragraph:
        roff.paragraph(block.text);
        break;
      case Block::Kind::word:
        roff.item(block.term, block.value, text);
        break;
      case Block::Kind::part:
        roff.sub_item(block.term, block.value, text);
        break;
      case Block::Kind::lines:
        for (const std::string& line : block.lines) lines += (lines.empty() ? "" : "\n") + line;
        roff.lines(lines);
        break;
    }
  }
}

}  // namespace verbena::cli::help
