// What is known of a connection's two request streams: the messages in them, and what either end has seen and said.
//
// Solely responsible for keeping this state up to date, once for all checkers; they read it as it was before the packet
// that they judge. Bounded: a stream remembers its latest kMessagesKept messages.
// Tested by: tests/captures/checkers/clean_test.cc
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "captures/checkers/checker.h"
#include "wire/aeth.h"
#include "wire/opcode.h"
#include "wire/packet_view.h"
#include "wire/types.h"

namespace verbena::checkers {

class CongestionTable;

inline constexpr std::size_t kMessagesKept = 1024;
/// A PSN that is so far off begins a new connection of the same QP numbers, unless connect() has said otherwise.
inline constexpr std::int32_t kRestartPackets = 1 << 16;
/// The same for a PSN that does not follow, after so much silence.
inline constexpr Duration kRestartSilence = seconds(1);

/// One message of a request stream, found by its PSNs.
struct Message {
  wire::Psn first;
  std::uint32_t packets = 0;    // PSNs that it takes; 0: not known yet, a SEND of which LAST was not seen
  std::uint32_t seen = 0;       // PSNs from `first` on up to the highest one seen
  std::uint32_t length = 0;     // from the RETH
  std::uint32_t answered = 0;   // READ, atomic: one behind the highest response seen
  std::uint32_t delivered = 0;  // READ, atomic: responses that have arrived without a gap
  wire::Rkey rkey;
  std::uint64_t address = 0;
  std::uint64_t original = 0;  // atomic: the answer
  wire::Operation operation{};
  std::uint64_t operand = 0;  // atomic: what is added
  bool has_original = false;

  bool awaits_data() const {
    return operation == wire::Operation::read_request || operation == wire::Operation::compare_swap ||
           operation == wire::Operation::fetch_add || operation == wire::Operation::atomic_write;
  }
  bool is_atomic() const {
    return operation == wire::Operation::compare_swap || operation == wire::Operation::fetch_add;
  }
  std::uint32_t known_packets() const { return packets != 0 ? packets : seen; }
};

/// In PSN order. Adding at the end and finding near it are what happens; the rest may be slow.
class MessageLog {
 public:
  Message* find(wire::Psn psn);
  const Message* find(wire::Psn psn) const { return const_cast<MessageLog*>(this)->find(psn); }
  void insert(const Message& message);
  void clear() { messages_.clear(); }
  std::span<const Message> messages() const { return messages_; }
  std::span<Message> messages() { return messages_; }
  /// The first message that does not end before `psn`, as an index into messages().
  std::size_t index_from(wire::Psn psn) const;

 private:
  std::vector<Message> messages_;
};

struct RnrWait {
  wire::Psn psn;
  Time since;
  Time until;
};

/// Selective repeat (docs/selective-repeat.md), as far as packets show it.
struct SelectiveStream {
  bool is_offered = false;          // the requester's packets say that it takes it
  bool is_agreed = false;           // the requester knows that the responder does, too
  wire::Psn lost_until;             // what is before may be taken for lost, if it is not among those that have arrived
  std::optional<Time> all_lost_at;  // when everything that had been sent by then might be
  std::vector<wire::Psn> sacked;    // that the requester was told of
  std::vector<std::pair<wire::Psn, std::uint32_t>> arrived_ahead;  // with their spans, of the requests before a gap
};
inline constexpr std::size_t kAheadKept = 1024;

/// The requests of one QP, and the responses to them.
struct CheckedStream {
  std::uint32_t index = 0;       // of all flows
  std::uint32_t generation = 0;  // grows when the stream begins anew
  std::optional<wire::Psn> first_psn;
  Duration ack_timeout{0};
  Duration rto_low{0};
  std::uint32_t mtu_bytes = 0;  // 0: not known
  SelectiveStream selective;

  // The stream itself, wherever it was seen first: what a PSN stands for does not depend on the place.
  bool started = false;
  wire::Psn next;                  // one behind the highest
  bool next_is_of_answer = false;  // which was not seen itself, but an answer to it
  wire::Psn last_psn;
  std::uint32_t last_span = 1;
  const wire::OpcodeInfo* last_info = nullptr;
  Time last_time;
  MessageLog log;
  bool has_data_requests = false;  // READs or atomics, ever

  // What its sender did and knows.
  bool departs = false;          // packets were seen as they left it
  bool sent_is_sure = false;     // it has sent nothing beyond `next`: also what it sent before us is known
  bool has_come_around = false;  // more than half of all PSNs: any of them may be an old one
  wire::Psn departing_next;
  Time outstanding_since;
  bool acked_known = false;
  wire::Psn acked;  // one behind what it may take for acknowledged, at most
  Time progress_at;
  std::optional<wire::Psn> nak;  // a sequence error that it was told of and has not gone back for
  Time nak_at;
  std::optional<RnrWait> rnr;
  bool was_rnr = false;  // has to go back because of an RNR NAK

  // What its receiver has seen and said.
  bool arrives = false;
  bool expected_is_sure = false;      // false: the stream began before us, no answer has confirmed it
  bool expected_has_arrived = false;  // false: an answer showed it
  wire::Psn expected;                 // one behind what it may have executed, at most
  wire::Psn highest_arrived;          // one behind
  bool has_answered = false;
  wire::Psn answered;                 // one behind what it has acknowledged
  std::optional<wire::Psn> nak_sent;  // a sequence error; nothing: what was missing has come since
};

/// Which ways of looking at a packet a sighting is.
struct Views {
  bool content = false;  // the first sighting of it: what it says counts now
  bool departs = false;  // exactly where and when it left
  bool arrives = false;  // exactly where and when it arrived
};

/// A NAK that ends a QP.
struct Failed {
  Time at;
  bool by_itself = false;  // it has sent the NAK, not got it
};

struct Connection {
  std::uint32_t generation = 0;
  CheckedConnection info;
  bool paired = false;
  bool tainted = false;                // nothing can be said any more: a packet was changed and its ICRC repaired
  bool doubtful = false;               // a packet may have been changed: its ICRC was cut off
  std::array<CheckedStream, 2> flows;  // requests of end 0, of end 1
  std::array<bool, 2> sees_departs{};  // of what this end sends
  std::array<std::optional<Failed>, 2> failed;
};

/// A packet with all that is known about it before it counts.
struct Observation {
  const CheckedPacket& sighting;
  const CheckerOptions& options;
  const wire::PacketView& packet;
  const CongestionTable& congestion;
  const wire::OpcodeInfo& info;
  Views views;
  wire::Psn psn;
  std::uint32_t span = 1;  // PSNs that a request takes; 0: not known
  bool icrc_is_right = true;
  bool is_doubtful = false;          // it, or what it is judged by, may have been changed on the way
  unsigned sender = 0;               // an end of the connection
  Connection* connection = nullptr;  // null: datagrams and the like
  CheckedStream* flow = nullptr;     // the request stream that it belongs or answers to
  Message* message = nullptr;        // what its PSN lies in, if that is known
  Time time() const { return sighting.time; }
  std::optional<wire::Syndrome> syndrome() const {
    if (!info.has_aeth) return std::nullopt;
    return wire::Syndrome::decode(packet.aeth().syndrome);
  }
  bool is_acknowledge() const { return info.operation == wire::Operation::acknowledge; }
};

inline std::uint32_t packets_of(std::uint32_t bytes, std::uint32_t mtu_bytes) {
  return bytes == 0 ? 1 : (bytes - 1) / mtu_bytes + 1;
}
/// PSNs that a request takes; 0: not known without the MTU.
std::uint32_t span_of(const wire::PacketView& packet, const CheckedStream& flow);
/// Whether a syndrome ends the connection.
bool is_fatal(const wire::Syndrome& syndrome);

void start_connection(Connection& connection);
/// Whether the packet begins a new connection of the same QPs.
bool begins_anew(const Observation& seen);
/// Everything that the packet changes in the state.
void take_note(Observation& seen);

}  // namespace verbena::checkers
