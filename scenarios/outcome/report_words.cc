#include "scenarios/outcome/report_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "emulator/fabric/completion_words.h"

namespace verbena::scenarios {

std::string_view name_of(nic::CompletionStatus status) {
  return fabric::name_in(fabric::kCompletionStatuses, status, "unknown status");
}

std::string_view name_of(nic::AsyncEventType type) {
  return fabric::name_in(fabric::kAsyncEvents, type, "unknown event");
}

std::string_view name_of(nic::QpState state) {
  using enum nic::QpState;
  switch (state) {
    case reset:
      return "RESET";
    case init:
      return "INIT";
    case rtr:
      return "RTR";
    case rts:
      return "RTS";
    case sqd:
      return "SQD";
    case sqe:
      return "SQE";
    case error:
      return "ERR";
  }
  return "unknown state";
}

std::string_view name_of(Verb verb) {
  switch (verb) {
    case Verb::send:
      return "send";
    case Verb::write:
      return "write";
    case Verb::write_immediate:
      return "write-imm";
    case Verb::read:
      return "read";
    case Verb::compare_swap:
      return "cas";
    case Verb::fetch_add:
      return "fetch-add";
    case Verb::mixed:
      return "mixed";
  }
  return "unknown verb";
}

std::string_view name_of(Pattern pattern) {
  switch (pattern) {
    case Pattern::pair:
      return "pair";
    case Pattern::incast:
      return "incast";
    case Pattern::outcast:
      return "outcast";
    case Pattern::all_to_all:
      return "all-to-all";
    case Pattern::permutation:
      return "permutation";
    case Pattern::ring_allreduce:
      return "ring-allreduce";
  }
  return "unknown pattern";
}

std::string_view name_of(Transport transport) {
  switch (transport) {
    case Transport::rc:
      return "RC";
    case Transport::uc:
      return "UC";
    case Transport::ud:
      return "UD";
  }
  return "unknown transport";
}

namespace {
std::string scaled(double value, double base, std::span<const std::string_view> units) {
  std::size_t unit = 0;
  while (unit + 1 < units.size() && std::abs(value) >= base) {
    value /= base;
    ++unit;
  }
  const bool whole = unit == 0 && value == std::floor(value);
  const int digits = whole || std::abs(value) >= 100 ? 0 : std::abs(value) >= 10 ? 1 : 2;
  return fmt::format("{:.{}f} {}", value, digits, units[unit]);
}
}  // namespace

std::string time_text(double nanoseconds) {
  static constexpr std::array<std::string_view, 4> kUnits{"ns", "us", "ms", "s"};
  return scaled(nanoseconds, 1000, kUnits);
}
std::string time_text(Duration duration) {
  return time_text(static_cast<double>(duration.ns));
}
std::string octets_text(std::uint64_t octets) {
  static constexpr std::array<std::string_view, 5> kUnits{"B", "kB", "MB", "GB", "TB"};
  return scaled(static_cast<double>(octets), 1000, kUnits);
}
std::string rate_text(double bits_per_second) {
  static constexpr std::array<std::string_view, 5> kUnits{"b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s"};
  return scaled(bits_per_second, 1000, kUnits);
}

std::string table_text(const std::vector<TableRow>& rows, std::string_view indent) {
  std::vector<std::size_t> widths;
  for (const TableRow& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i == widths.size()) widths.push_back(0);
      widths[i] = std::max(widths[i], row[i].size());
    }
  std::string text;
  for (const TableRow& row : rows) {
    std::string line(indent);
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool last = i + 1 == widths.size();
      line += i == 0 ? fmt::format("{:<{}}", row[i], widths[i])
              : last ? "  " + row[i]
                     : fmt::format("  {:>{}}", row[i], widths[i]);
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    text += line + "\n";
  }
  return text;
}

}  // namespace verbena::scenarios
