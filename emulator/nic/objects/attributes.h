// What the objects of a NIC are made with and can be changed to: QPs, address vectors, shared receive queues, memory.
//
// Numeric values equal those of the verbs uABI (infiniband/verbs.h), so that the shim translates by cast; verbs-shim
// asserts the equality at compile time. Nothing here has behaviour. Names and meanings: the verbs man pages, IBTA vol 1
// ch. 11.
// Tested by: tests/nic/memory_verbs_test.cc, tests/nic/modify_qp_test.cc
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "emulator/nic/objects/handles.h"
#include "wire/path_address.h"
#include "wire/types.h"

namespace verbena::nic {

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

/// The path to a peer, as struct ibv_ah_attr has it, with the address of the next hop already resolved by the host.
struct AddressVector {
  wire::Gid destination;
  wire::PathAddress next_hop;
  std::uint8_t source_gid_index = 0;
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 64;
  std::uint32_t flow_label = 0;
  std::uint8_t service_level = 0;
  std::uint8_t path_bits = 0;  // on InfiniBand: which of the port's LIDs packets come from
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
  std::uint32_t number = 0;        // by which a plan of faults names it (completion_judge.h)
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
  std::uint16_t pkey_index = 0;
  bool enable_sqd_async_notify = false;
  bool sq_draining = false;
  std::uint8_t max_read_atomic = 0;       // as initiator
  std::uint8_t max_dest_read_atomic = 0;  // as responder
  std::uint8_t min_rnr_timer = 0;         // code, IBTA table 46
  std::uint8_t port = 1;
  std::uint8_t timeout = 0;  // 4.096 us x 2^timeout, 0: none
  std::uint8_t retry_count = 0;
  std::uint8_t rnr_retry = 0;  // 7: for ever
  std::uint32_t rate_limit_kbps = 0;
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
struct CqAttributes {
  std::uint32_t entries = 0;  // how many completions fit
  std::size_t depth = 0;      // how many wait to be polled
};

struct SrqAttributes {
  std::uint32_t max_wr = 0;
  std::uint32_t max_sge = 0;
  std::uint32_t limit = 0;
};

class Memory;

struct MemoryRegionInit {
  PdHandle pd;
  std::uint64_t address = 0;  // where the bytes are
  std::uint64_t length = 0;   // octets
  std::uint64_t iova = 0;     // the address that work requests and peers use for the first octet
  std::uint32_t access = 0;
  bool is_null = false;      // no memory: local reads give zeros, what is written vanishes, at any address
  bool is_pinned = true;     // counts against NicLimits::max_pinned_bytes, unless its pages come on demand
  Memory* memory = nullptr;  // in which they are, and which outlives the region; null: the NIC's own
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

/// Type 1 belongs to its PD and is bound anew at will; type 2 is bound through one QP, which alone serves it (2B), and
/// must be invalidated before it is bound again (IBTA 10.6.7.2).
enum class WindowType : std::uint8_t { type1 = 1, type2 = 2 };

struct MemoryWindow {
  MwHandle handle;
  std::uint32_t rkey = 0;
};

/// How much a QP may send: requests leave no faster, but up to `burst_bytes` at once.
struct RateLimit {
  std::uint32_t kbps = 0;  // 0: as fast as the port
  std::uint32_t burst_bytes = 0;
};

}  // namespace verbena::nic
