#include "cli/explain/summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/explain/ladder.h"
#include "wire/member_name.h"

namespace verbena::explain {

namespace {

constexpr std::size_t kMalformedShown = 10;

template <std::uint64_t Totals::* kMember>
constexpr TotalRow row(std::string_view words, bool always = false) {
  return {words, wire::member_name<kMember>(), kMember, always};
}

constexpr TotalRow kRows[] = {
    row<&Totals::packets>("packets", true),
    row<&Totals::bytes>("bytes", true),
    row<&Totals::payload_bytes>("payload bytes", true),
    row<&Totals::retransmitted_packets>("retransmitted packets"),
    row<&Totals::go_backs>("  runs (go-back-N)"),
    row<&Totals::timeouts>("  of these timeouts"),
    row<&Totals::read_re_requests>("  of these READ re-requests"),
    row<&Totals::unexplained_go_backs>("  of these unexplained"),
    row<&Totals::repeated_responses>("READ responses again"),
    row<&Totals::gaps>("gaps"),
    row<&Totals::missing_packets>("  packets missing in them"),
    row<&Totals::late_packets>("late packets"),
    row<&Totals::duplicates>("duplicates"),
    row<&Totals::seen_before>("duplicates or late"),
    row<&Totals::repeated_answers>("answers once more"),
    row<&Totals::unasked_answers>("answers to nothing sent"),
    row<&Totals::nak_sequence_errors>("NAK sequence error sent"),
    row<&Totals::rnr_naks>("RNR NAK sent"),
    row<&Totals::other_naks>("other NAK sent"),
    row<&Totals::bad_icrc>("bad ICRC"),
    row<&Totals::dropped_by_fault>("dropped by a fault"),
    row<&Totals::ecn_marked>("ECN-marked"),
    row<&Totals::cnps>("CNP sent"),
};

}  // namespace

std::span<const TotalRow> total_rows() {
  return kRows;
}

std::string summary(const Conversation& conversation, std::size_t number, const FlowTracker& tracker) {
  const std::string left = to_text(conversation.ends[0]);
  const std::string right = to_text(conversation.ends[1]);
  std::string text = fmt::format("Summary of conversation {}, {}\n", number, to_text(tracker.duration()));
  const std::size_t width = std::max({left.size(), right.size(), std::size_t{12}});
  text += fmt::format("  {:28} {:>{}}  {:>{}}\n", "sent by", left, width, right, width);
  for (const TotalRow& row : kRows) {
    const std::uint64_t a = tracker.totals()[0].*row.value;
    const std::uint64_t b = tracker.totals()[1].*row.value;
    if (a == 0 && b == 0 && !row.always) continue;
    text += fmt::format("  {:28} {:>{}}  {:>{}}\n", row.words, a, width, b, width);
  }
  return text;
}

std::string summary(const Capture& capture) {
  std::string text = fmt::format("{} packets in the file: {} RoCE v2", capture.total_count(), capture.packets().size());
  if (const std::string others = other_packets(capture); !others.empty()) text += ", " + others;
  text += '\n';
  for (const captures::Kind& kind : capture.layers())
    text += fmt::format("{:>8} of these in {}\n", kind.count, kind.name);
  if (capture.timeless_count() != 0)
    text += fmt::format("{} packets without a time: told in the file's order, at the time of the one before\n",
                        capture.timeless_count());
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
