// Operations: sets of SendOpcodes, and those sets that the requester's rules speak of.
//
// Which operations a transport service offers is the table of service.h; which packets they become, requester.cc.
// Tested by: tests/nic/requester_test.cc
#pragma once

#include <cstdint>

#include "emulator/nic/objects/work_request.h"

namespace verbena::nic {

using Operations = std::uint32_t;  // a bit for each SendOpcode
inline constexpr std::uint32_t kSendOpcodesMax = 16;

constexpr Operations bit(SendOpcode opcode) {
  return Operations{1} << static_cast<unsigned>(opcode);
}
/// For opcodes that are known to exist.
constexpr bool contains(Operations operations, SendOpcode opcode) {
  return (operations >> static_cast<unsigned>(opcode) & 1) != 0;
}

/// What waits for the responder's data or for its word that it is done: READ, atomics, ATOMIC WRITE.
inline constexpr Operations kAwaitData = bit(SendOpcode::rdma_read) | bit(SendOpcode::compare_and_swap) |
                                         bit(SendOpcode::fetch_and_add) | bit(SendOpcode::atomic_write);
inline constexpr Operations kEightOctets = kAwaitData & ~bit(SendOpcode::rdma_read);
inline constexpr Operations kConsumeReceive = bit(SendOpcode::send) | bit(SendOpcode::send_with_immediate) |
                                              bit(SendOpcode::send_with_invalidate) |
                                              bit(SendOpcode::rdma_write_with_immediate);
/// Executed here, in their turn; no packet.
inline constexpr Operations kLocal = bit(SendOpcode::local_invalidate) | bit(SendOpcode::bind_memory_window);
/// What receives data has none to take along.
inline constexpr Operations kNeverInline = kAwaitData & ~bit(SendOpcode::atomic_write);

}  // namespace verbena::nic
