// Report words: what reports call statuses, states, verbs and events (as the verbs API does), and how they write times
// and amounts.
// Tested by: tests/scenarios/virtual/verbs_test.cc
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/nic/objects/attributes.h"
#include "emulator/nic/objects/completion.h"
#include "scenarios/language/scenario.h"
#include "wire/time.h"

namespace verbena::scenarios {

/// As enum ibv_wc_status has it, without the prefix: "SUCCESS", "RETRY_EXC_ERR".
std::string_view name_of(nic::CompletionStatus status);
std::string_view name_of(nic::AsyncEventType type);
std::string_view name_of(nic::QpState state);
std::string_view name_of(Verb verb);
std::string_view name_of(Transport transport);
std::string_view name_of(Pattern pattern);

/// "1.25 ms", "930 ns": three or four digits that say something.
std::string time_text(double nanoseconds);
std::string time_text(Duration duration);
/// "1.50 GB", "64 B", decimal.
std::string octets_text(std::uint64_t octets);
/// "12.3 Gb/s".
std::string rate_text(double bits_per_second);

using TableRow = std::vector<std::string>;
/// Columns as wide as they need to be; the first column to the left, the others to the right unless the last is text.
std::string table_text(const std::vector<TableRow>& rows, std::string_view indent = {});

}  // namespace verbena::scenarios
