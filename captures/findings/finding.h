// Finding: one thing that explain says of a packet, as a value; captures/render/words has the sentence.
// Tested by: tests/captures/findings/truth_test.cc
#pragma once

#include <cstdint>

#include "wire/time.h"
#include "wire/types.h"

namespace verbena::captures {

/// Why a requester went back and sent again.
enum class Cause : std::uint8_t {
  sequence_nak,  // the responder asked for it
  rnr_nak,       // the responder was not ready; the wait is over
  implied_nak,   // an answer showed that the response to a READ or an atomic was lost before it (IBTA 9.7.5.1.3)
  timeout,       // nothing asked for it and the silence fits this queue pair's ACK timer
  cut_answer,    // answers have passed, and what they say is cut off
  unknown,       // nothing in the capture explains it
};

enum class FindingKind : std::uint8_t {
  gap,              // requests that have not been seen: lost before the capture, or overtaken
  gap_in_run,       // the same, within a retransmission
  response_gap,     // the same, of responses to a READ or an atomic
  late,             // fills such a gap, out of order; nobody has sent it again
  duplicate,        // a request that the network has copied
  seen_before,      // it has passed, and was sent more than once: a copy, or held back; the capture does not show which
  late_or_again,    // it was missing, and was asked for: held back, or sent again; the capture does not show which
  retransmission,   // begins a retransmission: `cause`
  late_answer,      // an answer that a later one has overtaken
  repeated_answer,  // the same answer once more: it was copied, or the request that it answers came again
  unasked_answer,   // answers a PSN that nobody has sent
  nak,
  rnr_nak,
  fatal_nak,
  bad_icrc,
  bad_vcrc,
};

struct Finding {
  FindingKind kind{};
  Cause cause = Cause::unknown;
  wire::Psn psn;
  std::uint32_t count = 1;     // PSNs, from `psn` on; retransmission: how far back
  Duration since{0};           // retransmission: its cause; duplicate and seen_before: the same packet
  Duration asked{0};           // RNR: how long the NAK says to wait
  bool is_read = false;        // retransmission: a READ is asked for again
  bool is_selective = false;   // retransmission: of this packet alone (selective repeat)
  bool answer_passed = false;  // retransmission: what would have made it needless has passed the capture, and was lost
  bool is_hole = false;        // gap, response_gap: the capture lacks them, and they were not lost
  std::uint32_t attempt = 0;   // timeout: which one in a row without any answer; 0: the first
  bool is_sure = true;         // unasked_answer: the capture has all that was sent
  bool may_be_headless = false;  // a gap: the capture has cut packets off within their headers, perhaps these
  bool is_datagram = false;      // gap: the sender counts what it sends to all queue pairs
  std::uint8_t syndrome = 0;     // fatal_nak

  bool is_gap() const {
    return kind == FindingKind::gap || kind == FindingKind::gap_in_run || kind == FindingKind::response_gap;
  }
  /// Nothing went wrong: it is worth knowing.
  bool is_remark() const { return is_hole || (kind == FindingKind::unasked_answer && !is_sure); }
};

}  // namespace verbena::captures
