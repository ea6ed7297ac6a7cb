// The `qos:` of a topology: traffic classes, lossless ones, and the memory of switches.
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

fabric::Qos read_qos(const Value& value) {
  const Section section(value, "qos");
  section.exclude("xoff", "xoff-alpha");
  fabric::Qos qos;
  read_settings(section, fabric::qos_words(), qos);
  return qos;
}

}  // namespace verbena::scenarios
