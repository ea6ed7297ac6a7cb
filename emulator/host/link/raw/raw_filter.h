// The classic BPF programs of the raw link: which frames of an interface are for this process.
// Tested by: tests/host/link/raw/raw_link_test.cc
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <vector>

#include "wire/roce_version.h"
#include "wire/types.h"

namespace verbena::host {

/// Accepts whole Ethernet frames: of RoCE v2 (UDP to port 4791, not a fragment), of RoCE v1, or of both, to the address
/// or to any group, whose destination QPN lies in the slot or belongs to the whole node (QP0, QP1, multicast).
std::vector<sock_filter> frames_of_process(const wire::Gid& address, std::uint8_t slot,
                                           const wire::WireKind& wire = wire::kWireKindDefault);

/// Accepts nothing.
std::vector<sock_filter> nothing_at_all();

bool attach_filter(int socket, const std::vector<sock_filter>& program);

}  // namespace verbena::host
