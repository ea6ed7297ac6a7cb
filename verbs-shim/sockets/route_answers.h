// RouteAnswers: what a kernel that knew the node's own interface would say of it over rtnetlink.
//
// Solely the rows: the link, its address, the route of its network and the way to an address there, and which question
// asks for which of them. How they come to the program is route_netlink.h's.
// Tested by: tests/shim/sockets/own_interface_test.cc
#pragma once

#include <cstddef>
#include <cstdint>

#include "verbs-shim/sockets/netlink_messages.h"

namespace verbena::path {

inline constexpr std::size_t kRouteAnswerBytesMax = 1024;
using RouteAnswer = NetlinkMessages<kRouteAnswerBytesMax>;

enum class RoutePart : std::uint8_t {
  none,  // the kernel's answer is the whole one
  more,  // belongs at the end of the kernel's list
  all,   // the kernel would say that there is no such interface
};

/// `body`: the question behind its header.
RoutePart answer_route(const char* body, std::size_t bytes, RouteAnswer& answer);

}  // namespace verbena::path
