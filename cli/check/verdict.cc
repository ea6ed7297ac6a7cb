#include "cli/check/verdict.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/command.h"

namespace verbena::check {

namespace {

constexpr int kExitBroken = 1;

bool has_judged(const CaptureFindings& findings) {
  return std::any_of(findings.totals.begin(), findings.totals.end(),
                     [](const checkers::CheckerTotals& totals) { return totals.judged != 0; });
}

std::string why_nothing(const explain::Capture& capture, const CaptureFindings& findings) {
  if (capture.total_count() == 0) return "the file has no packets";
  if (capture.packets().empty())
    return fmt::format("none of the {} packets is RoCE v2: {}", capture.total_count(), explain::other_packets(capture));
  const std::uint64_t cut_count = findings.cut_count + capture.lacking_headers_count();
  if (cut_count != 0)
    return fmt::format(
        "{} of the {} RoCE v2 packets are cut, so nobody knows whether they are as they were sent "
        "(see --trust-cut)",
        cut_count, capture.packets().size());
  return fmt::format("no rule concerns the {} RoCE v2 packets", capture.packets().size());
}

}  // namespace

Verdict verdict_of(const explain::Capture& capture, const CaptureFindings& findings) {
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

int exit_status(Verdict verdict) {
  switch (verdict) {
    case Verdict::held:
      return 0;
    case Verdict::nothing:
      return cli::kExitNothing;
    case Verdict::damaged:
      return cli::kExitDamaged;
    case Verdict::broken:
      return kExitBroken;
  }
  return cli::kExitInternal;
}

std::string words(Verdict verdict, const explain::Capture& capture, const CaptureFindings& findings) {
  switch (verdict) {
    case Verdict::held:
      return "No violations.";
    case Verdict::nothing:
      return fmt::format("Nothing to judge: {}.", why_nothing(capture, findings));
    case Verdict::damaged:
      return fmt::format("Damaged: {}; {} up to there.", capture.damage(),
                         has_judged(findings) ? "no violations" : "nothing to judge");
    case Verdict::broken:
      return fmt::format("{} violation{}.", findings.violation_count, findings.violation_count == 1 ? "" : "s");
  }
  return "";
}

}  // namespace verbena::check
