// VerbRule: one fault of a program's calls or of what its NIC tells it, as a plain value: which calls of which verb,
// which completions, which event, and what comes of them.
//
// Solely the value and its text form. "fail verb=create_cq nth=2 errno=ENOMEM", "completion qp=1 status=REM_OP_ERR",
// "async event=QP_FATAL at=2s". The words are rows (verb_rows.cc), read as those of packet faults are (rule_reader.h).
// Which call or completion a rule hits is verb_faults.h's.
// Tested by: tests/fabric/verb_rule_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/fabric/fault_rule.h"
#include "emulator/fabric/fault_words.h"
#include "emulator/fabric/verbs.h"
#include "emulator/nic/objects/completion.h"
#include "wire/management.h"
#include "wire/result.h"

namespace verbena::fabric {

enum class VerbAction : std::uint8_t {
  fail,
  delay,
  kill,
  count,
  completion,
  cq_overrun,
  count_completions,
  async,
  reject,
  cm_event,
};
enum class CompletionOf : std::uint8_t { either, send, receive };
/// What the connection manager says instead of what was due: events of rdma_get_cm_event(3).
enum class PlannedEnd : std::uint8_t {
  none,
  address_error,    // instead of the address
  route_error,      // instead of the route
  connect_error,    // these three instead of the peer's answer to rdma_connect
  unreachable,      // ...
  rejected,         // ...
  multicast_error,  // instead of the membership
};

struct VerbRule {
  VerbAction action = VerbAction::fail;
  Verb verb = Verb::any;
  std::uint32_t probability_ppb = kCertainPpb;
  std::optional<Range> calls;    // nth=, from 1, of those that fit the other conditions
  std::optional<Range> qps;      // by the order in which the device's were made, from 0
  std::optional<Range> devices;  // of the node, from 0
  std::uint32_t every = 1;
  std::uint32_t count_max = UINT32_MAX;
  Duration after{0};  // since the first call of any verb
  int error = 0;      // errno; 0: the verb's first one
  Duration delay{0};  // by=, of a call or a completion
  // Of completions.
  std::optional<Range> cqs;  // by the order in which the device's were made, from 0
  CompletionOf of = CompletionOf::either;
  nic::CompletionStatus status = nic::CompletionStatus::success;  // success: its own
  bool only_report = false;
  bool lost = false;
  bool twice = false;
  bool spoiled = false;
  // Of events.
  nic::AsyncEventType event{};
  Duration at{0};  // since the first call of any verb
  std::uint32_t port = 1;
  // Of connections.
  PlannedEnd end = PlannedEnd::none;
  wire::RejectReason reason = wire::RejectReason::consumer_defined;
  std::string text;      // as written
  std::uint32_t id = 0;  // its owner's, to tell it from another with the same text
};

/// What a rule hits.
HitUnit hit_by(VerbAction action);
/// The verb's name as the man pages have it, without "ibv_"; calls of librdmacm with their "rdma_".
std::string_view verb_name(Verb verb);
/// It is of processes and their connections, which simulated software has not.
constexpr bool is_of_processes(VerbAction action) {
  return action == VerbAction::kill || action == VerbAction::reject || action == VerbAction::cm_event;
}
/// What the connection manager answers with unless a rule says otherwise: an errno value.
int default_error(PlannedEnd end);
/// All but `any`.
std::vector<Verb> all_verbs();
/// What the verb gives unless a rule says otherwise.
int default_error(Verb verb);
/// "ENOMEM" and the like: those that its man page has, the default one first.
std::vector<std::string_view> error_names(Verb verb);
/// Whether its man page has the error.
bool gives_error(Verb verb, int error);

/// Whether the text is a rule for verbs: it has verb=, or its action is most like one of theirs alone.
bool is_verb_rule(std::string_view text);
/// The error is one line, as parse_fault()'s.
Result<VerbRule, std::string> parse_verb_rule(std::string_view text);
/// What is odd about it, in one line, though it is done: an error that the verb never gives. Empty: nothing.
std::string warning_of(const VerbRule& rule);

std::vector<FaultActionWords> verb_action_words();
std::vector<FaultWord> verb_condition_words();

}  // namespace verbena::fabric
