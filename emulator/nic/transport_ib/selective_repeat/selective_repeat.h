// SelectiveRepeat: the loss recovery of one RC QP after IRN: what only was lost is sent again.
//
// Solely responsible for what the policy knows beside Requester and Responder, and for deciding which packets are lost.
// Requester (requester_side.cc): it goes back as go-back-N does, but passes by what has arrived or is not known to
// be lost. Responder (responder_side.cc): places WRITEs and SENDs where they go as they come, executes and
// completes in order. Source: Mittal et al., "Revisiting Network Support for RDMA", SIGCOMM 2018, sections 3 and 5; on
// the wire docs/selective-repeat.md. Owned by its Qp, which has none under go-back-N.
// Private to emulator/nic.
#pragma once

#include <bitset>

#include "emulator/nic/objects/loss_recovery_config.h"
#include "emulator/nic/state/loss_recovery.h"
#include "emulator/nic/transport_ib/selective_repeat/kept_packets.h"

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

class SelectiveRepeat final : public LossRecovery {
 public:
  SelectiveRepeat(const LossRecoveryConfig& nic_config, std::uint32_t window_packets)
      : config(nic_config), is_agreed(!nic_config.negotiates), kept(window_packets) {}

  void start_requester(const NicState& nic, Qp& qp) override;
  void posted(SendWork& work) override;
  void seek(NicState& nic, Qp& qp, Time now) override;
  std::uint8_t bits() const override { return wire::kTakesSelectiveRepeat; }
  std::uint8_t request_bits(const wire::OpcodeInfo& info) const override;
  void sent(Qp& qp, wire::Psn psn, bool is_again, Time now) override;
  /// RTO_low or RTO_high, or as the QP's attributes have it.
  Duration ack_timeout(const Qp& qp) const override;

  /// As receive_response(); then what is known to be lost is sent again.
  void take_response(NicState& nic, Qp& qp, const wire::PacketView& packet, Time now) override;
  wire::Psn executed(wire::Psn before) override;
  void acknowledged(Qp& qp, wire::Psn before, Time now) override;
  /// What a selective acknowledgement says is known already.
  bool repairs(const wire::PacketView& nak) const override;
  void lose_from(Qp& qp, wire::Psn psn) override;
  void lose_responses(Qp& qp) override;
  bool counts_shown_losses() const override { return !is_agreed; }
  Expiry expire(Qp& qp, Time now) override;

  /// As receive_request(), with what may be kept until its turn.
  void take_request(NicState& nic, Qp& qp, const wire::PacketView& packet) override;
  bool has_placed() const override { return executes_kept; }
  bool agrees(const Qp& qp, const wire::PacketView& packet) const override;
  bool write(wire::Psn psn, const Translation& to, std::span<const std::byte> payload) const override;
  std::optional<wire::SackEth> sack_due(const Qp& qp) const override;

  bool knows_only_of_what_is_outstanding(const Qp& qp) const override;
  bool keeps_only_what_is_ahead(const Qp& qp) const override;

  LossRecoveryConfig config;
  bool is_agreed;  // the peer's QP takes it, too

  // The requester's. PSNs that are one behind something; none is behind una_psn.
  wire::Psn executed_before;  // what the responder has executed, as far as its answers say
  wire::Psn lost_until;       // what is before, and has neither been executed nor arrived, is lost
  wire::Psn repaired;         // what is before has been sent again since the last timeout
  wire::Psn reread_until;     // READs and atomics before it that were executed and not answered are asked for again
  wire::Psn reread;           // those before it have been
  wire::Psn recovery;         // recovery sequence: the recovery that a timeout began is over when it is acknowledged
  bool has_timed_out = false;
  Time last_sent{};        // or when the timer was started
  Time retry_counts_at{};  // the next timeout from then on is a retry of those that the QP's attributes allow
  std::uint32_t receives_posted = 0;  // messages posted that take a receive
  SackedPsns sacked;

  // The responder's.
  KeptPackets kept;
  bool executes_kept = false;  // now: the payload of the request in hand has been placed

 private:
  void learn_of_peer(NicState& nic, Qp& qp, const wire::Bth& bth);
  bool is_lost(wire::Psn psn, bool awaits_data) const;
  wire::Psn next_lost(const Qp& qp, wire::Psn from) const;
  void note_sack(const Qp& qp, const wire::PacketView& packet);
  void repair(NicState& nic, Qp& qp, Time now);
  bool time_out(Qp& qp, Time now);
  bool counts_as_retry(const Qp& qp, Time now);

  bool place(NicState& nic, Qp& qp, const wire::PacketView& packet, KeptPackets::Packet& made) const;
  bool place_write(NicState& nic, Qp& qp, const wire::PacketView& packet, KeptPackets::Packet& made) const;
  bool keep(NicState& nic, Qp& qp, const wire::PacketView& packet, std::int32_t ahead);
  bool is_kept(NicState& nic, Qp& qp, const wire::PacketView& packet);
  void update_nak(Qp& qp) const;
};

/// Of a connection that begins; null: it is go-back-N's.
std::unique_ptr<LossRecovery> make_selective_repeat(const NicConfig& config, const Qp& qp);

}  // namespace verbena::nic
