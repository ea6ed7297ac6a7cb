// Qos: what ports and switches do by traffic class, as a plain value: which class a frame has, how classes share a
// port, which of them are lossless, and how a switch divides its memory.
//
// Solely the settings and their arithmetic. Queues are egress_port.h's, memory is switch_memory.h's.
// Tested by: tests/fabric/network_qos_test.cc, tests/fabric/qos_words_test.cc
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/time.h"

namespace verbena::fabric {

struct CableParameters;

inline constexpr std::size_t kTrafficClasses = 8;
using TrafficClass = std::uint8_t;  // also the priority of pause frames: 802.1Q clause 36
using ClassMask = std::uint8_t;
constexpr ClassMask bit_of(TrafficClass traffic_class) {
  return static_cast<ClassMask>(1u << traffic_class);
}
inline constexpr ClassMask kEveryClass = UINT8_MAX;

/// Where a frame's class stands.
enum class Trust : std::uint8_t {
  dscp,           // in the IP header, through Qos::class_of_dscp; what is no IP packet has class 0
  pcp,            // in the VLAN tag; without one: class 0
  service_level,  // in the LRH: as an SLtoVL table that takes each service level modulo 8 to the lane of its number
};

/// How lossless classes are kept from overflowing.
enum class FlowControl : std::uint8_t {
  pfc,           // IEEE 802.1Q clause 36: each class by itself
  global_pause,  // IEEE 802.3 annex 31B: a port as a whole
  credits,       // IBA volume 1, 7.9: InfiniBand's; each class is a virtual lane, and none is lossy
};

/// How much of a memory one user of it may have: so many octets, or alpha times what is free (Choudhury and Hahne,
/// "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches", 1998).
struct Threshold {
  static constexpr std::uint32_t kWhole = 1024;
  std::uint32_t alpha = kWhole / 8;  // parts of kWhole; 0: `bytes` counts
  std::uint64_t bytes = 0;

  std::uint64_t at(std::uint64_t free_bytes) const { return alpha == 0 ? bytes : free_bytes * alpha / kWhole; }
  bool operator==(const Threshold&) const = default;
};

/// What a switch does about a port whose class the other end has paused for long: it stops to wait for it, so that a
/// NIC that does nothing but pause does not stop the network (as SONiC's PFC watchdog).
struct PauseWatchdog {
  Duration detect{};   // so long nothing of the class could leave, though there was something; 0: no watchdog
  Duration restore{};  // without a pause for so long, all is as before
  bool drops = true;   // meanwhile frames of the class are lost there; false: they are sent in spite of the pause
  bool operator==(const PauseWatchdog&) const = default;
};

struct Qos {
  Trust trust = Trust::dscp;
  std::array<TrafficClass, 64> class_of_dscp{};  // by default the class selector: the upper three bits (RFC 2474)
  /// Strict classes go first, the highest number before the others; what is left of the port is shared by the others in
  /// the ratio of their weights (deficit round robin, Shreedhar and Varghese 1995).
  ClassMask strict = 0;
  std::array<std::uint32_t, kTrafficClasses> weights{};

  ClassMask lossless = 0;
  FlowControl flow_control = FlowControl::pfc;
  std::uint16_t pause_quanta = UINT16_MAX;  // asked for, again before half of it is over
  Duration reaction{};                      // from the arrival of a pause frame until no frame begins any more

  // A switch's memory. Lossless classes are counted where frames come in, by port and class, others where they go out.
  std::uint64_t buffer_bytes = 12 << 20;  // 12 MB: the Trident II of Zhu et al. 2015, section 4
  Threshold xoff;                         // of a lossless class at an ingress port: above it, the other end is paused
  std::uint32_t xon_offset_bytes = 0;     // it goes on at so much below xoff
  /// For what comes between the decision to pause and its effect, of each port and lossless class. 0: as much as that
  /// can be at the port's cable (headroom_needed).
  std::uint32_t headroom_bytes = 0;
  Threshold egress{.alpha = Threshold::kWhole};  // of other classes at an egress port, beside the cable's own limit
  PauseWatchdog watchdog;

  // -- With FlowControl::credits
  std::uint32_t lane_buffer_bytes = 32 << 10;  // of each lane of each port, where packets come in
  /// So long the first packet of a lane may wait at a switch before it is dropped (HOQLife, 18.2.5.4). 0: for ever.
  Duration head_of_queue_life{};
  /// A switch sends a packet on once it has the header, if its way out is free and has credit, and else as soon as that
  /// is so. What comes more slowly than some cable of the switch could take it on is stored first.
  bool cuts_through = false;

  Qos() {
    for (std::size_t dscp = 0; dscp < class_of_dscp.size(); ++dscp)
      class_of_dscp[dscp] = static_cast<TrafficClass>(dscp / 8);
    weights.fill(1);
  }
  bool operator==(const Qos&) const = default;

  bool is_lossless(TrafficClass traffic_class) const { return (lossless & bit_of(traffic_class)) != 0; }
  /// What is paused together with a class: it alone, or all.
  TrafficClass pause_group(TrafficClass traffic_class) const {
    return flow_control == FlowControl::global_pause ? 0 : traffic_class;
  }
  ClassMask classes_of_group(TrafficClass group) const {
    return flow_control == FlowControl::global_pause ? kEveryClass : bit_of(group);
  }
  /// How many pause groups have headroom at each port.
  std::uint32_t lossless_groups() const;
  TrafficClass class_of(std::span<const std::byte> frame) const;
  /// By what a NIC says of a frame that it is about to send (wire::FrameTemplate::traffic_class).
  TrafficClass class_of_octet(std::uint8_t octet) const;
  /// The DSCPs whose packets, without a VLAN tag, have one of these classes: bit D for DSCP D.
  std::uint64_t dscps_of(ClassMask classes) const;
};

/// InfiniBand's: service levels are lanes, and all of them have credits.
Qos infiniband_qos();

/// A lossless class of a port with this cable has to have room for so much, once the other end is asked to pause: what
/// is on the cable both ways, what is sent during the reaction, a largest frame that the pause frame waits for and one
/// that the other end has just begun, and the pause frame (IEEE 802.1Q annex N has the same terms).
std::uint64_t headroom_needed(const Qos& qos, const CableParameters& cable);
/// What it has.
std::uint64_t headroom_of(const Qos& qos, const CableParameters& cable);

/// The time that a pause of so many quanta lasts at this rate.
Duration pause_time(std::uint16_t quanta, std::uint64_t bits_per_second);

}  // namespace verbena::fabric
