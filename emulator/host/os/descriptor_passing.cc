#include "emulator/host/os/descriptor_passing.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "wire/assert.h"

namespace verbena::host {
namespace {
constexpr std::size_t kControlBytes = CMSG_SPACE(kDescriptorsPassedMax * sizeof(int));
constexpr std::size_t kDescriptorsSentMax = 253;  // SCM_MAX_FD, include/net/scm.h

/// Of what there was no room for, the kernel would close the last one as it is, and wait.
constexpr std::size_t kControlBytesMax = CMSG_SPACE(kDescriptorsSentMax * sizeof(int));

void forbid_to_linger(int descriptor) {
  const int kept = errno;
  const linger none{.l_onoff = 0, .l_linger = 0};
  setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &none, sizeof none);  // not every descriptor is a socket
  errno = kept;
}
}  // namespace

bool send_with_descriptors(int socket, std::span<const std::byte> message, std::span<const int> descriptors) {
  VERBENA_ASSERT(!descriptors.empty() && descriptors.size() <= kDescriptorsPassedMax);
  iovec piece{const_cast<std::byte*>(message.data()), message.size()};
  alignas(cmsghdr) std::array<char, kControlBytes> control{};
  msghdr header{};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
  cmsghdr* const item = CMSG_FIRSTHDR(&header);
  item->cmsg_level = SOL_SOCKET;
  item->cmsg_type = SCM_RIGHTS;
  item->cmsg_len = CMSG_LEN(descriptors.size_bytes());
  std::memcpy(CMSG_DATA(item), descriptors.data(), descriptors.size_bytes());
  return sendmsg(socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL) == static_cast<ssize_t>(message.size());
}

MessageWithDescriptors receive_with_descriptors(int socket, std::span<std::byte> into) {
  MessageWithDescriptors received;
  iovec piece{into.data(), into.size()};
  alignas(cmsghdr) std::array<char, kControlBytesMax> control;
  msghdr header{};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  received.bytes = recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (received.bytes < 0) return received;
  received.is_whole = (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
  for (cmsghdr* item = CMSG_FIRSTHDR(&header); item != nullptr; item = CMSG_NXTHDR(&header, item)) {
    if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(item) + i * sizeof fd, sizeof fd);
      Descriptor descriptor(fd);
      forbid_to_linger(fd);
      if (received.descriptor_count < received.descriptors.size())
        received.descriptors[received.descriptor_count++] = std::move(descriptor);
      else
        received.is_whole = false;
    }
  }
  if ((header.msg_flags & MSG_CTRUNC) != 0 && received.descriptor_count < received.descriptors.size()) {
    received.lacks_descriptors = true;
    errno = EMFILE;
  }
  return received;
}

}  // namespace verbena::host
