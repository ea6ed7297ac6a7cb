// Qp: the state of one queue pair, as requester and as responder.
//
// Plain data with its invariants beside it; behaviour lives in post.cc, requester.cc, completer.cc, responder.cc and
// datagram.cc. Owned by NicState.
// Tested by: tests/nic/invariants_test.cc, tests/nic/modify_qp_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "emulator/nic/congestion/congestion_control.h"
#include "emulator/nic/objects/attributes.h"
#include "emulator/nic/objects/completion_queue.h"
#include "emulator/nic/objects/counters.h"
#include "emulator/nic/objects/handles.h"
#include "emulator/nic/objects/service.h"
#include "emulator/nic/objects/timer_heap.h"
#include "emulator/nic/objects/timer_table.h"
#include "emulator/nic/objects/work_queue.h"
#include "emulator/nic/objects/work_request.h"
#include "emulator/nic/state/earlier_octets.h"
#include "emulator/nic/state/loss_recovery.h"
#include "emulator/nic/state/mark_echo.h"
#include "wire/aeth.h"
#include "wire/packet_builder.h"

namespace verbena::nic {

/// What the requester waits for. All PSN windows: una_psn <= next_psn <= sent_psn <= post_psn.
struct Requester {
  wire::Psn una_psn;              // the oldest one not acknowledged
  wire::Psn next_psn;             // the next to send; goes back on retry
  wire::Psn sent_psn;             // one after the highest ever sent: anything below it goes out as a retransmission
  wire::Psn post_psn;             // what the next posted work request starts with
  std::uint32_t next_packet = 0;  // within the work request at SendQueue::next
  std::uint32_t post_ssn = 1;
  std::uint32_t limit_ssn = 0;          // end-to-end credits: the last SSN that may consume a receive
  bool credits_known = false;           // nothing is limited before the responder spoke of credits
  bool probing = false;                 // the message under way began beyond the limit: one packet until it is accepted
  std::int32_t window_packets = 0;      // that may be unacknowledged
  std::uint32_t ack_request_every = 1;  // packets of a long message
  std::uint32_t packets_since_ack_request = 0;
  std::uint32_t outstanding_reads = 0;  // reads and atomics sent and not answered
  bool read_retry_pending = false;      // the missing response was asked for again; stale ones behind it are no news
  std::uint8_t retries_left = 0;
  std::uint8_t rnr_retries_left = 0;
  Duration ack_timeout{};         // 0: none
  std::uint64_t last_batch = 0;   // with the last request (Nic::close_batch)
  std::uint64_t timed_batch = 0;  // with the last request that was out when the ACK timer was started
  // Where the next packet of the message takes its payload from.
  std::uint32_t cursor_position = UINT32_MAX;
  std::uint32_t cursor_offset = 0;  // octets of the message before cursor_sge
  std::uint32_t cursor_sge = 0;
};

/// A response that goes out packet by packet: a read's data, or an atomic's acknowledgement.
struct ResponseJob {
  std::uint64_t value = 0;  // read: the address of the next octet; atomic: what was there before
  wire::Psn psn;            // of the next response packet
  std::uint32_t packets_left = 0;
  std::uint32_t bytes_left = 0;
  std::uint32_t rkey = 0;
  PdHandle pd;
  std::uint32_t msn : 24 = 0;
  bool is_atomic : 1 = false;
  bool started : 1 = false;  // the FIRST packet of this response went out
  bool replay : 1 = false;   // answers a duplicate: takes up none of the responder's resources
};
static_assert(sizeof(ResponseJob) <= 32);  // a QP has up to 24

inline constexpr std::size_t kAtomicBytes = sizeof(std::uint64_t);

/// The result of an executed atomic, kept so that a duplicate is answered and not executed again (IBTA 9.7.5.1.5).
struct AtomicRecord {
  static constexpr std::uint32_t kNone = UINT32_MAX;  // no MSN: the place is empty
  std::uint64_t original = 0;
  wire::Psn psn;
  std::uint32_t msn = kNone;
};
static_assert(sizeof(AtomicRecord) <= 16);

/// Responses that a QP can owe to duplicates, beyond the new ones that a correct peer may have outstanding.
inline constexpr std::size_t kDuplicateJobs = 8;

struct Responder {
  enum class Message : std::uint8_t { none, send, write, discard };  // discard: UC, the rest of a damaged message
  enum class Acknowledge : std::uint8_t { none, ack, nak };          // nak: one whose syndrome and PSN are given

  wire::Psn expected_psn;
  std::uint32_t msn = 0;
  Message message = Message::none;
  bool silent = false;  // a NAK for this gap (or an RNR NAK) is out: what is ahead is dropped without another
  bool communication_established = false;
  bool receive_held = false;  // a receive work request has been taken for the message in progress
  Acknowledge acknowledge = Acknowledge::none;
  std::uint8_t nak_syndrome = 0;

  std::uint64_t write_address = 0;
  Translation write_target;  // where the RETH or AtomicETH of the packet in hand points to
  std::uint32_t write_rkey = 0;
  std::uint32_t write_left = 0;  // octets that the RETH still announces
  std::uint32_t write_length = 0;

  std::uint32_t receives_taken = 0;  // since the connection began
  std::uint64_t receive_wr_id = 0;   // receive_held
  std::uint32_t receive_sges = 0;
  std::uint32_t receive_offset = 0;

  wire::Psn acknowledge_psn;
  std::uint32_t unacknowledged_packets = 0;  // requests executed since the last acknowledgement

  std::vector<ResponseJob> jobs;      // in PSN order, sized at RTR
  std::vector<AtomicRecord> atomics;  // ring of max_dest_read_atomic
  std::uint32_t jobs_head = 0;
  std::uint32_t atomics_next = 0;
  std::unique_ptr<EarlierOctets> earlier;      // for the READs among the jobs; null: as memory is now
  std::unique_ptr<MarkEcho> echo;              // null: acknowledgements do not tell of marks
  std::unique_ptr<wire::Telemetry> telemetry;  // of the newest request; null: there is none to echo
  bool has_new_telemetry = false;              // since the last acknowledgement

  void forget_jobs() {
    jobs.clear();
    jobs_head = 0;
    earlier.reset();
  }
  bool owes_jobs() const { return jobs_head != jobs.size(); }
  bool owes_response() const { return owes_jobs() || acknowledge != Acknowledge::none; }
  bool owes_only_acknowledgement() const { return !owes_jobs() && acknowledge == Acknowledge::ack; }
};

/// A rate at work: packets leave at `next` at the earliest. What a program limits (modify_qp_rate_limit) are requests;
/// what congestion control and the static rate of a path hold back are responses with payload as well.
struct Pace {
  std::uint64_t bits_per_second = 0;        // the lowest that anybody says; 0: as fast as the port goes
  std::uint64_t limit_bits_per_second = 0;  // the program's; 0: none
  std::uint64_t path_bits_per_second = 0;   // of a connected QP on InfiniBand: the static rate of its path; 0: none
  Duration burst{};                         // how far `next` may lag behind
  Duration lateness{};                      // and so much more, for the NIC itself came late when it was due
  Time next{};
  bool holds_responses = false;
  std::unique_ptr<CongestionControl> control;  // null: none
};

struct Qp {
  QpHandle handle;
  wire::Qpn qpn;
  QpState state = QpState::reset;
  bool has_receive_queue = true;  // of its own: neither SRQ nor XRC nor work queues
  bool ready = false;             // it is in NicState's list (ready_next)
  bool signal_all = false;
  bool sq_drained_notify = false;
  bool sq_draining = false;
  bool blocks_own_groups = false;
  bool strips_vlan = false;
  const Service* service = nullptr;  // what its type means; never null once it is created
  PdHandle pd;                       // XRC receive: of the SRQ of the message in progress, as are recv_cq and srq
  CompletionQueue* send_cq = nullptr;
  CompletionQueue* recv_cq = nullptr;
  SharedReceiveQueue* srq = nullptr;
  std::uint64_t context = 0;
  std::uint32_t mtu = 1024;
  std::uint16_t pkey = wire::kPkeyDefault;  // that of its index in its port's table
  wire::PkeyFilter pkeys_taken;
  QpAttributes attributes;       // what modify_qp set last; state and draining are kept above
  Counters* counters = nullptr;  // of attributes.port
  wire::FrameTemplate frame_template;
  std::uint32_t route_hint = 0;
  std::uint8_t telemetry = 0;  // kTakesTelemetry, and kHasTelemetry once the peer takes it as well; 0: the NIC does not
  std::uint32_t number = 0;    // by which a plan of faults names it

  SendQueue send_queue;
  ReceiveQueue receive_queue;
  std::unique_ptr<Sge[]> held_sges;  // the receive work request of the message in progress
  Requester requester;
  Responder responder;

  Pace pace;
  std::unique_ptr<LossRecovery> recovery;        // null: go-back-N
  XrcDomain* xrc_domain = nullptr;               // XRC receive
  std::uint32_t holders = 1;                     // XRC receive: create_qp and open_qp
  std::uint32_t attachments = 0;                 // groups and flows that name it
  std::unique_ptr<struct ReceiveSpread> spread;  // raw packets, by an indirection table

  Qp();
  ~Qp();

  Time next_notice{};  // no CNP before it
  TimerTable timers;
  TimerEntry timer_entry;    // comes due at timers.next() at the latest
  Qp* ready_next = nullptr;  // in NicState's list of QPs with something to send

  void enter(QpState to) {
    state = to;
    if (to != QpState::sqd) sq_draining = false;
  }
  bool accepts_packets() const {
    return state == QpState::rtr || state == QpState::rts || state == QpState::sqd || state == QpState::sqe;
  }
  std::uint32_t packets_of(std::uint32_t bytes) const { return bytes == 0 ? 1 : (bytes - 1) / mtu + 1; }
};

/// With many QPs each packet finds another one, none of it in the nearest cache: its lines come all at once, not one
/// after the other.
inline void prefetch(const Qp& qp) {
  constexpr std::size_t kLineBytes = 64;
  const auto* const begin = reinterpret_cast<const std::byte*>(&qp);
  [begin]<std::size_t... kLine>(std::index_sequence<kLine...>) {
    (__builtin_prefetch(begin + kLine * kLineBytes, 1), ...);
  }(std::make_index_sequence<(sizeof(Qp) + kLineBytes - 1) / kLineBytes>());
}

}  // namespace verbena::nic
