// Nic: one RDMA NIC as a pure state machine.
//
// Solely responsible for verbs semantics and the RoCE v2 transport. It never reads a clock, opens a socket, starts a
// thread or draws a random number: verbs calls, frames and the time go in; frames (pulled by transmit), completions and
// events come out. Not thread-safe: its owner (emulator/host/engine/engine.h, emulator/sim) serialises all calls.
// The frame path (post, receive, transmit, poll) does not allocate.
// Tested by: tests/nic/queue_test.cc, tests/nic/transfer_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "emulator/nic/memory/memory.h"
#include "emulator/nic/objects/answer_watch.h"
#include "emulator/nic/objects/attributes.h"
#include "emulator/nic/objects/completion.h"
#include "emulator/nic/objects/counters.h"
#include "emulator/nic/objects/handles.h"
#include "emulator/nic/objects/management_sink.h"
#include "emulator/nic/objects/nic_config.h"
#include "emulator/nic/objects/port_counters.h"
#include "emulator/nic/objects/steering_rule.h"
#include "emulator/nic/objects/transmit_port.h"
#include "emulator/nic/objects/work_request.h"
#include "wire/time.h"
#include "wire/types.h"

namespace verbena::nic {

class Nic {
 public:
  /// `memory` and what `counters` name outlive the NIC.
  Nic(const NicConfig& config, Memory& memory, const PortCounters& counters);
  ~Nic();
  Nic(const Nic&) = delete;
  Nic& operator=(const Nic&) = delete;

  const NicConfig& config() const;

  // -- Ports, from 1 --------------------------------------------------------------------------------------------------
  /// The cable at the port lost its signal or has it again: the port's state (config()) changes and port_error or
  /// port_active is raised. The transport goes on: what it sends meanwhile vanishes on the dead cable, and its timers
  /// say so.
  void set_port_up(std::uint32_t port, bool up);

  /// The device goes for good, as when its slot loses power (IBTA 11.6.3.3, local catastrophic error): QPs fail and
  /// flush what they hold, device_fatal is raised, no frame is taken and none leaves. No QP changes its state any more:
  /// modify_qp is VerbsError::no_device. Polling, posting to be flushed and destroying go on.
  void remove_device(Time now);

  /// Who takes what comes for QP1; null: it is dropped, as for any QP that does not exist. Outlives the NIC.
  void set_management(ManagementSink* sink);

  // -- Objects. Destroying one that others use is VerbsError::busy; an unknown handle is invalid_argument. ------------
  VerbsResult<PdHandle> allocate_pd();
  VerbsResult<void> deallocate_pd(PdHandle pd);

  VerbsResult<MemoryRegion> register_memory(const MemoryRegionInit& init);
  /// The keys stay. On failure nothing has changed; a region to which windows are bound is busy.
  VerbsResult<void> reregister_memory(MrHandle mr, const MemoryRegionChange& wanted);
  VerbsResult<void> deregister_memory(MrHandle mr);
  /// ibv_advise_mr: the pages of an on-demand region's range will be used. Returns where the first octet is.
  VerbsResult<std::uint64_t> prefetch_memory(PdHandle pd, const Sge& range, bool for_writing);

  /// A window is bound by a work request (WindowBinding) and may go while it is bound.
  VerbsResult<MemoryWindow> allocate_window(PdHandle pd, WindowType type);
  VerbsResult<void> deallocate_window(MwHandle window);

  VerbsResult<AhHandle> create_ah(PdHandle pd, const AddressVector& address_vector);
  VerbsResult<void> destroy_ah(AhHandle ah);

  /// `context` is given back in CompletionEvent and AsyncEvent. At least min_entries completions fit.
  /// ignore_overrun: what does not fit takes the place of the oldest, and nothing fails.
  /// `number`: by which a plan of faults names it.
  VerbsResult<CqHandle> create_cq(std::uint32_t min_entries, std::uint64_t context, bool ignore_overrun = false,
                                  std::uint32_t number = 0);
  /// An armed queue tells of `count` completions together, or of what is there `period` after the first. 0: no bound.
  VerbsResult<void> moderate_cq(CqHandle cq, std::uint16_t count, Duration period);
  VerbsResult<CqAttributes> query_cq(CqHandle cq) const;
  VerbsResult<void> resize_cq(CqHandle cq, std::uint32_t min_entries);
  VerbsResult<void> destroy_cq(CqHandle cq);
  /// ibv_req_notify_cq: the next completion (solicited_only: the next solicited or failed one) gives a CompletionEvent.
  VerbsResult<void> request_notification(CqHandle cq, bool solicited_only);

  VerbsResult<SrqHandle> create_srq(const SrqInit& init);
  VerbsResult<SrqAttributes> query_srq(SrqHandle srq) const;
  /// limit arms srq_limit_reached; a max_wr above the present one resizes.
  VerbsResult<void> modify_srq(SrqHandle srq, std::optional<std::uint32_t> max_wr, std::optional<std::uint32_t> limit);
  VerbsResult<void> destroy_srq(SrqHandle srq);
  /// By which XRC senders name it; invalid_argument: not an XRC SRQ.
  VerbsResult<wire::Qpn> srq_number(SrqHandle srq) const;

  // -- Extended reliable connections (IBTA annex A14)
  VerbsResult<XrcDomainHandle> create_xrc_domain();
  VerbsResult<void> destroy_xrc_domain(XrcDomainHandle domain);
  /// One more holder of an XRC receive QP: it ends when all have destroyed it.
  VerbsResult<QpHandle> open_qp(XrcDomainHandle domain, wire::Qpn qpn);

  /// Capabilities come back as granted, never smaller than asked.
  VerbsResult<QpHandle> create_qp(QpInit& init);
  wire::Qpn qpn(QpHandle qp) const;
  /// Checks the mask against the transition (IBTA 10.3, table 91; the verbs man page). On failure nothing has changed.
  VerbsResult<void> modify_qp(QpHandle qp, const QpAttributes& attributes, std::uint32_t mask, Time now);
  VerbsResult<QpAttributes> query_qp(QpHandle qp) const;
  VerbsResult<void> destroy_qp(QpHandle qp);
  VerbsResult<void> limit_rate(QpHandle qp, const RateLimit& limit);

  // -- Multicast of datagrams. Attaching twice is attaching once.
  VerbsResult<void> attach_group(QpHandle qp, const wire::Gid& group);
  VerbsResult<void> detach_group(QpHandle qp, const wire::Gid& group);
  bool has_members(const wire::Gid& group) const;

  // -- Raw packets
  VerbsResult<WorkQueueHandle> create_work_queue(const WorkQueueInit& init);
  wire::Qpn work_queue_number(WorkQueueHandle queue) const;
  VerbsResult<void> modify_work_queue(WorkQueueHandle queue, WorkQueueState state);
  VerbsResult<WorkQueueState> work_queue_state(WorkQueueHandle queue) const;
  VerbsResult<void> destroy_work_queue(WorkQueueHandle queue);
  VerbsResult<void> post_work_queue_receive(WorkQueueHandle queue, const ReceiveRequest& request);
  VerbsResult<IndirectionTableHandle> create_indirection_table(std::span<const WorkQueueHandle> queues);
  VerbsResult<void> destroy_indirection_table(IndirectionTableHandle table);
  VerbsResult<FlowCountersHandle> create_flow_counters();
  VerbsResult<FlowCount> read_flow_counters(FlowCountersHandle counters) const;
  VerbsResult<void> destroy_flow_counters(FlowCountersHandle counters);
  VerbsResult<FlowHandle> create_flow(QpHandle qp, const FlowInit& init);
  VerbsResult<void> destroy_flow(FlowHandle flow);

  // -- Work --------------------------------------------------------------------------------------------------------
  /// Enqueues only; transmit() builds the packets. no_memory: too few slots are free (slots.h) for so many requests as
  /// are posted one after the other, all or none, of which this is the first.
  VerbsResult<void> post_send(QpHandle qp, const SendRequest& request, Time now, std::uint32_t together = 1);
  VerbsResult<void> post_receive(QpHandle qp, const ReceiveRequest& request);
  VerbsResult<void> post_srq_receive(SrqHandle srq, const ReceiveRequest& request);
  /// Takes up to into.size() completions, oldest first. A CQ that overruns raises cq_error, and its QPs fail
  /// (IBTA 11.6.3.2).
  std::size_t poll_cq(CqHandle cq, std::span<Completion> into);
  /// Whether any work request is not complete: what an application that polls can be waiting for. Cheap. Of a NIC that
  /// has had more than 16 QPs at once it is always said.
  bool awaits_completions();

  // -- Frames and time -----------------------------------------------------------------------------------------------
  /// By which port the frames that follow arrive, until it is said anew; 1 at first.
  void set_arrival_port(std::uint32_t port);
  /// One Ethernet frame from the wire, or a packet of InfiniBand where the ports have LIDs. Bad ones are dropped and
  /// counted by reason. Only CRCs that are present are checked.
  void receive(Time now, std::span<const std::byte> frame, wire::IcrcState icrc = wire::IcrcState::present);
  // -- An ACK timer is started as the request is built (IBTA 9.7.6.1.3), but what is built may stay with the port, when
  // who was to send it stands still. An owner to whom that can happen says what has left, in batches.
  using Batch = std::uint64_t;
  static constexpr Batch kEveryBatch = UINT64_MAX;
  /// What has been built since the last call is a batch. Returns its number, one more than the last.
  Batch close_batch();
  /// It has left only now, and those before it: the ACK timers that were started over it begin now.
  void left_late(Batch batch, Time now);
  /// Runs every timer that is due. An ACK timer that waits for the answer to a request of a batch after `left` begins
  /// anew: the request has not left yet. One over a peer of which `answers` says that it has not answered yet is put
  /// off for a moment; null: each of them has.
  void on_deadline(Time now, Batch left = kEveryBatch, AnswerWatch* answers = nullptr);
  /// When on_deadline (or transmit, for paced QPs) wants to be called next; nothing: no timer runs.
  std::optional<Time> next_deadline() const;
  /// When acknowledgements leave; a responder may wait with one for what else it has to say (IBTA 9.7.5.1.2).
  enum class Acknowledge : std::uint8_t {
    at_once,
    // Those of a few QPs wait for the next transmit() with at_once, and go behind all that this one sends. NAKs and
    // responses do not wait.
    with_answer,
  };
  /// Builds up to `budget` frames into the port. Returns how many. Stops early at back pressure.
  std::size_t transmit(Time now, TransmitPort& port, std::size_t budget, Acknowledge when = Acknowledge::at_once);
  /// Whether transmit() would try to build something, other than an acknowledgement that waits.
  bool has_work() const;
  /// The same of answers to requests alone, those that wait among them. If more than a few QPs have anything to send it
  /// is always said.
  bool owes_answers() const;
  bool holds_acknowledgements() const;

  // -- Events: drained by the owner after every batch -------------------------------------------------------------
  std::optional<AsyncEvent> poll_event();
  std::optional<CompletionEvent> poll_completion_event();
  bool has_events() const;
  /// How many completions and events it has made: who has seen it change finds something in a queue.
  std::uint64_t news() const;

  /// Asserts what holds of every QP between two calls (invariants.h). For tests and checking runs: it looks through all
  /// that each has posted.
  void check_invariants() const;
  /// The same of so many QPs, from one on. Returns from which the next call goes on.
  std::uint32_t check_invariants(std::uint32_t first, std::uint32_t count) const;

 private:
  struct State;
  friend class PortManagement;
  friend class PlannedFaults;

  std::unique_ptr<State> state_;
};

}  // namespace verbena::nic
