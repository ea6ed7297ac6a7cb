// RoceVersion: which RoCE a port's GID stands for, and WireKind: what a network's ports are, InfiniBand's or RoCE's by
// some versions.
//
// Solely the two tables of words. How a version's frames look is encapsulation.h's, what a GID table holds is said by
// whoever makes one (host/node/identity.h). libc only: the path shim includes it.
// Tested by: tests/wire/roce_v1_test.cc
#pragma once

#include <cstdint>
#include <string_view>

namespace verbena::wire {

enum class RoceVersion : std::uint8_t { v1, v2 };

/// As the kernel says it in gid_attrs/types and in default_roce_mode. A literal: a zero ends it.
constexpr std::string_view gid_type_text(RoceVersion version) {
  return version == RoceVersion::v1 ? "IB/RoCE v1" : "RoCE v2";
}

/// What a user calls by one word: `--wire`, `wire:`.
struct WireKind {
  std::string_view name;
  bool has_v1;
  bool has_v2;
  bool is_infiniband = false;  // its ports are no Ethernet's, and have LIDs

  constexpr bool has(RoceVersion version) const { return version == RoceVersion::v1 ? has_v1 : has_v2; }
  constexpr bool operator==(const WireKind& other) const { return name == other.name; }
};

inline constexpr WireKind kWireKinds[] = {
    {"roce-v2", false, true},
    {"roce-v1", true, false},
    {"roce", true, true},
    {"infiniband", false, false, true},
};
inline constexpr const WireKind& kWireKindDefault = kWireKinds[0];
inline constexpr std::string_view kWireRule = "roce-v2, roce-v1, roce for both, or infiniband";

/// Null: there is no such word.
constexpr const WireKind* find_wire_kind(std::string_view name) {
  for (const WireKind& kind : kWireKinds)
    if (kind.name == name) return &kind;
  return nullptr;
}

}  // namespace verbena::wire
