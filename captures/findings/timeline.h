// Timeline: a conversation's packets as short records, so that what a packet means can be judged by what follows it.
//
// Solely the records and the order within each direction; judgement is request_stream.h's.
// Tested by: tests/captures/findings/rounds_test.cc
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "captures/conversations/conversations.h"
#include "captures/read/capture.h"

namespace verbena::captures {

struct Moment {
  enum class Kind : std::uint8_t {
    ignored,  // a CNP, or damaged: no receiver follows it
    unread,   // a datagram whose sender is cut off: no PSN follows another
    request,
    acknowledge,  // ACK or NAK
    data,         // a response to a READ or an atomic
  };
  Time time;
  std::uint64_t content = 0;  // packets of one PSN that differ in this are no copies of each other
  std::uint32_t number = 0;   // Packet::number
  wire::Psn psn;
  std::uint32_t span = 1;  // PSNs that a request takes; of a READ whose RETH is cut off, as its answers show
  std::uint32_t msn = 0;   // of an answer with an AETH
  bool has_sack = false;   // a NAK of selective repeat
  wire::Psn sack_highest;
  std::uint64_t sack_below = 0;
  std::uint32_t order = 0;  // place in Timeline::requests() or data(), the one that it is in
  std::uint32_t index = 0;  // in Timeline::moments()
  Kind kind = Kind::ignored;
  std::uint8_t sender = 0;
  std::uint8_t syndrome = 0;
  bool has_syndrome = false;
  bool span_is_guess = false;  // and they have not shown its end
  wire::Integrity integrity = wire::Integrity::unknown;
  bool has_bad_icrc = false;
  bool has_bad_vcrc = false;
  bool has_recovery_header = false;  // of selective repeat
  bool is_dropped = false;           // a fault's note says that it never arrived
  bool awaits_data = false;          // READ, atomic, ATOMIC WRITE
  bool is_read = false;
  bool is_reliable = false;
  bool is_datagram = false;
  bool ends = false;  // the last response to a READ

  /// Nothing follows from it.
  bool is_aside() const { return kind == Kind::ignored || kind == Kind::unread; }
};

class Timeline {
 public:
  Timeline(const Capture& capture, const Conversation& conversation);

  std::span<const Moment> moments() const { return moments_; }
  /// The requests, or data responses, that `sender` has sent, as indices into moments().
  std::span<const std::uint32_t> requests(unsigned sender) const { return requests_[sender]; }
  std::span<const std::uint32_t> data(unsigned sender) const { return data_[sender]; }

 private:
  void find_spans();
  void find_span(Moment& read) const;

  std::vector<Moment> moments_;
  std::array<std::vector<std::uint32_t>, 2> requests_;
  std::array<std::vector<std::uint32_t>, 2> data_;
};

}  // namespace verbena::captures
