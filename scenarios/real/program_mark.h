// ProgramMark: how all the processes of a program are found, wherever they have gone.
//
// Programs make children in process groups and sessions of their own (mpirun's ranks, fio's jobs, daemons), which no
// signal to the program's group reaches. All have the environment that the program was started with, and one variable
// of it is the mark. A child that throws its environment away is lost, and with it its node's address: it is not on the
// fabric.
// Tested by: tests/scenarios/real/run_real_test.cc
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "wire/types.h"

namespace verbena::scenarios {

class ProcessEnvironment;

class ProgramMark {
 public:
  /// Like no other on this machine.
  ProgramMark();

  /// In the process that becomes the program, before it does.
  void put_on() const;
  /// Those who live and can be looked at.
  std::vector<pid_t> wearers() const;
  /// Those of them that stand on the node, by their environment (own_node.h).
  std::vector<pid_t> wearers_on(const wire::Gid& node) const;

 private:
  bool is_on(const ProcessEnvironment& environment) const;

  std::string entry_;  // NAME=VALUE
};

}  // namespace verbena::scenarios
