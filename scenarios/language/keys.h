// The keys of a scenario file, section by section: the one list of what may be written where.
//
// Solely the names. The reader refuses every key that is not listed and can ask only for listed ones;
// docs/scenario.schema.json is held against the same list by a test.
// Tested by: tests/scenarios/language/schema_test.cc
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "emulator/fabric/nic_words.h"

namespace verbena::scenarios {

struct SectionKeys {
  std::string_view section;  // also its name in the schema's $defs
  std::span<const std::string_view> keys;
};

std::span<const SectionKeys> all_sections();
/// Whether a `nic:` may have it, or a profile.
constexpr bool is_nic_key(const fabric::NicWord& word, bool is_profile) {
  using Of = fabric::NicWord::Of;
  return word.of == Of::behaviour || (!is_profile && (word.of == Of::nic || word.of == Of::seen));
}
/// Those of the table that are keys of a NIC or of a profile, and the words of its policies.
std::vector<std::string_view> nic_keys(std::span<const fabric::NicWord> words, bool is_profile);

/// The section must be listed.
std::span<const std::string_view> keys_of(std::string_view section);

}  // namespace verbena::scenarios
