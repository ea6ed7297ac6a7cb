// FabricControl: how other processes talk to the one that serves a fabric: a request, an answer, over a unix socket.
//
// Solely responsible for the end that answers; the end that asks is fabric_client/fabric_client.h's, what may be asked
// fabric_client/fabric_messages.h's. What it does is fabric_commands.h's. Nothing stays behind: the kernel removes the
// name with the process.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "emulator/host/fabric_client/fabric_client.h"
#include "emulator/host/os/descriptor.h"
#include "emulator/host/os/reception.h"
#include "wire/result.h"

namespace verbena::host {

class FabricControl {
 public:
  /// The error is one line: another process serves this fabric.
  static Result<std::unique_ptr<FabricControl>, std::string> open(std::string_view fabric);
  ~FabricControl();
  /// Readable when service() has something to do.
  int wait_descriptor() const { return epoll_.get(); }
  /// Answers everything that has been asked. Never blocks. What was asked takes effect at once; the answer to it leaves
  /// when `is_done` says so.
  void service(const std::function<FabricAnswer(const FabricRequest&)>& answer, const std::function<bool()>& is_done);

 private:
  static constexpr std::size_t kClientsMax = 64;

  FabricControl() = default;
  void accept_all();
  bool serve(int client, const std::function<FabricAnswer(const FabricRequest&)>& answer);
  void drop(int client);

  struct Held {
    int client = -1;
    FabricAnswer answer;
  };

  Descriptor listener_;
  Reception reception_;
  Descriptor epoll_;
  std::unordered_map<int, Descriptor> clients_;
  std::vector<int> oldest_first_;
  std::vector<Held> held_;  // answers
};

}  // namespace verbena::host
