// `verbena explain`: a capture as a story. Solely the options, the exit status, and where the text goes.
// Tested by: tests/captures/story/kernel_captures_test.cc
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "captures/render/json/story_json.h"
#include "captures/render/text/story_text.h"
#include "captures/story/story.h"
#include "cli/command.h"
#include "cli/progress_line.h"
#include "cli/style.h"

namespace verbena::cli {

namespace {

constexpr std::size_t kWidthDefault = 120;
constexpr std::uint64_t kWidthMin = 60;
constexpr std::uint64_t kWidthMax = 1000;
constexpr std::size_t kWriteBytes = 1 << 16;
constexpr int kExitDamagedFile = 1;

struct ExplainOptions {
  std::string file;
  bool only_summary = false;
  bool only_problems = false;
  bool all = false;
  Reporting reporting;
  std::string qp;
  std::string width;
};

void declare(CommandLine& line, ExplainOptions& options) {
  line.required_argument(
      "FILE", options.file,
      "a capture: pcap, pcapng or ERF, compressed or not, of Verbena, Linux rxe or hardware; - is standard input");
  line.flag("--summary", options.only_summary, "only the numbers of each conversation");
  line.flag("--only-problems", options.only_problems, "only where something went wrong, and what is around it");
  line.flag("--all", options.all, "each packet on a line of its own: fold no runs");
  line.reporting(options.reporting,
                 "print nothing where packets can be told and the file is whole: the exit status says it",
                 "for programs: JSON, a line for each packet in the file's order with all its headers, then one for "
                 "each conversation and one for the file");
  line.option("--qp", options.qp, "QPN", "only conversations of this queue pair (17, 0x11)");
  line.option("--width", options.width, "N", "columns of the output; the terminal's, or 120");
  line.exit_status("0", "packets of RoCE or InfiniBand were told, and the file is whole");
  line.exit_status("1", "the file is damaged: told up to there");
  line.exit_status("3", "there was nothing to tell: no packets of RoCE or InfiniBand, or none of the queue pair");
  line.example("verbena explain --only-problems lost.pcapng", "what went wrong, and what was around it");
}

std::optional<wire::Qpn> parse_qpn(const std::string& text) {
  const bool is_hex = text.starts_with("0x") || text.starts_with("0X");
  if (!is_hex) {
    const auto value = parse_number(text, 0, wire::Qpn::kMask);
    return value ? std::optional(wire::Qpn(static_cast<std::uint32_t>(*value))) : std::nullopt;
  }
  if (text.size() < 3 || text.size() > 8 || text.find_first_not_of("0123456789abcdefABCDEF", 2) != text.npos)
    return std::nullopt;
  return wire::Qpn(static_cast<std::uint32_t>(std::stoul(text.substr(2), nullptr, 16)));
}

std::size_t terminal_width() {
  winsize size{};
  if (isatty(STDOUT_FILENO) == 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= kWidthMin)
    return size.ws_col;
  return kWidthDefault;
}

int exit_status(captures::Outcome outcome) {
  switch (outcome) {
    case captures::Outcome::told:
      return 0;
    case captures::Outcome::nothing:
      return kExitNothing;
    case captures::Outcome::damaged:
      return kExitDamagedFile;
  }
  return kExitInternal;
}

/// Whole lines.
void flush(std::string& text) {
  static const Style style(stdout);
  text = style.report(text);
  std::fwrite(text.data(), 1, text.size(), stdout);
  text.clear();
}

bool goes_to_file() {
  struct stat status{};
  return fstat(STDOUT_FILENO, &status) == 0 && S_ISREG(status.st_mode);
}

/// Prints while the story is told, and says how much of it is for those who cannot see it: a terminal or a pager shows
/// the story itself.
captures::Reached printing(std::string& text, LongWork& work) {
  return [&](std::uint64_t done, std::uint64_t total) {
    work.reached(done, total);
    if (text.size() > kWriteBytes) flush(text);
  };
}

void print_json(const captures::Story& story, const ExplainOptions& options, captures::Outcome outcome) {
  std::string text;
  LongWork work(options.reporting.quiet || !goes_to_file(), "telling");
  using captures::LinesOf;
  captures::StoryJson renderer(
      options.only_summary ? LinesOf::none : (options.only_problems ? LinesOf::problems : LinesOf::all), text);
  story.tell_by_file(renderer, printing(text, work));
  text += captures::closing_json(story, outcome);
  flush(text);
}

void print_text(const captures::Story& story, const captures::StoryTextOptions& options) {
  std::string text;
  LongWork work(!goes_to_file(), "telling");
  captures::StoryText renderer(options, text);
  story.tell_by_conversation(renderer, printing(text, work));
  flush(text);
}

Result<captures::Capture, std::string> read_capture(const ExplainOptions& options) {
  LongWork work(options.reporting.quiet, "reading " + options.file);
  return captures::Capture::open(options.file,
                                 [&work](std::uint64_t done, std::uint64_t total) { work.reached(done, total); });
}

}  // namespace

int run_explain(const Arguments& arguments) {
  CommandLine line(
      "verbena explain", "verbena explain [OPTIONS] FILE",
      "Tells the story of a capture of RoCE or InfiniBand: each conversation as a ladder, with what went wrong.\n");
  ExplainOptions options;
  declare(line, options);
  if (const auto status = line.parse(arguments)) return *status;
  captures::StoryTextOptions text_options{{terminal_width(), !options.all, options.only_problems},
                                          options.only_summary};
  if (!options.width.empty()) {
    const auto width = parse_number(options.width, kWidthMin, kWidthMax);
    if (!width)
      return line.fail(kExitUsage,
                       fmt::format("--width {}: not a number from {} to {}", options.width, kWidthMin, kWidthMax));
    text_options.ladder.width = *width;
  }
  std::optional<wire::Qpn> qpn;
  if (!options.qp.empty() && !(qpn = parse_qpn(options.qp)))
    return line.fail(kExitUsage,
                     fmt::format("--qp {}: not a queue pair number (24 bits) such as 17 or 0x11", options.qp));

  if (options.reporting.json && (options.all || !options.width.empty()))
    return line.fail(kExitUsage, "--json has a line for each packet: leave --all and --width out");

  const auto capture = read_capture(options);
  if (!capture) return line.fail(kExitUsage, fmt::format("{}: {}", options.file, capture.error()));
  captures::Story story(*capture);
  const bool is_chosen = !qpn || story.choose(*qpn);
  const captures::Outcome outcome = captures::outcome_of(*capture, is_chosen);
  const int status = exit_status(outcome);
  if (options.reporting.quiet) {
    if (outcome == captures::Outcome::told) return status;
    return line.fail(status, fmt::format("{}: {}", options.file, captures::words(outcome, *capture)));
  }
  if (options.reporting.json) {
    print_json(story, options, outcome);
    return status;
  }
  print_text(story, text_options);
  if (!is_chosen) fmt::print("No conversation of queue pair {:#x}.\n", qpn->value());
  fmt::print("{}", captures::closing_text(story));
  if (outcome == captures::Outcome::nothing) fmt::print("{}\n", Style(stdout).bad(captures::words(outcome, *capture)));
  return status;
}

}  // namespace verbena::cli
