// `verbena check`: captures before the checkers. Reads the options and prints what came of it.
#include <arpa/inet.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/check/capture_check.h"
#include "cli/command.h"
#include "cli/progress_line.h"
#include "cli/style.h"

namespace verbena::cli {

namespace {

constexpr int kExitViolated = 1;
constexpr std::uint64_t kShownDefault = 20;

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
  explain::Capture capture;
  check::CaptureVerdict verdict;

  /// Rules look at all headers.
  std::uint64_t headless_count() const { return capture.headless_count() + capture.lacking_headers_count(); }
  std::uint64_t packet_count() const { return capture.packets().size() - capture.lacking_headers_count(); }
};

void declare(CommandLine& line, CheckOptions& options) {
  line.arguments("FILE", options.files, "captures: pcap or pcapng");
  line.option("--at", options.at, "ADDRESS",
              "the captures were made at the host with this address, complete and in its order");
  line.option("--show", options.show, "N", "so many violations of a file in full; 20");
  line.flag(
      "--trust-cut", options.trust_cut,
      "take packets that a snap length has cut as undamaged; else nothing is judged by them on the way or on arrival");
  line.reporting(options.reporting, "print nothing where no rule is broken", "a report for programs");
  line.flag("--list", options.list, "the checkers, the clauses they check, and what they say");
  line.exit_status("0", "no rule is broken");
  line.exit_status("1", "rules are broken");
  line.example("verbena check lost.pcapng", "of a capture that `verbena exec --pcap lost.pcapng` has made");
}

std::optional<wire::Gid> parse_address(const std::string& text) {
  in_addr ipv4{};
  if (inet_pton(AF_INET, text.c_str(), &ipv4) == 1) return wire::Gid::from_ipv4(ntohl(ipv4.s_addr));
  wire::Gid gid;
  return inet_pton(AF_INET6, text.c_str(), gid.octets.data()) == 1 ? std::optional(gid) : std::nullopt;
}

void print_list() {
  for (const auto& row : checkers::all_checkers()) fmt::print("{:18}{:18}{}\n", row.name, row.clause, row.what);
}

Result<CheckedFile, std::string> check_file(const std::string& name, const check::Vantage& vantage, bool quiet) {
  std::optional<LongWork> work;
  const auto reached = [&work](std::uint64_t done, std::uint64_t total) { work->reached(done, total); };
  work.emplace(quiet, "reading " + name);
  auto capture = explain::Capture::open(name, reached);
  if (!capture) return Failure{capture.error()};
  work.emplace(quiet, "checking " + name);
  auto verdict = check::check_capture(*capture, vantage, reached);
  return CheckedFile{name, std::move(*capture), std::move(verdict)};
}

nlohmann::ordered_json to_json(const CheckedFile& file) {
  const check::CaptureVerdict& verdict = file.verdict;
  nlohmann::ordered_json json{
      {"file", file.name},
      {"packets", file.packet_count()},
      {"other_packets", file.capture.skipped_count()},
      {"malformed_packets", file.capture.malformed_count()},
      {"cut_packets", verdict.cut_count},
      {"headless_packets", file.headless_count()},
      {"seen",
       {{"sent", verdict.sent_count}, {"delivered", verdict.delivered_count}, {"passing", verdict.passing_count}}},
      {"ignored_packets", verdict.ignored_count},
      {"damage", file.capture.damage()},
      {"violations", verdict.violation_count}};
  auto& rows = json["checkers"] = nlohmann::ordered_json::array();
  for (const auto& totals : verdict.totals)
    rows.push_back({{"checker", totals.row.name},
                    {"clause", totals.row.clause},
                    {"judged", totals.judged},
                    {"not_judged", totals.unjudged},
                    {"violations", totals.violations}});
  auto& found = json["found"] = nlohmann::ordered_json::array();
  for (const auto& violation : verdict.violations)
    found.push_back({{"packet", violation.number},
                     {"time_ns", violation.time.ns},
                     {"checker", violation.checker},
                     {"clause", violation.clause},
                     {"text", violation.text}});
  return json;
}

void print_remarks(const CheckedFile& file) {
  const check::CaptureVerdict& verdict = file.verdict;
  if (verdict.passing_count != 0)
    fmt::print("{} packets were seen on the way, so what their ends did cannot be judged{}\n", verdict.passing_count,
               verdict.departures_disturbed || verdict.arrivals_disturbed ? " (faults copied or held packets)"
                                                                          : " (see --at)");
  if (verdict.ignored_count != 0) fmt::print("{} packets were damaged or have no rules here\n", verdict.ignored_count);
  if (verdict.cut_count != 0)
    fmt::print("{} packets are cut, so nobody knows whether they were damaged on the way (see --trust-cut)\n",
               verdict.cut_count);
  if (file.headless_count() != 0)
    fmt::print("{} packets are cut off within their headers, so none are seen where they leave or arrive\n",
               file.headless_count());
  if (file.capture.malformed_count() != 0)
    fmt::print("{} packets are malformed and were not judged\n", file.capture.malformed_count());
  if (!file.capture.damage().empty())
    fmt::print("The file is damaged: {}; judged up to there\n", file.capture.damage());
}

void print_report(const CheckedFile& file, std::uint64_t shown_max) {
  const check::CaptureVerdict& verdict = file.verdict;
  fmt::print("{}: {} RoCE v2 packets: {} seen as sent, {} as delivered, {} on the way\n", file.name,
             file.packet_count(), verdict.sent_count, verdict.delivered_count, verdict.passing_count);
  fmt::print("{:18}{:18}{:>12}{:>12}{:>12}\n", "checker", "clause", "judged", "not judged", "violations");
  for (const auto& totals : verdict.totals)
    if (totals.judged + totals.unjudged != 0)
      fmt::print("{:18}{:18}{:>12}{:>12}{:>12}\n", totals.row.name, totals.row.clause, totals.judged, totals.unjudged,
                 totals.violations);
  print_remarks(file);
  std::uint64_t shown = 0;
  for (const auto& violation : verdict.violations) {
    if (shown++ == shown_max) break;
    fmt::print("#{} {:.6f} {} ({}): {}\n", violation.number, static_cast<double>(violation.time.ns) / 1e9,
               violation.checker, violation.clause, violation.text);
  }
  if (verdict.violation_count > shown_max) fmt::print("... and {} more\n", verdict.violation_count - shown_max);
  const Style style(stdout);
  fmt::print("{}\n", verdict.violation_count == 0 ? style.good("No violations.")
                                                  : style.bad(fmt::format("{} violations.", verdict.violation_count)));
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
  check::Vantage vantage;
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
  bool is_clean = true;
  auto json = nlohmann::ordered_json::array();
  for (const CheckedFile& file : files) {
    is_clean = is_clean && file.verdict.violation_count == 0;
    if (options.reporting.json)
      json.push_back(to_json(file));
    else if (!options.reporting.quiet || file.verdict.violation_count != 0)
      print_report(file, shown_max);
  }
  if (options.reporting.json) fmt::print("{}\n", json.dump(2));
  return is_clean ? 0 : kExitViolated;
}

}  // namespace verbena::cli
