// WorldState: what a World of the public interface owns, behind its pointer.
//
// Private to this folder. Solely the objects and the fan-out of what the simulated world shows; the functions of World,
// Nic and the others are in files of their names. It owns the memory of regions, and outlives all handles.
// Tested by: tests/libverbena/world_test.cc
#pragma once

#include <verbena/world.h>

#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "captures/checkers/checker.h"
#include "emulator/fabric/nic_settings.h"
#include "emulator/sim/packet_control.h"
#include "emulator/sim/world.h"
#include "libverbena/capture.h"
#include "wire/packet_text.h"

namespace libverbena {

namespace fabric = verbena::fabric;
namespace nic = verbena::nic;
namespace sim = verbena::sim;
namespace wire = verbena::wire;

class ScriptRun;

inline constexpr Duration kDelayMax = std::chrono::seconds(60);  // of a cable
inline constexpr std::uint64_t kRateMax = 100'000'000'000'000;   // bits per second

inline constexpr std::uint32_t kDatagramQkey = 0x11111111;  // of all UD queue pairs

inline Time to_public(verbena::Time time) {
  return Time(time.ns);
}
inline verbena::Duration to_internal(Duration duration) {
  return verbena::Duration{duration.count()};
}

/// An end of a connection: a queue pair of a NIC, or one that the test plays.
struct End {
  std::uint32_t host = 0;
  bool is_peer = false;
  nic::QpHandle handle;  // of a NIC
  wire::Qpn qpn;
  QpType type = QpType::rc;
  wire::Psn first_psn;                         // of its requests
  std::optional<std::size_t> other;            // index of the end that it is connected to
  nic::AhHandle address_handle;                // UD
  std::deque<std::vector<std::byte>> arrived;  // at a peer
};

struct Region {
  std::uint32_t host = 0;
  nic::MemoryRegion region;
  std::uint64_t iova = 0;
  std::unique_ptr<std::byte[]> octets;
  std::size_t length = 0;
};

/// A packet that has left an end of a connection, as scripts see it.
struct SeenPacket {
  verbena::Time time;
  Link link;
  Packet packet;
  std::int64_t relative_psn = 0;
};

struct WorldState final : sim::Observer, sim::StandIn, fabric::Interceptor {
  /// `of_hosts`: a configuration for each.
  WorldState(const WorldOptions& options, fabric::Topology topology, std::vector<fabric::NicSettings> of_hosts);
  ~WorldState() override;

  // -- Names ----------------------------------------------------------------------------------------------------------
  const std::string& name_of(std::uint32_t vertex) const { return topology().vertices[vertex].name; }
  const fabric::Topology& topology() const { return world.network().topology(); }
  std::optional<std::uint32_t> vertex_named(std::string_view name) const;
  Result<fabric::LinkId> find(const Link& link) const;
  Link link_of(fabric::LinkId id) const;

  // -- What the world shows -------------------------------------------------------------------------------------------
  void observe(const sim::ObservedFrame& frame) override;
  void arrived(verbena::Time now, std::span<const std::byte> frame) override;
  fabric::Interceptor::Decision intercept(verbena::Time now, fabric::LinkId link, std::span<std::byte> frame) override;
  /// What leaves on the link is shown to intercept() while an interceptor of the user's or a script wants it.
  void watch(fabric::LinkId link, bool by_script);
  void feed_checkers(const sim::ObservedFrame& frame);

  bool is_idle() const;
  /// True as soon as `is_done` is; false when `within` is over. The clock then stands there.
  bool run_until(const std::function<bool()>& is_done, Duration within);
  /// A packet of one's own, with the addresses of both ends of the connection that `from` is an end of.
  Result<std::vector<std::byte>> make_frame(const End& from, const Packet& packet) const;
  nic::Nic& nic_of(std::uint32_t host) { return world.nic(host); }

  std::uint32_t nics = 0;  // the hosts below are NICs, the others peers
  std::uint64_t seed = 1;
  sim::World world;
  std::unique_ptr<verbena::checkers::Checkers> checkers;
  bool checks_ended = false;
  std::uint64_t frames_seen = 0;

  struct OwnObjects {
    nic::PdHandle pd;
    nic::CqHandle cq;
  };
  std::vector<OwnObjects> own;                // of each NIC
  std::vector<fabric::NicSettings> settings;  // of each host
  std::deque<End> ends;
  std::deque<Region> regions;

  std::uint32_t next_fault = 1;
  std::set<std::uint32_t> faults;  // those that are there
  std::map<fabric::LinkId, libverbena::Interceptor> interceptors;
  ScriptRun* script = nullptr;
  std::list<std::vector<std::byte>> injected;  // by a script, and not yet seen to leave
  std::deque<SeenPacket> rest;                 // that left in the instant in which the last script ended
  std::size_t rest_of = 0;                     // the end that this was played for
  std::function<void(const Sighting&)> observer;
  std::vector<std::pair<std::uint32_t, std::unique_ptr<Capture>>> captures;  // with their cables
};

Error to_error(nic::VerbsError error, std::string_view what);
inline Error invalid(std::string text) {
  return {ErrorKind::invalid_argument, std::move(text)};
}
/// Of the public Packet, whole.
Packet packet_of(const wire::PacketView& view);

}  // namespace libverbena
