// Decorators: what stands between a NIC and its link's port by the user's wish: the capture, and around it the faults.
//
// Solely responsible for reading that wish, and for the order (capture_file.h says why).
// Tested by: tests/host/link/faulty_link_test.cc
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "emulator/host/config/engine_config.h"
#include "emulator/host/link/capturing_link.h"
#include "emulator/host/link/frame_port.h"
#include "wire/path_address.h"
#include "wire/result.h"

namespace verbena::host {

struct Decorators {
  std::unique_ptr<CapturingLink> capture;  // null: none is wanted
  std::unique_ptr<FramePort> faults;       // in front of it; null: none is wanted

  /// What the NIC talks to.
  FramePort& outermost(FramePort& link) const {
    if (faults != nullptr) return *faults;
    return capture != nullptr ? *capture : link;
  }
};

/// Around the port of a link that outlives them. The error is one line for the user.
Result<Decorators, std::string> make_decorators(FramePort& link, wire::Medium medium, const EngineConfig& config,
                                                std::uint8_t slot);

}  // namespace verbena::host
