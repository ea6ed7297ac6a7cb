#include "captures/render/text/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "captures/render/words/finding_words.h"
#include "captures/render/words/packet_words.h"
#include "captures/render/words/total_rows.h"
#include "wire/counted.h"
#include "wire/packet_text.h"

namespace verbena::captures {

namespace {

constexpr std::size_t kMalformedShown = 10;

std::string again_text(const Conversation& conversation) {
  std::array<std::size_t, kSeenAgainKinds> counts{};
  for (const Conversation::Again& again : conversation.again) ++counts[static_cast<std::size_t>(again.sighting.how)];
  constexpr std::array<std::string_view, kSeenAgainKinds> kHow{
      "", "as they left and as they arrived", "on another interface", "by a mirror port, coming and going"};
  std::string text;
  for (std::size_t i = 1; i < kSeenAgainKinds; ++i)
    if (counts[i] != 0)
      text += fmt::format("  {} in the file once more ({}): told once\n",
                          wire::counted(counts[i], "packet is", "packets are"), kHow[i]);
  return text;
}

/// "gave up" only if the file goes on for longer than the timer would take, with time to double it.
std::string silence_text(const End& end, const RequestStream::Silence& silence, Duration until_end) {
  std::string text = fmt::format("  {}: no answer {}{:.6f} s; its ACK timer ran out {}", to_text(end),
                                 silence.was_answered ? "since " : "at all, from ",
                                 static_cast<double>(silence.since.ns) / 1e9, wire::counted(silence.attempts, "time"));
  if (until_end.ns > 4 * silence.interval.ns)
    return text + fmt::format(", then it gave up: silent for {} to the end of the capture\n", to_text(until_end));
  return text + "; the capture ends there\n";
}

}  // namespace

std::string summary(const Conversation& conversation, std::size_t number, const Sums& sums) {
  const std::string left = to_text(conversation.ends[0]);
  const std::string right = to_text(conversation.ends[1]);
  std::string text = fmt::format("Summary of conversation {}, {}\n", number, to_text(sums.duration));
  const std::size_t width = std::max({left.size(), right.size(), std::size_t{12}});
  text += fmt::format("  {:28} {:>{}}  {:>{}}\n", "sent by", left, width, right, width);
  for (const TotalRow& row : total_rows()) {
    const std::uint64_t a = sums.totals[0].*row.value;
    const std::uint64_t b = sums.totals[1].*row.value;
    if (a == 0 && b == 0 && !row.always) continue;
    text += fmt::format("  {:28} {:>{}}  {:>{}}\n", row.words, a, width, b, width);
  }
  for (unsigned end = 0; end < 2; ++end)
    if (sums.held_back[end].times != 0)
      text += fmt::format("  {}: held back by pause frames {}, for {}\n", to_text(conversation.ends[end]),
                          wire::counted(sums.held_back[end].times, "time"), to_text(sums.held_back[end].time));
  text += again_text(conversation);
  for (unsigned end = 0; end < 2; ++end)
    if (const auto& silence = sums.silences[end])
      text += silence_text(conversation.ends[end], *silence, sums.until_end);
  return text;
}

std::string summary(const Pauses& pauses) {
  std::string text;
  for (const PauseRow& row : pauses.rows()) {
    const std::string what = row.is_by_class ? fmt::format("class {}", row.traffic_class) : "the whole port";
    text += fmt::format("  {} to its neighbour, {}: {} x stop, {} x go on, stopped for {} or more\n",
                        wire::to_text(row.source), what, row.stops, row.resumes, to_text(row.stopped));
  }
  return text.empty() ? text : "Pause frames\n" + text;
}

std::string summary(const Capture& capture) {
  std::string text = wire::counted(capture.total_count(), "packet") + " in the file: ";
  bool is_first = true;
  for (const Kind& kind : capture.carried()) {
    text += fmt::format("{}{} {}", is_first ? "" : ", ", kind.count, kind.name);
    is_first = false;
  }
  if (is_first) text += "none read";
  if (const std::string others = other_packets(capture); !others.empty()) text += ", " + others;
  if (capture.lacking_headers_count() != 0)
    text += fmt::format(", {} of them with the BTH and not all headers behind it (snap length)",
                        capture.lacking_headers_count());
  text += '\n';
  for (const Kind& kind : capture.layers()) text += fmt::format("{:>8} of these in {}\n", kind.count, kind.name);
  if (capture.timeless_count() != 0)
    text += fmt::format("{} without a time: told in the file's order, at the time of the one before\n",
                        wire::counted(capture.timeless_count(), "packet"));
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

}  // namespace verbena::captures
