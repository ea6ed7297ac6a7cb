// ShmChannel: the memory that two processes share to exchange frames, and how it changes hands.
//
// Solely responsible for making, sealing, checking and mapping shared memory and for the two messages of the handshake.
// A channel is one memfd with two rings (shm_ring.h). Every process also has two pages (process_page.h) and a bell
// (os/bell.h). The caller sends (memfd, ringer of its bell, page, wake page) over a unix socket, the called answers
// (ringer, page, wake page). Whatever is received is checked before it is mapped: sealed against shrinking (a peer
// could else make us fault) and of the expected size; and before it is rung. It does not decide when to connect or
// forget (shm_peers.h), nor when to ring (peer_waker.h).
// Tested by: tests/host/link/shm/shm_hostile_test.cc
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "emulator/host/link/shm/answered_by.h"
#include "emulator/host/link/shm/peer_waker.h"
#include "emulator/host/link/shm/process_page.h"
#include "emulator/host/link/shm/shm_ring.h"
#include "emulator/host/link/shm/stand_still.h"
#include "emulator/host/os/descriptor.h"
#include "emulator/host/os/descriptor_passing.h"
#include "wire/time.h"
#include "wire/types.h"

namespace verbena::host {

/// A shared mapping of a sealed memfd. Not inherited by children.
class SharedMapping {
 public:
  SharedMapping() = default;
  ~SharedMapping();
  SharedMapping(SharedMapping&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)), bytes_(std::exchange(other.bytes_, 0)), owner_(other.owner_) {}
  SharedMapping& operator=(SharedMapping&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(bytes_, other.bytes_);
    std::swap(owner_, other.owner_);
    return *this;
  }
  enum class Access : std::uint8_t { read_write, read };
  /// Maps a memfd of exactly `bytes` octets that can neither shrink nor grow; else empty.
  static SharedMapping map(int memfd, std::size_t bytes, Access access = Access::read_write);
  std::byte* base() const { return base_; }
  explicit operator bool() const { return base_ != nullptr; }

 private:
  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
  pid_t owner_ = 0;  // a child of fork() has nothing there, or something of its own
};

/// A new memfd of `bytes` zero octets, sealed; invalid when the kernel has none to give.
Descriptor make_sealed_memory(const char* name, std::size_t bytes);
/// The same, to which only the mapping that is made here can write (F_SEAL_FUTURE_WRITE, Linux 5.1).
struct OwnMemory {
  Descriptor descriptor;
  SharedMapping mapping;  // empty: errno says why
};
OwnMemory make_memory_others_only_read(const char* name, std::size_t bytes);

inline constexpr std::size_t kPeersExpected = 64;  // room made beforehand in lists of them; more is only slower once
inline constexpr std::size_t kChannelHeaderBytes = 4096;
inline constexpr std::size_t kChannelBytes = kChannelHeaderBytes + 2 * kRingBytes;
/// Ring 0 goes from the caller to the called, ring 1 back. `base` is a mapping of kChannelBytes.
RingMemory ring_of_channel(std::byte* base, unsigned index);

/// What a process shows of itself to its peers.
struct PeerDescriptors {
  Descriptor bell;
  Descriptor page;
  Descriptor wake;
};

/// Everything one end has of a channel. The ring ends belong to the data path (under the engine's lock); `peer_page`,
/// what belongs to it and `doorbell` appear once, when the peer has answered; `dead` is set once, when its connection
/// has ended.
struct ShmChannel : std::enable_shared_from_this<ShmChannel> {
  SharedMapping memory;
  RingWriter tx;
  RingReader rx;

  SharedMapping peer_page_memory;
  SharedMapping peer_wake_memory;
  Descriptor doorbell_descriptor;
  std::atomic<ProcessPage*> peer_page{nullptr};
  std::atomic<int> doorbell{-1};
  std::atomic<bool> dead{false};

  // Data path only.
  std::uint32_t route = 0;
  int connection = -1;     // names the connection towards the control side; -1: loopback
  bool dirty = false;      // committed, not published
  PeerWaker waker;         // for what was published
  std::uint32_t rung = 0;  // the peer's last sleep that we have rung for (doorbell.h)
  AnsweredBy answers{kRelayPatience};
  bool holds_doorbell = false;     // the peer is to be rung, later (ShmPorts::ring_held_doorbells)
  std::uint64_t polls_at_arm = 0;  // the peer's, when this process slept last; 0: the peer is on another core
  std::uint64_t lap_position = 0;  // where the sender was when it last thought of rewinding
  Time lap_at{};                   // and when
  std::uint64_t drain_limit = 0;   // dead: read up to here and no further
  StandStill consumer;             // of `tx`, while frames wait in it

  /// False: these are not what a peer has to show; then nothing has changed.
  bool meet(PeerDescriptors&& of_peer);
  /// The peer has answered.
  ProcessPages peer_pages() const {
    return {peer_page.load(std::memory_order_acquire), reinterpret_cast<WakePage*>(peer_wake_memory.base())};
  }

  /// Whether the peer has taken all that was published, looked at anew.
  bool has_taken_all() {
    tx.read_tail();
    return tx.drained();
  }
  /// The peer has taken nothing for so long, as far as such looks have seen it.
  bool stands_still(Duration for_as_long_as);
  /// There is less than `room` on the way to the peer, which takes frames from time to time: within `patience`.
  bool is_behind(std::size_t room, Duration patience) {
    return tx.used_bytes() > kRingBytes - room && is_still_behind(room, patience);
  }
  /// Little traffic need not go round the whole ring and make its memory resident.
  void rewind_if_slow(Time now);

  // What the peer says in its page; nothing, before it has answered.
  /// Plus one; 0: it has not said.
  std::uint32_t peer_core() const;
  std::uint64_t peer_polls() const;
  /// As ::answered_by.
  Time peer_answered_by();
  bool peer_sleeps() const;
  /// Its application does, over a poll (CoreRest).
  bool peer_rests() const;
  bool peer_sleeps_per_message() const;
  /// The scheduler does not always let a thread that is woken go first.
  bool peer_sleeps_on_our_cpu() const;

  [[gnu::noinline]] bool is_still_behind(std::size_t room, Duration patience);

  // Less than this much in this time goes on at the start of the ring (RingWriter::rewind).
  static constexpr std::size_t kLapBytes = 128 * 1024;
  static constexpr Duration kLapTime = milliseconds(1);
};

/// The first message in each direction, and what proves who calls where the kernel does not say so (shm_control.h).
struct Greeting {
  enum Kind : std::uint32_t { kCall, kAnswer, kChallenge, kProof };
  static constexpr std::uint64_t kMagic = 0x3161'6e65'6272'6576;  // "verbena1" in memory
  std::uint64_t magic = kMagic;
  std::uint32_t version = 2;
  std::uint32_t kind = kCall;
  std::uint64_t ring_bytes = kRingBytes;
  std::array<std::uint8_t, 16> address{};  // the sender's node
  std::uint64_t slot = 0;                  // and process
  std::uint64_t nonce = 0;                 // of a challenge, and of its proof
};

struct ReceivedGreeting {
  Greeting greeting;
  std::array<Descriptor, kDescriptorsPassedMax> descriptors;
};
enum class GreetingStatus : std::uint8_t { received, not_yet, closed, invalid };

bool send_greeting(int socket, const Greeting& greeting, std::span<const int> descriptors);
/// The same for a kind without descriptors.
bool send_greeting(int socket, const Greeting& greeting);
/// Never blocks. A message of another size, or with other descriptors than its kind has, is invalid.
GreetingStatus receive_greeting(int socket, ReceivedGreeting& into);

/// For callers who are not to be received from yet: their greetings are looked at, one after the other, and stay where
/// they are, with their descriptors (unwanted_descriptors.h).
bool begin_to_peek(int socket);
/// The next one that has not been looked at.
GreetingStatus peek_greeting(int socket, Greeting& into);

}  // namespace verbena::host
