// LossRecovery: how one RC QP recovers from loss where the specification's go-back-N is not it, as a policy.
//
// Requester, completer and responder tell it what happens and ask it what to do; they name no policy. A QP without one
// goes back N, which they do by themselves and without a call on the way. Adding a policy: a folder like
// transport_ib/selective_repeat, and a row in emulator/nic/loss_recovery_rows.cc.
// Private to emulator/nic.
// Tested by: tests/nic/loss_test.cc
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "emulator/nic/memory/memory.h"
#include "emulator/nic/objects/nic_config.h"
#include "emulator/nic/objects/work_queue.h"
#include "wire/opcode.h"
#include "wire/packet_builder.h"
#include "wire/packet_view.h"
#include "wire/selective_repeat.h"
#include "wire/time.h"
#include "wire/types.h"

namespace verbena::nic {

struct NicState;
struct Qp;

/// What the ACK timer means that has run out.
enum class Expiry : std::uint8_t {
  too_early,  // nothing: it runs on
  repair,     // what is lost is sent again, and no retry is counted
  retry,      // one of those that the QP's attributes allow
};

/// Owned by its Qp. What an RC QP calls for each packet comes first.
class LossRecovery {
 public:
  LossRecovery() = default;
  virtual ~LossRecovery() = default;
  LossRecovery(const LossRecovery&) = delete;
  LossRecovery& operator=(const LossRecovery&) = delete;

  // -- Requester ------------------------------------------------------------------------------------------------------
  /// Sending begins: the requester has its window and its first PSN.
  virtual void start_requester(const NicState& nic, Qp& qp) = 0;
  /// A message is posted. What the policy keeps of it is in `work`.
  virtual void posted(SendWork& work) = 0;
  /// The requester goes on with the next packet that is lost, or with what is new.
  virtual void seek(NicState& nic, Qp& qp, Time now) = 0;
  /// The bits of Bth::reserved7 that each packet of the QP has.
  virtual std::uint8_t bits() const = 0;
  /// Those of a request, which may announce a header.
  virtual std::uint8_t request_bits(const wire::OpcodeInfo& info) const = 0;
  /// A request has left, with all PSNs from `psn` to next_psn. `is_again`: it had been sent before.
  virtual void sent(Qp& qp, wire::Psn psn, bool is_again, Time now) = 0;
  /// How long the ACK timer runs if it is started now. 0: it does not.
  virtual Duration ack_timeout(const Qp& qp) const = 0;

  // -- Completer ------------------------------------------------------------------------------------------------------
  virtual void take_response(NicState& nic, Qp& qp, const wire::PacketView& packet, Time now) = 0;
  /// Everything before `before` has been executed. Returns the latest such PSN that is known.
  virtual wire::Psn executed(wire::Psn before) = 0;
  /// una_psn has moved on from `before`.
  virtual void acknowledged(Qp& qp, wire::Psn before, Time now) = 0;
  /// A NAK for a sequence error says what the policy has dealt with; else it is a loss of all that follows.
  virtual bool repairs(const wire::PacketView& nak) const = 0;
  /// Everything from `psn` on that has not arrived was refused or dropped.
  virtual void lose_from(Qp& qp, wire::Psn psn) = 0;
  /// Responses are missing: READs and atomics from una_psn on are asked for again.
  virtual void lose_responses(Qp& qp) = 0;
  /// Whether a loss that an answer shows is a retry; else time alone counts them.
  virtual bool counts_shown_losses() const = 0;
  virtual Expiry expire(Qp& qp, Time now) = 0;

  // -- Responder ------------------------------------------------------------------------------------------------------
  virtual void take_request(NicState& nic, Qp& qp, const wire::PacketView& packet) = 0;
  /// The payload of the request in hand lies where it goes already.
  virtual bool has_placed() const = 0;
  /// The packet goes where it said, if it said so.
  virtual bool agrees(const Qp& qp, const wire::PacketView& packet) const = 0;
  /// Writes the payload of the packet with this PSN at `to`, but where a later one lies already. False: memory faults.
  virtual bool write(wire::Psn psn, const Translation& to, std::span<const std::byte> payload) const = 0;
  /// What goes with the NAK that is due; nothing: it is a plain one.
  virtual std::optional<wire::SackEth> sack_due(const Qp& qp) const = 0;

  // -- Invariants (transport_ib/invariants.h) -------------------------------------------------------------------------
  virtual bool knows_only_of_what_is_outstanding(const Qp& qp) const = 0;
  virtual bool keeps_only_what_is_ahead(const Qp& qp) const = 0;
};

/// A policy as a row of the table.
struct RecoveryRow {
  RecoveryPolicy policy{};
  std::uint8_t extensions = 0;  // of Bth::reserved7, those that mean something to a NIC with it
  /// Of a connection that begins; null: it is go-back-N's.
  std::unique_ptr<LossRecovery> (*make)(const NicConfig& config, const Qp& qp) = nullptr;
};
const RecoveryRow& find_loss_recovery(RecoveryPolicy policy);

}  // namespace verbena::nic
