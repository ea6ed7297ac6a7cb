// The `qos:` of a topology: traffic classes, lossless ones, and the memory of switches.
#include <algorithm>
#include <array>

#include "emulator/fabric/qos_words.h"
#include "scenarios/language/parts.h"

namespace verbena::scenarios {

std::string setting_text(const Value& value) {
  std::string text;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : "+") + part; };
  if (value.is_map()) {
    for (const auto& [key, member] : members(value)) add(key + ":" + member.word());
    return text;
  }
  for (const Value& item : value.items()) add(item.word());
  return text;
}

fabric::Qos read_qos(const Value& value, wire::Medium medium) {
  constexpr std::array<std::string_view, 5> kOfInfiniBand{"strict", "weights", "lane-buffer", "head-of-queue-life",
                                                          "cut-through"};
  const Section section(value, "qos");
  section.exclude("xoff", "xoff-alpha");
  const bool is_infiniband = medium == wire::Medium::infiniband;
  fabric::Qos qos = is_infiniband ? fabric::infiniband_qos() : fabric::Qos();
  for (const fabric::QosWord& word : fabric::qos_words())
    if (const auto said = section.find(word.name);
        said && is_infiniband && std::ranges::count(kOfInfiniBand, word.name) == 0)
      said->wrong(
          "InfiniBand's lanes have credits and follow service levels: strict, weights, lane-buffer, "
          "head-of-queue-life and cut-through are all that can be said of them");
  read_settings(section, fabric::qos_words(), qos);
  return qos;
}

}  // namespace verbena::scenarios
