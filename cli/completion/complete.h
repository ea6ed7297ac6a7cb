// `verbena complete`, which the scripts of shells.h call and no user does: what each shell says and wants to hear.
//
//   complete bash LINE REPLACED    the command line up to the cursor, and the end of it that the answer replaces
//   complete zsh|fish WORD...      the words behind `verbena`, up to the cursor; a tab and a note behind each answer
// Tested by: tests/cli/completion_test.cc
#pragma once

#include <string_view>

#include "cli/command.h"

namespace verbena::cli::completion {

inline constexpr std::string_view kCompleteWord = "complete";

/// The exit status. What is not understood has no answer: nobody would see an error.
int run_complete(const Arguments& arguments);

}  // namespace verbena::cli::completion
