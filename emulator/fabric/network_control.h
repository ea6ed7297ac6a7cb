// NetworkControl: what can go wrong in a Network, for whoever makes it go wrong.
//
// Solely responsible for changing the elements of a network while it runs: links, switches, pairs of hosts, and the
// rules that lie on links. Who carries frames needs none of it (network.h). What such a change means to the elements
// around it, a port or a partition, is ElementFaults'. It owns nothing; the network outlives it.
// Tested by: tests/fabric/network_faults_test.cc, tests/fabric/port_test.cc
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "emulator/fabric/fault_rule.h"
#include "emulator/fabric/network.h"

namespace verbena::fabric {

struct DirectionFaults;  // network_state.h

/// Decides about each frame of a link, one by one, where rules decide by conditions: a packet script. Called when the
/// frame is about to be queued there; what the link's rules say comes on top, unless it is dropped. It may not change
/// the network.
class Interceptor {
 public:
  virtual ~Interceptor() = default;
  struct Decision {
    bool drop = false;
    bool duplicate = false;
    Duration delay{};
    bool has_changed = false;  // octets of `frame`, in place
    std::string comment;       // what was done, as a rule's; empty: nothing
  };
  virtual Decision intercept(Time now, LinkId link, std::span<std::byte> frame) = 0;
};

/// Sees each packet where the faults of its link decide about it, as it was before, and which rules hit it.
class FaultWatcher {
 public:
  virtual ~FaultWatcher() = default;
  /// `rules`: FaultRule::id of each.
  virtual void judged(LinkId link, const wire::PacketView& packet, std::span<const std::uint32_t> rules) = 0;
};

class NetworkControl {
 public:
  explicit NetworkControl(Network& network) : state_(*network.state_) {}

  /// Rules for one direction of a cable, from now on; replaces those that it had. Empty: none. One that it had already
  /// (the same text and id) keeps its counts.
  void set_faults(LinkId link, const std::vector<FaultRule>& rules);
  /// Of the rule with this index among those that set_faults() gave the link, since it was first among them.
  RuleCounters rule_counters(LinkId link, std::size_t rule) const;
  /// Null: nobody. It outlives the network, or is replaced. Only in a network that carries payload.
  void intercept(LinkId link, Interceptor* interceptor);
  /// Null: nobody. It outlives the network, or is replaced.
  void watch_faults(LinkId link, FaultWatcher* watcher);
  /// A dead link loses what is on it and in its queue. Routes change after NetworkOptions::detection.
  void set_link_up(Time now, LinkId link, bool up);
  /// Frames whose transmission has not begun go at the new rate. 0: frames take no time.
  void set_link_rate(Time now, LinkId link, std::uint64_t bits_per_second);
  /// For frames from now on, which never overtake each other: jitter adds up to so much, drawn per frame.
  void set_link_delay(LinkId link, Duration propagation, Duration jitter);
  /// A dead switch loses what is in its queues and what arrives.
  void set_switch_up(Time now, std::uint32_t vertex, bool up);
  /// The host asks the other ends of its cables to pause these classes, again and again, until it is told otherwise; 0:
  /// not at all. With Topology::qos.
  void set_pause_storm(Time now, std::uint32_t host, ClassMask classes);
  /// Frames from host to host vanish where they enter the network.
  void set_partition(std::uint32_t from, std::uint32_t to, bool cut);

 private:
  DirectionFaults& faults_of(LinkId link);

  Network::State& state_;
};

}  // namespace verbena::fabric
