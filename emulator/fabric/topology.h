// Topology: which hosts and switches there are and which cables join them. A plain value; no clock, no frames.
//
// Solely the graph and the shapes it can be made from. Vertices: all hosts first (index = host number, from 0), then
// all switches. A host is a NIC port with an address of its own; a node may have several, its rails (rails.h). How
// frames find their way is routing.h's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/fabric/qos.h"
#include "wire/path_address.h"
#include "wire/result.h"
#include "wire/time.h"

namespace verbena::fabric {

inline constexpr std::uint32_t kVerticesMax = 65'536;
inline constexpr std::uint32_t kCablesMax = 262'144;
inline constexpr std::uint64_t kRoutesMax = std::uint64_t{1} << 26;  // switches times switches
inline constexpr std::uint32_t kManagedPortsMax = 254;               // IBA volume 1, 18.2.4.2: 255 is no port

/// When a switch marks packets (ECN congestion experienced), after random early detection (Floyd and Jacobson 1993; the
/// congestion point of DCQCN): none while the queue has Kmin or less, all above Kmax, and between them with a
/// probability that grows from 0 to Pmax. Kmin = Kmax is one step, as DCTCP has it.
struct EcnMarking {
  std::uint32_t kmin_bytes = 0;
  std::uint32_t kmax_bytes = 0;            // 0: nothing is marked
  std::uint32_t pmax_ppb = 1'000'000'000;  // parts per billion

  bool operator==(const EcnMarking&) const = default;
};

/// What one cable is like, the same in both directions.
struct CableParameters {
  std::uint64_t rate_bits_per_second = 100'000'000'000;  // 0: frames take no time
  Duration propagation = nanoseconds(500);
  std::uint32_t queue_bytes = 1 << 20;  // of each egress port; what does not fit is lost
  EcnMarking ecn;
  std::uint32_t mtu_bytes = 0;  // of an IP packet; larger ones are lost; 0: no limit
  bool telemetry = false;       // switches write into packets that ask for it (telemetry_stamp.h)
};

enum class VertexKind : std::uint8_t { host, network_switch };

struct Vertex {
  std::string name;  // n1, n2, ... and s1, s2, ... unless the file names them
  VertexKind kind = VertexKind::host;
};

struct Cable {
  std::uint32_t a = 0;  // indices of vertices
  std::uint32_t b = 0;
  CableParameters parameters;
  // The numbers of the ports at its ends. 0: it is counted (Topology::port_of).
  std::uint8_t port_a = 0;
  std::uint8_t port_b = 0;
};

/// One direction of a cable: cable index, and whether it goes from its end b to its end a.
struct LinkId {
  std::uint32_t cable = 0;
  bool backward = false;
  constexpr auto operator<=>(const LinkId&) const = default;
};

/// Which of several equal ways a switch takes.
enum class Spreading : std::uint8_t {
  flow,    // the same for all packets of a flow: a hash of addresses and UDP source port (ECMP)
  packet,  // another for each packet, drawn by the seed: they overtake each other (packet spraying)
};

/// What the rails of a node have to do with each other.
enum class Planes : std::uint8_t {
  separate,  // nothing: each has switches of its own
  shared,    // all are in one network
};

struct Topology {
  std::vector<Vertex> vertices;
  std::vector<Cable> cables;
  /// What frames travel on. On InfiniBand each lane has credits: `qos` is there, with FlowControl::credits.
  wire::Medium medium = wire::Medium::ethernet;
  std::uint32_t hosts = 0;
  std::uint32_t rails = 1;  // hosts of each node: the first ones are node 0's, in the order of its rails
  Planes planes = Planes::shared;
  /// Nothing: each egress port is one queue (CableParameters::queue_bytes), and nobody pauses.
  std::optional<Qos> qos;
  Spreading spreading = Spreading::flow;
  /// A subnet manager says what switches and ports do (network_subnet.h); before it has, nothing passes. InfiniBand.
  bool is_managed = false;

  std::uint32_t switches() const { return static_cast<std::uint32_t>(vertices.size()) - hosts; }
  bool is_host(std::uint32_t vertex) const { return vertex < hosts; }
  std::uint32_t nodes() const { return hosts / rails; }
  std::uint32_t node_of(std::uint32_t host) const { return host / rails; }
  std::uint32_t rail_of(std::uint32_t host) const { return host % rails; }  // from 0; it is called by one more
  /// There is to be a way from one host to the other.
  bool are_of_one_network(std::uint32_t a, std::uint32_t b) const {
    return planes == Planes::shared || rail_of(a) == rail_of(b);
  }
  /// "n1", whose hosts are n1.1 and n1.2 where there are two rails.
  std::string_view node_name(std::uint32_t node) const {
    const std::string_view first = vertices[node * rails].name;
    return rails == 1 ? first : first.substr(0, first.rfind('.'));
  }
  /// "n1-s1".
  std::string cable_name(std::uint32_t cable) const {
    return vertices[cables[cable].a].name + "-" + vertices[cables[cable].b].name;
  }
  /// Indices of cables, ascending.
  std::vector<std::uint32_t> cables_of(std::uint32_t vertex) const;
  /// The number of the port at that end of the cable: its own, or the place of the cable among those of the vertex,
  /// from 1. Both look through all cables.
  std::uint32_t port_of(std::uint32_t cable, std::uint32_t vertex) const;
  /// Nothing: there is no such port, or no cable in it.
  std::optional<std::uint32_t> cable_at(std::uint32_t vertex, std::uint32_t port) const;
  /// What the port of each host can send, bits per second: the rate of its fastest cable. 0: frames take no time.
  std::vector<std::uint64_t> port_rates() const;
  /// The host's NIC has this speed, and none of its cables is faster. 0: it is as fast as they are.
  void slow_to_nic(std::uint32_t host, std::uint64_t bits_per_second);
};

/// Parameters of the cables to hosts, and of those between switches.
struct ShapeParameters {
  CableParameters host_cable;
  CableParameters trunk;
};

// The shapes. A host has one cable, except where a shape has no switches.
Topology star(std::uint32_t hosts, const ShapeParameters& parameters);       // one switch
Topology line(std::uint32_t hosts, const ShapeParameters& parameters);       // a switch per host, in a row
Topology ring(std::uint32_t hosts, const ShapeParameters& parameters);       // a switch per host, in a ring
Topology full_mesh(std::uint32_t hosts, const ShapeParameters& parameters);  // a switch per host, each joined to each
Topology dumbbell(std::uint32_t hosts_per_side, const ShapeParameters& parameters);
struct LeafSpine {
  std::uint32_t leaves = 2;
  std::uint32_t spines = 2;
  std::uint32_t hosts_per_leaf = 2;
};
Topology leaf_spine(const LeafSpine& size, const ShapeParameters& parameters);
/// Three tiers: racks of hosts in pods, each rack joined to all aggregations of its pod, and the i-th aggregation of
/// each pod to the i-th row of the core.
struct Clos {
  std::uint32_t pods = 2;
  std::uint32_t racks_per_pod = 2;
  std::uint32_t hosts_per_rack = 2;
  std::uint32_t aggregations_per_pod = 2;
  std::uint32_t cores_per_row = 2;
};
Topology clos(const Clos& size, const ShapeParameters& parameters);
/// The Clos network of k-port switches, k even: k pods, k^3/4 hosts (Al-Fares 2008).
Topology fat_tree(std::uint32_t k, const ShapeParameters& parameters);

/// One line that says what is wrong: a name used twice, a cable to nowhere or from a vertex to itself, a host with no
/// cable or with several, hosts that cannot reach each other, two cables in one port, too many of something. Without
/// switches a host has a cable to each other host: hosts do not forward.
Result<void, std::string> check(const Topology& topology);

}  // namespace verbena::fabric
