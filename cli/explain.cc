// `verbena explain`: a capture as a story. Reads the options and puts the parts of explain/ together.
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "captures/conversations/conversations.h"
#include "captures/read/capture.h"
#include "captures/render/json/packet_json.h"
#include "captures/render/text/ladder.h"
#include "captures/render/text/summary.h"
#include "captures/story/flow_tracker.h"
#include "captures/story/outcome.h"
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
  line.exit_status("0", "RoCE v2 packets were told, and the file is whole");
  line.exit_status("1", "the file is damaged: told up to there");
  line.exit_status("3", "there was nothing to tell: no RoCE v2 packets, or none of the queue pair");
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

bool has_qp(const captures::Conversation& conversation, wire::Qpn qpn) {
  return std::any_of(conversation.ends.begin(), conversation.ends.end(),
                     [&](const captures::End& end) { return end.qpn == qpn; });
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

/// How much of the story is told, for those who cannot see it: a terminal or a pager shows the story itself.
class Telling {
 public:
  Telling(const captures::Capture& capture, bool quiet)
      : total_(capture.packets().size()), work_(quiet || !goes_to_file(), "telling") {}
  void packet() { work_.reached(++done_, total_); }

 private:
  static bool goes_to_file() {
    struct stat status{};
    return fstat(STDOUT_FILENO, &status) == 0 && S_ISREG(status.st_mode);
  }

  std::uint64_t total_;
  std::uint64_t done_ = 0;
  LongWork work_;
};

/// Whole lines.
void flush(std::string& text) {
  static const Style style(stdout);
  text = style.report(text);
  std::fwrite(text.data(), 1, text.size(), stdout);
  text.clear();
}

/// The pause frames up to a packet of the file, of classes that the conversation has.
class PausesBetween {
 public:
  PausesBetween(const captures::Capture& capture, const captures::Conversation& conversation) : capture_(capture) {
    if (capture.pauses().empty()) return;
    for (const std::uint32_t index : conversation.packets)
      if (const auto view = capture.packets()[index].view())
        classes_ = static_cast<captures::ClassMask>(classes_ | captures::classes_of(*view));
  }
  void draw(captures::Ladder& ladder, std::uint32_t until_number) {
    for (const auto& pauses = capture_.pauses(); next_ < pauses.size() && pauses[next_].number < until_number; ++next_)
      if ((pauses[next_].frame.classes & classes_) != 0) ladder.pause(pauses[next_]);
  }

 private:
  const captures::Capture& capture_;
  std::size_t next_ = 0;
  captures::ClassMask classes_ = 0;
};

void tell(const captures::Capture& capture, const captures::Conversation& conversation, std::size_t number,
          const captures::Pauses& pauses, const ExplainOptions& options, const captures::LadderOptions& ladder_options,
          Telling& telling) {
  std::string text;
  captures::FlowTracker tracker(capture, conversation);
  captures::Ladder ladder(ladder_options, text);
  PausesBetween pauses_between(capture, conversation);
  if (!options.only_summary) ladder.header(conversation, number);
  for (const std::uint32_t index : conversation.packets) {
    telling.packet();
    const captures::Packet& packet = capture.packets()[index];
    const auto view = packet.view();
    if (!view) continue;  // parsed before, and the file may have changed under us
    const captures::Judged& step = tracker.step(packet, *view);
    if (!options.only_summary) {
      pauses_between.draw(ladder, packet.number);
      ladder.add(packet, *view, step);
    }
    if (text.size() > kWriteBytes) flush(text);
  }
  if (!options.only_summary) ladder.finish();
  text += captures::summary(conversation, number, tracker, pauses.held_back(capture, conversation)) + "\n";
  flush(text);
}

/// All conversations at once, in the file's order.
class JsonStory {
 public:
  JsonStory(const captures::Capture& capture, const std::vector<captures::Conversation>& conversations,
            const ExplainOptions& options)
      : capture_(capture),
        conversations_(conversations),
        options_(options),
        places_(capture.packets().size()),
        tells_all_(!options.only_summary && !options.only_problems) {
    for (std::size_t i = 0; i < conversations.size(); ++i) {
      for (const std::uint32_t packet : conversations[i].packets) places_[packet].conversation = i;
      for (const auto& again : conversations[i].again)
        places_[again.packet] = {i, &capture.packets()[again.sighting.first]};
      trackers_.push_back(std::make_unique<captures::FlowTracker>(capture, conversations[i]));
    }
  }

  /// Lines.
  std::string packet(std::size_t index, const std::vector<bool>& is_wanted) {
    const captures::Packet& packet = capture_.packets()[index];
    const auto [conversation, first_sighting] = places_[index];
    std::string text = pauses_until(packet.number);
    const auto view = packet.view();
    if (!view || !is_wanted[conversation]) return text;
    captures::Judged step;
    if (first_sighting == nullptr)
      step = trackers_[conversation]->step(packet, *view);
    else
      step.sender = conversations_[conversation].sender_of(*view);
    const bool has_problem =
        std::any_of(step.notes.begin(), step.notes.end(), [](const captures::Note& note) { return note.is_problem; });
    if (!tells_all_ && (options_.only_summary || !has_problem)) return text;
    return text + captures::packet_json(packet, *view, step, conversation + 1, first_sighting) + "\n";
  }
  std::string conclusion(const std::vector<bool>& is_wanted, captures::Outcome outcome) {
    std::string text = pauses_until(UINT32_MAX);
    const captures::Pauses pauses(capture_);
    for (std::size_t i = 0; i < conversations_.size(); ++i)
      if (is_wanted[i])
        text += captures::conversation_json(conversations_[i], i + 1, *trackers_[i],
                                            pauses.held_back(capture_, conversations_[i])) +
                "\n";
    return text + captures::pauses_json(pauses) + captures::file_json(capture_, outcome) + "\n";
  }

 private:
  struct Place {
    std::size_t conversation = 0;
    const captures::Packet* first_sighting = nullptr;
  };

  std::string pauses_until(std::uint32_t number) {
    std::string text;
    for (const auto& all = capture_.pauses();
         tells_all_ && next_pause_ < all.size() && all[next_pause_].number < number; ++next_pause_)
      text += captures::pause_json(all[next_pause_]) + "\n";
    return text;
  }

  const captures::Capture& capture_;
  const std::vector<captures::Conversation>& conversations_;
  const ExplainOptions& options_;
  std::vector<Place> places_;
  std::vector<std::unique_ptr<captures::FlowTracker>> trackers_;
  std::size_t next_pause_ = 0;
  bool tells_all_;
};

void tell_json(const captures::Capture& capture, const std::vector<captures::Conversation>& conversations,
               const std::vector<bool>& is_wanted, const ExplainOptions& options, captures::Outcome outcome,
               Telling& telling) {
  JsonStory story(capture, conversations, options);
  std::string text;
  for (std::size_t i = 0; i < capture.packets().size(); ++i) {
    telling.packet();
    text += story.packet(i, is_wanted);
    if (text.size() > kWriteBytes) flush(text);
  }
  text += story.conclusion(is_wanted, outcome);
  flush(text);
}

Result<captures::Capture, std::string> read_capture(const ExplainOptions& options) {
  LongWork work(options.reporting.quiet, "reading " + options.file);
  return captures::Capture::open(options.file,
                                 [&work](std::uint64_t done, std::uint64_t total) { work.reached(done, total); });
}

}  // namespace

int run_explain(const Arguments& arguments) {
  CommandLine line("verbena explain", "verbena explain [OPTIONS] FILE",
                   "Tells the story of a RoCE v2 capture: each conversation as a ladder, with what went wrong.\n");
  ExplainOptions options;
  declare(line, options);
  if (const auto status = line.parse(arguments)) return *status;
  captures::LadderOptions ladder_options{terminal_width(), !options.all, options.only_problems};
  if (!options.width.empty()) {
    const auto width = parse_number(options.width, kWidthMin, kWidthMax);
    if (!width)
      return line.fail(kExitUsage,
                       fmt::format("--width {}: not a number from {} to {}", options.width, kWidthMin, kWidthMax));
    ladder_options.width = *width;
  }
  std::optional<wire::Qpn> qpn;
  if (!options.qp.empty() && !(qpn = parse_qpn(options.qp)))
    return line.fail(kExitUsage,
                     fmt::format("--qp {}: not a queue pair number (24 bits) such as 17 or 0x11", options.qp));

  if (options.reporting.json && (options.all || !options.width.empty()))
    return line.fail(kExitUsage, "--json has a line for each packet: leave --all and --width out");

  const auto capture = read_capture(options);
  if (!capture) return line.fail(kExitUsage, fmt::format("{}: {}", options.file, capture.error()));
  const auto conversations = captures::find_conversations(*capture);
  std::vector<bool> is_wanted;
  for (const captures::Conversation& conversation : conversations)
    is_wanted.push_back(!qpn || has_qp(conversation, *qpn));
  const bool is_chosen = !qpn || std::find(is_wanted.begin(), is_wanted.end(), true) != is_wanted.end();
  const captures::Outcome outcome = captures::outcome_of(*capture, is_chosen);
  const int status = exit_status(outcome);
  if (options.reporting.quiet) {
    if (outcome == captures::Outcome::told) return status;
    return line.fail(status, fmt::format("{}: {}", options.file, captures::words(outcome, *capture)));
  }
  Telling telling(*capture, options.reporting.quiet);
  if (options.reporting.json) {
    tell_json(*capture, conversations, is_wanted, options, outcome, telling);
    return status;
  }
  const captures::Pauses pauses(*capture);
  for (std::size_t i = 0; i < conversations.size(); ++i)
    if (is_wanted[i]) tell(*capture, conversations[i], i + 1, pauses, options, ladder_options, telling);
  if (!is_chosen) fmt::print("No conversation of queue pair {:#x}.\n", qpn->value());
  fmt::print("{}{}", captures::summary(pauses), captures::summary(*capture));
  if (outcome == captures::Outcome::nothing) fmt::print("{}\n", Style(stdout).bad(captures::words(outcome, *capture)));
  return status;
}

}  // namespace verbena::cli
