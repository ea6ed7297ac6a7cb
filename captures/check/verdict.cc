#include "captures/check/verdict.h"

#include <fmt/format.h>

#include <algorithm>

#include "wire/counted.h"

namespace verbena::captures {

namespace {

bool has_judged(const CaptureFindings& findings) {
  return std::any_of(findings.totals.begin(), findings.totals.end(),
                     [](const checkers::CheckerTotals& totals) { return totals.judged != 0; });
}

std::string why_nothing(const Capture& capture, const CaptureFindings& findings) {
  if (capture.packets().empty()) return why_no_packets(capture);
  const std::size_t count = capture.packets().size();
  const std::uint64_t cut_count = findings.cut_count + capture.lacking_headers_count();
  if (cut_count != 0)
    return fmt::format("{} of {} {} cut, so nobody knows whether anything was damaged on the way (see --trust-cut)",
                       cut_count, wire::counted(count, packet_noun(capture)), cut_count == 1 ? "is" : "are");
  const std::string noun = packet_noun(capture);
  return "no rule concerns the " + (count == 1 ? "only " + noun : fmt::format("{} {}s", count, noun));
}

}  // namespace

Verdict verdict_of(const Capture& capture, const CaptureFindings& findings) {
  if (findings.violation_count != 0) return Verdict::broken;
  if (!capture.damage().empty()) return Verdict::damaged;
  return has_judged(findings) ? Verdict::held : Verdict::nothing;
}

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::held:
      return "held";
    case Verdict::nothing:
      return "nothing-to-judge";
    case Verdict::damaged:
      return "damaged";
    case Verdict::broken:
      return "broken";
  }
  return "";
}

std::string words(Verdict verdict, const Capture& capture, const CaptureFindings& findings) {
  switch (verdict) {
    case Verdict::held:
      return "No violations.";
    case Verdict::nothing:
      return fmt::format("Nothing to judge: {}.", why_nothing(capture, findings));
    case Verdict::damaged:
      return fmt::format("Damaged: {}; {} up to there.", capture.damage(),
                         has_judged(findings) ? "no violations" : "nothing to judge");
    case Verdict::broken:
      return wire::counted(findings.violation_count, "violation") + ".";
  }
  return "";
}

}  // namespace verbena::captures
