// ConnectionService: a process's share in QP1 of a port of its node.
//
// Solely responsible for which of the datagrams that reach the port's QP1 this process takes, and for running the
// communication manager (emulator/cm) under the engine's lock. Every process of a node may get every such datagram (the
// links do not know better): it takes those for its own connections, by the slot in the communication ID, and those for
// services that it or nobody listens for. It looks after the processes at the other ends too, since one that is killed
// has no kernel behind it to say so: it says in its stead what that kernel would, once, and by the way that frames take
// from there (last_words.h), so that a dead cable keeps it to itself. It does not know what the connections are for
// (verbs-shim/rdma_cm). By the same way it tells the port's agent of packets with wrong keys (key_report.h).
#pragma once

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "emulator/cm/addressee.h"
#include "emulator/cm/connection_manager.h"
#include "emulator/host/link/frame_port.h"
#include "emulator/host/link/last_words.h"
#include "emulator/host/node/service_directory.h"
#include "emulator/host/os/fair_lock.h"
#include "emulator/nic/nic.h"

namespace verbena::host {

class ConnectionService final {
 public:
  static constexpr std::size_t kUnclaimedMax = 64;
  static constexpr std::size_t kBudget = 64;  // datagrams a step
  static constexpr Duration kBackPressureRetry = microseconds(50);

  /// Every process that can be reached stands on this machine (shared memory), or it is not known (sockets).
  enum class Peers : std::uint8_t { all_here, anywhere };

  /// `carrier`: takes last words to the network; null: they arrive at the port (FramePort::take_in). Outlives this.
  ConnectionService(const cm::Config& config, ServiceDirectory directory, Peers peers,
                    LastWordsCarrier* carrier = nullptr)
      : config_(config),
        cm_(config),
        directory_(std::move(directory)),
        presence_(directory_.announce()),
        peers_(peers),
        carrier_(carrier) {}

  const ServiceDirectory& directory() const { return directory_; }

  // Under the engine's lock.
  cm::ConnectionManager& manager() { return cm_; }
  void management_datagram(Time now, const wire::PacketView& packet);
  /// As nic::ManagementSink has it: the agent of the port is in the fabric process, if there is one.
  void key_refused(const wire::PacketView& packet, bool is_qkey);
  /// When step() wants to be called.
  Time due() const { return due_; }
  /// Something was asked of the manager.
  void note_activity() { due_ = Time{}; }
  /// To the fabric process, if one serves the link. Outside of the lock.
  void tell_heard(std::uint32_t sequence) {
    if (carrier_ != nullptr) carrier_->heard(sequence);
  }
  /// What the link had for us when step() is called.
  enum class Arrived : std::uint8_t { all_taken, perhaps_more };
  /// Runs timers and sends what is due. Returns how many datagrams left.
  std::size_t step(Time now, FramePort& port, nic::Counters& counters, Arrived arrived);
  /// Whether something is due that has to be looked up outside the lock: recheck().
  bool has_questions(Time now) const {
    return has_unclaimed(now) || probe_at_ <= now || !to_carry_.empty() || has_reports_;
  }

  // Programs listen, take one connection, and listen anew for the next one, which the peer may ask for a little sooner
  // (perftest does): a request waits so long for somebody to listen before it is refused.
  static constexpr Duration kPatience = milliseconds(50);
  // How often the processes at the other ends are looked after. Without connections nobody is woken for it.
  static constexpr Duration kProbeEvery = milliseconds(250);
  // What a process sent before it ended is heard first: so long it may be under way.
  static constexpr Duration kDrainDelay = milliseconds(100);
  // A request from a QP number that was a dead process's waits so long for what is told of that process's end, and for
  // the answer of who is told.
  static constexpr Duration kLastWordsPatience = milliseconds(100);
  static constexpr Duration kStaleLook = milliseconds(5);

  /// Without the lock, since other processes have to be looked for; then under it. True: step() has something to do.
  bool recheck(FairLock& lock, Time now);

  /// Under the engine's lock: there is nobody left to manage anything for.
  void device_removed();

  /// In the child after fork(): the names are the parent's.
  void abandon();

 private:
  struct KeptFrame {
    std::size_t bytes = 0;
    std::array<std::byte, 512> octets;
    bool fits(const wire::PacketView& packet) const {
      return packet.frame().size() + wire::trailer_of(packet).size() <= octets.size();
    }
    void keep(const wire::PacketView& packet);
  };
  struct UnclaimedRequest {
    std::uint64_t service_id = 0;
    wire::IpVersions asker;
    Time refuse_at;
    KeptFrame frame;
  };
  /// A request from a QP number that may have been that of a process which has ended.
  struct StaleRequest {
    cm::PeerProcess peer;
    KeptFrame frame;
    Time until{};  // it waits for last words; zero: not yet
  };
  struct ToCarry {
    cm::PeerProcess from;
    cm::LastWord word;
  };
  struct EndedPeer {
    cm::PeerProcess peer;
    std::uint32_t before = 0;  // its connections are those made before this probe
    Time told_at;
  };
  using Watches = std::map<cm::PeerProcess, std::optional<PresenceWatch>>;
  bool has_unclaimed(Time now) const { return !unclaimed_.empty() && unclaimed_.front().refuse_at <= now; }
  void take(Time now, const KeptFrame& frame);
  bool recheck_unclaimed(FairLock& lock, Time now);
  bool probe_peers(FairLock& lock, Time now);
  std::optional<EndedPeer> look_after(const cm::PeerProcess& peer, Watches& watches, std::uint32_t probe) const;
  void tell_gone(Time now, FramePort& port);
  void carry_last_words(FairLock& lock);
  void carry_reports(FairLock& lock);
  bool keep_if_stale(const wire::PacketView& packet);
  void recheck_stale(Time now, FramePort& port);

  const cm::Config config_;
  cm::ConnectionManager cm_;
  ServiceDirectory directory_;
  HeldName presence_;
  Peers peers_;
  LastWordsCarrier* carrier_;
  Time due_ = kNever;
  Time probe_at_ = kNever;
  Time all_called_at_{};            // until then only those who have joined are
  bool is_probing_ = false;         // a thread does, and has the watches
  Watches watches_;                 // nothing: a process that was looked for and does not stand on this machine
  std::deque<EndedPeer> ended_;     // and not told yet
  std::deque<StaleRequest> stale_;  // until the next probe
  std::vector<ToCarry> to_carry_;
  std::array<KeyReport, 2> reports_;  // of P_Keys, and of Q_Keys
  bool has_reports_ = false;
  Time words_travel_until_{};
  std::deque<UnclaimedRequest> unclaimed_;
};

}  // namespace verbena::host
