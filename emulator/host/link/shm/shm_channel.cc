#include "emulator/host/link/shm/shm_channel.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "emulator/host/os/shortage.h"

namespace verbena::host {
namespace {
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
constexpr std::size_t kDescriptorsMax = 3;
}  // namespace

SharedMapping::~SharedMapping() {
  // A child never had the mapping, and may have its own stack or heap there by now.
  if (base_ != nullptr && owner_ == getpid()) munmap(base_, bytes_);
}

SharedMapping SharedMapping::map(int memfd, std::size_t bytes) {
  SharedMapping mapping;
  struct stat status{};
  if (fstat(memfd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size != static_cast<off_t>(bytes))
    return mapping;
  const int seals = fcntl(memfd, F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals || (seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE)) != 0) return mapping;
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
  if (base == MAP_FAILED) {
    tell_no_memory("cannot map shared memory, who is behind it is not reached");
    return mapping;
  }
  // A child that got here without our fork handler faults instead of writing into the ring.
  madvise(base, bytes, MADV_DONTFORK);
  madvise(base, bytes, MADV_DONTDUMP);
  mapping.base_ = static_cast<std::byte*>(base);
  mapping.bytes_ = bytes;
  mapping.owner_ = getpid();
  return mapping;
}

Descriptor make_sealed_memory(const char* name, std::size_t bytes) {
  Descriptor memfd(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memfd) return memfd;
  if (ftruncate(memfd.get(), static_cast<off_t>(bytes)) != 0 || fcntl(memfd.get(), F_ADD_SEALS, kSeals) != 0)
    memfd.reset();
  return memfd;
}

RingMemory ring_of_channel(std::byte* base, unsigned index) {
  VERBENA_ASSERT(index < 2);
  // The two positions lie 256 octets apart: neighbouring lines are fetched in pairs.
  auto* consumed = reinterpret_cast<std::uint64_t*>(base + 256 * std::size_t{index});
  return {base + kChannelHeaderBytes + kRingBytes * index, consumed};
}

void ShmChannel::meet(SharedMapping page, Descriptor bell) {
  peer_page_memory = std::move(page);
  doorbell_descriptor = std::move(bell);
  doorbell.store(doorbell_descriptor.get(), std::memory_order_release);
  peer_page.store(reinterpret_cast<ProcessPage*>(peer_page_memory.base()), std::memory_order_seq_cst);
}

bool send_greeting(int socket, const Greeting& greeting, std::span<const int> descriptors) {
  VERBENA_ASSERT(descriptors.size() <= kDescriptorsMax);
  iovec piece{const_cast<Greeting*>(&greeting), sizeof greeting};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kDescriptorsMax * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
  std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
  return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof greeting);
}

GreetingStatus receive_greeting(int socket, std::size_t descriptor_count, ReceivedGreeting& into) {
  iovec piece{&into.greeting, sizeof into.greeting};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kDescriptorsMax * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0) return errno == EAGAIN || errno == EINTR ? GreetingStatus::not_yet : GreetingStatus::closed;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof fd, sizeof fd);
      Descriptor descriptor(fd);  // owned from here on, whatever comes
      if (into.descriptor_count < into.descriptors.size())
        into.descriptors[into.descriptor_count++] = std::move(descriptor);
    }
  }
  if (got == 0) return GreetingStatus::closed;
  const bool whole =
      got == static_cast<ssize_t>(sizeof into.greeting) && (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
  const Greeting expected;
  if (!whole || into.descriptor_count != descriptor_count || into.greeting.magic != expected.magic ||
      into.greeting.version != expected.version || into.greeting.ring_bytes != expected.ring_bytes)
    return GreetingStatus::invalid;
  return GreetingStatus::received;
}

}  // namespace verbena::host
