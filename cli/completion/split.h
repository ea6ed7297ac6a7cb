// A command line as text, in words.
// Tested by: tests/cli/completion_test.cc
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace verbena::cli::completion {

/// As a shell splits it: quotes and backslashes hold words together and are taken away; the last word may be unfinished
/// (a quote that is not closed), and is empty where the text ends in a blank.
std::vector<std::string> as_shell(std::string_view text);
/// Words between blanks, none of them empty.
std::vector<std::string> at_blanks(std::string_view text);

}  // namespace verbena::cli::completion
