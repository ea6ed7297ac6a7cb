// What the word that somebody is writing may become, given the words before it.
//
// Solely the choice by where the word stands: which options and arguments a command takes is said by its command line
// (help/description.h), what the words of faults are by the tables that read them, what is there by running.h and
// places.h. How a shell asks and is answered is complete.h's.
// Tested by: tests/cli/completion_test.cc
#pragma once

#include <string>
#include <vector>

#include "cli/completion/candidate.h"

namespace verbena::cli::completion {

/// `words`: what stands behind `verbena`; the last one is being written and may be empty.
Candidates answer(const std::vector<std::string>& words);

}  // namespace verbena::cli::completion
