// ProcessEnvironment: the environment that a process of this machine was started with, as /proc has it.
//
// Solely reading it: which program a process belongs to is program_mark.h's, what a node is own_node.h's. Empty where
// the process has ended or belongs to another user.
// Tested by: tests/scenarios/real/run_real_test.cc
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "wire/types.h"

namespace verbena::scenarios {

/// All of this machine, as far as this process namespace shows them.
std::vector<pid_t> all_processes();

class ProcessEnvironment {
 public:
  explicit ProcessEnvironment(pid_t process);

  /// Null: it is not set, or empty.
  const char* find(std::string_view name) const;
  /// Whose fabric it is on. Empty: none, for `verbena exec` and scenarios always name it.
  std::string_view fabric() const;
  bool stands_on(const wire::Gid& node) const;

 private:
  std::string octets_;  // NAME=VALUE, each with a zero behind it
};

}  // namespace verbena::scenarios
