// The `qos:` of a topology: traffic classes, lossless ones, and the memory of switches.
#include "emulator/fabric/qos_words.h"
#include "scenarios/language/parts.h"

namespace verbena::scenarios {
namespace {

/// As the words of qos_words.h are written: lists with +, maps as KEY:VALUE.
std::string text_of(const Value& value) {
  std::string text;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : "+") + part; };
  if (value.is_map()) {
    for (const auto& [key, member] : members(value)) add(key + ":" + member.word());
    return text;
  }
  for (const Value& item : value.items()) add(item.word());
  return text;
}

}  // namespace

fabric::Qos read_qos(const Value& value) {
  const Section section(value, "qos");
  section.exclude("xoff", "xoff-alpha");
  fabric::Qos qos;
  for (const fabric::QosWord& word : fabric::qos_words())
    if (const auto given = section.find(word.name); given && !word.take(text_of(*given), qos))
      given->wrong(std::string(word.right));
  if (const std::string wrong = fabric::contradiction(qos); !wrong.empty()) complain(section.place(), wrong);
  return qos;
}

}  // namespace verbena::scenarios
