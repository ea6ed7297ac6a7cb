// World: NICs, cables and switches under virtual time, in this process, in this thread.
//
// The clock moves only while a function here (or Cq::next) runs it. The same options, seed and calls give the same
// packets at the same times, and the same trace_hash(), on every machine. A world is used by one thread at a time.
#pragma once

#include <verbena/nic.h>
#include <verbena/packet.h>
#include <verbena/result.h>
#include <verbena/settings.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace libverbena {

/// When a switch's egress queue marks packets (congestion experienced): none up to kmin, all above kmax, and between
/// them a share that grows to pmax (random early detection, Floyd and Jacobson 1993).
struct EcnMarking {
  std::uint32_t kmin_bytes = 0;
  std::uint32_t kmax_bytes = 0;            // 0: never
  std::uint32_t pmax_ppb = 1'000'000'000;  // parts per billion
};

struct CableOptions {
  std::string a{};  // names of NICs, peers or switches
  std::string b{};
  std::uint64_t rate_bits_per_second = 100'000'000'000;  // 0: packets take no time
  Duration delay = std::chrono::nanoseconds(500);        // propagation
  std::uint32_t queue_bytes = 1 << 20;                   // of each egress port of a switch
  EcnMarking ecn{};
};

struct WorldOptions {
  std::uint64_t seed = 1;
  std::vector<std::string> nics{};
  std::vector<std::string> peers{};  // ends of cables without a NIC, which the test plays: PeerQp
  std::vector<std::string> switches{};
  /// With switches, a NIC or peer has one cable, to a switch; without, one to each other NIC and peer. Empty, and no
  /// switches: such cables as they are by themselves.
  std::vector<CableOptions> cables{};
  bool checks = true;  // the rules of the transport are looked after: check_report()
};

struct ConnectOptions {
  std::uint32_t path_mtu = 1024;  // octets: 256, 512, 1024, 2048, 4096
  std::uint8_t timeout = 12;      // local ACK timeout: 4.096 us x 2^timeout; 0: none
  std::uint8_t retry_count = 7;
  std::uint8_t rnr_retry = 7;      // 7: for ever
  std::uint8_t min_rnr_timer = 1;  // code of IBTA table 46; 1: 10 us
  std::uint8_t max_read_atomic = 16;
  std::uint8_t traffic_class = 0;      // of IP; 2 in its lower two bits: switches may mark (RFC 3168)
  std::optional<std::uint32_t> psn{};  // the first of both directions; nothing: two that the seed gives
};

/// One direction of a cable.
struct Link {
  std::string from{};
  std::string to{};
};

enum class Event : std::uint8_t { sent, lost, overflowed, vanished, delivered };
/// What happened to a packet on a link: a fault lost it, a queue was full, nobody is there.
struct Sighting {
  Time time{};
  Link link{};
  Event event{};
  std::span<const std::byte> frame{};  // whole, from Ethernet to ICRC; valid during the call
  std::string_view comment{};          // what a fault did to it; empty: nothing
};

/// What becomes of a packet that is about to be queued on a link.
struct Decision {
  bool drop = false;
  bool duplicate = false;
  Duration delay{};
};
/// May change octets of `frame` in place; `packet` is what they were. An ICRC that no longer fits stays so: the
/// receiver drops the packet, unless repair_icrc() is called. It may not call the world.
using Interceptor = std::function<Decision(const Packet& packet, std::span<std::byte> frame)>;
/// Stores the ICRC that fits the frame's octets (IBTA annex A17.3.3).
LIBVERBENA_PUBLIC void repair_icrc(std::span<std::byte> frame);

struct CheckReport {
  struct Rule {
    std::string name{};
    std::string clause{};  // of IBTA vol 1 release 1.4
    std::uint64_t judged = 0;
    std::uint64_t violations = 0;
  };
  std::vector<Rule> rules{};
  std::vector<std::string> violations{};  // the first 1000, a line each
  bool clean() const { return violations.empty(); }
};

/// A queue pair that the test plays, at a peer without a NIC: it sends what it is told to, right or wrong, and answers
/// nothing by itself.
class LIBVERBENA_PUBLIC PeerQp {
 public:
  std::uint32_t number() const;
  /// Of its requests, as the QP at the other end was told.
  std::uint32_t first_psn() const;
  /// The packet leaves now, with a right ICRC. invalid_argument: no such opcode, a payload that it cannot have, or more
  /// bits than a field has.
  Result<void> send(const Packet& packet) const;
  /// Octets of one's own, as they are: at most 4224.
  Result<void> send_frame(std::span<const std::byte> frame) const;
  /// Runs the world until a packet has arrived, and takes it.
  Result<Packet> next(Duration within = std::chrono::seconds(10)) const;

 private:
  friend class World;
  PeerQp(WorldState* state, std::size_t index) : state_(state), index_(index) {}
  WorldState* state_;
  std::size_t index_;
};

class LIBVERBENA_PUBLIC World {
 public:
  /// invalid_argument: a name used twice, a cable to nowhere, NICs that cannot reach each other; the text says which.
  static Result<World> make(const WorldOptions& options);
  /// Beside that, invalid_argument: settings that contradict one another, or are of a NIC that there is not.
  static Result<World> make(const WorldOptions& options, const Settings& settings);
  ~World();
  World(World&&) noexcept;
  World& operator=(World&&) noexcept;

  Result<Nic> nic(std::string_view name) const;
  /// Brings both from RESET to RTS, towards each other. UD: what one sends goes to the other.
  Result<void> connect(const Qp& a, const Qp& b, const ConnectOptions& options = {});
  Result<PeerQp> connect(const Qp& qp, std::string_view peer, const ConnectOptions& options = {});

  // -- Time -----------------------------------------------------------------------------------------------------------
  Time now() const;
  void run_for(Duration time);
  /// Until nothing more is to happen: no packet is on its way and no timer runs. timed_out: there is still something
  /// after that time.
  Result<void> run_until_idle(Duration within = std::chrono::seconds(10));
  /// Until `is_done()`, which is asked after each instant at which something happens. invalid_argument: it is empty.
  Result<void> run_until(const std::function<bool()>& is_done, Duration within = std::chrono::seconds(10));

  // -- What goes wrong ------------------------------------------------------------------------------------------------
  /// In the words of docs/faults.md ("drop 1%", "corrupt psn=7 count=1"), for what goes from `link.from` to `link.to`.
  /// Returns by what it is removed. invalid_argument: the text says which word is wrong, or that there is no such link.
  Result<std::uint32_t> add_fault(const Link& link, std::string_view fault);
  Result<void> remove_fault(std::uint32_t id);
  /// Both directions of a cable. A NIC without a living cable has its port down.
  Result<void> set_cable_up(const Link& cable, bool up);
  Result<void> set_cable_rate(const Link& cable, std::uint64_t bits_per_second);
  Result<void> set_cable_delay(const Link& cable, Duration delay, Duration jitter = {});
  /// Decides about each packet of a link. One for each; an empty one: none.
  Result<void> intercept(const Link& link, Interceptor interceptor);

  // -- Packet scripts: script.h has the words -------------------------------------------------------------------------
  /// Runs the world until each line of `script` has come true for the packets between `qp` and its peer. mismatch: the
  /// text says which line, what was expected and what came. invalid_argument: it cannot be read.
  Result<void> play(const Qp& qp, std::string_view script);

  // -- What can be seen -----------------------------------------------------------------------------------------------
  /// Called for each event of each packet on each link; it may not call the world. An empty one: nobody.
  void observe(std::function<void(const Sighting&)> observer);
  /// From now on, what is sent on the cable goes to a pcapng file, with comments on what faults did. It is whole after
  /// finish_captures(), or with the world's end.
  Result<void> capture(const Link& cable, const std::string& path);
  Result<void> finish_captures();
  /// Ends the checks: call it when all has happened. What broke a rule, in the words of `verbena check`.
  CheckReport check_report();
  /// Of every packet's headers, time and fate, in order.
  std::uint64_t trace_hash() const;

 private:
  explicit World(std::unique_ptr<WorldState> state);
  std::unique_ptr<WorldState> state_;
};

}  // namespace libverbena
