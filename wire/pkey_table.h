// The P_Key table of a port: where a P_Key stands in it.
//
// Solely the search. What matches a key is PkeyFilter's (headers.h).
// Tested by: tests/wire/pkey_table_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "wire/headers.h"

namespace verbena::wire {

/// The place of a partition's key in a table: of a full member rather than of a limited one, whichever is asked for
/// (ib_find_cached_pkey of the kernel). Nothing: it is not there.
constexpr std::optional<std::uint16_t> find_pkey(std::span<const std::uint16_t> table, std::uint16_t pkey) {
  std::optional<std::uint16_t> limited;
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (((table[i] ^ pkey) & kPkeyMask) != 0) continue;
    if ((table[i] & ~kPkeyMask) != 0) return static_cast<std::uint16_t>(i);
    if (!limited) limited = static_cast<std::uint16_t>(i);
  }
  return limited;
}

}  // namespace verbena::wire
