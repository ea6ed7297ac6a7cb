// The policies of loss recovery that a NIC can have.
// Tested by: tests/nic/loss_test.cc
#include <algorithm>
#include <array>

#include "emulator/nic/state/loss_recovery.h"
#include "emulator/nic/transport_ib/selective_repeat/selective_repeat.h"
#include "wire/assert.h"

namespace verbena::nic {
namespace {

constexpr std::array kRows{
    RecoveryRow{.policy = RecoveryPolicy::go_back_n,
                .make = [](const NicConfig&, const Qp&) -> std::unique_ptr<LossRecovery> { return nullptr; }},
    RecoveryRow{.policy = RecoveryPolicy::selective_repeat,
                .extensions = wire::kHasRecoveryHeader,
                .make = make_selective_repeat},
};

}  // namespace

const RecoveryRow& find_loss_recovery(RecoveryPolicy policy) {
  const auto* const row = std::ranges::find(kRows, policy, &RecoveryRow::policy);
  VERBENA_ASSERT(row != kRows.end());
  return *row;
}

}  // namespace verbena::nic
