// Whom a datagram to QP1 is for, among the processes that share it: found without any state of theirs.
// Tested by: tests/cm/ending_test.cc, tests/cm/crowd_test.cc
#pragma once

#include <cstdint>
#include <optional>

#include "emulator/cm/connection.h"
#include "wire/management.h"
#include "wire/packet_view.h"

namespace verbena::cm {

struct Addressee {
  ConnectionId connection = 0;   // 0: the message opens something
  std::uint64_t service_id = 0;  // then this
  wire::IpVersions asker;        // and this
};

/// Nothing: it is no message between communication managers.
std::optional<Addressee> addressee_of(const wire::PacketView& packet);

}  // namespace verbena::cm
