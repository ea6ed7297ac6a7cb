// FabricCodec: requests to a fabric process and its replies as octets, and back.
//
// Solely responsible for the form. A message is the protocol's word, a zero octet, the length of the body (four octets,
// the lowest first) and the body: the number of the alternative and its fields in order. Numbers are in base 128, the
// lowest digit first; texts and lists have their length before them. Whatever comes in is checked: a message has to
// fit to the last octet, and a snapshot's numbers have to name what it has. Nothing here is formatted or parsed as
// text.
#pragma once

#include <string>
#include <string_view>

#include "emulator/host/fabric_client/fabric_messages.h"
#include "wire/result.h"

namespace verbena::host {

/// Another word for each form of the messages: what speaks another one is told so.
inline constexpr std::string_view kFabricProtocol = "verbena-fabric-7";

std::string encode(const FabricRequest& request);
std::string encode(const FabricReply& reply);

struct CodecError {
  bool is_of_another_version = false;
  std::string text;  // one line
};
Result<FabricRequest, CodecError> decode_request(std::string_view message);
Result<FabricReply, CodecError> decode_reply(std::string_view message);

}  // namespace verbena::host
