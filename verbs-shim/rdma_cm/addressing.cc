// The commands about addresses: bind, resolve, options. States and errors as the kernel's cma has them.
// Tested by: tests/shim/rdma_cm/rdma_cm_commands_test.cc
#include <infiniband/ib.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "emulator/host/node/identity.h"
#include "verbs-shim/rdma_cm/commands.h"
#include "verbs-shim/rdma_cm/planned_news.h"
#include "verbs-shim/verbs/translate.h"

namespace verbena::shim::rdma_cm {
namespace {

// As the kernel's drivers/infiniband/core/cma.c: half a second of ACK timeout on RoCE.
constexpr std::uint8_t kPacketLifetime = 16;
constexpr std::uint8_t kRate100Gbps = 16;  // enum ib_rate
constexpr std::uint32_t kFlowLabelMask = 0xfffff;
constexpr std::uint8_t kHopLimitOfSubnet = 1;

void fill_path(Id& id, const host::Engine& engine) {
  cm::Path& path = id.path;
  path.encapsulation = &id.device_port->default_encapsulation();
  path.address = id.destination.gid;
  path.source = id.source.gid;
  path.next_hop = id.next_hop;
  if (id.device_port->is_infiniband()) {
    // What an IPoIB would tell of the address: the GID of its port. The way stays within the subnet.
    path.address = id.peer_gid();
    path.source = id.own_gid();
    path.hop_limit = kHopLimitOfSubnet;
    path.pkey = asker_of(id).pkey;
  }
  path.traffic_class = id.traffic_class.value_or(id.device_port->default_traffic_class());
  const std::uint32_t ports = id.source.port * 31u + id.destination.port;  // as the kernel mixes them
  path.flow_label = ports & kFlowLabelMask;
  path.mtu = static_cast<std::uint8_t>(mtu_to(engine.nic_config().port_mtu_bytes));
  path.packet_rate = kRate100Gbps;
  const std::uint8_t ack_timeout = id.ack_timeout.value_or(0);
  path.packet_lifetime = ack_timeout != 0 ? static_cast<std::uint8_t>(ack_timeout - 1) : kPacketLifetime;
}

/// cma_resolve_ib_addr: a GID needs nobody to answer for it. Whether anybody has it the route will tell.
int resolve_name(Id& id, DevicePort& from, const Address& destination) {
  id.source = from.address_towards(destination, id.source);
  id.destination = destination;
  if (destination.is_any()) id.destination.gid = id.source.gid;
  id.device_port = &from;
  id.next_hop = from.resolve(id.peer_node()).value_or(wire::PathAddress());
  id.state = IdState::address_resolved;
  fill_path(id, *from.engine());
  report_address(id);
  return 0;
}

int resolve_to(Endpoints& endpoints, Id& id, const Address& source, const Address& destination) {
  if (destination.family == 0) return EINVAL;
  if (id.state == IdState::idle) {
    Address from = source;
    if (from.family == 0) {
      from = {.family = destination.family};
      from.name.pkey = destination.name.pkey;
    }
    // A port of its own, but not the node's: nobody can reach what does not listen.
    const auto port = from.port != 0 ? PortOwner::node : PortOwner::process;
    if (const int error = endpoints.bind(id, from, port); error != 0) return error;
  }
  if (id.state != IdState::address_bound || id.source.family != destination.family) return EINVAL;
  DevicePort* const from = id.device_port != nullptr ? id.device_port : endpoints.devices().towards(destination);
  if (from == nullptr) return ENODEV;
  if (destination.family == AF_IB) return resolve_name(id, *from, destination);
  host::Engine& engine = *from->engine();
  const Address own_address = from->address_towards(destination, id.source);
  const wire::Gid& own = own_address.gid;
  id.destination = destination;
  if (destination.is_any()) id.destination.gid = own;
  id.source.gid = own;
  id.source.scope = own_address.scope;
  const wire::Gid& to = id.destination.gid;
  const bool same_family = to.is_ipv4() == own.is_ipv4();
  const auto next_hop = same_family ? from->resolve(to) : std::nullopt;
  // Nobody answers for an address that no process stands on and that is not a node's by its nature.
  const bool is_there = !engine.link_kind().all_peers_are_here || to.is_multicast() ||
                        host::is_port_address(host::node_of(to)) || !from->services().is_deserted(to);
  if (!next_hop || !is_there) {
    id.state = IdState::address_bound;
    report(id, UserEvent::address_error, same_family ? -ETIMEDOUT : -ENETUNREACH);
    return 0;
  }
  id.next_hop = *next_hop;
  id.device_port = from;
  id.state = IdState::address_resolved;
  fill_path(id, engine);
  report_address(id);
  return 0;
}

}  // namespace

// -- Binding ---------------------------------------------------------------------------------------------------------

int Commands::bind_ip(const Call& call) {
  const auto command = arguments<rdma_ucm_bind_ip>(call.in);
  if (bytes_of_family(&command.addr, sizeof command.addr) == 0) return EINVAL;
  const auto found = find(call, command.id);
  return found ? endpoints_.bind(**found, address_from(&command.addr, sizeof command.addr)) : found.error();
}

int Commands::bind(const Call& call) {
  const auto command = arguments<rdma_ucm_bind>(call.in);
  const std::size_t bytes = bytes_of_family(&command.addr, sizeof command.addr);
  if (command.reserved != 0 || bytes == 0 || command.addr_size != bytes) return EINVAL;
  const auto found = find(call, command.id);
  if (!found) return found.error();
  return endpoints_.bind(**found, address_from(&command.addr, bytes));
}

// -- Resolving -------------------------------------------------------------------------------------------------------

int Commands::resolve_ip(const Call& call) {
  const auto command = arguments<rdma_ucm_resolve_ip>(call.in);
  const bool has_source = command.src_addr.sin6_family != 0;
  if ((has_source && bytes_of_family(&command.src_addr, sizeof command.src_addr) == 0) ||
      bytes_of_family(&command.dst_addr, sizeof command.dst_addr) == 0)
    return EINVAL;
  const auto found = find(call, command.id);
  if (!found) return found.error();
  Id* const id = *found;
  return resolve_to(endpoints_, *id, address_from(&command.src_addr, sizeof command.src_addr),
                    address_from(&command.dst_addr, sizeof command.dst_addr));
}

int Commands::resolve_address(const Call& call) {
  const auto command = arguments<rdma_ucm_resolve_addr>(call.in);
  const std::size_t source_bytes = bytes_of_family(&command.src_addr, sizeof command.src_addr);
  const std::size_t destination_bytes = bytes_of_family(&command.dst_addr, sizeof command.dst_addr);
  if (command.reserved != 0 || (command.src_size != 0 && command.src_size != source_bytes) || destination_bytes == 0 ||
      command.dst_size != destination_bytes)
    return EINVAL;
  const auto found = find(call, command.id);
  if (!found) return found.error();
  Id* const id = *found;
  return resolve_to(endpoints_, *id, address_from(&command.src_addr, command.src_size),
                    address_from(&command.dst_addr, command.dst_size));
}

int Commands::resolve_route(const Call& call) {
  const auto command = arguments<rdma_ucm_resolve_route>(call.in);
  const auto found = find(call, command.id);
  if (!found) return found.error();
  Id* const id = *found;
  if (id->state != IdState::address_resolved) return EINVAL;
  fill_path(*id, engine(*id));
  if (const DevicePort& from = *id->device_port; from.is_managed()) {
    const auto timeout_ms = static_cast<std::uint32_t>(command.timeout_ms);
    const int error =
        endpoints_.ask(from, path_request(asker_of(*id), id->peer_gid(), *id, timeout_ms), id->route_request);
    if (error == 0) id->state = IdState::route_query;
    return error;
  }
  if (id->destination.family == AF_IB && id->next_hop == wire::PathAddress()) {
    report(*id, UserEvent::route_error, -EINVAL);  // as of an administrator that knows no such port
    return 0;
  }
  id->state = IdState::route_resolved;
  report_route(*id);
  return 0;
}

// -- Options ---------------------------------------------------------------------------------------------------------

int Commands::set_option(const Call& call) {
  const auto command = arguments<rdma_ucm_set_option>(call.in);
  const auto found = find(call, command.id);
  if (!found) return found.error();
  Id* const id = *found;
  if (command.level != RDMA_OPTION_ID) return ENOSYS;
  const auto* const value = reinterpret_cast<const std::byte*>(command.optval);
  std::uint8_t octet = 0;
  int number = 0;
  const bool is_octet = command.optlen == sizeof octet;
  const bool is_number = command.optlen == sizeof number;
  if (is_octet) std::memcpy(&octet, value, sizeof octet);
  if (is_number) std::memcpy(&number, value, sizeof number);
  constexpr std::uint8_t kTimeoutMax = 31;  // five bits on the wire
  switch (command.optname) {
    case RDMA_OPTION_ID_TOS:
      if (!is_octet) return EINVAL;
      id->traffic_class = octet;
      if (id->state == IdState::address_resolved) fill_path(*id, engine(*id));
      return 0;
    case RDMA_OPTION_ID_REUSEADDR:
      if (!is_number) return EINVAL;
      if (id->state != IdState::idle && (number == 0 || id->state == IdState::listen)) return EINVAL;
      id->reuse_address = number != 0;
      return 0;
    case RDMA_OPTION_ID_AFONLY:
      if (!is_number || (id->state != IdState::idle && id->state != IdState::address_bound)) return EINVAL;
      id->family_only = number != 0;
      return 0;
    case RDMA_OPTION_ID_ACK_TIMEOUT:
      if (!is_octet || octet > kTimeoutMax) return EINVAL;
      if (id->qp_type != IBV_QPT_RC && id->qp_type != IBV_QPT_XRC_SEND) return EINVAL;
      id->ack_timeout = octet;
      return 0;
    default:
      return ENOSYS;
  }
}

}  // namespace verbena::shim::rdma_cm
