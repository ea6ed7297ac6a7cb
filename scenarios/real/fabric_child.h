// FabricChild: the fabric process of one run, as a child of the runner.
//
// Solely responsible for starting and ending it and for carrying questions to it. What it does is
// emulator/host/fabric_process/fabric_process.h's. It ends by itself when the runner is gone.
// Tested by: tests/scenarios/real/run_real_test.cc
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>

#include "emulator/host/fabric_client/fabric_messages.h"
#include "emulator/host/fabric_process/fabric_process.h"
#include "wire/result.h"

namespace verbena::scenarios {

class FabricChild {
 public:
  /// `checks`: the checkers watch it.
  static Result<std::unique_ptr<FabricChild>, std::string> start(const host::FabricOptions& options, bool checks);
  ~FabricChild();
  FabricChild(const FabricChild&) = delete;
  FabricChild& operator=(const FabricChild&) = delete;

  const std::string& name() const { return name_; }
  /// An error is one line.
  host::FabricAnswer ask(const host::FabricRequest& request) const;
  /// Ends it and waits until its captures are written. What the checkers said (RealCheckers::read), if they watched.
  std::string end();

 private:
  FabricChild() = default;
  std::string name_;
  pid_t process_ = -1;
  host::Descriptor lifeline_;  // the child ends when this is closed
  host::Descriptor verdict_;   // what it says then
};

}  // namespace verbena::scenarios
