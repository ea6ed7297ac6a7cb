// The words of faults, offered where they are written: `verbena fault WORD ...` and `verbena exec --fault 'RULE'`.
// Tested by: tests/cli/completion_test.cc
#pragma once

#include <string>
#include <vector>

#include "cli/completion/candidate.h"

namespace verbena::cli::completion {

/// The words that a running fabric understands.
Candidates command_words();
/// The next word of a command whose words before it are `words`, of which the first is one of command_words().
Candidates next_of_command(const std::vector<std::string>& words, const std::string& fabric);
/// The next word of a packet fault: an action, then what belongs to it and which packets it hits.
Candidates next_of_rule(const std::vector<std::string>& words);
/// A packet fault as one word, with blanks in it; `word` is what there is of it.
Candidates rules(const std::string& word);

}  // namespace verbena::cli::completion
