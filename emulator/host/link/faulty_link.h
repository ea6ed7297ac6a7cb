// FaultyLink: a link on which the faults of a plan happen. A decorator of the link's port; the link does not know.
//
// Solely responsible for running a link's frames through fabric::LinkModel, both ways, and for telling the capture what
// was done to them. It is the outermost decorator: NIC -> FaultyLink -> CapturingLink -> link (capture_file.h says who
// records what). A direction that no rule looks at passes straight through.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "emulator/fabric/fault_rule.h"
#include "emulator/host/link/capture_file.h"
#include "emulator/host/link/frame_port.h"
#include "emulator/host/node/stats_file.h"
#include "wire/path_address.h"

namespace verbena::host {

/// `link_name` tells this node's links apart under one seed; it must be the same in every run that is to be the same.
/// `tap` may be null; it and `inner` outlive the port. `clock` is read only where a rule can delay or reorder; null:
/// clock_now. Back pressure of the inner port keeps frames here, in order, and is handed on to the NIC. `medium`: that
/// its frames are on. `hits` may be null: nobody counts them.
std::unique_ptr<FramePort> make_faulty_link(FramePort& inner, const std::vector<fabric::FaultRule>& rules,
                                            std::uint64_t seed, std::string_view link_name, CaptureTap* tap,
                                            Time (*clock)() = nullptr, wire::Medium medium = wire::Medium::ethernet,
                                            const FaultHits* hits = nullptr);

}  // namespace verbena::host
