// FaultRule: one fault as a plain value. The text form and its meaning are in fault_plan.h.
// Tested by: tests/fabric/fault_plan_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "emulator/fabric/fault_plan.h"
#include "wire/time.h"

namespace verbena::fabric {

/// Probabilities are integers, parts per billion: the same on every machine.
inline constexpr std::uint32_t kCertainPpb = 1'000'000'000;
inline constexpr std::uint32_t kReorderPacketsMax = 1000;
inline constexpr std::uint32_t kCopiesMax = 1000;
/// A packet held for reordering leaves after this time at the latest, so that the last one of a burst is not held for
/// ever.
inline constexpr Duration kReorderHoldDefault = milliseconds(1);
inline constexpr Duration kFaultTimeMax = seconds(60);
/// A frame cut shorter than this would not have the headers that tell whose it is on any medium.
inline constexpr std::uint32_t kTruncateBytesMin = 14;

enum class PacketKind : std::uint8_t {
  any,
  write,
  send,
  read,
  read_response,
  acknowledge,
  nak,
  atomic,
  atomic_response,
  cm,
  cnp,
  rnr_nak,
  data,
  // Messages of the connection manager.
  cm_req,
  cm_mra,
  cm_rej,
  cm_rep,
  cm_rtu,
  cm_dreq,
  cm_drep,
  cm_sidr_req,
  cm_sidr_rep,
  cm_lap,
  cm_apr
};
enum class FaultDirection : std::uint8_t { tx, rx, both };
enum class CorruptPlace : std::uint8_t {
  anywhere,
  payload,
  header,
  icrc,
  opcode,
  pkey,
  dest_qp,
  psn,
  address,
  rkey,
  length,
  syndrome,
  msn
};
/// A packet's place in its message.
enum class MessagePart : std::uint8_t { any, first, middle, last };

struct Range {
  std::uint32_t first = 0;
  std::uint32_t last = UINT32_MAX;
  constexpr bool contains(std::uint32_t value) const { return first <= value && value <= last; }
  constexpr bool operator==(const Range&) const = default;
};

struct FaultRule {
  FaultAction action = FaultAction::drop;
  std::uint32_t probability_ppb = kCertainPpb;
  std::optional<Range> flows;               // qp=, from 0
  std::optional<Range> psns;                // relative to the flow's first
  std::optional<Range> iterations;          // from 1
  std::optional<Range> messages;            // of the flow, from 0
  std::optional<Range> packets_of_message;  // from 0
  std::optional<Range> rounds;              // of the message's transmission, from 1
  MessagePart part = MessagePart::any;
  PacketKind kind = PacketKind::any;
  std::uint32_t skip = 0;  // so many that fit are let through first
  std::uint32_t every = 1;
  std::uint32_t count_max = UINT32_MAX;
  FaultDirection direction = FaultDirection::tx;
  Duration delay{0};                        // delay by=
  Duration jitter{0};                       // delay jitter=
  std::uint32_t copies = 1;                 // duplicate copies=
  std::uint32_t packets = 1;                // reorder by=
  Duration hold_max = kReorderHoldDefault;  // reorder within=
  CorruptPlace place = CorruptPlace::anywhere;
  bool repair_icrc = false;
  std::uint32_t truncate_to = 0;
  std::uint32_t recovery_ppb = 0;            // burst-loss r=
  std::uint32_t good_loss_ppb = 0;           // burst-loss good=
  std::uint32_t bad_loss_ppb = kCertainPpb;  // burst-loss bad=
  std::string text;                          // as written, for comments and reports
  std::uint32_t id = 0;                      // its owner's, to tell it from another with the same text

  /// Whether a message's number, packet or round is asked for.
  constexpr bool asks_for_message() const { return messages || packets_of_message || rounds; }
  constexpr bool sees(FaultDirection way) const { return direction == FaultDirection::both || direction == way; }
};

}  // namespace verbena::fabric
