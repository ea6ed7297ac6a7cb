#include "captures/story/outcome.h"

#include <fmt/format.h>

namespace verbena::captures {

namespace {

std::string why_nothing(const Capture& capture) {
  return capture.packets().empty() ? why_no_packets(capture) : "no packet is of this queue pair";
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

}  // namespace verbena::captures
