// What is posted: work requests, with their opcodes and operands.
//
// Numeric values equal those of the verbs uABI (infiniband/verbs.h), so that the shim translates by cast; verbs-shim
// asserts the equality at compile time. Nothing here has behaviour. Names and meanings: the verbs man pages, IBTA vol 1
// ch. 11.
// Tested by: tests/nic/transfer_test.cc
#pragma once

#include <cstdint>
#include <span>

#include "emulator/nic/objects/handles.h"
#include "wire/types.h"

namespace verbena::nic {

/// What a bind asks for.
struct WindowBinding {
  MwHandle window;
  std::uint32_t rkey = 0;  // the window's new key; its upper 24 bits are the present one's
  std::uint32_t lkey = 0;  // of the region
  std::uint64_t address = 0;
  std::uint64_t length = 0;  // octets; 0 unbinds a window of type 1
  std::uint32_t access = 0;
};

/// Same layout as struct ibv_sge.
struct Sge {
  std::uint64_t address = 0;
  std::uint32_t length = 0;
  std::uint32_t lkey = 0;
};

enum class SendOpcode : std::uint8_t {
  rdma_write = 0,
  rdma_write_with_immediate = 1,
  send = 2,
  send_with_immediate = 3,
  rdma_read = 4,
  compare_and_swap = 5,
  fetch_and_add = 6,
  local_invalidate = 7,
  bind_memory_window = 8,
  send_with_invalidate = 9,
  atomic_write = 15,
};

/// The peer's memory that RDMA and atomics are for.
struct RemoteOperand {
  std::uint64_t address = 0;
  std::uint32_t rkey = 0;
  std::uint64_t compare_or_add = 0;
  std::uint64_t swap = 0;
};

/// What an operation is about, beside the data: memory of the peer, or of a bind_memory_window the window.
union Operand {
  RemoteOperand remote;
  WindowBinding binding;
};

struct SendRequest {
  std::uint64_t wr_id = 0;
  SendOpcode opcode = SendOpcode::send;
  bool signaled = false;
  bool solicited = false;
  bool fence = false;
  /// sges point at the data itself, which is copied before post_send returns; lkeys are ignored.
  bool inline_data = false;
  std::span<const Sge> sges;
  std::uint32_t immediate = 0;  // host order; or the rkey that is invalidated
  Operand operand{};
  AhHandle address_handle;  // UD
  wire::Qpn remote_qpn;     // UD; XRC: the shared receive queue
  std::uint32_t remote_qkey = 0;
};

struct ReceiveRequest {
  std::uint64_t wr_id = 0;
  std::span<const Sge> sges;
};

}  // namespace verbena::nic
