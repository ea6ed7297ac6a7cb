// SelectiveRepeat: the loss recovery of one RC QP after IRN: what only was lost is sent again.
//
// Solely responsible for what the policy knows beside Requester and Responder, and for deciding which packets are lost.
// Requester (selective_requester.cc): it goes back as go-back-N does, but passes by what has arrived or is not known to
// be lost. Responder (selective_responder.cc): places WRITEs and SENDs where they go as they come, executes and
// completes in order. Source: Mittal et al., "Revisiting Network Support for RDMA", SIGCOMM 2018, sections 3 and 5; on
// the wire docs/selective-repeat.md. Owned by its Qp, which has none under go-back-N.
// Private to emulator/nic.
#pragma once

#include <bitset>

#include "emulator/nic/transport_ib/completer.h"
#include "emulator/nic/transport_ib/kept_packets.h"
#include "emulator/nic/objects/loss_recovery_config.h"
#include "emulator/nic/state/nic_state.h"
#include "emulator/nic/transport_ib/responder.h"

namespace verbena::nic {

/// PSNs from una_psn on, of the packets that the responder has without having executed them.
class SackedPsns {
 public:
  static constexpr std::uint32_t kPsns = KeptPackets::kPacketsMax;

  bool has(wire::Psn psn) const { return bits_.test(psn.value() % kPsns); }
  void set(wire::Psn psn) { bits_.set(psn.value() % kPsns); }
  void clear(wire::Psn psn) { bits_.reset(psn.value() % kPsns); }
  std::size_t count() const { return bits_.count(); }
  /// Those from `begin` on, before `end`, are no news any more.
  void forget(wire::Psn begin, wire::Psn end);

 private:
  std::bitset<kPsns> bits_;
};

struct SelectiveRepeat {
  SelectiveRepeat(const LossRecoveryConfig& nic_config, std::uint32_t window_packets)
      : config(nic_config), is_agreed(!nic_config.negotiates), kept(window_packets) {}

  LossRecoveryConfig config;
  bool is_agreed;  // the peer's QP takes it, too

  // The requester's. PSNs that are one behind something; none is behind una_psn.
  wire::Psn executed;      // what the responder has executed, as far as its answers say
  wire::Psn lost_until;    // what is before, and has neither been executed nor arrived, is lost
  wire::Psn repaired;      // what is before has been sent again since the last timeout
  wire::Psn reread_until;  // READs and atomics before it that were executed and not answered are asked for again
  wire::Psn reread;        // those before it have been
  wire::Psn recovery;      // recovery sequence: the recovery that a timeout began is over when it is acknowledged
  bool has_timed_out = false;
  Time last_sent{};        // or when the timer was started
  Time retry_counts_at{};  // the next timeout from then on is a retry of those that the QP's attributes allow
  std::uint32_t receives_posted = 0;  // messages posted that take a receive
  SackedPsns sacked;

  // The responder's.
  KeptPackets kept;
  bool executes_kept = false;  // now: the payload of the request in hand has been placed
};

/// Whether the QP's packets may be lost selectively: both ends do so.
inline bool repeats_selectively(const Qp& qp) {
  return qp.selective != nullptr && qp.selective->is_agreed;
}
/// The bits of the policy in Bth::reserved7.
inline std::uint8_t recovery_bits(const Qp& qp) {
  return qp.selective != nullptr ? wire::kTakesSelectiveRepeat : std::uint8_t{0};
}

/// Of a connection that begins; null: it is go-back-N's.
std::unique_ptr<SelectiveRepeat> make_selective_repeat(const NicConfig& config, const Qp& qp);

// -- Requester -------------------------------------------------------------------------------------------------------

/// The first request goes out with this PSN.
void start_selective_requester(const NicState& nic, Qp& qp);
/// As receive_response(); then what is known to be lost is sent again.
void receive_response_selectively(NicState& nic, Qp& qp, const wire::PacketView& packet, Time now);
/// A packet from the peer says whether its QP takes selective repeat.
void learn_of_peer(NicState& nic, Qp& qp, const wire::Bth& bth);
/// The requester goes on with the next packet that is lost, or with what is new.
void pass_by_what_arrived(NicState& nic, Qp& qp, Time now);
/// A request has left, with all PSNs from `psn` to next_psn. `is_again`: it had been sent before.
void note_sent(Qp& qp, wire::Psn psn, bool is_again, Time now);
/// Everything before `executed` has been executed. Returns the latest such PSN that is known.
wire::Psn note_executed(Qp& qp, wire::Psn executed);
/// una_psn has moved on from `before`.
void note_acknowledged(Qp& qp, wire::Psn before, Time now);
/// Everything from `psn` on that has not arrived was refused or dropped.
void lose_all_from(Qp& qp, wire::Psn psn);
/// Responses are missing: READs and atomics from una_psn on are asked for again.
void lose_responses(Qp& qp);
/// How long the ACK timer runs if it is started now: RTO_low or RTO_high, or as the QP's attributes have it. 0: it does
/// not.
Duration retransmission_timeout(const Qp& qp);
inline Duration ack_timeout(const Qp& qp) {
  return qp.selective == nullptr ? qp.requester.ack_timeout : retransmission_timeout(qp);
}
/// The ACK timer ran out. False: too early, it runs on.
bool time_out(Qp& qp, Time now);
/// Whether this timeout is one of those that the QP's attributes count.
bool counts_as_retry(Qp& qp, Time now);

// -- Responder -------------------------------------------------------------------------------------------------------

/// As receive_request(), with what may be kept until its turn.
void receive_request_selectively(NicState& nic, Qp& qp, const wire::PacketView& packet);
/// Writes the payload of the packet with this PSN at `to`, but where a later one lies already. False: memory faults.
bool write_around_kept(NicState& nic, const Qp& qp, wire::Psn psn, std::uint64_t to,
                       std::span<const std::byte> payload);
/// What goes with the NAK that is due; nothing: it is a plain one.
std::optional<wire::SackEth> sack_due(const Qp& qp);

// -- Which of the two policies ----------------------------------------------------------------------------------------

inline void take_request(NicState& nic, Qp& qp, const wire::PacketView& packet) {
  if (qp.selective == nullptr) [[likely]]
    return receive_request(nic, qp, packet);
  receive_request_selectively(nic, qp, packet);
}
inline void take_response(NicState& nic, Qp& qp, const wire::PacketView& packet, Time now) {
  if (qp.selective == nullptr) [[likely]]
    return receive_response(nic, qp, packet, now);
  receive_response_selectively(nic, qp, packet, now);
}

}  // namespace verbena::nic
