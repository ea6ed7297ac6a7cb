#include "emulator/host/fabric_process/subnet_service.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "emulator/host/os/clock.h"
#include "emulator/host/os/name_holder.h"

namespace verbena::host {
namespace {

constexpr std::uint32_t kLids = wire::kLidUnicastMax.value() + 1u;
constexpr Duration kWaitTick = nanoseconds(100);  // of PortXmitWait
constexpr std::uint64_t kWordBytes = 4;

static_assert(subnet::kGuidsMax == ManagedPort::kGids);

ManagedPort managed_port_of(const subnet::Port& port) {
  const wire::PortInfo& info = port.info;
  ManagedPort made;
  made.capability_mask = info.capability_mask;
  made.subnet_prefix = info.subnet_prefix;
  std::copy(port.guids.begin() + 1, port.guids.end(), made.alias_guids.begin());
  made.base_lid = info.base_lid.value();
  made.sm_lid = info.master_sm_lid.value();
  made.lmc = info.lmc;
  made.sm_sl = info.master_sm_sl;
  made.state = static_cast<std::uint8_t>(info.state);
  made.physical_state = static_cast<std::uint8_t>(info.physical_state);
  made.mtu = info.neighbor_mtu;
  made.mtu_max = info.mtu_capacity;
  made.width = info.width_active;
  made.speed = wire::active_speed(info);
  made.vls = info.operational_vls;
  made.vl_capacity = info.vl_capacity;
  made.subnet_timeout = info.subnet_timeout;
  made.pkey_violations = info.pkey_violations;
  made.qkey_violations = info.qkey_violations;
  made.lane_of_level = port.lanes(0);
  made.pkeys = port.pkeys;
  return made;
}

/// HOQLife (14.2.5.6): 4.096 us times 2^N, above 19 for ever.
Duration head_life_of(std::uint8_t code) {
  constexpr std::uint8_t kLast = 19;
  constexpr std::int64_t kUnit = 4096;
  return code > kLast ? Duration{} : Duration{kUnit << code};
}

std::vector<fabric::LaneArbitration::Entry> entries_of(std::span<const std::byte> block, std::uint8_t capacity) {
  std::vector<fabric::LaneArbitration::Entry> entries;
  for (std::size_t i = 0; i < std::min<std::size_t>(capacity, wire::kArbitrationEntriesOfBlock); ++i) {
    const auto entry = wire::ArbitrationEntryLayout::parse(
        block.subspan(i * wire::ArbitrationEntryLayout::bytes).first<wire::ArbitrationEntryLayout::bytes>());
    if (entry.weight != 0) entries.push_back({entry.virtual_lane, entry.weight});
  }
  return entries;
}

/// A socket under the name. The error is one line, in which programs are `whose`.
Result<Descriptor, std::string> listener_at(const AbstractName& at, const std::string& whose) {
  Descriptor listener(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener) return Failure{"cannot open a socket for " + whose + ": " + std::strerror(errno)};
  if (at.bind(listener.get())) return listener;
  const int error = errno;
  return Failure{"cannot bind the socket for " + whose + ": " + std::strerror(error) +
                 (error == EADDRINUSE ? describe_name_holder(at) : std::string())};
}

}  // namespace

Result<std::unique_ptr<SubnetService>, std::string> SubnetService::open(const std::string& fabric, FabricPorts& ports,
                                                                        const SwitchPlans& switches) {
  std::unique_ptr<SubnetService> made(new SubnetService(ports, switches));
  std::string error;
  if (!made->listen_for_programs(fabric, error)) return Failure{error};
  auto file = ManagedPortFile::make(fabric, made->topology_.hosts, made->topology_.rails);
  if (!file) return Failure{file.error()};
  made->file_ = std::move(*file);
  for (std::uint32_t host = 0; host < made->topology_.hosts; ++host)
    made->file_->begin(host, managed_port_of(made->port_at({host, 1})));
  return made;
}

/// Both servers wait behind one descriptor.
bool SubnetService::listen_for_programs(const std::string& fabric, std::string& error) {
  auto for_managers = listener_at(umad_address(fabric.c_str()), "managers");
  if (!for_managers) return error = for_managers.error(), false;
  auto umad = UmadServer::open(subnet_, std::move(*for_managers));
  if (!umad) return error = umad.error(), false;
  auto for_clients = listener_at(sa_address(fabric.c_str()), "clients of the subnet administrator");
  if (!for_clients) return error = for_clients.error(), false;
  auto administration = SaClient::open(subnet_, std::move(*for_clients));
  if (!administration) return error = administration.error(), false;
  umad_ = std::move(*umad);
  administration_ = std::move(*administration);
  epoll_ = Descriptor(epoll_create1(EPOLL_CLOEXEC));
  for (const int server : {umad_->wait_descriptor(), administration_->wait_descriptor()}) {
    epoll_event event{.events = EPOLLIN, .data = {}};
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, server, &event) != 0)
      return error = std::string("cannot wait for managers: ") + std::strerror(errno), false;
  }
  return true;
}

SubnetService::SubnetService(FabricPorts& ports, const SwitchPlans& switches)
    : ports_(ports),
      topology_(ports.network().topology()),
      network_(ports.network()),
      subnet_(subnet_of(topology_, switches), *this),
      changes_(topology_.hosts),
      memberships_(topology_.hosts),
      dead_cables_(topology_.cables.size()) {
  subnet_.connect(*this, *this);
}

SubnetService::~SubnetService() = default;

void SubnetService::service(Time now) {
  now_ = now;
  administration_->service(now);
  umad_->service(now);
  for (const auto& [host, report] : ports_.last_words().take_key_reports())
    subnet_.refuse_key({host, 1}, report.trap, report.details, report.packets);
  for (const fabric::PartitionViolation& one : network_.take_violations())
    subnet_.refuse_key({one.vertex, one.port}, wire::kTrapBadPkeyAtSwitch, one.packet, 1);
  tell();
}

std::optional<Time> SubnetService::next_deadline() const {
  if (ports_.last_words().has_key_reports() || network_.has_violations()) return now_;
  const std::optional<Time> one = umad_->next_deadline();
  const std::optional<Time> other = administration_->next_deadline();
  if (!one || !other) return one ? one : other;
  return std::min(*one, *other, [](Time first, Time second) { return first.ns < second.ns; });
}

bool SubnetService::receive(subnet::PortEnd at, const subnet::Datagram& datagram) {
  return administration_->receive(at, datagram) || umad_->receive(at, datagram);
}

void SubnetService::mirror(Time now, const std::set<fabric::LinkId>& dead_links,
                           const std::set<std::uint32_t>& dead_switches) {
  now_ = now;
  subnet_.advance(now);
  administration_->advance(now);
  for (std::uint32_t cable = 0; cable < dead_cables_.size(); ++cable) {
    // As Network::port_is_up() has it: a cable that is dead one way only has a signal.
    const bool is_dead = dead_links.contains({cable, false}) && dead_links.contains({cable, true});
    if (dead_cables_[cable] == is_dead) continue;
    dead_cables_[cable] = is_dead;
    const std::uint32_t vertex = topology_.cables[cable].a;
    subnet_.set_link({vertex, static_cast<std::uint8_t>(topology_.port_of(cable, vertex))}, !is_dead);
  }
  if (dead_switches != dead_switches_) {
    dead_switches_ = dead_switches;
    for (std::uint32_t vertex = topology_.hosts; vertex < topology_.vertices.size(); ++vertex)
      subnet_.set_node_alive(vertex, !dead_switches_.contains(vertex));
  }
  tell();
}

void SubnetService::set_link_rate(std::uint32_t cable, std::uint64_t bits_per_second) {
  const std::uint32_t vertex = topology_.cables[cable].a;
  const LinkSpeed now = link_speed(bits_per_second);
  subnet_.set_link_speed({vertex, static_cast<std::uint8_t>(topology_.port_of(cable, vertex))}, now.speed,
                         now.extended);
  tell();
}

void SubnetService::tell() {
  for (const std::uint32_t host : std::exchange(to_tell_, {})) {
    const Change change = std::exchange(changes_[host], {});
    if (file_->write(host, managed_port_of(port_at({host, 1})), change.reregisters))
      ports_.notify(host, Notice::subnet_changed);
  }
}

// -- What is set ------------------------------------------------------------------------------------------------------

void SubnetService::changed(subnet::PortEnd port) {
  if (!is_host(port.node) || std::exchange(changes_[port.node].is_any, true)) return;
  to_tell_.push_back(static_cast<std::uint32_t>(port.node));
}

void SubnetService::port_changed(subnet::PortEnd end, bool asks) {
  const wire::PortInfo& info = port_at(end).info;
  const auto vertex = static_cast<std::uint32_t>(end.node);
  if (is_host(end.node)) {
    network_.set_lids(vertex, info.base_lid, info.lmc);
    ports_.set_lids(vertex, info.base_lid, info.lmc);
    keep_memberships(end, asks);
    changed(end);
    changes_[end.node].reregisters = changes_[end.node].reregisters || asks;
  } else if (end.port != 0 && info.state > wire::PortState::init) {
    network_.set_head_of_queue_life(vertex, end.port, head_life_of(info.hoq_life));
  }
  if (end.port != 0) network_.set_mtu(vertex, end.port, wire::mtu_bytes(info.neighbor_mtu));
  if (end.port != 0) network_.set_port_state(now_, vertex, end.port, info.state);
}

/// As ib_sa: what was active and goes down, gets another LID or is asked to register again has lost them.
void SubnetService::keep_memberships(subnet::PortEnd end, bool asks) {
  const wire::PortInfo& info = port_at(end).info;
  const Membership now{info.base_lid, info.state == wire::PortState::active};
  const Membership before = std::exchange(memberships_[end.node], now);
  const bool has_gone_down = before.is_active && !now.is_active;
  if (administration_ != nullptr && (asks || has_gone_down || before.lid != now.lid))
    administration_->forget_groups(end);
}

void SubnetService::forwarding_changed(std::size_t node, std::uint32_t first, std::uint32_t lids) {
  row_.clear();
  for (std::uint32_t lid = first; lid < std::min(first + lids, kLids); ++lid)
    row_.push_back(subnet_.nodes()[node].way_to(lid));
  network_.set_forwarding(static_cast<std::uint32_t>(node), wire::Lid(first), row_);
}

void SubnetService::groups_changed(std::size_t node, std::uint32_t first, std::uint32_t groups) {
  for (std::uint32_t group = first; group < first + groups; ++group)
    network_.set_multicast(static_cast<std::uint32_t>(node), wire::Lid(group), subnet_.nodes()[node].members(group));
}

void SubnetService::lanes_changed(subnet::PortEnd out, std::uint8_t in) {
  changed(out);
  const std::size_t ports = is_host(out.node) ? 1 : subnet_.nodes()[out.node].ports.size();
  for (std::size_t from = 0; from < ports; ++from)
    if (in == subnet::kNoPort || from == in)
      network_.set_lanes(static_cast<std::uint32_t>(out.node), static_cast<std::uint8_t>(from), out.port,
                         port_at(out).lanes(static_cast<std::uint8_t>(from)));
}

void SubnetService::arbitration_changed(subnet::PortEnd end) {
  const subnet::Port& port = port_at(end);
  network_.set_arbitration(static_cast<std::uint32_t>(end.node), end.port,
                           {.high = entries_of(port.arbitration[2], port.info.vl_arbitration_high_capacity),
                            .low = entries_of(port.arbitration[0], port.info.vl_arbitration_low_capacity),
                            .high_limit = port.info.vl_high_limit});
}

void SubnetService::pkeys_changed(subnet::PortEnd end) {
  changed(end);
  if (is_host(end.node)) return;
  const subnet::Port& port = port_at(end);
  std::vector<std::uint16_t> keys;
  std::ranges::copy_if(port.pkeys, std::back_inserter(keys), [](std::uint16_t key) { return key != 0; });
  network_.set_partitions(static_cast<std::uint32_t>(end.node), end.port, keys, port.info.enforce_inbound,
                          port.info.enforce_outbound);
}

void SubnetService::node_restarted(std::size_t node) {
  forwarding_changed(node, 0, kLids);
  groups_changed(node, wire::kLidMulticastMin.value(), subnet::kMulticastCapacity);
  for (std::size_t number = 1; number < subnet_.nodes()[node].ports.size(); ++number) {
    const subnet::PortEnd port{node, static_cast<std::uint8_t>(number)};
    lanes_changed(port, subnet::kNoPort);
    arbitration_changed(port);
    pkeys_changed(port);
    port_changed(port, false);
  }
}

// -- What is counted --------------------------------------------------------------------------------------------------

subnet::PortTotals SubnetService::totals(subnet::PortEnd end) {
  if (end.port == 0) return {};
  const fabric::PortTraffic seen = network_.traffic(now_, static_cast<std::uint32_t>(end.node), end.port);
  return {.transmit_packets = seen.sent_packets,
          .receive_packets = seen.received_packets,
          .transmit_words = seen.sent_octets / kWordBytes,
          .receive_words = seen.received_octets / kWordBytes,
          .unicast_transmit_packets = seen.sent_packets - seen.sent_multicast_packets,
          .unicast_receive_packets = seen.received_packets - seen.received_multicast_packets,
          .multicast_transmit_packets = seen.sent_multicast_packets,
          .multicast_receive_packets = seen.received_multicast_packets,
          .transmit_wait = static_cast<std::uint64_t>(seen.sent_wait.ns / kWaitTick.ns),
          .symbol_errors = seen.symbol_errors,
          .receive_errors = seen.receive_errors,
          .transmit_discards = seen.sent_discards,
          .receive_switch_relay_errors = seen.relay_errors,
          .transmit_constraint_errors = seen.sent_constraint_errors,
          .receive_constraint_errors = seen.received_constraint_errors,
          .local_physical_errors = seen.receive_errors,
          .inactive_discards = seen.sent_inactive_discards,
          .neighbor_mtu_discards = seen.sent_mtu_discards,
          .head_of_queue_discards = seen.sent_life_discards,
          .lid_mapping_errors = seen.unknown_lid_errors,
          .lane_mapping_errors = seen.lane_errors,
          .looping_errors = seen.looping_errors};
}

}  // namespace verbena::host
