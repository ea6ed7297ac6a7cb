// VerbRule: one fault of a program's calls, as a plain value: which calls of which verb, and what comes of them.
//
// Solely the value and its text form. "fail verb=create_cq nth=2 errno=ENOMEM". The words are rows (verb_rows.cc), read
// as those of packet faults are (rule_reader.h). Which call a rule hits is verb_faults.h's.
// Tested by: tests/fabric/verb_rule_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "emulator/fabric/fault_rule.h"
#include "emulator/fabric/fault_words.h"
#include "emulator/fabric/verbs.h"
#include "wire/result.h"

namespace verbena::fabric {

enum class VerbAction : std::uint8_t { fail, delay };

struct VerbRule {
  VerbAction action = VerbAction::fail;
  Verb verb = Verb::any;
  std::uint32_t probability_ppb = kCertainPpb;
  std::optional<Range> calls;    // nth=, from 1, of those that fit the other conditions
  std::optional<Range> qps;      // by the order in which the device's were made, from 0
  std::optional<Range> devices;  // of the node, from 0
  std::uint32_t every = 1;
  std::uint32_t count_max = UINT32_MAX;
  Duration after{0};     // since the first call of any verb
  int error = 0;         // errno; 0: the verb's first one
  Duration delay{0};     // delay by=
  std::string text;      // as written
  std::uint32_t id = 0;  // its owner's
};

/// The verb's name as the man pages have it, without "ibv_"; calls of librdmacm with their "rdma_".
std::string_view verb_name(Verb verb);
/// What the verb gives unless a rule says otherwise.
int default_error(Verb verb);
/// Whether its man page has the error.
bool gives_error(Verb verb, int error);

/// Whether the text is a rule for verbs: its action is `fail`, or it has the word verb=.
bool is_verb_rule(std::string_view text);
/// The error is one line, as parse_fault()'s.
Result<VerbRule, std::string> parse_verb_rule(std::string_view text);
/// What is odd about it, in one line, though it is done: an error that the verb never gives. Empty: nothing.
std::string warning_of(const VerbRule& rule);

std::vector<FaultActionWords> verb_action_words();
std::vector<FaultWord> verb_condition_words();

}  // namespace verbena::fabric
