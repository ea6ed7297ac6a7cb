// The experiments, a file for each paper.
// Tested by: tests/scenarios/papers/experiment_test.cc
#pragma once

#include "scenarios/papers/experiment.h"

namespace verbena::scenarios {

// dcqcn.cc
extern const Experiment kDcqcnThresholds;
extern const Experiment kDcqcnIncast;
extern const Experiment kDcqcnFairness;
extern const Experiment kDcqcnVictim;
extern const Experiment kDcqcnSpine;
// hpcc.cc
extern const Experiment kHpcc;
// irn.cc
extern const Experiment kIrn;
extern const Experiment kIrnControl;
extern const Experiment kIrnIncast;
// lumina.cc
extern const Experiment kLumina;
// delay_based.cc
extern const Experiment kTimelyIncast;
extern const Experiment kSwiftIncast;

}  // namespace verbena::scenarios
