// Descriptor passing: one message over a unix socket, and descriptors with it (SCM_RIGHTS, unix(7)).
//
// Solely that. Whoever sends keeps its own; whatever is received is owned from the moment that it is there, also if the
// message is not what was expected. It does not linger (SO_LINGER) when it is closed, unless its sender, who may still
// have it, makes it: so nothing is received from strangers (unwanted_descriptors.h). What a message means is the
// caller's.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <span>

#include "emulator/host/os/descriptor.h"

namespace verbena::host {

inline constexpr std::size_t kDescriptorsPassedMax = 4;

/// Never blocks. False: it has not been sent whole.
bool send_with_descriptors(int socket, std::span<const std::byte> message, std::span<const int> descriptors);

struct MessageWithDescriptors {
  ssize_t bytes = -1;              // negative: none, errno says why; 0: the peer has closed
  bool is_whole = false;           // it was not longer than there was room, nor had more descriptors
  bool lacks_descriptors = false;  // fewer have come than were sent: there is none left here (errno)
  std::array<Descriptor, kDescriptorsPassedMax> descriptors;
  std::size_t descriptor_count = 0;
};
/// Never blocks. Also for messages that are to have no descriptors: without room for them the kernel closes them.
MessageWithDescriptors receive_with_descriptors(int socket, std::span<std::byte> into);

}  // namespace verbena::host
