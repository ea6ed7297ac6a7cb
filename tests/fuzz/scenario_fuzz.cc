// Any text as a scenario: it is read or refused in one line; nothing throws, asserts or takes memory without end.
#include <cstdlib>
#include <string_view>

#include "scenarios/language/read_scenario.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // The libFuzzer contract is octets; a text is the same octets as characters.
  const std::string text(data, data + size);
  const auto read = verbena::scenarios::read_scenario(text, "fuzz.yaml");
  if (!read.ok() && read.error().line().find('\n') != std::string::npos) std::abort();
  return 0;
}
