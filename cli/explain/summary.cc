#include "cli/explain/summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/explain/ladder.h"

namespace verbena::explain {

namespace {

constexpr std::size_t kMalformedShown = 10;

struct Row {
  std::string_view name;
  std::uint64_t Totals::* value;
  bool always = false;
};

constexpr Row kRows[] = {
    {"packets", &Totals::packets, true},
    {"bytes", &Totals::bytes, true},
    {"payload bytes", &Totals::payload_bytes, true},
    {"retransmitted packets", &Totals::retransmitted_packets},
    {"  runs (go-back-N)", &Totals::go_backs},
    {"  of these timeouts", &Totals::timeouts},
    {"  of these READ re-requests", &Totals::read_re_requests},
    {"  of these unexplained", &Totals::unexplained_go_backs},
    {"READ responses again", &Totals::repeated_responses},
    {"gaps", &Totals::gaps},
    {"  packets missing in them", &Totals::missing_packets},
    {"late packets", &Totals::late_packets},
    {"duplicates", &Totals::duplicates},
    {"duplicates or late", &Totals::seen_before},
    {"answers once more", &Totals::repeated_answers},
    {"answers to nothing sent", &Totals::unasked_answers},
    {"NAK sequence error sent", &Totals::nak_sequence_errors},
    {"RNR NAK sent", &Totals::rnr_naks},
    {"other NAK sent", &Totals::other_naks},
    {"bad ICRC", &Totals::bad_icrc},
    {"dropped by a fault", &Totals::dropped_by_fault},
    {"ECN-marked", &Totals::ecn_marked},
    {"CNP sent", &Totals::cnps},
};

}  // namespace

std::string summary(const Conversation& conversation, std::size_t number, const FlowTracker& tracker) {
  const std::string left = to_text(conversation.ends[0]);
  const std::string right = to_text(conversation.ends[1]);
  std::string text = fmt::format("Summary of conversation {}, {}\n", number, to_text(tracker.duration()));
  const std::size_t width = std::max({left.size(), right.size(), std::size_t{12}});
  text += fmt::format("  {:28} {:>{}}  {:>{}}\n", "sent by", left, width, right, width);
  for (const Row& row : kRows) {
    const std::uint64_t a = tracker.totals()[0].*row.value;
    const std::uint64_t b = tracker.totals()[1].*row.value;
    if (a == 0 && b == 0 && !row.always) continue;
    text += fmt::format("  {:28} {:>{}}  {:>{}}\n", row.name, a, width, b, width);
  }
  return text;
}

std::string summary(const Capture& capture) {
  std::string text = fmt::format("{} packets in the file: {} RoCE v2, {} others skipped", capture.total_count(),
                                 capture.packets().size(), capture.skipped_count());
  if (capture.headless_count() != 0) text += fmt::format(", {} cut off within their headers", capture.headless_count());
  if (capture.malformed_count() != 0) text += fmt::format(", {} malformed", capture.malformed_count());
  text += '\n';
  for (std::size_t i = 0; i < capture.malformed().size() && i < kMalformedShown; ++i) {
    const MalformedPacket& packet = capture.malformed()[i];
    text += fmt::format("{:12.6f} {:>8}  malformed: {}\n", static_cast<double>(packet.time.ns) / 1e9,
                        fmt::format("#{}", packet.number), wire::to_string(packet.error));
  }
  if (capture.malformed_count() > kMalformedShown)
    text += fmt::format("  ... and {} more malformed\n", capture.malformed_count() - kMalformedShown);
  if (!capture.damage().empty()) text += fmt::format("The file is damaged: {}; read up to there\n", capture.damage());
  return text;
}

}  // namespace verbena::explain
