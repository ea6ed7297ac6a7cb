// DeviceFaults: the faults that a running fabric has for the verbs of its nodes' programs, in this process
// (`verbena fault n1 fail verb=reg_mr`).
//
// Solely responsible for reading them when a device's engine has been told that they are others
// (host/node/verb_fault_list.h), for putting them into the plan (call_faults.h), and for the slots of the data path:
// they look at the plan from then on, and no longer when it has nothing for them.
// Tested by: tests/shim/verbs/outside_faults_test.cc
#pragma once

#include <cstdint>

#include "emulator/host/config/engine_config.h"

namespace verbena::shim {

/// As one device's engine asks, a thread at a time; what is read is the process's.
class DeviceFaults final : public host::OutsideFaults {
 public:
  explicit DeviceFaults(const host::EngineConfig& config) : config_(config) {}

  std::uint32_t look() override;
  nic::CompletionJudge* judge() override;

 private:
  const host::EngineConfig& config_;       // of the device
  nic::CompletionJudge* judge_ = nullptr;  // once there is one it stays
};

}  // namespace verbena::shim
