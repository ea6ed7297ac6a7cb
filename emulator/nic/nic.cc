// The NIC's clockwork: frames in, timers, frames out, completions and events out.
#include "emulator/nic/nic.h"

#include <algorithm>
#include <utility>

#include "emulator/nic/ethernet/raw_packet.h"
#include "emulator/nic/nic_private.h"
#include "emulator/nic/state/slots.h"
#include "emulator/nic/transport_ib/groups.h"
#include "emulator/nic/transport_ib/invariants.h"
#include "emulator/nic/transport_ib/notification_point.h"
#include "emulator/nic/transport_ib/pacing.h"
#include "emulator/nic/transport_ib/transport.h"
#include "wire/frame_parser.h"
#include "wire/infiniband.h"
#include "wire/pause_frame.h"

namespace verbena::nic {

Nic::Nic(const NicConfig& config, Memory& memory, const PortCounters& counters)
    : state_(std::make_unique<State>(config, memory, counters, find_loss_recovery(config.loss_recovery.policy))) {}

Nic::~Nic() = default;

const NicConfig& Nic::config() const {
  return state_->config;
}

void Nic::set_port_up(std::uint32_t port, bool up) {
  NicState& nic = *state_;
  bool& is_up = nic.config.ports[port - 1].is_up;
  if (is_up == up || nic.is_removed) return;
  is_up = up;
  if (!up) nic.counters.of(port).add(Counter::link_downed);
  nic.raise(up ? AsyncEventType::port_active : AsyncEventType::port_error, port, 0, nic.counters.of(port));
}

void Nic::remove_device(Time now) {
  NicState& nic = *state_;
  nic.now = now;
  if (std::exchange(nic.is_removed, true)) return;
  nic.management = nullptr;
  nic.notices.clear();
  nic.qps.for_each([&](Qp& qp) {
    // Not even the answers that are owed leave any more.
    qp.responder.acknowledge = Responder::Acknowledge::none;
    qp.responder.forget_jobs();
    if (qp.state != QpState::reset) nic.enter_error(qp);
  });
  nic.raise(AsyncEventType::device_fatal, 0, 0);
}

void Nic::set_arrival_port(std::uint32_t port) {
  state_->arrive_by(static_cast<std::uint8_t>(port));
}

void Nic::set_management(ManagementSink* sink) {
  state_->management = sink;
}

namespace {

constexpr std::size_t kQuantumPackets = 16;  // of one QP before the next one's turn

/// Why a frame is not for `qp`, if it is not (IBTA 9.6.1: packet header validation).
[[gnu::always_inline]] inline std::optional<Counter> objection(const NicState& nic, const Qp* qp,
                                                               const wire::PacketView& packet) {
  if (!nic.is_addressee(packet)) return Counter::rx_dropped_wrong_destination;
  if (qp == nullptr) return Counter::rx_dropped_no_qp;
  if (qp->service->transport != wire::transport_of(packet.bth().opcode)) return Counter::rx_dropped_wrong_transport;
  if (!qp->accepts_packets()) return Counter::rx_dropped_qp_state;
  if (!qp->pkeys_taken.takes(packet.bth().pkey)) return Counter::rx_dropped_pkey;
  if (qp->service->is_connected && !packet.network().is_from(qp->attributes.address_vector.destination))
    return Counter::rx_dropped_wrong_source;
  return std::nullopt;
}

/// Whether a packet that was received by one of several ports is for that port, and for a QP there. Each has its QP1.
bool is_for_arrival_port(const NicState& nic, const wire::PacketView& packet) {
  const std::uint8_t port = nic.arrival_port;
  const Qp* const qp = nic.qpns.find(packet.bth().dest_qp);
  if (qp != nullptr && qp->attributes.port != port) return false;
  const wire::Gid to = packet.destination();
  if (const auto lid = wire::lid_of(to)) return nic.config.port(port).has_lid(*lid);
  if (&packet.network().encapsulation() == &wire::kInfiniBand && !to.is_multicast())
    return has_infiniband_gid(nic.config.gids_of(port), to);
  return to.is_multicast() || std::ranges::any_of(nic.config.gids_of(port),
                                                  [&](const GidEntry& own) { return packet.network().is_to(own.gid); });
}

/// Why a packet is none by its version of RoCE: the address that it names has no GID of that version, or its QP's path
/// has one of another. InfiniBand has no versions.
std::optional<Counter> objection_to_version(const NicState& nic, const wire::PacketView& packet) {
  const wire::Encapsulation& by = packet.network().encapsulation();
  if (!by.is_on_ethernet) return std::nullopt;
  const bool is_for_group = packet.destination().is_multicast();
  const auto gids = nic.config.gids_of(nic.arrival_port);
  if (std::ranges::none_of(gids, [&](const GidEntry& own) {
        return own.encapsulation == &by && (is_for_group || packet.network().is_to(own.gid));
      }))
    return Counter::rx_dropped_wrong_destination;
  const Qp* const qp = nic.qpns.find(packet.bth().dest_qp);
  if (qp == nullptr || !qp->service->is_connected || !qp->accepts_packets()) return std::nullopt;
  const AddressVector& path = qp->attributes.address_vector;
  if (nic.config.gids_of(path.port)[path.source_gid_index].encapsulation == &by) return std::nullopt;
  return Counter::rx_dropped_wrong_source;
}

/// False: the frame goes no further.
[[gnu::cold, gnu::noinline]] bool examine(NicState& nic, const wire::PacketView& packet, wire::IcrcState icrc) {
  if (nic.steering.sniffers != 0) sniff_received(nic, packet.frame(), icrc);
  auto wrong = nic.config.is_roce_v2_alone() ? std::nullopt : objection_to_version(nic, packet);
  if (nic.config.port_count != 1 && !is_for_arrival_port(nic, packet)) wrong = Counter::rx_dropped_wrong_destination;
  if (!wrong) return true;
  nic.arrival_counters->add(Counter::rx_packets);
  nic.arrival_counters->add(Counter::rx_bytes, packet.frame().size());
  nic.arrival_counters->add(*wrong);
  return false;
}

/// Whether the port by which a packet arrived has a P_Key that matches: all that QP1 wants (IBA volume 1, 10.9.3).
/// Without a table, as on Ethernet, it takes any.
bool has_pkey_for(const NicState& nic, const wire::PacketView& packet) {
  const std::vector<std::uint16_t>& table = nic.pkeys[nic.arrival_port - 1];
  const auto matches = [&](std::uint16_t own) { return wire::PkeyFilter(own).takes(packet.bth().pkey); };
  return table.empty() || std::ranges::any_of(table, matches);
}

/// What no QP takes may be for a group or for QP1.
[[gnu::cold]] void take_without_qp(NicState& nic, const wire::PacketView& packet, Counter reason, Time now) {
  const wire::Qpn to = packet.bth().dest_qp;
  if (to == wire::kMulticastQpn && packet.destination().is_multicast())
    receive_group(nic, packet, {});
  else if (to == wire::kGsiQpn && reason == Counter::rx_dropped_no_qp && nic.management != nullptr) {
    if (!has_pkey_for(nic, packet)) return nic.refuse_key(packet, Counter::rx_dropped_pkey);
    nic.management->management_datagram(now, nic.arrival_port, packet);
  } else if (nic.steering.rules.empty() || nic.takes(packet.network().encapsulation()) ||
             !receive_ethernet(nic, packet.frame(), {})) {
    if (reason == Counter::rx_dropped_pkey)
      nic.refuse_key(packet, reason);
    else
      nic.arrival_counters->add(reason);
  }
}

Sent send_one(NicState& nic, Qp& qp, Time now, TransmitPort& port) {
  if (qp.service->transport == kNoTransport) [[unlikely]]
    return transmit_raw(nic, qp, now, port);
  return transport_ib::transmit(nic, qp, now, port);
}

/// What is no packet of RoCE v2.
[[gnu::cold]] void receive_unparsed(NicState& nic, std::span<const std::byte> frame) {
  // It ends in the MAC, which has stopped what it was to stop. A port that is not in this process shows those that it
  // sends as well.
  if (const auto pause = wire::parse_pause_frame(frame)) {
    const bool is_own = pause->source == nic.config.port(nic.arrival_port).mac;
    return nic.arrival_counters->add_by_class(is_own ? Counter::tx_prio0_pause : Counter::rx_prio0_pause,
                                              pause->classes);
  }
  const bool is_steered = !nic.steering.rules.empty() && receive_ethernet(nic, frame, {});
  if (!is_steered) nic.arrival_counters->add(Counter::rx_dropped_malformed);
}

/// What Ethernet's parser does not take. False: that is dealt with. A packet of InfiniBand is not taken for a frame of
/// Ethernet: where that has its EtherType it has a reserved octet of the BTH and the first of a QPN, or a length that
/// no IP header follows.
[[gnu::cold, gnu::noinline]] bool parse_otherwise(NicState& nic, std::span<const std::byte> frame, wire::IcrcState icrc,
                                                  Result<wire::PacketView, wire::ParseError>& into) {
  if (nic.config.medium() == wire::Medium::ethernet) {
    receive_unparsed(nic, frame);
    return false;
  }
  if (wire::read_link_packet(frame)) return false;  // it ends in the port
  into = wire::parse_on(wire::Medium::infiniband, frame);
  const bool has_crcs = icrc == wire::IcrcState::present;
  if (into && (!has_crcs || wire::trailer_integrity(*into) == wire::Integrity::right)) return true;
  nic.arrival_counters->add(Counter::rx_dropped_malformed);
  return false;
}

}  // namespace

void Nic::receive(Time now, std::span<const std::byte> frame, wire::IcrcState icrc) {
  NicState& nic = *state_;
  nic.now = now;
  auto parsed = wire::FrameParser::parse(
      frame, {.known = nic.memory_has_octets ? &nic.known_headers : nullptr, .extensions = nic.extensions});
  if (!parsed && !parse_otherwise(nic, frame, icrc, parsed)) return;
  const wire::PacketView& packet = *parsed;
  if (nic.examinations != 0 && !examine(nic, packet, icrc)) return;
  Qp* const qp = nic.qpns.find(packet.bth().dest_qp);
  if (qp != nullptr) prefetch(*qp);
  if (icrc == wire::IcrcState::present && !packet.icrc_is_valid()) {
    nic.arrival_counters->add(Counter::rx_dropped_icrc);
    return;
  }
  nic.arrival_counters->add(Counter::rx_packets);
  nic.arrival_counters->add(Counter::rx_bytes, packet.frame().size());
  if (packet.opcode().operation == wire::Operation::congestion_notification) {
    const bool is_ours = qp != nullptr && qp->accepts_packets() && nic.is_addressee(packet);
    nic.arrival_counters->add(is_ours ? Counter::rp_cnp_handled : Counter::rp_cnp_ignored);
    if (is_ours) slow_down(*qp, now);
    return;
  }
  if (const auto reason = objection(nic, qp, packet)) {
    return take_without_qp(nic, packet, *reason, now);
  }
  transport_ib::receive(nic, *qp, packet, now);
}

Nic::Batch Nic::close_batch() {
  return state_->batch++;
}

void Nic::left_late(Batch batch, Time now) {
  state_->timers.for_each([&](Qp& qp) { start_ack_timer_late(qp, batch, now); });
}

void Nic::on_deadline(Time now, Batch left, AnswerWatch* answers) {
  NicState& nic = *state_;
  nic.now = now;
  while (nic.timers.earliest() <= now) {
    Qp& qp = *nic.timers.front()->owner;
    nic.timers.remove(qp.timer_entry);
    transport_ib::deadline(nic, qp, now, {left, answers});
    if (const Time next = qp.timers.next(); next != kNever) nic.timers.at_latest(qp.timer_entry, next);
  }
  if (nic.moderation_deadline <= now) nic.end_moderation(now);
}

std::optional<Time> Nic::next_deadline() const {
  const Time due = std::min(state_->timers.earliest(), state_->moderation_deadline);
  if (due == kNever) return std::nullopt;
  return due;
}

std::size_t Nic::transmit(Time now, TransmitPort& port, std::size_t budget, Acknowledge when) {
  NicState& nic = *state_;
  nic.now = now;
  nic.may_hold = when == Acknowledge::with_answer;
  if (!nic.may_hold && nic.held_count != 0) nic.release_held();
  std::size_t sent = nic.notices.empty() ? 0 : send_notices(nic, port, budget);
  std::size_t blocked = 0;    // in a row: once all have been refused, there is no point in going on
  Qp* interrupted = nullptr;  // in the middle of its turn
  std::size_t turn = nic.turn_left != 0 ? nic.turn_left : kQuantumPackets;
  nic.turn_left = 0;
  while (sent < budget && blocked <= nic.ready.size()) {
    Qp* qp = nic.ready.take();
    if (qp == nullptr) break;
    Sent last = Sent::packet;
    const std::size_t before = sent;
    while (last == Sent::packet && sent < budget && sent - before < turn) {
      last = send_one(nic, *qp, now, port);
      sent += last == Sent::packet;
    }
    // It goes on first the next time: a message left half sent while all others have their turn runs into its ACK
    // timer.
    if (last != Sent::nothing && sent != before && sent - before < turn && interrupted == nullptr) {
      interrupted = qp;
      nic.turn_left = turn - (sent - before);
    } else if (last != Sent::nothing) {
      nic.ready.push_back(*qp);
    }
    blocked = last == Sent::blocked && sent == before ? blocked + 1 : 0;
    turn = kQuantumPackets;
  }
  if (interrupted != nullptr) nic.ready.push_front(*interrupted);
  if (!nic.steering.looped.empty()) deliver_looped(nic);
  return sent;
}

bool Nic::has_work() const {
  return !state_->ready.empty() || !state_->notices.empty();
}

bool Nic::holds_acknowledgements() const {
  return state_->held_count != 0;
}

bool Nic::owes_answers() const {
  constexpr std::size_t kQpsLookedThrough = 16;
  if (state_->held_count != 0 || state_->ready.size() > kQpsLookedThrough) return true;
  for (const Qp* qp = state_->ready.first(); qp != nullptr; qp = qp->ready_next)
    if (qp->responder.owes_response()) return true;
  return false;
}

std::size_t Nic::poll_cq(CqHandle handle, std::span<Completion> into) {
  CompletionQueue* cq = state_->cqs.find(handle);
  if (cq == nullptr) return 0;
  SlotFreeing freeing(*state_);
  return cq->poll(into, [&freeing](const Completion& polled) { freeing.free(polled); });
}

namespace {

bool awaits_completions(const Qp& qp) {
  return qp.send_queue.head != qp.send_queue.tail || !qp.receive_queue.empty() || qp.responder.receive_held ||
         qp.spread != nullptr || (qp.srq != nullptr && !qp.srq->queue.empty());
}

}  // namespace

bool Nic::awaits_completions() {
  constexpr std::uint32_t kQpsLookedThrough = 16;  // more would cost a poll more than it could save
  NicState& nic = *state_;
  const std::uint32_t slots = nic.qps.slots();
  if (slots > kQpsLookedThrough) return true;
  for (std::uint32_t seen = 0; seen < slots; ++seen) {
    if (nic.awaiting_slot >= slots) nic.awaiting_slot = 0;
    const Qp* const qp = nic.qps.find_slot(nic.awaiting_slot);
    if (qp != nullptr && nic::awaits_completions(*qp)) return true;
    ++nic.awaiting_slot;
  }
  return false;
}

std::uint32_t Nic::check_invariants(std::uint32_t first, std::uint32_t count) const {
  return assert_invariants(*state_, first, count);
}

void Nic::check_invariants() const {
  (void)check_invariants(0, UINT32_MAX);
}

std::optional<AsyncEvent> Nic::poll_event() {
  return state_->async_events.pop();
}
std::optional<CompletionEvent> Nic::poll_completion_event() {
  return state_->completion_events.pop();
}
std::uint64_t Nic::news() const {
  return state_->news;
}
bool Nic::has_events() const {
  return !state_->async_events.empty() || !state_->completion_events.empty();
}

}  // namespace verbena::nic
