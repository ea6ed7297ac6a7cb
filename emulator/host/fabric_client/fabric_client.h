// FabricClient: how another process asks the one that serves a fabric.
//
// Solely responsible for the name of the socket (abstract, verbena/UID/FABRIC/control, same user only), for carrying
// messages and for the end that asks. What can be asked is fabric_messages.h's, its octets are fabric_codec.h's; the
// end that answers is fabric_process/fabric_control.h. The answer travels as a sealed file in memory, so that its size
// does not matter and the fabric process never waits for a slow client. A refusal is plain text in every version of the
// protocol: so a command and a fabric process of different versions say what is wrong.
// Tested by: tests/host/fabric_client/fabric_client_test.cc
#pragma once

#include <string>
#include <string_view>

#include "emulator/host/fabric_client/fabric_messages.h"
#include "emulator/host/node/node_directory.h"
#include "wire/result.h"

namespace verbena::host {

/// `served`: false if nobody serves it (then the text says so).
struct FabricError {
  bool served = true;
  std::string text;
};
/// Asks the process that serves `fabric`.
Result<FabricReply, FabricError> ask_fabric(std::string_view fabric, const FabricRequest& request);
Result<FabricHello, FabricError> greet_fabric(std::string_view fabric);
Result<FabricSnapshot, FabricError> look_at_fabric(std::string_view fabric);

// For the end that answers.
inline constexpr std::size_t kFabricRequestBytesMax = 64 * 1024;
AbstractName fabric_control_address(std::string_view fabric);
/// Never blocks; false: it could not be sent.
bool send_fabric_answer(int socket, const FabricAnswer& answer);

}  // namespace verbena::host
