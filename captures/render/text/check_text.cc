#include "captures/render/text/check_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "wire/counted.h"
#include "wire/printable.h"

namespace verbena::captures {

namespace {

using Out = std::back_insert_iterator<std::string>;

struct Widths {
  std::size_t name = 0;
  std::size_t clause = 0;
};

Widths column_widths() {
  Widths widths;
  for (const auto& row : all_rows()) {
    widths.name = std::max(widths.name, row.name.size() + 2);
    widths.clause = std::max(widths.clause, row.clause.size() + 2);
  }
  return widths;
}

void add_remarks(Out out, const CheckedFile& file) {
  const CaptureFindings& findings = file.findings;
  if (findings.passing_count != 0)
    fmt::format_to(out, "{} seen on the way, so what their ends did cannot be judged{}\n",
                   wire::counted(findings.passing_count, "packet was", "packets were"),
                   findings.departures_disturbed || findings.arrivals_disturbed ? " (faults copied or held packets)"
                                                                                : " (see --at)");
  if (findings.ignored_count != 0)
    fmt::format_to(out, "{} here\n",
                   wire::counted(findings.ignored_count, "packet was damaged or has no rules",
                                 "packets were damaged or have no rules"));
  if (findings.cut_count != 0)
    fmt::format_to(out, "{} cut, so nobody knows whether anything was damaged on the way (see --trust-cut)\n",
                   wire::counted(findings.cut_count, "packet is", "packets are"));
  if (file.headless_count() != 0)
    fmt::format_to(out, "{} cut off within the headers, so none is seen where it leaves or arrives\n",
                   wire::counted(file.headless_count(), "packet is", "packets are"));
  const std::uint64_t hit = file.capture.hit_malformed_count();
  if (hit != 0)
    fmt::format_to(out, "{} malformed by a fault, not judged\n", wire::counted(hit, "packet is", "packets are"));
  if (const std::string others = other_packets(file.capture); !others.empty() && file.verdict != Verdict::nothing)
    fmt::format_to(out, "Beside them: {}\n", others);
  if (!file.capture.damage().empty())
    fmt::format_to(out, "The file is damaged: {}; judged up to there\n", file.capture.damage());
}

}  // namespace

std::string checkers_text() {
  std::string text;
  const Out out = std::back_inserter(text);
  const auto [name, clause] = column_widths();
  for (const auto& row : all_rows())
    fmt::format_to(out, "{:{}}{:{}}{}\n", row.name, name, row.clause, clause, row.what);
  return text;
}

std::string check_text(const CheckedFile& file, std::uint64_t shown_max) {
  std::string text;
  const Out out = std::back_inserter(text);
  const CaptureFindings& findings = file.findings;
  fmt::format_to(out, "{}: {}: {} seen as sent, {} as delivered, {} on the way\n", wire::printable(file.name),
                 wire::counted(file.packet_count(), packet_noun(file.capture)), findings.sent_count,
                 findings.delivered_count, findings.passing_count);
  const auto [name, clause] = column_widths();
  fmt::format_to(out, "{:{}}{:{}}{:>12}{:>12}{:>12}\n", "checker", name, "clause", clause, "judged", "not judged",
                 "violations");
  for (const auto& totals : findings.totals)
    if (totals.judged + totals.unjudged != 0)
      fmt::format_to(out, "{:{}}{:{}}{:>12}{:>12}{:>12}\n", totals.row.name, name, totals.row.clause, clause,
                     totals.judged, totals.unjudged, totals.violations);
  add_remarks(out, file);
  std::uint64_t shown = 0;
  for (const auto& violation : findings.violations) {
    if (shown++ == shown_max) break;
    fmt::format_to(out, "#{} {:.6f} {} ({}): {}\n", violation.number, static_cast<double>(violation.time.ns) / 1e9,
                   violation.checker, violation.clause, violation.text);
  }
  if (findings.violation_count > shown_max)
    fmt::format_to(out, "... and {} more\n", findings.violation_count - shown_max);
  return text;
}

}  // namespace verbena::captures
