#include "emulator/host/engine/live_nic.h"

#include <utility>
#include <vector>

#include "emulator/host/engine/engine_fork.h"
#include "emulator/host/node/infiniband_port.h"
#include "emulator/host/node/node_directory.h"
#include "emulator/host/os/clock.h"
#include "emulator/host/os/drawn_numbers.h"
#include "wire/roce_v1.h"

namespace verbena::host {
namespace {

constexpr unsigned kFirstIdShift = 10;  // communication IDs go on about as fast as they can be used up
// A peer knows a connection by its ID and the GUID of the device, whichever port it is on (cm_insert_remote_id of
// Linux): the managers of the ports begin far from each other.
constexpr std::uint32_t kIdsOfPort = (1u << cm::kIdSlotShift) / kPortsMax;

/// Of an entry of the port's GID table.
const wire::Encapsulation& encapsulation_of(const DeviceIdentity& identity, std::size_t gid) {
  return identity.is_infiniband ? wire::kInfiniBand : wire::encapsulation_of(identity.gids[gid].version);
}

nic::NicConfig nic_config_of(const OpenedLink& opened, const EngineConfig& config, std::uint64_t seed) {
  static_assert(kPortsMax == nic::kPortsMax && kPortsMax * kGidsOfPortMax <= nic::kGidsMax &&
                kPortsMax * ManagedPort::kGids == nic::kGidsMax);
  nic::NicConfig made;
  made.qpn_base = qpn_base_of(opened.slot);
  made.qpn_bits = kSlotShift;
  made.port_count = static_cast<std::uint8_t>(1 + config.further_ports.size());
  made.gid_count = 0;
  for (std::uint32_t port = 1; port <= made.port_count; ++port) {
    nic::PortConfig& own = made.ports[port - 1];
    own.gids_begin = made.gid_count;
    if (port != 1) own.line_rate_bits_per_second = identity_of(config, port).bits_per_second;
    const wire::PathAddress address = port == 1 ? opened.address : opened.further_ports.at(port - 2).address;
    own.medium = address.medium();
    const DeviceIdentity identity = identity_of(config, port);
    const bool has_signal = opened.link->of_port(port).has_signal();
    if (own.medium == wire::Medium::ethernet) {
      own.mac = address.mac();
      own.is_up = has_signal;
    } else {
      const ManagedPort set = infiniband_port(config.fabric, identity, has_signal);
      own.lid = wire::Lid(set.base_lid);
      own.lmc = set.lmc;
      own.is_up = set.state == kPortStateActive;
    }
    for (std::size_t i = 0; i < identity.gid_count(); ++i)
      made.gids[made.gid_count++] = {identity.gids[i].gid, encapsulation_of(identity, i)};
  }
  if (made.medium() == wire::Medium::infiniband) made.limits.pkeys = ManagedPort::kPkeys;
  made.port_mtu_bytes = opened.mtu_bytes;
  made.udp_source_port = opened.udp_source_port;
  if (opened.window_bytes != 0) made.window_bytes = opened.window_bytes;
  made.seed = seed;
  return made;
}

cm::Config cm_config_of(const OpenedLink& opened, const DeviceIdentity& identity, const nic::PortConfig& nic_port,
                        std::uint32_t first_id) {
  const std::uint32_t port = identity.number.port;
  cm::Config made;
  made.address = identity.is_infiniband ? identity.gids[0].gid : identity.address;
  made.path_address = port == 1 ? opened.address : opened.further_ports.at(port - 2).address;
  if (identity.is_infiniband) made.path_address = nic_port.address();
  made.slot = opened.slot;
  made.ca_guid = number_of(identity.node_guid);
  made.first_id = first_id + (port - 1) * kIdsOfPort;
  made.udp_source_port = opened.udp_source_port;
  return made;
}

}  // namespace

std::string LiveNic::open(OpenedLink opened, const EngineConfig& config) {
  DrawnNumbers numbers(config.seed);
  nic::NicConfig nic_config = nic_config_of(opened, config, config.seed ? *config.seed : numbers());
  link_ = std::move(opened.link);
  parts_ = opened.parts;
  kernel_frames_ = opened.fetches;
  if (config.further_ports.empty()) {  // else each port has its own
    auto decorators = make_decorators(*link_, opened.medium, config, opened.slot);
    if (!decorators) return decorators.error();
    decorators_ = std::move(*decorators);
  }
  port_ = &decorators_.outermost(*link_);
  is_decorated_ = opened.is_decorated || port_ != link_.get();

  std::vector<wire::Gid> further_ports;
  for (std::uint32_t port = 2; port <= nic_config.port_count; ++port)
    further_ports.push_back(identity_of(config, port).address);
  stats_ = StatsBlock::open(config.stats_path, config.fabric, config.address, opened.slot, further_ports);
  config.nic.apply(nic_config);
  nic_config.completion_judge = config.completion_judge;
  nic_ = std::make_unique<nic::Nic>(nic_config, memory_, stats_->ports());
  if (nic_config.medium() == wire::Medium::ethernet && !config.nic.look.pkeys.empty())
    for (std::uint32_t port = 1; port <= nic_config.port_count; ++port)
      nic::PortManagement(*nic_).set_pkeys(port, config.nic.look.pkeys);
  if (nic_config.medium() == wire::Medium::infiniband)
    for (std::uint32_t port = 1; port <= nic_config.port_count; ++port) {
      const DeviceIdentity identity = identity_of(config, port);
      subnet_ports_.emplace_back(config.fabric, identity, *nic_);
      stats_->tell_lid(port, identity.lid);
    }
  // Never from the seed: a peer may remember those of a process that had the same one.
  const auto first_id =
      static_cast<std::uint32_t>(config.seed ? std::uint64_t(config.clock->now().ns >> kFirstIdShift) : numbers());
  const bool reaches_by_slot = find_link_kind(config.link)->reaches_by_slot;
  connections_ = std::make_unique<ConnectionServices>();
  for (std::uint32_t port = 1; port <= nic_config.port_count; ++port) {
    const DeviceIdentity identity = identity_of(config, port);
    connections_->add(std::make_unique<ConnectionService>(
        cm_config_of(opened, identity, nic_config.port(port), first_id),
        ServiceDirectory(config.fabric, opened.slot, identity.address),
        reaches_by_slot ? ConnectionService::Peers::all_here : ConnectionService::Peers::anywhere,
        port == 1 ? parts_.last_words : opened.further_ports.at(port - 2).last_words));
  }
  for (std::uint32_t port = 1; port <= subnet_ports_.size(); ++port)
    connections_->of_port(port).manager().outbox().set_pkeys(subnet_ports_[port - 1].pkeys());
  nic_->set_management(connections_.get());
  return {};
}

void LiveNic::set_port_up(std::uint32_t port, bool has_signal) {
  if (subnet_ports_.empty()) return nic_->set_port_up(port, has_signal);
  const wire::PathAddress before = nic_->config().port(port).address();
  subnet_ports_[port - 1].look(*nic_, has_signal);
  const wire::PathAddress now = nic_->config().port(port).address();
  cm::Outbox& outbox = connections_->of_port(port).manager().outbox();
  if (now != before) outbox.move_to(now);
  outbox.set_pkeys(subnet_ports_[port - 1].pkeys());
}

bool LiveNic::flush() {
  const bool has_new_ways = link_->flush();
  if (decorators_.capture != nullptr) decorators_.capture->write_if_due();
  return has_new_ways;
}

bool LiveNic::begin_rest(RestSet& by) const {
  if (parts_.answers != nullptr) parts_.answers->tell_rest(nic_->owes_answers());
  if (is_decorated_ && port_->holds_back()) return false;
  if (parts_.core_rest != nullptr) return parts_.core_rest->begin_rest(by);
  by.add_blind();
  return true;
}

bool LiveNic::arm() {
  if (parts_.answers != nullptr) parts_.answers->tell_rest(nic_->owes_answers());
  return !(is_decorated_ && port_->holds_back()) && link_->arm();
}

void LiveNic::abandon() {
  if (parts_.fork_guard != nullptr) parts_.fork_guard->abandon_after_fork();
  parts_ = {};
  // The capture would write down what the parent writes as well: all is left alone, with what it holds.
  [[maybe_unused]] const CapturingLink* forgotten_capture = decorators_.capture.release();
  [[maybe_unused]] const FramePort* forgotten_faults = decorators_.faults.release();
  [[maybe_unused]] const Link* forgotten_link = link_.release();
  link_ = std::make_unique<NullLink>();
  port_ = link_.get();
  kernel_frames_ = false;
  connections_->abandon();
  stats_->make_private();
}

}  // namespace verbena::host
