// What passes between a program and the process of its subnet in place of the kernel's umad device.
//
// Solely the octets. A descriptor of /dev/infiniband/umadN is a socket of whole messages: the program writes and reads
// `ib_user_mad` with the datagram behind it, as the kernel has it. An ioctl is a message that begins with a number that
// no agent has, and brings a descriptor for its reply. Source: rdma/ib_user_mad.h (ABI 5).
// Tested by: tests/programs/subnet.py
#pragma once

#include <cstdint>

namespace verbena::host {

/// Where the subnet's files are for one of its hosts; the socket lies two folders above.
inline constexpr const char* kSubnetVariable = "VERBENA_SUBNET";
inline constexpr const char* kSubnetSocket = "/socket";

inline constexpr std::uint32_t kUmadIoctlMark = 0xffffffff;
struct UmadIoctl {
  std::uint32_t mark = kUmadIoctlMark;
  std::uint32_t request = 0;
  std::uint8_t argument[64]{};
};
struct UmadIoctlReply {
  std::int32_t error = 0;  // errno, or 0
  std::uint8_t argument[64]{};
};
/// The first message of a connection.
struct UmadHello {
  std::uint32_t host = 0;  // a node of the topology; of a fabric: a host
  std::uint32_t port = 0;
  std::uint32_t is_issm = 0;  // /dev/infiniband/issmN
};

}  // namespace verbena::host
