#include "emulator/host/link/shm/shm_channel.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "emulator/host/os/bell.h"
#include "emulator/host/os/clock.h"
#include "emulator/host/os/descriptor_passing.h"
#include "emulator/host/os/shortage.h"
#include "emulator/host/os/socket_option.h"

namespace verbena::host {
namespace {
constexpr int kSizeSeals = F_SEAL_SHRINK | F_SEAL_GROW;
constexpr int kSeals = kSizeSeals | F_SEAL_SEAL;

Descriptor make_memory(const char* name, std::size_t bytes, int seals) {
  Descriptor memfd(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memfd) return memfd;
  if (ftruncate(memfd.get(), static_cast<off_t>(bytes)) != 0 || fcntl(memfd.get(), F_ADD_SEALS, seals) != 0)
    memfd.reset();
  return memfd;
}
}  // namespace

SharedMapping::~SharedMapping() {
  // A child never had the mapping, and may have its own stack or heap there by now.
  if (base_ != nullptr && owner_ == getpid()) munmap(base_, bytes_);
}

SharedMapping SharedMapping::map(int memfd, std::size_t bytes, Access access) {
  SharedMapping mapping;
  // The seals first: what has some is memory of the kernel's, and no file system that takes its time to answer.
  const int seals = fcntl(memfd, F_GET_SEALS);
  const bool writes = access == Access::read_write;
  if (seals < 0 || (seals & kSizeSeals) != kSizeSeals) return mapping;
  struct stat status{};
  if (fstat(memfd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size != static_cast<off_t>(bytes))
    return mapping;
  if (writes && (seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE)) != 0) return mapping;
  void* base = mmap(nullptr, bytes, writes ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, memfd, 0);
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
  return make_memory(name, bytes, kSeals);
}

OwnMemory make_memory_others_only_read(const char* name, std::size_t bytes) {
  OwnMemory made;
  made.descriptor = make_memory(name, bytes, kSizeSeals);
  if (!made.descriptor) return made;
  made.mapping = SharedMapping::map(made.descriptor.get(), bytes);
  // The mapping that is there keeps its right; no other one gets it.
  if (fcntl(made.descriptor.get(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) != 0) made.mapping = {};
  return made;
}

RingMemory ring_of_channel(std::byte* base, unsigned index) {
  VERBENA_ASSERT(index < 2);
  // The two positions lie 256 octets apart: neighbouring lines are fetched in pairs.
  auto* consumed = reinterpret_cast<std::uint64_t*>(base + 256 * std::size_t{index});
  return {base + kChannelHeaderBytes + kRingBytes * index, consumed};
}

bool ShmChannel::meet(PeerDescriptors&& of_peer) {
  SharedMapping page = SharedMapping::map(of_peer.page.get(), kProcessPageBytes, SharedMapping::Access::read);
  SharedMapping wake = SharedMapping::map(of_peer.wake.get(), kWakePageBytes);
  if (!page || !wake || !Bell::is_ringer(of_peer.bell.get())) return false;
  peer_page_memory = std::move(page);
  peer_wake_memory = std::move(wake);
  doorbell_descriptor = std::move(of_peer.bell);
  doorbell.store(doorbell_descriptor.get(), std::memory_order_release);
  peer_page.store(reinterpret_cast<ProcessPage*>(peer_page_memory.base()), std::memory_order_seq_cst);
  return true;
}

bool ShmChannel::stands_still(Duration for_as_long_as) {
  // The clock itself: the time of the last pass may be from long before this burst of posts.
  const Time now = clock_now();
  return consumer.look(tx.read_tail(), now, for_as_long_as);
}

bool ShmChannel::is_still_behind(std::size_t room, Duration patience) {
  const bool has_stopped = stands_still(patience);
  return tx.used_bytes() > kRingBytes - room && !has_stopped && !dead.load(std::memory_order_relaxed);
}

void ShmChannel::rewind_if_slow(Time now) {
  const std::uint64_t written = tx.position() - lap_position;
  if (dirty || written < kLapBytes) return;
  if (now - lap_at > kLapTime) tx.rewind();
  lap_position = tx.position();
  lap_at = now;
}

std::uint32_t ShmChannel::peer_core() const {
  ProcessPage* const page = peer_page.load(std::memory_order_acquire);
  return page == nullptr ? 0 : std::atomic_ref<std::uint32_t>(page->core).load(std::memory_order_relaxed);
}

std::uint64_t ShmChannel::peer_polls() const {
  ProcessPage* const page = peer_page.load(std::memory_order_acquire);
  return page == nullptr ? 0 : std::atomic_ref<std::uint64_t>(page->polls).load(std::memory_order_relaxed);
}

Time ShmChannel::peer_answered_by() {
  ProcessPage* const page = peer_page.load(std::memory_order_acquire);
  return page == nullptr ? Time{} : answered_by(*page, has_taken_all());
}

bool ShmChannel::peer_sleeps() const {
  ProcessPage* const page = peer_page.load(std::memory_order_acquire);
  return page != nullptr && doorbell_of(*page).is_asleep();
}

bool ShmChannel::peer_rests() const {
  const ProcessPages pages = peer_pages();
  return pages.told != nullptr && rest_of(pages).is_resting();
}

bool ShmChannel::peer_sleeps_per_message() const {
  ProcessPage* const page = peer_page.load(std::memory_order_acquire);
  return page != nullptr &&
         std::atomic_ref<std::uint32_t>(page->sleeps_per_message).load(std::memory_order_relaxed) != 0;
}

bool ShmChannel::peer_sleeps_on_our_cpu() const {
  ProcessPage* const page = peer_page.load(std::memory_order_acquire);
  return page != nullptr &&
         std::atomic_ref<std::uint32_t>(page->thread_core).load(std::memory_order_relaxed) == present_core();
}

bool send_greeting(int socket, const Greeting& greeting, std::span<const int> descriptors) {
  return send_with_descriptors(socket, std::as_bytes(std::span(&greeting, 1)), descriptors);
}

bool send_greeting(int socket, const Greeting& greeting) {
  return send(socket, &greeting, sizeof greeting, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof greeting;
}

namespace {
std::size_t descriptors_of(std::uint32_t kind) {
  return kind == Greeting::kCall ? 4 : kind == Greeting::kAnswer ? 3 : 0;
}

bool is_of_this_version(const Greeting& greeting) {
  const Greeting expected;
  return greeting.magic == expected.magic && greeting.version == expected.version &&
         greeting.ring_bytes == expected.ring_bytes;
}

GreetingStatus why_nothing_came() {
  return errno == EAGAIN || errno == EINTR ? GreetingStatus::not_yet : GreetingStatus::closed;
}
}  // namespace

GreetingStatus receive_greeting(int socket, ReceivedGreeting& into) {
  MessageWithDescriptors message =
      receive_with_descriptors(socket, std::as_writable_bytes(std::span(&into.greeting, 1)));
  if (message.bytes < 0) return why_nothing_came();
  if (message.bytes == 0) return GreetingStatus::closed;
  if (message.lacks_descriptors) tell_if_no_descriptors("another process is not reached, frames are lost");
  const bool whole = message.is_whole && message.bytes == static_cast<ssize_t>(sizeof into.greeting);
  if (!whole || message.descriptor_count != descriptors_of(into.greeting.kind) || !is_of_this_version(into.greeting))
    return GreetingStatus::invalid;
  into.descriptors = std::move(message.descriptors);
  return GreetingStatus::received;
}

bool begin_to_peek(int socket) {
  return set_option(socket, SOL_SOCKET, SO_PEEK_OFF, 0);
}

GreetingStatus peek_greeting(int socket, Greeting& into) {
  const ssize_t bytes = recv(socket, &into, sizeof into, MSG_PEEK | MSG_DONTWAIT | MSG_TRUNC);
  if (bytes < 0) return why_nothing_came();
  if (bytes == 0) return GreetingStatus::closed;
  const bool is_whole = bytes == static_cast<ssize_t>(sizeof into);
  return is_whole && is_of_this_version(into) ? GreetingStatus::received : GreetingStatus::invalid;
}

}  // namespace verbena::host
