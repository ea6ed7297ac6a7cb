#include "captures/render/json/check_json.h"

#include <nlohmann/json.hpp>

#include "captures/render/json/packet_json.h"

namespace verbena::captures {

nlohmann::ordered_json check_json(const CheckedFile& file) {
  const CaptureFindings& findings = file.findings;
  nlohmann::ordered_json json{
      {"file", file.name},
      {"verdict", to_string(file.verdict)},
      {"words", words(file.verdict, file.capture, findings)},
      {"packets", file.packet_count()},
      {"carried_by", kinds_json(file.capture.carried())},
      {"other_packets", file.capture.skipped_count()},
      {"malformed_packets", file.capture.malformed_count()},
      {"cut_packets", findings.cut_count},
      {"headless_packets", file.headless_count()},
      {"seen",
       {{"sent", findings.sent_count}, {"delivered", findings.delivered_count}, {"passing", findings.passing_count}}},
      {"ignored_packets", findings.ignored_count},
      {"damage", file.capture.damage()},
      {"violations", findings.violation_count}};
  json["others"] = kinds_json(file.capture.others());
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

}  // namespace verbena::captures
