// NicState: everything one NIC owns, and the few operations that all its parts share.
//
// Private to emulator/nic. The parts (post, requester, completer, responder, datagram, modify_qp and more) are free
// functions over it, a header and a file each; nic.h is the only way in from outside.
// Tested by: tests/nic/invariants_test.cc
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <span>

#include "emulator/nic/memory/memory.h"
#include "emulator/nic/memory/memory_table.h"
#include "emulator/nic/objects/completion_queue.h"
#include "emulator/nic/objects/counters.h"
#include "emulator/nic/objects/event_queue.h"
#include "emulator/nic/objects/management_sink.h"
#include "emulator/nic/objects/object_table.h"
#include "emulator/nic/objects/port_counters.h"
#include "emulator/nic/objects/timer_heap.h"
#include "emulator/nic/objects/transmit_port.h"
#include "emulator/nic/state/loss_recovery.h"
#include "emulator/nic/state/planned_completions.h"
#include "emulator/nic/state/qp.h"
#include "emulator/nic/state/qpn_table.h"
#include "emulator/nic/state/ready_queue.h"
#include "emulator/nic/state/steering.h"
#include "wire/known_headers.h"
#include "wire/packet_builder.h"
#include "wire/packet_view.h"

namespace verbena::nic {

/// What one attempt to send a packet for a QP came to.
enum class Sent : std::uint8_t {
  packet,
  nothing,  // the QP has nothing that may go out now
  blocked,  // the port has no room
};

/// A CNP that is due (transport_ib/notification_point.cc).
struct CongestionNotice {
  wire::Qpn from;
  wire::Qpn to;
  wire::Gid address;
  wire::FrameTemplate frame_template;
  std::uint32_t route_hint = 0;
};
/// Whoever packets came from that were marked, where the time between CNPs is a destination's.
struct ToldPeer {
  wire::Gid address;
  Time next_notice{};
};
inline constexpr std::size_t kHeldMax = 4;      // QPs whose acknowledgements wait; those of others leave at once
inline constexpr std::size_t kNoticesMax = 64;  // one a QP; beyond, a mark gives no CNP

/// Whether the NIC has the port and the source that a path names, of the destination's family. A group of RoCE v1 has
/// no family: its address is an IPv6 one even where it stands for an IPv4 group. An empty entry is no source.
inline bool has_source(const NicConfig& config, const AddressVector& path) {
  const auto gids = config.gids_of(path.port);
  if (path.source_gid_index >= gids.size()) return false;
  const GidEntry& source = gids[path.source_gid_index];
  if (source.gid == wire::Gid{}) return false;
  return path.destination.is_ipv4() == source.gid.is_ipv4() ||
         (source.encapsulation->is_hidden && path.destination.is_multicast());
}

/// Whether a packet's GID is one of these of InfiniBand. A port takes what has the default prefix with one of its GUIDs
/// as well, whichever its subnet has (IBA volume 1, 4.1.1).
inline bool has_infiniband_gid(std::span<const GidEntry> gids, const wire::Gid& to) {
  constexpr std::size_t kGuidAt = 8;
  return to != wire::Gid{} && std::ranges::any_of(gids, [&](const GidEntry& own) {
           return own.gid == to || (to.is_link_local() && own.gid != wire::Gid{} &&
                                    std::memcmp(&own.gid.octets[kGuidAt], &to.octets[kGuidAt], kGuidAt) == 0);
         });
}

struct alignas(64) NicState {
  NicState(const NicConfig& nic_config, Memory& app_memory, const PortCounters& nic_counters,
           const RecoveryRow& recovery);

  // What every packet needs lies together: a simulator's next packet is another NIC's, and none of this one's state is
  // near.
  Time now{};                    // of the call in progress; only stamps completions
  std::uint64_t batch = 1;       // of what is built now (Nic::close_batch)
  ReadyQueue ready;              // what transmit() serves
  std::size_t turn_left = 0;     // packets, of the first ready QP's turn that was interrupted; 0: none was
  bool may_hold = false;         // in the transmit() in progress
  std::uint32_t held_count = 0;  // of `held`
  std::uint64_t news = 0;        // completions and events made
  TimerHeap timers;
  Time moderation_deadline = kNever;            // when a CQ's moderated event may be due, or what is planned
  std::unique_ptr<PlannedCompletions> planned;  // null: completions are as they come
  std::vector<CongestionNotice> notices;        // in the order in which they became due
  Counters* arrival_counters;                   // of the port by which what is being received arrived
  const bool memory_has_octets;
  const RecoveryRow& loss_recovery;
  const std::uint8_t extensions;  // of Bth::reserved7, those that mean something to this NIC
  bool is_removed = false;
  std::uint8_t arrival_port = 1;   // of what is received
  std::uint32_t examinations = 0;  // why frames are looked at before their QP is: sniffers, ports, versions
  QpnTable qpns;
  Steering steering;
  MemoryTable regions;

  NicConfig config;
  const PortCounters counters;
  std::array<std::vector<std::uint16_t>, kPortsMax> pkeys;  // by port; empty: the default one alone
  ObjectTable<ProtectionDomain, PdTag> pds;
  ObjectTable<AddressHandle, AhTag> address_handles;
  ObjectTable<CompletionQueue, CqTag> cqs;
  ObjectTable<SharedReceiveQueue, SrqTag> srqs;
  ObjectTable<XrcDomain, XrcDomainTag> xrc_domains;
  ObjectTable<WorkQueue, WorkQueueTag> work_queues;
  ObjectTable<IndirectionTable, IndirectionTableTag> indirection_tables;
  ObjectTable<FlowCounters, FlowCountersTag> flow_counters;
  ObjectTable<Flow, FlowTag> flows;
  ObjectTable<Qp, QpTag> qps;
  std::uint32_t timers_made = 0;
  std::vector<ToldPeer> told;  // with CnpScope::destination
  Time next_notice_of_port{};  // with CnpScope::port
  EventQueue<AsyncEvent> async_events;
  EventQueue<CompletionEvent> completion_events;
  ManagementSink* management = nullptr;
  /// On hardware a posted work request has a copy of the address vector; here it names the handle, which therefore
  /// stays until nothing posted needs it.
  std::vector<AhHandle> destroyed_ahs;
  wire::KnownHeaders known_headers;  // of frames received
  std::uint32_t awaiting_slot = 0;   // of the QP that Nic::awaits_completions() looked at last
  std::array<Qp*, kHeldMax> held{};  // their acknowledgements wait for an answer (Nic::Acknowledge)

  /// Of what is received from now on.
  void arrive_by(std::uint8_t port) {
    arrival_port = port;
    arrival_counters = &counters.of(port);
  }
  /// After its attributes, or its port, have changed.
  void settle_at_port(Qp& qp) const {
    qp.counters = &counters.of(qp.attributes.port);
    qp.pkey = pkey_at(qp.attributes.port, qp.attributes.pkey_index);
    qp.pkeys_taken = wire::PkeyFilter(qp.pkey);
  }
  /// 0, which matches no P_Key: there is none.
  std::uint16_t pkey_at(std::uint32_t port, std::uint16_t index) const {
    const std::vector<std::uint16_t>& table = pkeys[port - 1];
    if (table.empty()) return wire::kPkeyDefault;
    return index < table.size() ? table[index] : std::uint16_t{0};
  }

  /// A packet with a wrong P_Key or Q_Key is dropped: counted, and on InfiniBand told to the port's agent.
  [[gnu::cold, gnu::noinline]] void refuse_key(const wire::PacketView& packet, Counter why);

  /// The QP has nothing to send any more, whatever it had.
  void unschedule(Qp& qp);
  /// Whether the QP's response waits for an answer: a plain acknowledgement may.
  bool hold(Qp& qp);
  /// They wait no longer: all are ready.
  void release_held();

  /// Counts it among those of a port.
  void complete(CompletionQueue& cq, const Completion& completion, bool solicited, Counters& of_port) {
    if (planned != nullptr) [[unlikely]]
      return planned->complete(*this, cq, completion, solicited, of_port);
    store(cq, completion, solicited, of_port);
  }
  /// The same, without a plan.
  void store(CompletionQueue& cq, const Completion& completion, bool solicited, Counters& of_port);
  /// IBTA 11.6.3.2: CQ error; the QPs on it can no longer report and go to error.
  [[gnu::cold]] void overrun(CompletionQueue& cq);
  /// Events of moderated CQs whose period is over, and what is planned for now.
  [[gnu::cold]] void end_moderation(Time at);
  /// Of the one that the head of the send queue has just left.
  void complete_send(Qp& qp, const SendWork& work, CompletionStatus status);
  /// For a receive work request; fills in what the QP knows.
  void complete_receive(Qp& qp, Completion completion, bool solicited);
  void raise(AsyncEventType type, const Qp& qp) { raise(type, qp.handle.index, qp.context, *qp.counters); }
  /// Of what belongs to no port.
  void raise(AsyncEventType type, std::uint32_t object, std::uint64_t context) {
    raise(type, object, context, counters.of(1));
  }
  void raise(AsyncEventType type, std::uint32_t object, std::uint64_t context, Counters& of_port);

  /// Of a QP that is reset or destroyed; what an XRC SRQ got through it stays.
  void purge_completions(const Qp& qp);
  /// Ends those of destroyed_ahs that are not needed any more.
  void sweep_address_handles();

  /// Starts the timer anew, and has the timer heap come back in time.
  [[gnu::always_inline]] inline void start_timer(Qp& qp, Timer timer, Time when) {
    qp.timers.start(timer, when);
    timers.at_latest(qp.timer_entry, when);
  }

  /// To the error state: everything posted is flushed in order (IBTA 10.3.1.2.6). A NAK that is due still leaves.
  void enter_error(Qp& qp);
  /// The work request at the head of the send queue fails; RC goes to error, UC and UD to send queue error.
  void fail_send_head(Qp& qp, CompletionStatus status);
  void flush_send_queue(Qp& qp);
  void flush_receive_queue(Qp& qp);

  wire::FramePath frame_path(const AddressVector& address_vector, std::uint16_t flow_port) const;
  /// Whether the packet is for one of the NIC's addresses, or for a multicast group.
  bool is_addressee(const wire::PacketView& packet) const;
  /// Whether some GID is of the packet's version of RoCE.
  bool takes(const wire::Encapsulation& encapsulation) const;
};

}  // namespace verbena::nic
