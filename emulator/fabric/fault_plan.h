// FaultPlan: what happens to the packets of one direction of a link. Text in, verdicts out.
//
// Solely responsible for the decision, a function of (seed, link, packet index within its flow, packet fields) and
// never of thread timing or of a clock. Carrying it out (holding, copying, dropping frames) is LinkModel's work.
//
// A fault is written as one action and its conditions, in any order after the action: "drop opcode=ack every=2". All
// words are in the table of fault_parse.cc, with what they mean; docs/faults.md is made from it.
//
// A flow is what goes from one address to one QP of another. Requests and responses (acknowledgements, NAKs, read and
// atomic responses) of a flow are numbered apart: qp, psn, iter, msg, packet and round speak of requests, unless opcode
// names a kind of response or `data`; then qp counts flows by their first response and psn is relative to the PSN of
// the flow's first response. Packets of QP1 (cm) and CNPs are in no flow. Without these words a rule fits requests and
// responses alike. All rules are tried on every packet; a drop ends it, other faults add up.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wire/packet_view.h"
#include "wire/result.h"
#include "wire/time.h"

namespace verbena::fabric {

enum class FaultAction : std::uint8_t { drop, burst_loss, duplicate, delay, reorder, corrupt, truncate, mark, count };
std::string_view to_string(FaultAction action);
/// The values of opcode= of which each packet has one at most: without any, data and cm, and with rnr-nak in nak.
std::vector<std::string_view> disjoint_opcodes();
/// What rules hit, of packets and of verbs (verb_rule.h).
enum class HitUnit : std::uint8_t { packet, call, completion, event };
/// "packet", "call" and so on.
std::string_view to_string(HitUnit unit);

struct FaultRule;     // a plain value, defined in fault_rule.h
struct PacketRecord;  // what FlowTable knows of a packet, flow_table.h

/// The error names the word that is wrong and what would be right, in one line.
Result<FaultRule, std::string> parse_fault(std::string_view text);

/// What is to be done with one packet. `comment` lives as long as the plan and is empty for a packet that nothing hit;
/// where several rules hit, it is that of the gravest: drop, truncate, corrupt, duplicate, reorder, delay, mark.
/// alter_frame() (alter_frame.h) carries out what changes the frame itself.
struct FaultVerdict {
  bool drop = false;
  std::uint32_t copies = 0;  // beside the frame itself
  bool repair_icrc = false;
  Duration delay{0};
  std::uint32_t reorder_packets = 0;  // 0: not held
  Duration hold_max{0};
  /// The bit to flip, counted from the frame's first octet; nothing: intact.
  std::optional<std::uint32_t> flip_bit;
  /// Octets of the frame that arrive at most; nothing: all.
  std::optional<std::uint32_t> truncate_to;
  bool mark = false;  // ECN congestion experienced
  /// The flow's number within the link, for counting the packets that overtake a held one.
  std::uint32_t flow_id = UINT32_MAX;
  std::string_view comment;

  bool clean() const { return comment.empty(); }
  bool alters_frame() const { return flip_bit || truncate_to || mark; }
};

struct RuleCounters {
  std::uint64_t matched = 0;  // conditions fitted
  std::uint64_t applied = 0;  // and chance struck
};

class FaultPlan {
 public:
  /// `link_name` tells this direction of this link from all others under the same seed.
  FaultPlan(const std::vector<FaultRule>& rules, std::uint64_t seed, std::string_view link_name);
  ~FaultPlan();
  FaultPlan(FaultPlan&&) noexcept;
  FaultPlan& operator=(FaultPlan&&) noexcept;

  /// From now on these rules. Those that the plan had before (the same text and id) go on as if nothing had happened;
  /// for the others flows, rounds and counts begin now.
  void replace(const std::vector<FaultRule>& rules);
  bool empty() const;
  /// Whether a verdict can ask for time: a delay or a reordering. Otherwise callers need no clock.
  bool needs_time() const;
  std::size_t rules() const;
  const FaultRule& rule(std::size_t index) const;
  const RuleCounters& counters(std::size_t index) const;
  /// Flows that came after FlowTable was full; their packets fit no rule that asks for a flow's numbers.
  std::uint64_t untracked_packets() const;

  FaultVerdict judge(const wire::PacketView& packet);
  /// FaultRule::id of those that hit the packet that was judged last.
  std::span<const std::uint32_t> struck() const;

 private:
  struct State;
  bool fits(std::size_t index, const wire::PacketView& packet, const PacketRecord& record) const;
  void turn_times();
  bool strikes(std::size_t index, std::uint64_t packet_key) const;
  void apply(std::size_t index, const wire::PacketView& packet, std::uint64_t draw, FaultVerdict& verdict) const;
  std::unique_ptr<State> state_;
};

/// The rules of `rules` that look at packets going this way (tx or rx, seen from the node).
std::vector<FaultRule> rules_of_direction(const std::vector<FaultRule>& rules, bool transmit);

}  // namespace verbena::fabric
