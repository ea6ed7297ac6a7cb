// ShmControl: who is connected to whom over shared memory: calls, answers, notices of the fabric process, and when a
// peer is gone.
//
// Solely responsible for the sockets of the handshake and for handing finished channels to the data path. It never
// touches a ring and knows no frames (shm_peers.h).
//
// Only processes of the same user attach. The kernel says of who calls which user it is now, and of who is called which
// it was when it took its seat. So a program that has given up its privileges since is still known where it is called
// and not where it calls: it is then asked for something that only who has its seat can know. The called sends a number
// to that seat, of which the kernel says that it is the same user's, and the caller repeats it on its own connection.
// Until then nothing is received from it: what it says is only looked at, and what it passes stays where it is.
//
// All of it may enter the kernel and may be called from several
// threads, except take_changes(), which the data path calls under the engine's lock and which does not.
// Tested by: tests/host/link/shm/shm_hostile_test.cc
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "emulator/host/link/link.h"
#include "emulator/host/link/shm/shm_channel.h"
#include "emulator/host/link/shm/told_word.h"
#include "emulator/host/node/node_directory.h"
#include "emulator/host/os/bell.h"
#include "emulator/host/os/reception.h"
#include "emulator/host/os/spin_lock.h"

namespace verbena::host {

/// A process as others reach it.
struct PeerName {
  wire::Gid address;
  std::uint8_t slot = 0;
  bool operator==(const PeerName&) const = default;
};

/// The fabric process.
inline constexpr PeerName kFabricPort{kFabricSeat, 0};

class ShmControl {
 public:
  struct Init {
    std::string fabric;
    wire::Gid address;
    NodeDirectory seat;
  };
  static Result<std::unique_ptr<ShmControl>, std::string> open(Init init);
  /// Closes everything and says nothing to anybody, so that it also serves a child after fork(). Peers see the end of
  /// the connection once no process holds it.
  ~ShmControl();

  const PeerName& own_name() const { return own_; }
  ProcessPage& page() { return *reinterpret_cast<ProcessPage*>(page_.mapping.base()); }
  WakePage& wake() { return *reinterpret_cast<WakePage*>(wake_memory_.base()); }
  int doorbell() const { return bell_.descriptor(); }
  /// Readable when service() has something to do.
  int wait_descriptor() const { return epoll_.get(); }
  /// A channel of this process with itself: ring 0 both ways, own page, own doorbell.
  std::shared_ptr<ShmChannel> make_loopback();

  /// Calls a peer. A change follows: opened or refused.
  void connect(const PeerName& peer);
  /// Accepts, answers, notices the end of connections; empties the doorbell.
  void service();
  void acknowledge_doorbell() { bell_.acknowledge(); }
  /// Tells every process of the node that is connected. False: one of them does not listen, or none is there.
  bool notify(const wire::Gid& node, Notice notice);
  /// How many processes of the node are connected and have not heard of this list of faults, or a later one.
  std::uint32_t unheard(const wire::Gid& node, std::uint32_t sequence);
  /// Whether there is a connection to this process, or one is being made.
  bool is_connected_to(const PeerName& peer);
  /// Goes to the fabric process. Nobody serves the fabric any more: it is lost.
  void tell_fabric(const ToldWord& word);
  struct Carried {
    PeerName teller;
    std::uint8_t slot = 0;
    std::vector<std::byte> frame;
    std::optional<KeyReport> report;  // then it is no last word
  };
  /// In the fabric process: the oldest that it has been told.
  std::optional<Carried> take_carried();
  /// What the fabric process has told us, and what has become of the connection to it, oldest first.
  std::optional<Notice> take_notice();
  /// Ends the connection of a channel that the data path has given up. It becomes dead as if the peer had gone.
  void hang_up(const ShmChannel& channel);

  /// Around fork(): keeps other threads out.
  void hold() {
    mutex_.lock();
    changes_lock_.lock();
  }
  void release() {
    changes_lock_.unlock();
    mutex_.unlock();
  }

  struct Change {
    enum class Kind : std::uint8_t { opened, accepted, refused, ended };
    Kind kind{};
    PeerName peer;
    std::shared_ptr<ShmChannel> channel;  // not with refused
  };
  bool has_changes() const { return changed_.load(std::memory_order_acquire); }
  /// Moves what has changed into `into`, oldest first.
  void take_changes(std::vector<Change>& into);

 private:
  enum class Stage : std::uint8_t { greeting, challenged, awaiting_answer, open };
  struct Connection {
    Descriptor socket;
    Stage stage{};
    PeerName peer;
    std::shared_ptr<ShmChannel> channel;
    bool is_foreign = false;  // the caller is another user now, and has not proved that it was ours
    std::uint64_t nonce = 0;  // of the challenge
    std::uint32_t heard = 0;  // in the fabric process: of which list of faults
  };
  static constexpr std::size_t kConnectionsMax = 4096;
  static constexpr std::size_t kStrangersMax = 64;  // connections that have not said who they are
  static constexpr std::size_t kForeignMax = 16;    // those of other users that have not proved it
  static constexpr int kProofsMax = 64;             // that a foreign caller gives at a time
  static constexpr std::size_t kNoticesMax = 256;   // unheard; more are dropped
  static constexpr std::size_t kCarriedMax = 1024;  // the same

  ShmControl() = default;
  std::string open_descriptors();
  void accept_all();
  void on_readable(int fd);
  bool on_greeting(Connection& connection);
  bool on_proof(Connection& connection);
  bool take_proven_call(Connection& connection);
  bool accept_greeting(Connection& connection, ReceivedGreeting& received);
  bool challenge(Connection& connection, const Greeting& call);
  void prove(const Greeting& challenge);
  bool on_answer(Connection& connection);
  bool on_word(Connection& connection);
  void note(Notice notice);
  void drop(int fd);
  bool watch(int fd, bool is_foreign = false);
  void tell(Change change);
  Greeting greeting(Greeting::Kind kind) const;

  std::string fabric_;
  PeerName own_;
  std::unique_ptr<NodeDirectory> seat_;
  OwnMemory page_;
  Descriptor wake_descriptor_;
  SharedMapping wake_memory_;
  Bell bell_;
  Descriptor epoll_;
  Reception reception_;

  std::mutex mutex_;  // guards what follows; held across system calls
  std::unordered_map<int, Connection> connections_;
  std::vector<int> strangers_;  // connections in Stage::greeting, oldest first
  std::vector<int> foreign_;    // connections of other users, the same
  std::deque<Notice> notices_;
  std::deque<Carried> carried_;

  SpinLock changes_lock_;  // guards changes_
  std::vector<Change> changes_;
  std::atomic<bool> changed_{false};
};

}  // namespace verbena::host
