// The experiments, a file for each paper.
#pragma once

#include "scenarios/papers/experiment.h"

namespace verbena::scenarios {

// dcqcn.cc
extern const Experiment kDcqcnThresholds;
extern const Experiment kDcqcnIncast;
// lumina.cc
extern const Experiment kLumina;
// delay_based.cc
extern const Experiment kTimelyIncast;
extern const Experiment kSwiftIncast;

}  // namespace verbena::scenarios
