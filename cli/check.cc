// `verbena check`: captures before the checkers. Solely the options, the exit status, and where the report goes.
// Tested by: tests/cli/check_test.cc
#include <arpa/inet.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "captures/check/checked_file.h"
#include "captures/render/json/check_json.h"
#include "captures/render/text/check_text.h"
#include "cli/command.h"
#include "cli/progress_line.h"
#include "cli/style.h"

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

void declare(CommandLine& line, CheckOptions& options) {
  line.arguments("FILE", options.files, "captures: pcap, pcapng or ERF, compressed or not; - is standard input");
  line.option(
      "--at", options.at, "ADDRESS",
      "the captures were made at the host with this address (InfiniBand: LID or GID), complete and in its order");
  line.option("--show", options.show, "N", "so many violations of a file in full; 20");
  line.flag(
      "--trust-cut", options.trust_cut,
      "take packets that a snap length has cut as undamaged; else nothing is judged by them on the way or on arrival");
  line.reporting(options.reporting, "print nothing where rules were judged and none is broken",
                 "a report for programs");
  line.flag("--list", options.list, "the checkers, the clauses they check, and what they say");
  line.exit_status("0", "packets of RoCE or InfiniBand were judged, and no rule is broken");
  line.exit_status("1", "rules are broken, or packets are malformed");
  line.exit_status(
      "3", "there was nothing to judge: no packets of RoCE or InfiniBand, or none of which a rule can say anything");
  line.exit_status("4", "a file is damaged; no rule is broken up to there");
  line.example("verbena check lost.pcapng", "of a capture that `verbena exec --pcap lost.pcapng` has made");
}

std::optional<wire::Gid> parse_address(const std::string& text) {
  in_addr ipv4{};
  if (inet_pton(AF_INET, text.c_str(), &ipv4) == 1) return wire::Gid::from_ipv4(ntohl(ipv4.s_addr));
  if (const auto lid = parse_number(text, 1, wire::kLidUnicastMax.value()))
    return wire::gid_of(wire::Lid(static_cast<std::uint32_t>(*lid)));
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

Result<captures::CheckedFile, std::string> check_file(const std::string& name, const captures::Vantage& vantage,
                                                      bool quiet) {
  std::optional<LongWork> work;
  const auto reached = [&work](std::uint64_t done, std::uint64_t total) { work->reached(done, total); };
  work.emplace(quiet, "reading " + name);
  auto capture = captures::Capture::open(name, reached);
  if (!capture) return Failure{capture.error()};
  work.emplace(quiet, "checking " + name);
  auto findings = captures::check_capture(*capture, vantage, reached);
  const captures::Verdict verdict = captures::verdict_of(*capture, findings);
  return captures::CheckedFile{name, std::move(*capture), std::move(findings), verdict};
}

void print_report(const captures::CheckedFile& file, std::uint64_t shown_max) {
  const Style style(stdout);
  const std::string words = captures::words(file.verdict, file.capture, file.findings);
  fmt::print("{}{}\n", captures::check_text(file, shown_max),
             file.verdict == captures::Verdict::held ? style.good(words) : style.bad(words));
}

}  // namespace

int run_check(const Arguments& arguments) {
  CommandLine line("verbena check", "verbena check [OPTIONS] FILE...",
                   "Checks captures against the rules of the RDMA transport.\n");
  CheckOptions options;
  declare(line, options);
  if (const auto status = line.parse(arguments)) return *status;
  if (options.list) {
    fmt::print("{}", captures::checkers_text());
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

  std::vector<captures::CheckedFile> files;
  for (const std::string& name : options.files) {
    auto file = check_file(name, vantage, options.reporting.quiet);
    if (!file) return line.fail(kExitUsage, fmt::format("{}: {}", name, file.error()));
    files.push_back(std::move(*file));
  }
  auto worst = captures::Verdict::held;
  auto json = nlohmann::ordered_json::array();
  for (const captures::CheckedFile& file : files) {
    worst = std::max(worst, file.verdict);
    if (options.reporting.json)
      json.push_back(captures::check_json(file));
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
