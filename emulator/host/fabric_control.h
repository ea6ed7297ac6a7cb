// FabricControl: how other processes talk to the one that serves a fabric: a question, an answer, over a unix socket.
//
// Solely responsible for the socket (abstract name verbena/UID/FABRIC/control, same user only) and for the two
// messages. What may be asked is fabric_commands.h's. The answer travels as a sealed file in memory, so that its size
// does not matter and the server never waits for a slow client. Nothing stays behind: the kernel removes the name with
// the process.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "emulator/host/shm_channel.h"
#include "wire/result.h"

namespace verbena::host {

/// The words of a question, as on a command line.
using FabricWords = std::vector<std::string>;
/// What was asked for, or one line that says what is wrong with the question.
using FabricAnswer = Result<std::string, std::string>;

class FabricControl {
 public:
  /// The error is one line: another process serves this fabric.
  static Result<std::unique_ptr<FabricControl>, std::string> open(std::string_view fabric);
  /// Readable when service() has something to do.
  int wait_descriptor() const { return epoll_.get(); }
  /// Answers everything that has been asked. Never blocks. What was asked takes effect at once; the answer to it leaves
  /// when `is_done` says so.
  void service(const std::function<FabricAnswer(const FabricWords&)>& answer, const std::function<bool()>& is_done);

 private:
  static constexpr std::size_t kClientsMax = 64;

  FabricControl() = default;
  void accept_all();
  bool serve(int client, const std::function<FabricAnswer(const FabricWords&)>& answer);
  void drop(int client);

  struct Held {
    int client = -1;
    FabricAnswer answer;
  };

  Descriptor listener_;
  Descriptor epoll_;
  std::unordered_map<int, Descriptor> clients_;
  std::vector<int> oldest_first_;
  std::vector<Held> held_;  // answers
};

/// Asks the process that serves `fabric`. `served`: nobody does (then the error says so).
struct FabricError {
  bool served = true;
  std::string text;
};
Result<std::string, FabricError> ask_fabric(std::string_view fabric, const FabricWords& words);

}  // namespace verbena::host
