// Invariants: what holds of a NIC's QPs between any two calls, whatever applications and peers do.
//
// Solely for tests, fuzzing and the simulator's checking runs, by Nic::check_invariants(); nothing of the data path
// calls it. Each is a row of a table with the sentence that it states, so that tests/nic/invariants_test.cc can break
// one after the other and see that exactly that is found.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "emulator/nic/state/nic_state.h"

namespace verbena::nic {

struct QpInvariant {
  std::string_view text;
  bool (*holds)(const NicState& nic, const Qp& qp);
};
std::span<const QpInvariant> qp_invariants();

/// The first that does not hold of the QP, a literal; nothing: all do.
std::optional<std::string_view> broken_invariant(const NicState& nic, const Qp& qp);
/// The same of what QPs share: the list of those that are ready, and those whose acknowledgements wait.
std::optional<std::string_view> broken_invariant(const NicState& nic);
/// As Nic::check_invariants.
std::uint32_t assert_invariants(const NicState& nic, std::uint32_t first, std::uint32_t count);

}  // namespace verbena::nic
