// NicState: everything one NIC owns, and the few operations that all its parts share.
//
// Private to emulator/nic. The parts (post, requester, completer, responder, datagram, modify_qp) are free functions
// over it, one file each; nic.h is the only way in from outside.
#pragma once

#include <array>

#include "emulator/nic/completion_queue.h"
#include "emulator/nic/counters.h"
#include "emulator/nic/event_queue.h"
#include "emulator/nic/memory.h"
#include "emulator/nic/memory_table.h"
#include "emulator/nic/nic.h"
#include "emulator/nic/object_table.h"
#include "emulator/nic/qp.h"
#include "emulator/nic/qpn_table.h"
#include "emulator/nic/steering.h"
#include "emulator/nic/timer_heap.h"
#include "emulator/nic/transmit_port.h"
#include "wire/known_headers.h"
#include "wire/packet_view.h"

namespace verbena::nic {

/// What one attempt to send a packet for a QP came to.
enum class Sent : std::uint8_t {
  packet,
  nothing,  // the QP has nothing that may go out now
  blocked,  // the port has no room
};

/// A CNP that is due (congestion.cc).
struct CongestionNotice {
  wire::Qpn from;
  wire::Qpn to;
  wire::Gid address;
  wire::FrameTemplate frame_template;
  std::uint32_t route_hint = 0;
};
inline constexpr std::size_t kHeldMax = 4;      // QPs whose acknowledgements wait; those of others leave at once
inline constexpr std::size_t kNoticesMax = 64;  // one a QP; beyond, a mark gives no CNP

struct alignas(64) NicState {
  NicState(const NicConfig& nic_config, Memory& app_memory, Counters& nic_counters);

  // What every packet needs lies together: a simulator's next packet is another NIC's, and none of this one's state is
  // near.
  Time now{};               // of the call in progress; only stamps completions
  std::uint64_t batch = 1;  // of what is built now (Nic::close_batch)
  Qp* ready_first = nullptr;
  Qp* ready_last = nullptr;
  std::size_t ready_count = 0;
  std::size_t turn_left = 0;     // packets, of the first ready QP's turn that was interrupted; 0: none was
  bool may_hold = false;         // in the transmit() in progress
  std::uint32_t held_count = 0;  // of `held`
  std::uint64_t news = 0;        // completions and events made
  TimerHeap timers;
  Time moderation_deadline = kNever;      // when a CQ's moderated event may be due
  std::vector<CongestionNotice> notices;  // in the order in which they became due
  Memory& memory;
  Counters& counters;
  const bool memory_has_octets;
  bool is_removed = false;
  QpnTable qpns;
  Steering steering;
  MemoryTable regions;

  NicConfig config;
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
  EventQueue<AsyncEvent> async_events;
  EventQueue<CompletionEvent> completion_events;
  ManagementSink* management = nullptr;
  /// On hardware a posted work request has a copy of the address vector; here it names the handle, which therefore
  /// stays until nothing posted needs it.
  std::vector<AhHandle> destroyed_ahs;
  wire::KnownHeaders known_headers;  // of frames received
  std::uint32_t awaiting_slot = 0;   // of the QP that Nic::awaits_completions() looked at last
  std::array<Qp*, kHeldMax> held{};  // their acknowledgements wait for an answer (Nic::Acknowledge)

  /// Puts the QP at the end of the list that transmit() serves.
  void make_ready(Qp& qp);
  void make_ready_first(Qp& qp);
  Qp* take_ready();
  void drop_ready(Qp& qp);
  /// Whether the QP's response waits for an answer: a plain acknowledgement may.
  bool hold(Qp& qp);
  /// They wait no longer: all are ready.
  void release_held();

  void complete(CompletionQueue& cq, const Completion& completion, bool solicited);
  void complete_send(Qp& qp, const SendWork& work, CompletionStatus status);
  /// For a receive work request; fills in what the QP knows.
  void complete_receive(Qp& qp, Completion completion, bool solicited);
  void raise(AsyncEventType type, const Qp& qp) { raise(type, qp.handle.index, qp.context); }
  void raise(AsyncEventType type, std::uint32_t object, std::uint64_t context);

  /// Of a QP that is reset or destroyed; what an XRC SRQ got through it stays.
  void purge_completions(const Qp& qp);
  /// Ends those of destroyed_ahs that are not needed any more.
  void sweep_address_handles();

  /// Starts the timer anew, and has the timer heap come back in time.
  void start_timer(Qp& qp, Timer timer, Time when);

  /// To the error state: everything posted is flushed in order (IBTA 10.3.1.2.6). A NAK that is due still leaves.
  void enter_error(Qp& qp);
  /// The work request at the head of the send queue fails; RC goes to error, UC and UD to send queue error.
  void fail_send_head(Qp& qp, CompletionStatus status);
  void flush_send_queue(Qp& qp);
  void flush_receive_queue(Qp& qp);

  wire::FramePath frame_path(const AddressVector& address_vector, std::uint16_t flow_port) const;
  /// Whether the packet is for one of the NIC's addresses, or for a multicast group.
  bool is_addressee(const wire::PacketView& packet) const;
};

struct Nic::State : NicState {
  using NicState::NicState;
};

// modify_qp.cc
VerbsResult<void> modify_qp(NicState& nic, Qp& qp, const QpAttributes& attributes, std::uint32_t mask, Time now);

// requester.cc
/// Whether the window, credits, fences and the QP's state let the work request's next packet go.
bool may_send(const Qp& qp, const SendWork& work);
/// One request packet of an RC or UC QP.
Sent send_request(NicState& nic, Qp& qp, Time now, TransmitPort& port);
/// Continues at `psn`: after a NAK, a timeout, or an acknowledgement of something that was about to be sent again.
void go_back(Qp& qp, wire::Psn psn);
/// The next octets of a packet's payload. False: the memory faults.
[[gnu::always_inline]] inline bool read_payload(NicState& nic, std::uint64_t from, std::uint32_t bytes,
                                                wire::PacketBuilder& builder) {
  if (nic.memory_has_octets) return nic.memory.read(from, builder.payload(bytes));
  builder.leave_out_payload(bytes);
  return true;
}
/// A local buffer of the QP: checked and copied. False: a local protection error.
[[gnu::cold]] bool read_null_region(NicState& nic, const Qp& qp, const Sge& from, wire::PacketBuilder& builder);
[[gnu::always_inline]] inline bool read_local(NicState& nic, const Qp& qp, const Sge& from,
                                              wire::PacketBuilder& builder) {
  std::uint64_t address;
  if (nic.regions.translate(from.lkey, qp.pd, qp.handle, from.address, from.length, kLocalRead, address))
    return read_payload(nic, address, from.length, builder);
  return read_null_region(nic, qp, from, builder);
}
/// The same for what arrives: octets to [address, address + payload.size()). `pd`: of the queue that names the buffer.
inline bool write_local(NicState& nic, const Qp& qp, PdHandle pd, std::uint32_t lkey, std::uint64_t address,
                        std::span<const std::byte> payload) {
  std::uint64_t to;
  if (nic.regions.translate(lkey, pd, qp.handle, address, payload.size(), kLocalWrite, to))
    return nic.memory.write(to, payload);
  return nic.regions.is_null(lkey, pd);
}
/// The same as gather_payload, for any number of SGEs.
bool gather_pieces(NicState& nic, Qp& qp, std::uint32_t position, std::uint32_t offset, std::uint32_t bytes,
                   wire::PacketBuilder& builder);
/// Copies octets [offset, offset + bytes) of the message. False: a local protection error.
[[gnu::always_inline]] inline bool gather_payload(NicState& nic, Qp& qp, std::uint32_t position, std::uint32_t offset,
                                                  std::uint32_t bytes, wire::PacketBuilder& builder) {
  SendQueue& queue = qp.send_queue;
  const SendWork& work = queue.at(position);
  if (work.inline_data) {
    builder.append_payload(queue.inline_data(position).subspan(offset, bytes));
    return true;
  }
  if (work.sge_count != 1) return gather_pieces(nic, qp, position, offset, bytes, builder);
  const Sge& sge = queue.sges(position).front();
  return read_local(nic, qp, {sge.address + offset, bytes, sge.lkey}, builder);
}

// completer.cc
void receive_response(NicState& nic, Qp& qp, const wire::PacketView& packet, Time now);
/// The ACK timer or the RNR timer of the QP may be due. `left`: as Nic::on_deadline.
void run_requester_timers(NicState& nic, Qp& qp, Time now, std::uint64_t left);
/// The ACK timer begins now, if anything is outstanding that it is for.
void restart_ack_timer(NicState& nic, Qp& qp, Time now);
/// As Nic::left_late.
void start_ack_timer_late(Qp& qp, std::uint64_t batch, Time now);
/// Completes what is done at the head of the send queue, and fails the head if it failed here.
void retire(NicState& nic, Qp& qp);

// responder.cc
void receive_request(NicState& nic, Qp& qp, const wire::PacketView& packet);
// response.cc
Sent send_response(NicState& nic, Qp& qp, TransmitPort& port);
/// The answers to a READ and to an atomic, in the order of PSNs. ATOMIC WRITE is answered by a READ response without
/// data. `replay`: to a duplicate.
void push_read(NicState& nic, Qp& qp, const wire::PacketView& packet, std::uint32_t msn, bool replay);
void push_atomic(NicState& nic, Qp& qp, const AtomicRecord& record, bool is_write, bool replay);
/// Takes a receive work request for the message in progress, from the QP's queue or its SRQ. False: none is there.
bool take_receive(NicState& nic, Qp& qp);
/// Copies payload into the held receive work request at receive_offset. False: a local protection error.
bool scatter_receive(NicState& nic, Qp& qp, std::span<const std::byte> payload);
/// Room left in the held receive work request, in octets.
std::uint64_t receive_room(const Qp& qp);

// congestion.cc
/// The packet carries the mark of congestion (ECN CE).
[[gnu::cold]] void notice_congestion(NicState& nic, Qp& qp, const wire::PacketView& packet);
/// How many of the CNPs that are due went out.
[[gnu::cold]] std::size_t send_notices(NicState& nic, TransmitPort& port, std::size_t budget);

// xrc.cc
/// Of an XRC request: the SRQ that it names becomes the QP's for this message. False: it cannot be used.
bool take_named_srq(NicState& nic, Qp& qp, const wire::PacketView& packet);
/// The SRQ is about to go: no QP keeps it.
void forget_srq(NicState& nic, const SharedReceiveQueue& srq);
/// A 24-bit number by which packets and completions name an object of a table of up to 4,096: its slot, with the
/// generation above it.
inline constexpr std::uint32_t kNumberSlotBits = 12;
inline constexpr std::uint32_t kNumberSlotMask = (1u << kNumberSlotBits) - 1;
template <class Tag>
wire::Qpn number_of(Handle<Tag> handle) {
  return wire::Qpn(((handle.index >> 20) + 1) % kNumberSlotMask << kNumberSlotBits | (handle.index & kNumberSlotMask));
}

// groups.cc
/// A datagram to a group, from the wire or looped (`sender` is then the QP that sent it).
void receive_group(NicState& nic, const wire::PacketView& packet, wire::Qpn sender);
/// Whether a datagram to that address has to come back.
bool loops_back(const NicState& nic, const wire::Gid& destination);
/// Frames of this NIC's own that it also receives.
[[gnu::cold]] void deliver_looped(NicState& nic);

// raw_packet.cc
Sent send_raw(NicState& nic, Qp& qp, TransmitPort& port);
/// A frame that no connection takes. False: no rule does, either.
bool receive_ethernet(NicState& nic, std::span<const std::byte> frame, wire::Qpn sender);
/// Copies of a frame for the rules that see all.
[[gnu::cold]] void sniff(NicState& nic, std::span<const std::byte> frame, wire::Qpn sender);

// pacing.cc
void set_pace(Qp& qp, const RateLimit& limit);
/// Whether the next request may leave; if not, the QP's timer is set.
bool pace_allows(NicState& nic, Qp& qp, Time now);
void charge_pace(Qp& qp, Time now, std::uint64_t bytes);
/// The QP's timer came: what its rate limit or missing pages held back may go on, or waits on.
void resume_held_back(NicState& nic, Qp& qp, Time now);
/// After an access of the QP's own was refused: whether it only has to wait until its pages are there.
[[gnu::cold]] bool waits_for_pages(NicState& nic, Qp& qp);
/// Events of moderated CQs whose period is over.
[[gnu::cold]] void end_moderation(NicState& nic, Time now);

// datagram.cc
Sent send_datagram(NicState& nic, Qp& qp, TransmitPort& port);
void receive_datagram(NicState& nic, Qp& qp, const wire::PacketView& packet);

}  // namespace verbena::nic
