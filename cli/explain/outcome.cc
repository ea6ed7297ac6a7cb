#include "cli/explain/outcome.h"

#include <fmt/format.h>

#include "cli/command.h"

namespace verbena::explain {

namespace {

constexpr int kExitDamagedFile = 1;

std::string why_nothing(const Capture& capture) {
  if (capture.total_count() == 0) return "the file has no packets";
  if (!capture.packets().empty()) return "no packet is of this queue pair";
  return fmt::format("none of the {} packets is RoCE v2: {}", capture.total_count(), other_packets(capture));
}

}  // namespace

Outcome outcome_of(const Capture& capture, bool is_chosen) {
  if (!capture.damage().empty()) return Outcome::damaged;
  return capture.packets().empty() || !is_chosen ? Outcome::nothing : Outcome::told;
}

std::string_view to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::told:
      return "told";
    case Outcome::nothing:
      return "nothing-to-tell";
    case Outcome::damaged:
      return "damaged";
  }
  return "";
}

int exit_status(Outcome outcome) {
  switch (outcome) {
    case Outcome::told:
      return 0;
    case Outcome::nothing:
      return cli::kExitNothing;
    case Outcome::damaged:
      return kExitDamagedFile;
  }
  return cli::kExitInternal;
}

std::string words(Outcome outcome, const Capture& capture) {
  switch (outcome) {
    case Outcome::told:
      return "";
    case Outcome::nothing:
      return fmt::format("Nothing to tell: {}.", why_nothing(capture));
    case Outcome::damaged:
      return fmt::format("Damaged: {}; told up to there.", capture.damage());
  }
  return "";
}

}  // namespace verbena::explain
