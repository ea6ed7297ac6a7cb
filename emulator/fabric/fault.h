// Fault: all that can be made to go wrong, as one value: packets on links, elements of the network, nodes, and the
// software on them.
//
// Solely the values. Their words are fault_rows.h's (packets), verb_rule.h's (verbs) and element_rows.h's (the others).
// ElementFaults brings about the first two alternatives, under both clocks; nodes, their software and its verbs are
// whoever runs them's.
// Tested by: tests/fabric/element_rows_test.cc
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "emulator/fabric/fault_rule.h"
#include "emulator/fabric/topology.h"
#include "emulator/fabric/verb_rule.h"
#include "wire/time.h"

namespace verbena::fabric {

/// A rule for the packets on these links.
struct PacketRule {
  FaultRule rule;
  std::vector<LinkId> links;
};

/// What happens to elements of the network. Only the fields that its kind names count.
struct ElementChange {
  enum class Kind : std::uint8_t {
    link_down,  // `links`
    link_up,
    link_rate,     // `links`, `rate_bits_per_second`; 0: frames take no time
    link_delay,    // `links`, `delay`, up to `jitter` more
    switch_crash,  // `switches`
    switch_restart,
    partition,   // packets from any of `hosts` to any of `peers` vanish
    heal,        // ends the latest partition with the same `hosts` and `peers`; without any: all of them
    port_error,  // `hosts`: all their cables are dead
    port_active,
    pause_storm,  // `hosts` pause `classes` of what comes to them, whatever comes. In a network with classes
    pause_calm,   // no longer these
  } kind{};
  std::vector<LinkId> links{};
  std::vector<std::uint32_t> hosts{};
  std::vector<std::uint32_t> peers{};
  std::vector<std::uint32_t> switches{};
  std::uint64_t rate_bits_per_second = 0;
  Duration delay{};
  Duration jitter{};
  ClassMask classes = kEveryClass;
  bool operator==(const ElementChange&) const = default;
};

/// What happens to nodes, whichever the clock: the doing is a simulated NIC's or a program's.
struct NodeChange {
  enum class Kind : std::uint8_t {
    crash,    // nothing runs on it any more, its peers hear nothing more
    freeze,   // nothing runs on it for now; frames wait at its port as far as they fit
    thaw,     // ... and goes on
    restart,  // crashes if it has not, and begins anew: a new NIC with the same address, QPNs and keys
  } kind{};
  std::vector<std::uint32_t> hosts{};
};

/// What happens to the software of nodes. Only the fields that its kind names count.
struct SoftwareFault {
  enum class Kind : std::uint8_t {
    device_removal,        // `hosts`: IBV_EVENT_DEVICE_FATAL: what is outstanding is flushed, the software lives on
    rnr_storm,             // targets on `hosts` post no receives for `lasts`
    completion_status,     // the next `times` completions of `workload` have `status` (instead of their own)
    registration_failure,  // the next `times` registrations of memory on `hosts` fail with no_memory
    post_failure,          // the next `times` posts on `hosts` fail with no_memory
  } kind{};
  std::vector<std::uint32_t> hosts{};
  std::string workload{};
  Duration lasts{};
  std::uint32_t times = 1;
  std::uint8_t status = 0;  // nic::CompletionStatus
};

/// A rule for the verbs that the software of these hosts calls, for their completions, or an event.
struct HostVerbRule {
  VerbRule rule;
  std::vector<std::uint32_t> hosts;
};

using Fault = std::variant<PacketRule, ElementChange, NodeChange, SoftwareFault, HostVerbRule>;

}  // namespace verbena::fabric
