// What comes back: completions, and the events of CQs and of the device.
//
// Numeric values equal those of the verbs uABI (infiniband/verbs.h), so that the shim translates by cast; verbs-shim
// asserts the equality at compile time. Nothing here has behaviour. Names and meanings: the verbs man pages, IBTA vol 1
// ch. 11.
// Tested by: tests/nic/transfer_test.cc
#pragma once

#include <cstdint>

#include "emulator/nic/objects/handles.h"
#include "wire/time.h"
#include "wire/types.h"

namespace verbena::nic {

enum class CompletionStatus : std::uint8_t {
  success = 0,
  local_length_error = 1,
  local_qp_operation_error = 2,
  local_eec_operation_error = 3,
  local_protection_error = 4,
  flushed = 5,
  memory_window_bind_error = 6,
  bad_response = 7,
  local_access_error = 8,
  remote_invalid_request = 9,
  remote_access_error = 10,
  remote_operation_error = 11,
  retry_exceeded = 12,
  rnr_retry_exceeded = 13,
  local_rdd_violation = 14,  // this one, and those below, only where a plan wants them (completion_judge.h)
  remote_invalid_rd_request = 15,
  remote_aborted = 16,
  invalid_eecn = 17,
  invalid_eec_state = 18,
  fatal_error = 19,
  response_timeout = 20,
  general_error = 21,
  tag_matching_error = 22,
  tag_matching_rendezvous_incomplete = 23,
};

/// The values of enum ibv_wc_opcode.
enum class CompletionOpcode : std::uint8_t {
  send = 0,
  rdma_write = 1,
  rdma_read = 2,
  compare_and_swap = 3,
  fetch_and_add = 4,
  bind_memory_window = 5,
  local_invalidate = 6,
  atomic_write = 9,
  receive = 128,
  receive_rdma_with_immediate = 129,
};

/// The queue of which a completion frees slots when it is polled (slots.h).
enum class SlotOwner : std::uint8_t {
  send_queue,            // of the QP `qpn`
  receive_queue,         // of the QP `qpn`
  shared_receive_queue,  // `slot` is its handle's index
  work_queue,            // likewise
};

/// Of a work queue: it frees nothing, as one that comes for the second time.
inline constexpr std::uint32_t kNoSlot = UINT32_MAX;

struct Completion {
  std::uint64_t wr_id = 0;
  CompletionStatus status = CompletionStatus::success;
  CompletionOpcode opcode = CompletionOpcode::send;
  bool has_grh = false;
  bool has_immediate = false;
  bool has_invalidate = false;
  std::uint8_t service_level = 0;
  std::uint8_t path_bits : 7 = 0;  // of the LID that a datagram of InfiniBand was sent to
  bool is_from_lid : 1 = false;    // it is one, and `flow_tag` is the LID that it came from
  SlotOwner slot_owner = SlotOwner::send_queue;
  std::uint32_t slot = 0;  // send queue: the position after the request, up to which its slots are free then
  std::uint32_t byte_count = 0;
  std::uint32_t immediate = 0;  // host order; or the invalidated rkey; or the VLAN tag that was stripped
  wire::Qpn qpn;
  wire::Qpn source_qpn;
  std::uint32_t flow_tag = 0;  // raw packets: of the rule that took it
  Time time;                   // when the NIC made it
};

enum class AsyncEventType : std::uint8_t {
  cq_error = 0,
  qp_fatal = 1,
  qp_request_error = 2,
  qp_access_error = 3,
  communication_established = 4,
  sq_drained = 5,
  path_migrated = 6,
  path_migration_error = 7,
  device_fatal = 8,
  port_active = 9,
  port_error = 10,
  lid_change = 11,
  pkey_change = 12,
  sm_change = 13,
  srq_error = 14,
  srq_limit_reached = 15,
  qp_last_wqe_reached = 16,
  client_reregister = 17,
  gid_change = 18,
};

/// Whose event it is.
enum class EventScope : std::uint8_t { qp, cq, srq, port };  // port: or the device's

constexpr EventScope scope_of(AsyncEventType type) {
  switch (type) {
    case AsyncEventType::qp_fatal:
    case AsyncEventType::qp_request_error:
    case AsyncEventType::qp_access_error:
    case AsyncEventType::communication_established:
    case AsyncEventType::sq_drained:
    case AsyncEventType::path_migrated:
    case AsyncEventType::path_migration_error:
    case AsyncEventType::qp_last_wqe_reached:
      return EventScope::qp;
    case AsyncEventType::cq_error:
      return EventScope::cq;
    case AsyncEventType::srq_error:
    case AsyncEventType::srq_limit_reached:
      return EventScope::srq;
    case AsyncEventType::device_fatal:
    case AsyncEventType::port_active:
    case AsyncEventType::port_error:
    case AsyncEventType::lid_change:
    case AsyncEventType::pkey_change:
    case AsyncEventType::sm_change:
    case AsyncEventType::client_reregister:
    case AsyncEventType::gid_change:
      return EventScope::port;
  }
  return EventScope::port;
}
/// Whether it tells that a QP is in the error state.
constexpr bool is_qp_error(AsyncEventType type) {
  return type == AsyncEventType::qp_fatal || type == AsyncEventType::qp_request_error ||
         type == AsyncEventType::qp_access_error;
}

/// `object` is the index of the QP, CQ or SRQ that the type speaks of, or the port's number; `context` what its creator
/// gave.
struct AsyncEvent {
  AsyncEventType type{};
  std::uint32_t object = UINT32_MAX;
  std::uint64_t context = 0;
};

/// Says that a CQ which asked for it (request_notification) has got a completion.
struct CompletionEvent {
  CqHandle cq;
  std::uint64_t context = 0;
};

}  // namespace verbena::nic
