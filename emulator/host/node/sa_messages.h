// What passes between a program and the fabric process where the kernel's ib_sa module would ask the subnet
// administrator for the program.
//
// Solely the octets and the name of the socket, which carries whole messages (SOCK_SEQPACKET). A request is one
// message; each has one answer, but for leave, which has none. A membership that is lost later is told by a second
// answer to its join, with the error. What closes the socket leaves all its groups.
// Tested by: tests/host/fabric_process/sa_client_test.cc
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "emulator/host/os/abstract_name.h"
#include "emulator/host/os/same_user.h"

namespace verbena::host {

enum class SaOperation : std::uint32_t { get_path = 1, join = 2, leave = 3 };

/// As wire/subnet_administration.h has them; the longer one.
using SaRecord = std::array<std::byte, 64>;

struct SaRequest {
  SaOperation operation = SaOperation::get_path;
  std::uint32_t host = 0;        // of the fabric, from 0 (managed_host())
  std::uint64_t id = 0;          // the program's; of leave: that of the join
  std::uint32_t timeout_ms = 0;  // in all, of get_path
  std::uint32_t reserved = 0;
  std::uint64_t component_mask = 0;
  SaRecord record{};
};

struct SaAnswer {
  std::uint64_t id = 0;
  SaOperation operation = SaOperation::get_path;
  /// 0, or as ib_sa tells it: -ETIMEDOUT; -EINVAL: the administrator refused; -EAGAIN: the port is down; -ENETRESET:
  /// the membership is lost; -ENOMEM: too much at a time.
  std::int32_t status = 0;
  SaRecord record{};
};

/// Where the process of a managed fabric listens.
inline AbstractName sa_address(const char* fabric) {
  return AbstractName("verbena-sa/%u/%s", own_user(), fabric);
}

}  // namespace verbena::host
