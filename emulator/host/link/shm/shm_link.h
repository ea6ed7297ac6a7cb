// ShmLink: the link between processes of one machine: rings in shared memory, doorbells only for sleepers.
//
// Solely responsible for which ring a frame goes into, for taking frames out of all rings, for waking peers
// (shm_link_waking.cc), for lending cores to the fabric process (shm_link_lending.cc), and for copying group frames to
// all peers (shm_link_groups.cc). Rings: shm_ring.h; memory: shm_channel.h; connections: shm_control.h. No lock and no
// pointer lies in shared memory, so that a process killed at any instruction leaves the others whole; its frames vanish
// as with a dead NIC.
//
// Waking: a sender that publishes into an idle ring fences, reads the peer's `asleep` word and rings if it was 1. While
// earlier frames are still on their way it does not look; instead it looks later whether the peer moves at all (a check
// of "unconfirmed" channels, in receive()), and rings a peer that neither sleeps nor polls.
#pragma once

#include <sched.h>

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "emulator/host/config/engine_config.h"
#include "emulator/host/link/link.h"
#include "emulator/host/link/shm/core_loads.h"
#include "emulator/host/link/shm/shm_control.h"

namespace verbena::host {

Result<OpenedLink, std::string> open_shm_link(const EngineConfig& config);
/// The link of a process on a fabric that a fabric process serves (fabric_process.h): plugged in there.
Result<OpenedLink, std::string> open_fabric_link(const EngineConfig& config);

/// How a process stands towards the others of its fabric.
enum class ShmRole : std::uint8_t {
  direct,  // a channel of its own to every peer that it sends to
  uplink,  // one channel, to the fabric process, for all frames, those to itself included
  port,    // of the fabric process: all call it, it calls nobody
};

/// Takes frames knowing whose they are.
class PeerSink : public FrameSink {
 public:
  /// The next frames come from `peer`: how many octets of them, up to the end of a frame. 0: none.
  virtual std::size_t turn(const PeerName& peer) = 0;
};

class ShmLink final : public Link, public PeerScheduling, public CoreLender, public ForkGuard {
 public:
  /// A fabric port has no address of its own: its seat is the fabric's (kFabricSeat).
  static Result<std::unique_ptr<ShmLink>, std::string> open(const EngineConfig& config, ShmRole role = ShmRole::direct);
  ~ShmLink() override;

  std::uint8_t slot() const { return control_->own_name().slot; }

  std::span<std::byte> reserve(const nic::Destination& destination, std::size_t bytes) override;
  void commit(std::size_t bytes) override;
  void cancel() override;
  void publish() override;
  std::size_t receive(Time now, FrameSink& sink, std::size_t budget) override;
  /// receive() and arm() for a fabric port, which asks the sink how much of each peer's it takes.
  std::size_t receive_in_turn(Time now, PeerSink& sink, std::size_t budget);
  bool arm_in_turn(PeerSink& sink);
  /// reserve() where there is a channel to this process; nothing: there is none.
  std::optional<std::span<std::byte>> reserve_if_there(const nic::Destination& destination, std::size_t bytes);
  /// Accepts the processes that have called just now.
  void take_calls();
  /// `into` becomes the processes that have a channel with this one, in no order; under the engine's lock.
  void list_peers(std::vector<PeerName>& into) const;
  /// What the peers' applications have done on their cores since the last call.
  CoreLoads find_loads(Time now);
  /// Of a fabric port: whether publish() has kept doorbells back, of peers that sleep on the core that the caller runs
  /// on. They cannot take what was published before the caller lets go of it, and each turn costs the core as much as
  /// some fifty frames do. ring_held_doorbells() and flush() ring them.
  bool holds_doorbells() const { return !held_doorbells_.empty(); }
  void ring_held_doorbells();
  /// Whether a peer that does not sleep was last seen on the core that the caller runs on.
  bool keeps_a_peer_from_its_core() const;
  /// Of a fabric port: it is short of a core (CoreLease).
  void borrow(bool is_short_of_a_core);
  /// Since arm_in_turn() a process has polled on the core that the caller runs on.
  bool was_polled_beside() const;
  /// A process has lent its core, and sleeps until it gets frames, or give_cores_back().
  bool has_lenders() const;
  void give_cores_back();
  std::optional<Time> next_deadline() const override;
  bool holds_back() const override { return false; }
  bool fetch(std::size_t) override { return false; }
  bool fetch_all() override { return true; }
  std::uint64_t published() override;
  bool has_sent(std::uint64_t published) override;
  bool flush() override;
  void service() override { control_->service(); }
  std::optional<Notice> take_notice() override { return control_->take_notice(); }
  bool has_signal() override;
  /// To the processes of a node, from a fabric port (ShmControl::notify).
  bool notify(const wire::Gid& node, Notice notice) { return control_->notify(node, notice); }
  void acknowledge_doorbell() override { control_->acknowledge_doorbell(); }
  void stops_polling() override;
  void sleeps_on_cpu() override;
  WaitDescriptors wait_descriptors() const override { return {control_->doorbell(), control_->wait_descriptor()}; }
  bool arm() override;
  void disarm() override;
  void note_activity() override;
  bool blocks_peer_cpu() override;
  bool shares_core() override;
  bool offers_core() override;
  void lend_core() override;
  bool wants_one_answer_for_all() const override;
  std::optional<wire::MacAddress> resolve(const wire::Gid& address) override;
  void hold_for_fork() override;
  void release_after_fork() override;
  void abandon_after_fork() override;

  /// What happened to frames and peers; read under the engine's lock.
  struct Statistics {
    std::uint64_t vanished_unreachable = 0;  // nobody there, or gone
    std::uint64_t vanished_multicast = 0;
    std::uint64_t vanished_stalled = 0;  // the peer has not consumed for kStallMax
    std::uint64_t broken_channels = 0;   // a peer wrote what no peer writes
    std::uint64_t wakes = 0;             // doorbells for peers that said they sleep
    std::uint64_t kicks = 0;             // doorbells for peers that did not move
  };
  const Statistics& statistics() const { return statistics_; }

  static constexpr std::size_t kPublishBytes = 16 * 1024;   // a longer batch becomes visible in parts
  static constexpr std::size_t kPublishBytesOfPort = 4096;  // batches are long there, the receiver has nothing to do
  static constexpr std::size_t kRoutesMax = 1 << 16;
  // An uplink's frames wait here for the port: as with a NIC's own buffer, short against the transport's timeouts.
  static constexpr std::size_t kUplinkBytes = 256 * 1024;
  static constexpr Duration kRetryInterval = milliseconds(20);
  static constexpr Duration kConnectMax = seconds(1);
  static constexpr Duration kLookAroundInterval = milliseconds(100);
  static constexpr Duration kStallMax = milliseconds(200);
  static constexpr Duration kPatienceMin = microseconds(10);
  static constexpr Duration kPatienceMax = microseconds(100);
  static constexpr std::uint32_t kPollsOfOneAwake = 100'000;      // in a row, some milliseconds
  static constexpr Duration kPatienceBehindUs = milliseconds(4);  // a tick of most kernels
  static constexpr Duration kPollsWithoutEnd = microseconds(10);  // from one that finds nothing to the next
  static constexpr Duration kLeftMax = microseconds(50);         // frames without a doorbell, while nobody lends a core
  static constexpr Duration kLentMax = milliseconds(5);          // to a fabric port that is dead or stands still
  static constexpr Duration kRefusesToLend = milliseconds(100);  // after that
  static constexpr Duration kBackoffMin = microseconds(200);
  static constexpr Duration kBackoffMax = milliseconds(10);
  // Less than this much in this time goes on at the start of the ring (RingWriter::rewind).
  static constexpr std::size_t kLapBytes = 128 * 1024;
  static constexpr Duration kLapTime = milliseconds(1);

 private:
  struct Route {
    PeerName peer;
    std::shared_ptr<ShmChannel> tx;
    bool connecting = false;
    Time give_up_at{};
    Time retry_at{};
  };
  /// What the data path wants done outside the lock.
  struct DeferredWork {
    enum class Kind : std::uint8_t { ring, connect, hang_up, release, look_around };
    Kind kind{};
    PeerName peer;
    std::shared_ptr<ShmChannel> channel;
    bool makes_ways() const { return kind == Kind::connect || kind == Kind::look_around; }
  };
  struct PeerHash {
    std::size_t operator()(const PeerName& name) const;
  };

  ShmLink(std::unique_ptr<ShmControl> control, ShmRole role);
  std::string take_role(const std::string& fabric);
  Route* route_to(const nic::Destination& destination);
  std::uint32_t route_index(const PeerName& peer);
  std::span<std::byte> reserve_in(ShmChannel& channel, std::size_t bytes);
  std::span<std::byte> reserve_without_channel(Route& route, std::size_t bytes);
  std::span<std::byte> reserve_in_full_ring(ShmChannel& channel, std::size_t bytes);
  std::span<std::byte> vanish(std::uint64_t& counter, std::size_t bytes);
  std::span<std::byte> reserve_for_all(std::size_t bytes);
  bool all_are_met();
  void commit_to_all(std::size_t bytes);
  void commit_in(ShmChannel& channel, std::size_t bytes);
  void look_around();
  void publish_channel(ShmChannel& channel);
  void publish_to_port(ShmChannel& channel);
  void look_after_left_frames(Time now);
  void ring_for_left_frames();
  void count_polls_beside();
  static bool is_lent(const ShmChannel& channel);
  static bool give_core_back(const ShmChannel& channel);
  void wake_if_asleep(ShmChannel& channel);
  bool wake(ShmChannel& channel);
  void hold_doorbell(ShmChannel& channel);
  static bool has_taken_all(ShmChannel& channel);
  void ring(ShmChannel& channel);
  void tell_core();
  static std::uint32_t core_of(const ShmChannel& channel);
  static std::uint64_t polls_of(const ShmChannel& channel);
  static bool sleeps_per_message(const ShmChannel& channel);
  static bool rests_behind_us(const ShmChannel& channel);
  void recheck(Time now);
  void forget_drained();
  static void rewind_if_slow(ShmChannel& channel, Time now);
  bool recheck_channel(ShmChannel& channel, Time now);
  void apply_changes();
  void drop_dead_channels();
  void leave_route(const ShmChannel& channel);
  void remove(std::size_t index);
  void defer(DeferredWork work);
  void run_deferred(const DeferredWork& work);

  template <class Turn>
  std::size_t take_frames(Time now, FrameSink& sink, std::size_t budget, Turn&& turn);
  template <class Turn>
  bool arm_unless_waiting(Turn&& turn);

  std::unique_ptr<ShmControl> control_;
  const ShmRole role_;
  const std::size_t publish_bytes_;
  std::vector<Route> routes_;
  std::unordered_map<PeerName, std::uint32_t, PeerHash> route_of_;
  std::vector<std::shared_ptr<ShmChannel>> channels_;  // all that may hold frames for us
  std::vector<ShmChannel*> dirty_;
  std::vector<ShmChannel*> unconfirmed_;
  std::vector<ShmChannel*> held_doorbells_;
  std::vector<ShmControl::Change> arriving_;
  std::size_t first_ = 0;          // whose turn it is in receive()
  ShmChannel* current_ = nullptr;  // reserved in; null: in scratch_
  std::uint64_t* vanish_counter_ = nullptr;
  Time last_now_{};
  Time loads_since_{};  // of find_loads()
  std::uint32_t polls_since_sleep_ = 0;
  bool borrows_ = false;  // a fabric port
  // Of an uplink.
  const ShmChannel* published_in_ = nullptr;  // by whose position published() was counted
  bool has_left_frames_ = false;              // in the fabric port's ring, without a doorbell
  Time ring_at_{};                            // for them; zero: not known yet
  Time polled_in_vain_at_{};
  std::atomic<std::int64_t> lends_not_before_ns_{0};
  std::atomic<bool> yields_{false};  // flush() is to: a peer that was rung needs this core
  Statistics statistics_;
  alignas(64) std::array<std::byte, wire::kFrameBytesMax> scratch_;

  // Group frames of direct cables.
  bool for_all_ = false;  // what is reserved goes to every peer
  bool has_looked_ = false;
  bool has_met_all_ = false;  // that were there at the first look
  Time looked_around_at_{};
  std::vector<PeerName> found_;  // guarded by deferred_lock_
  std::atomic<bool> has_found_{false};
  std::string fabric_;

  SpinLock deferred_lock_;  // guards deferred_ and found_
  std::vector<DeferredWork> deferred_;
  std::atomic<bool> has_deferred_{false};
  std::atomic<std::uint32_t> calls_{0};  // deferred work that makes ways and is not done yet, by whichever thread
};

}  // namespace verbena::host
