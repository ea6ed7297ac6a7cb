// Failure details: of a run that did not hold, which programs and which connections did not do what they should, with
// what they said and the command that shows what became of their packets.
// Tested by: tests/cli/run_test.cc
#pragma once

#include <string>
#include <string_view>

#include "scenarios/outcome/outcome.h"

namespace verbena::scenarios {

/// What a program said last, indented, below its line in the report. Empty: it ended as it should, or said nothing.
std::string last_lines_text(const ProgramOutcome& program);
/// Below the programs' lines: where more of one that failed can be had. Empty: there is a folder, or none has failed.
std::string out_hint(const Outcome& outcome);
/// The connections that have not finished, the first of each workload. Empty: the run held.
std::string pairs_text(const Scenario& scenario, const Outcome& outcome);
/// `verbena explain` of the pair's requests on the first cable of its initiator; with DIR where there is no --out.
std::string explain_command(const Scenario& scenario, const Outcome& outcome, const PairOutcome& pair);
/// What the capture of a cable of this name is called, without its ending: only characters that are plain everywhere.
std::string capture_name(std::string_view cable);

}  // namespace verbena::scenarios
