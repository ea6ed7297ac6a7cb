// Description: what a subcommand takes and says of itself, as plain values: the help, man pages and completions are
// made from it.
//
// Solely the values. command.h fills them in as a subcommand declares its command line, so that nothing can be taken
// without being described.
// Tested by: tests/cli/man_test.cc
#pragma once

#include <string>
#include <vector>

namespace verbena::cli::help {

struct OptionText {
  std::string name;  // "--node"; of an argument "FILE"
  std::string type;  // of its value; empty: it has none
  std::string text;
  std::string fallback;  // where it is not given; empty: nothing
  bool is_list = false;
};

struct StatusText {
  std::string status;  // a number, or several in words
  std::string text;
};

struct ExampleText {
  std::string command;
  std::string text;
};

struct Description {
  std::string name;   // "verbena exec"
  std::string usage;  // "verbena exec [OPTIONS] [--] PROGRAM"
  std::string text;
  std::vector<OptionText> options;
  std::vector<OptionText> arguments;
  std::vector<StatusText> statuses;
  std::vector<ExampleText> examples;
  std::string footer;
};

}  // namespace verbena::cli::help
