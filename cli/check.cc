// `verbena check`: captures before the checkers. Reads the options and prints what came of it.
#include <arpa/inet.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "captures/check/capture_check.h"
#include "captures/check/verdict.h"
#include "captures/render/json/packet_json.h"
#include "cli/command.h"
#include "cli/progress_line.h"
#include "cli/style.h"
#include "wire/counted.h"
#include "wire/printable.h"

namespace verbena::cli {

namespace {

constexpr std::uint64_t kShownDefault = 20;
constexpr int kExitBroken = 1;

struct CheckOptions {
  std::vector<std::string> files;
  std::string at;
  std::string show;
  bool trust_cut = false;
  Reporting reporting;
  bool list = false;
};

struct CheckedFile {
  std::string name;
  captures::Capture capture;
  captures::CaptureFindings findings;
  captures::Verdict verdict = captures::Verdict::held;

  /// Rules look at all headers.
  std::uint64_t headless_count() const { return capture.headless_count() + capture.lacking_headers_count(); }
  std::uint64_t packet_count() const { return capture.packets().size() - capture.lacking_headers_count(); }
};

void declare(CommandLine& line, CheckOptions& options) {
  line.arguments("FILE", options.files, "captures: pcap, pcapng or ERF, compressed or not; - is standard input");
  line.option("--at", options.at, "ADDRESS",
              "the captures were made at the host with this address, complete and in its order");
  line.option("--show", options.show, "N", "so many violations of a file in full; 20");
  line.flag(
      "--trust-cut", options.trust_cut,
      "take packets that a snap length has cut as undamaged; else nothing is judged by them on the way or on arrival");
  line.reporting(options.reporting, "print nothing where rules were judged and none is broken",
                 "a report for programs");
  line.flag("--list", options.list, "the checkers, the clauses they check, and what they say");
  line.exit_status("0", "RoCE v2 packets were judged, and no rule is broken");
  line.exit_status("1", "rules are broken, or packets are malformed");
  line.exit_status("3", "there was nothing to judge: no RoCE v2 packets, or none of which a rule can say anything");
  line.exit_status("4", "a file is damaged; no rule is broken up to there");
  line.example("verbena check lost.pcapng", "of a capture that `verbena exec --pcap lost.pcapng` has made");
}

std::optional<wire::Gid> parse_address(const std::string& text) {
  in_addr ipv4{};
  if (inet_pton(AF_INET, text.c_str(), &ipv4) == 1) return wire::Gid::from_ipv4(ntohl(ipv4.s_addr));
  wire::Gid gid;
  return inet_pton(AF_INET6, text.c_str(), gid.octets.data()) == 1 ? std::optional(gid) : std::nullopt;
}

int exit_status(captures::Verdict verdict) {
  switch (verdict) {
    case captures::Verdict::held:
      return 0;
    case captures::Verdict::nothing:
      return kExitNothing;
    case captures::Verdict::damaged:
      return kExitDamaged;
    case captures::Verdict::broken:
      return kExitBroken;
  }
  return kExitInternal;
}

struct Widths {
  std::size_t name = 0;
  std::size_t clause = 0;
};

Widths column_widths() {
  Widths widths;
  for (const auto& row : captures::all_rows()) {
    widths.name = std::max(widths.name, row.name.size() + 2);
    widths.clause = std::max(widths.clause, row.clause.size() + 2);
  }
  return widths;
}

void print_list() {
  const auto [name, clause] = column_widths();
  for (const auto& row : captures::all_rows())
    fmt::print("{:{}}{:{}}{}\n", row.name, name, row.clause, clause, row.what);
}

Result<CheckedFile, std::string> check_file(const std::string& name, const captures::Vantage& vantage, bool quiet) {
  std::optional<LongWork> work;
  const auto reached = [&work](std::uint64_t done, std::uint64_t total) { work->reached(done, total); };
  work.emplace(quiet, "reading " + name);
  auto capture = captures::Capture::open(name, reached);
  if (!capture) return Failure{capture.error()};
  work.emplace(quiet, "checking " + name);
  auto findings = captures::check_capture(*capture, vantage, reached);
  const captures::Verdict verdict = captures::verdict_of(*capture, findings);
  return CheckedFile{name, std::move(*capture), std::move(findings), verdict};
}

nlohmann::ordered_json to_json(const CheckedFile& file) {
  const captures::CaptureFindings& findings = file.findings;
  nlohmann::ordered_json json{
      {"file", file.name},
      {"verdict", captures::to_string(file.verdict)},
      {"words", captures::words(file.verdict, file.capture, findings)},
      {"packets", file.packet_count()},
      {"other_packets", file.capture.skipped_count()},
      {"malformed_packets", file.capture.malformed_count()},
      {"cut_packets", findings.cut_count},
      {"headless_packets", file.headless_count()},
      {"seen",
       {{"sent", findings.sent_count}, {"delivered", findings.delivered_count}, {"passing", findings.passing_count}}},
      {"ignored_packets", findings.ignored_count},
      {"damage", file.capture.damage()},
      {"violations", findings.violation_count}};
  json["others"] = captures::others_json(file.capture);
  auto& rows = json["checkers"] = nlohmann::ordered_json::array();
  for (const auto& totals : findings.totals)
    rows.push_back({{"checker", totals.row.name},
                    {"clause", totals.row.clause},
                    {"judged", totals.judged},
                    {"not_judged", totals.unjudged},
                    {"violations", totals.violations}});
  auto& found = json["found"] = nlohmann::ordered_json::array();
  for (const auto& violation : findings.violations)
    found.push_back({{"packet", violation.number},
                     {"time_ns", violation.time.ns},
                     {"checker", violation.checker},
                     {"clause", violation.clause},
                     {"text", violation.text}});
  return json;
}

void print_remarks(const CheckedFile& file) {
  const captures::CaptureFindings& findings = file.findings;
  if (findings.passing_count != 0)
    fmt::print("{} seen on the way, so what their ends did cannot be judged{}\n",
               wire::counted(findings.passing_count, "packet was", "packets were"),
               findings.departures_disturbed || findings.arrivals_disturbed ? " (faults copied or held packets)"
                                                                            : " (see --at)");
  if (findings.ignored_count != 0)
    fmt::print("{} here\n", wire::counted(findings.ignored_count, "packet was damaged or has no rules",
                                          "packets were damaged or have no rules"));
  if (findings.cut_count != 0)
    fmt::print("{} cut, so nobody knows whether anything was damaged on the way (see --trust-cut)\n",
               wire::counted(findings.cut_count, "packet is", "packets are"));
  if (file.headless_count() != 0)
    fmt::print("{} cut off within the headers, so none is seen where it leaves or arrives\n",
               wire::counted(file.headless_count(), "packet is", "packets are"));
  const std::uint64_t hit = file.capture.hit_malformed_count();
  if (hit != 0) fmt::print("{} malformed by a fault, not judged\n", wire::counted(hit, "packet is", "packets are"));
  if (const std::string others = captures::other_packets(file.capture);
      !others.empty() && file.verdict != captures::Verdict::nothing)
    fmt::print("Beside them: {}\n", others);
  if (!file.capture.damage().empty())
    fmt::print("The file is damaged: {}; judged up to there\n", file.capture.damage());
}

void print_report(const CheckedFile& file, std::uint64_t shown_max) {
  const captures::CaptureFindings& findings = file.findings;
  fmt::print("{}: {}: {} seen as sent, {} as delivered, {} on the way\n", wire::printable(file.name),
             wire::counted(file.packet_count(), "RoCE v2 packet"), findings.sent_count, findings.delivered_count,
             findings.passing_count);
  const auto [name, clause] = column_widths();
  fmt::print("{:{}}{:{}}{:>12}{:>12}{:>12}\n", "checker", name, "clause", clause, "judged", "not judged", "violations");
  for (const auto& totals : findings.totals)
    if (totals.judged + totals.unjudged != 0)
      fmt::print("{:{}}{:{}}{:>12}{:>12}{:>12}\n", totals.row.name, name, totals.row.clause, clause, totals.judged,
                 totals.unjudged, totals.violations);
  print_remarks(file);
  std::uint64_t shown = 0;
  for (const auto& violation : findings.violations) {
    if (shown++ == shown_max) break;
    fmt::print("#{} {:.6f} {} ({}): {}\n", violation.number, static_cast<double>(violation.time.ns) / 1e9,
               violation.checker, violation.clause, violation.text);
  }
  if (findings.violation_count > shown_max) fmt::print("... and {} more\n", findings.violation_count - shown_max);
  const Style style(stdout);
  const std::string words = captures::words(file.verdict, file.capture, findings);
  fmt::print("{}\n", file.verdict == captures::Verdict::held ? style.good(words) : style.bad(words));
}

}  // namespace

int run_check(const Arguments& arguments) {
  CommandLine line("verbena check", "verbena check [OPTIONS] FILE...",
                   "Checks captures against the rules of the RDMA transport.\n");
  CheckOptions options;
  declare(line, options);
  if (const auto status = line.parse(arguments)) return *status;
  if (options.list) {
    print_list();
    return 0;
  }
  if (options.files.empty()) return line.fail(kExitUsage, "FILE is required (see verbena check --help)");
  captures::Vantage vantage;
  if (!options.at.empty() && !(vantage.host = parse_address(options.at)))
    return line.fail(kExitUsage, fmt::format("--at {}: not an IP address such as 127.47.91.1", options.at));
  vantage.trusts_cut_packets = options.trust_cut;
  std::uint64_t shown_max = kShownDefault;
  if (!options.show.empty()) {
    const auto shown = parse_number(options.show, 0, checkers::kViolationsKept);
    if (!shown)
      return line.fail(kExitUsage,
                       fmt::format("--show {}: not a number from 0 to {}", options.show, checkers::kViolationsKept));
    shown_max = *shown;
  }

  std::vector<CheckedFile> files;
  for (const std::string& name : options.files) {
    auto file = check_file(name, vantage, options.reporting.quiet);
    if (!file) return line.fail(kExitUsage, fmt::format("{}: {}", name, file.error()));
    files.push_back(std::move(*file));
  }
  auto worst = captures::Verdict::held;
  auto json = nlohmann::ordered_json::array();
  for (const CheckedFile& file : files) {
    worst = std::max(worst, file.verdict);
    if (options.reporting.json)
      json.push_back(to_json(file));
    else if (!options.reporting.quiet || file.verdict == captures::Verdict::broken)
      print_report(file, shown_max);
    else if (file.verdict != captures::Verdict::held)
      line.fail(0, fmt::format("{}: {}", file.name, captures::words(file.verdict, file.capture, file.findings)));
  }
  if (options.reporting.json)
    fmt::print("{}\n",
               json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));  // a file may be called anything
  return exit_status(worst);
}

}  // namespace verbena::cli
