// Experiments and their results, as text for people and as JSON for programs.
// Tested by: tests/scenarios/papers/experiment_test.cc
#pragma once

#include <span>
#include <string>

#include "scenarios/papers/run_experiment.h"

namespace verbena::scenarios {

/// A line for each: its name, what it is, how long it takes.
std::string experiments_text(std::span<const Experiment* const> experiments);
std::string experiments_json(std::span<const Experiment* const> experiments);

/// The table of one, and under it where its numbers are found. Ends with a line feed.
std::string experiment_text(const ExperimentResult& result);
std::string results_json(std::span<const ExperimentResult> results);

}  // namespace verbena::scenarios
