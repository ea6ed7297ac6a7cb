// RouteAnswers: what a kernel that knew the node's own interfaces would say of them over rtnetlink.
//
// Solely the rows: a link, its address, the route of its network and the way to an address there, and which question
// asks for which of them. How they come to the program is route_netlink.h's.
// Tested by: tests/shim/sockets/own_interface_test.cc
#pragma once

#include <cstddef>
#include <cstdint>

#include "emulator/host/node/identity.h"
#include "verbs-shim/sockets/netlink_messages.h"

namespace verbena::path {

inline constexpr std::size_t kRowBytesMax = 384;  // a link takes the most
inline constexpr std::size_t kRouteAnswerBytesMax = (host::kDevicesMax * host::kPortsMax + 1) * kRowBytesMax;
using RouteAnswer = NetlinkMessages<kRouteAnswerBytesMax>;

enum class RoutePart : std::uint8_t {
  none,  // the kernel's answer is the whole one
  more,  // belongs at the end of the kernel's list
  all,   // the kernel would say that there is no such interface
};

/// `body`: the question behind its header.
RoutePart answer_route(const char* body, std::size_t bytes, RouteAnswer& answer);

}  // namespace verbena::path
