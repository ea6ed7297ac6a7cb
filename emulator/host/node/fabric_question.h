// FabricQuestion: what other processes may say to the one that serves a fabric: a question of words, and its answer.
//
// Solely responsible for the name of the socket (abstract, verbena/UID/FABRIC/control, same user only), for the two
// messages and for the end that asks. The end that answers is fabric_control.h; what may be asked is
// fabric_commands.h's. The answer travels as a sealed file in memory, so that its size does not matter and the server
// never waits for a slow client.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/host/node/node_directory.h"
#include "wire/result.h"

namespace verbena::host {

/// The words of a question, as on a command line.
using FabricWords = std::vector<std::string>;

/// Asks the process that serves `fabric`. `served`: nobody does (then the error says so).
struct FabricError {
  bool served = true;
  std::string text;
};
Result<std::string, FabricError> ask_fabric(std::string_view fabric, const FabricWords& words);

/// The answer to `hello`: what a program has to know to take its place. No JSON, which libibverbs would bring into
/// every program.
struct FabricHello {
  std::uint32_t nodes = 0;
  std::vector<std::uint64_t> port_rates;  // of each node, bits per second, when the fabric began; 0: no limit
  std::string stats_path;                 // of the counters that processes write; empty: none
};
std::string to_text(const FabricHello& hello);
/// What is no such text has no nodes.
FabricHello parse_hello(std::string_view text);
Result<FabricHello, FabricError> greet_fabric(std::string_view fabric);

// For the end that answers.
inline constexpr std::size_t kFabricQuestionBytesMax = 16 * 1024;
AbstractName fabric_control_address(std::string_view fabric);
FabricWords fabric_words_of(std::string_view question);
/// Never blocks; false: it could not be sent.
bool send_fabric_answer(int socket, bool accepted, std::string_view text);

}  // namespace verbena::host
