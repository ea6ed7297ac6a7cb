// The values that cross the NIC's surface: handles, attributes, work requests, completions, events.
//
// Numeric values equal those of the verbs uABI (infiniband/verbs.h), so that the shim translates by cast; verbs-shim
// asserts the equality at compile time. Nothing here has behaviour. Names and meanings: the verbs man pages, IBTA vol 1
// ch. 11.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "wire/packet_builder.h"
#include "wire/time.h"
#include "wire/types.h"

namespace verbena::nic {

/// A handle names an object of one NIC. Handles are never reused while the object lives; a stale one is answered with
/// VerbsError::invalid_argument.
template <class Tag>
struct Handle {
  std::uint32_t index = UINT32_MAX;
  constexpr auto operator<=>(const Handle&) const = default;
  constexpr bool valid() const { return index != UINT32_MAX; }
};
using PdHandle = Handle<struct PdTag>;
using MrHandle = Handle<struct MrTag>;
using MwHandle = Handle<struct MwTag>;
using AhHandle = Handle<struct AhTag>;
using CqHandle = Handle<struct CqTag>;
using SrqHandle = Handle<struct SrqTag>;
using QpHandle = Handle<struct QpTag>;
using XrcDomainHandle = Handle<struct XrcDomainTag>;
using WorkQueueHandle = Handle<struct WorkQueueTag>;
using IndirectionTableHandle = Handle<struct IndirectionTableTag>;
using FlowHandle = Handle<struct FlowTag>;
using FlowCountersHandle = Handle<struct FlowCountersTag>;

enum class VerbsError : std::uint8_t {
  invalid_argument,  // EINVAL
  no_memory,         // ENOMEM: a limit is reached or a queue is full
  busy,              // EBUSY: still in use
  not_supported,     // EOPNOTSUPP
  fault,             // EFAULT
  not_found,         // ENOENT
  not_permitted,     // EPERM
  no_device,         // EIO: Nic::remove_device
};

enum Access : std::uint32_t {
  kLocalWrite = 1,
  kRemoteWrite = 2,
  kRemoteRead = 4,
  kRemoteAtomic = 8,
  kMwBind = 16,
  kZeroBased = 32,
  kOnDemand = 64,
  kHugeTlb = 128,
  kFlushGlobal = 256,
  kFlushPersistent = 512,
  kRelaxedOrdering = 1 << 20,
};

enum class QpType : std::uint8_t { rc = 2, uc = 3, ud = 4, raw_packet = 8, xrc_send = 9, xrc_receive = 10 };
enum class QpState : std::uint8_t { reset = 0, init = 1, rtr = 2, rts = 3, sqd = 4, sqe = 5, error = 6 };
enum class MigrationState : std::uint8_t { migrated = 0, rearm = 1, armed = 2 };

/// Which attributes a modify_qp call names; the bits of enum ibv_qp_attr_mask.
enum QpAttributeMask : std::uint32_t {
  kQpState = 1 << 0,
  kQpCurrentState = 1 << 1,
  kQpEnableSqdAsync = 1 << 2,
  kQpAccessFlags = 1 << 3,
  kQpPkeyIndex = 1 << 4,
  kQpPort = 1 << 5,
  kQpQkey = 1 << 6,
  kQpAv = 1 << 7,
  kQpPathMtu = 1 << 8,
  kQpTimeout = 1 << 9,
  kQpRetryCount = 1 << 10,
  kQpRnrRetry = 1 << 11,
  kQpRqPsn = 1 << 12,
  kQpMaxReadAtomic = 1 << 13,
  kQpAlternatePath = 1 << 14,
  kQpMinRnrTimer = 1 << 15,
  kQpSqPsn = 1 << 16,
  kQpMaxDestReadAtomic = 1 << 17,
  kQpPathMigrationState = 1 << 18,
  kQpCapabilities = 1 << 19,
  kQpDestQpn = 1 << 20,
  kQpRateLimit = 1 << 25,
};

/// The path to a peer, as struct ibv_ah_attr has it, with the peer's MAC already resolved by the host.
struct AddressVector {
  wire::Gid destination;
  wire::MacAddress destination_mac;
  std::uint8_t source_gid_index = 0;
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 64;
  std::uint32_t flow_label = 0;
  std::uint8_t service_level = 0;
  std::uint8_t port = 1;
  std::uint8_t static_rate = 0;
  constexpr bool operator==(const AddressVector&) const = default;
};

struct QpCapabilities {
  std::uint32_t max_send_wr = 0;
  std::uint32_t max_recv_wr = 0;
  std::uint32_t max_send_sge = 0;
  std::uint32_t max_recv_sge = 0;
  std::uint32_t max_inline_data = 0;  // octets
};

/// Spreads what a QP receives over the work queues of an indirection table (receive-side scaling).
struct ReceiveHash {
  static constexpr std::size_t kKeyBytes = 40;  // Toeplitz
  std::array<std::uint8_t, kKeyBytes> key{};
  std::uint32_t fields = 0;  // enum ibv_rx_hash_fields
};

struct QpInit {
  PdHandle pd;  // not of XRC receive QPs: the SRQ that a message names brings its own
  QpType type = QpType::rc;
  CqHandle send_cq;
  CqHandle recv_cq;
  SrqHandle srq;  // invalid: the QP has a receive queue of its own
  QpCapabilities capabilities;
  XrcDomainHandle xrc_domain;                // XRC receive QPs
  IndirectionTableHandle indirection_table;  // valid: a raw packet QP that only receives, spread by `hash`
  ReceiveHash hash;
  bool signal_all = false;
  bool blocks_own_groups = false;  // gets no copy of what it sends to a group that it belongs to
  bool strips_vlan = false;        // raw packets: the tag goes to the completion
  std::uint64_t context = 0;       // given back in QpAttributes and events; the NIC does not look at it
};

struct QpAttributes {
  QpState state = QpState::reset;
  QpState current_state = QpState::reset;
  std::uint32_t path_mtu_bytes = 1024;  // 256, 512, 1024, 2048, 4096
  MigrationState path_migration = MigrationState::migrated;
  std::uint32_t qkey = 0;
  wire::Psn rq_psn;
  wire::Psn sq_psn;
  wire::Qpn dest_qpn;
  std::uint32_t access = 0;
  QpCapabilities capabilities;
  AddressVector address_vector;
  AddressVector alternate_address_vector;
  std::uint16_t pkey_index = 0;
  std::uint16_t alternate_pkey_index = 0;
  bool enable_sqd_async_notify = false;
  bool sq_draining = false;
  std::uint8_t max_read_atomic = 0;       // as initiator
  std::uint8_t max_dest_read_atomic = 0;  // as responder
  std::uint8_t min_rnr_timer = 0;         // code, IBTA table 46
  std::uint8_t port = 1;
  std::uint8_t timeout = 0;  // 4.096 us x 2^timeout, 0: none
  std::uint8_t retry_count = 0;
  std::uint8_t rnr_retry = 0;  // 7: for ever
  std::uint8_t alternate_port = 0;
  std::uint8_t alternate_timeout = 0;
  std::uint32_t rate_limit_kbps = 0;
};

/// Type 1 belongs to its PD and is bound anew at will; type 2 is bound through one QP, which alone serves it (2B), and
/// must be invalidated before it is bound again (IBTA 10.6.7.2).
enum class WindowType : std::uint8_t { type1 = 1, type2 = 2 };

struct MemoryWindow {
  MwHandle handle;
  std::uint32_t rkey = 0;
};

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

struct SendRequest {
  std::uint64_t wr_id = 0;
  SendOpcode opcode = SendOpcode::send;
  bool signaled = false;
  bool solicited = false;
  bool fence = false;
  bool inline_data =
      false;  // sges point at the data itself, which is copied before post_send returns; lkeys are ignored
  std::span<const Sge> sges;
  std::uint32_t immediate = 0;  // host order; or the rkey that is invalidated
  std::uint64_t remote_address = 0;
  std::uint32_t rkey = 0;
  std::uint64_t compare_or_add = 0;
  std::uint64_t swap = 0;
  AhHandle address_handle;  // UD
  wire::Qpn remote_qpn;     // UD; XRC: the shared receive queue
  std::uint32_t remote_qkey = 0;

  /// A bind lies where other operations keep what it has no use for: a request is copied for every post. Read back by
  /// SendWork::binding().
  void set_binding(const WindowBinding& binding) {
    opcode = SendOpcode::bind_memory_window;
    address_handle.index = binding.window.index;
    rkey = binding.rkey;
    remote_qkey = binding.lkey;
    remote_address = binding.address;
    compare_or_add = binding.length;
    swap = binding.access;
  }
};

struct ReceiveRequest {
  std::uint64_t wr_id = 0;
  std::span<const Sge> sges;
};

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
  remote_aborted = 16,
  fatal_error = 19,
  response_timeout = 20,
  general_error = 21,
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

struct Completion {
  std::uint64_t wr_id = 0;
  CompletionStatus status = CompletionStatus::success;
  CompletionOpcode opcode = CompletionOpcode::send;
  bool has_grh = false;
  bool has_immediate = false;
  bool has_invalidate = false;
  std::uint8_t service_level = 0;
  std::uint16_t pkey_index = 0;
  std::uint32_t vendor_error = 0;
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

struct SrqInit {
  PdHandle pd;
  XrcDomainHandle xrc_domain;  // both valid: an XRC SRQ, with the CQ that its receives complete on
  CqHandle cq;
  std::uint32_t max_wr = 0;
  std::uint32_t max_sge = 0;
  std::uint32_t limit = 0;
  std::uint64_t context = 0;
};
struct SrqAttributes {
  std::uint32_t max_wr = 0;
  std::uint32_t max_sge = 0;
  std::uint32_t limit = 0;
};

struct MemoryRegionInit {
  PdHandle pd;
  std::uint64_t address = 0;  // where the bytes are
  std::uint64_t length = 0;   // octets
  std::uint64_t iova = 0;     // the address that work requests and peers use for the first octet
  std::uint32_t access = 0;
  bool is_null = false;  // no memory: local reads give zeros, what is written vanishes, at any address
};
struct MemoryRegion {
  MrHandle handle;
  std::uint32_t lkey = 0;
  std::uint32_t rkey = 0;
};

/// ibv_rereg_mr: what is not named stays.
struct MemoryRegionChange {
  struct Translation {
    std::uint64_t address = 0;
    std::uint64_t length = 0;  // octets
    std::uint64_t iova = 0;
  };
  std::optional<PdHandle> pd;
  std::optional<Translation> translation;
  std::optional<std::uint32_t> access;
};

/// What is announced can be created, one more fails with no_memory.
struct NicLimits {
  std::uint32_t max_qp = 16384;
  std::uint32_t max_qp_wr = 16384;
  std::uint32_t max_sge = 30;
  std::uint32_t max_sge_read = 30;
  std::uint32_t max_inline_bytes = 1024;
  std::uint32_t max_cq = 16384;
  std::uint32_t max_cqe = 1 << 20;
  std::uint32_t max_mr = 1 << 18;
  std::uint64_t max_mr_bytes = std::uint64_t{1} << 46;
  std::uint32_t max_mw = 1 << 17;
  std::uint32_t max_pd = 16384;
  std::uint32_t max_ah = 1 << 17;
  std::uint32_t max_srq = 4096;
  std::uint32_t max_srq_wr = 16384;
  std::uint32_t max_srq_sge = 30;
  std::uint8_t max_read_atomic = 128;  // per QP, as responder and as initiator
  std::uint32_t max_message_bytes = 1u << 31;
  std::uint16_t pkeys = 1;
  std::uint32_t max_xrc_domains = 4096;
  std::uint32_t max_groups = 8192;        // multicast
  std::uint32_t max_group_members = 256;  // QPs of one group
  std::uint32_t max_work_queues = 4096;
  std::uint32_t max_indirection_tables = 1024;
  std::uint32_t max_indirection_table_size = 2048;
  std::uint32_t max_flows = 16384;
  std::uint32_t max_flow_counters = 4096;
  std::uint16_t max_flow_priority = 15;
  std::uint16_t max_moderation_count = UINT16_MAX;
  std::uint16_t max_moderation_period_us = 4095;
  std::uint32_t min_rate_kbps = 1;
  std::uint32_t max_rate_kbps = 400'000'000;
};

/// How much a QP may send: requests leave no faster, but up to `burst_bytes` at once.
struct RateLimit {
  std::uint32_t kbps = 0;  // 0: as fast as the port
  std::uint32_t burst_bytes = 0;
};

struct NicConfig {
  /// QPNs are qpn_base .. qpn_base + 2^qpn_bits - 1: the process slot lies above (design.md: nodes, processes).
  wire::Qpn qpn_base{0};
  std::uint8_t qpn_bits = 16;
  wire::MacAddress mac;
  std::array<wire::Gid, 4> gids{};
  std::uint8_t gid_count = 1;
  std::uint32_t port_mtu_bytes = 4096;
  bool port_is_up = true;  // at first; Nic::set_port_up changes it
  /// 0: from the flow label or the QPNs (IBTA annex A17.3.2). A UDP socket link sends from one port and says so here.
  std::uint16_t udp_source_port = 0;
  /// What one QP may have unacknowledged, in octets (at least two packets): bounds what go-back-N sends again, and what
  /// a link without back pressure must hold.
  std::uint32_t window_bytes = 2 << 20;
  /// Request packets that go by without an acknowledgement, at most: as requester it asks for one so often, as
  /// responder it sends one unasked. 0: it asks at the end of a message, at half a window and after 64 packets, and
  /// sends none unasked.
  std::uint32_t acknowledge_every = 0;
  /// Least time between two CNPs that answer marked packets of one QP. 0: none are sent.
  Duration cnp_interval{};
  /// What it takes until a page of an on-demand region is there that the NIC meets for the first time. Until then it
  /// refuses requests of peers with RNR NAKs, drops datagrams and read responses, and holds back what is to be sent.
  Duration page_fault_delay{};
  /// Seeds the first QPN and the key bytes, so that stale numbers are caught; same seed, same run.
  std::uint64_t seed = 0;
  NicLimits limits;
};

}  // namespace verbena::nic
