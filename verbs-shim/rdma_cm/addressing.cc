// The commands about addresses: bind, resolve, query, options. States and errors as the kernel's cma has them.
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "emulator/host/node/node_directory.h"
#include "verbs-shim/rdma_cm/cm_device.h"
#include "verbs-shim/verbs/objects.h"
#include "verbs-shim/verbs/translate.h"

namespace verbena::shim::rdma_cm {
namespace {

// As the kernel's drivers/infiniband/core/cma.c: half a second of ACK timeout on RoCE.
constexpr std::uint8_t kPacketLifetime = 16;
constexpr std::uint8_t kRate100Gbps = 16;  // enum ib_rate
constexpr std::uint8_t kExactly = 2;       // selectors of a path record
constexpr std::uint32_t kFlowLabelMask = 0xfffff;

bool is_loopback(const Address& address) {
  if (address.gid.is_ipv4()) return address.gid.ipv4() == INADDR_LOOPBACK;
  return address.gid == wire::Gid{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
}

}  // namespace

bool Address::is_any() const {
  return gid == wire::Gid{} || gid == wire::Gid::from_ipv4(0);
}

/// Family 0: not an IP address.
Address address_from(const void* socket_address, std::size_t bytes) {
  Address address;
  sa_family_t family = 0;
  if (bytes < sizeof family) return address;
  std::memcpy(&family, socket_address, sizeof family);
  if (family == AF_INET && bytes >= sizeof(sockaddr_in)) {
    sockaddr_in from{};
    std::memcpy(&from, socket_address, sizeof from);
    address = {AF_INET, wire::Gid::from_ipv4(ntohl(from.sin_addr.s_addr)), ntohs(from.sin_port)};
  } else if (family == AF_INET6 && bytes >= sizeof(sockaddr_in6)) {
    sockaddr_in6 from{};
    std::memcpy(&from, socket_address, sizeof from);
    address.family = AF_INET6;
    address.port = ntohs(from.sin6_port);
    std::ranges::copy(from.sin6_addr.s6_addr, address.gid.octets.begin());
  }
  return address;
}

void address_to(const Address& address, sockaddr_storage& into) {
  into = {};
  if (address.family == AF_INET) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(address.port);
    to.sin_addr.s_addr = htonl(address.gid.ipv4());
    std::memcpy(&into, &to, sizeof to);
  } else if (address.family == AF_INET6) {
    sockaddr_in6 to{};
    to.sin6_family = AF_INET6;
    to.sin6_port = htons(address.port);
    std::ranges::copy(address.gid.octets, to.sin6_addr.s6_addr);
    std::memcpy(&into, &to, sizeof to);
  }
}

std::size_t bytes_of(const Address& address) {
  return address.family == AF_INET ? sizeof(sockaddr_in) : address.family == AF_INET6 ? sizeof(sockaddr_in6) : 0;
}

// -- Binding ---------------------------------------------------------------------------------------------------------

int CmDevice::bind_to(Id& id, const Address& address) {
  if (address.family == 0) return EAFNOSUPPORT;
  if (id.state != IdState::idle) return EINVAL;
  const wire::Gid& own = engine()->nic_config().gids[0];
  Address source = address;
  if (!address.is_any()) {
    if (is_loopback(address)) source.gid = own;
    if (source.gid != own) return ENODEV;
  }
  if (const int error = take_port(id, source); error != 0) return error;
  id.has_device = !address.is_any();
  id.state = IdState::address_bound;
  return 0;
}

int CmDevice::bind_ip(const Call& call) {
  const auto command = arguments<rdma_ucm_bind_ip>(call.in);
  const auto found = find(call, command.id);
  return found ? bind_to(**found, address_from(&command.addr, sizeof command.addr)) : found.error();
}

int CmDevice::bind(const Call& call) {
  const auto command = arguments<rdma_ucm_bind>(call.in);
  const auto found = find(call, command.id);
  if (command.reserved != 0 || command.addr_size > sizeof command.addr) return EINVAL;
  return found ? bind_to(**found, address_from(&command.addr, command.addr_size)) : found.error();
}

// -- Resolving -------------------------------------------------------------------------------------------------------

void CmDevice::fill_path(Id& id) {
  cm::Path& path = id.path;
  path.address = id.destination.gid;
  path.mac = id.destination_mac;
  path.traffic_class = id.traffic_class;
  const std::uint32_t ports = id.source.port * 31u + id.destination.port;  // as the kernel mixes them
  path.flow_label = ports & kFlowLabelMask;
  path.mtu = static_cast<std::uint8_t>(mtu_to(engine()->nic_config().port_mtu_bytes));
  path.packet_rate = kRate100Gbps;
  const std::uint8_t ack_timeout = id.ack_timeout.value_or(0);
  path.packet_lifetime = ack_timeout != 0 ? static_cast<std::uint8_t>(ack_timeout - 1) : kPacketLifetime;
}

int CmDevice::resolve_to(Id& id, const Address& source, const Address& destination) {
  if (destination.family == 0) return EINVAL;
  if (id.state == IdState::idle) {
    Address from = source;
    if (from.family == 0) from = {destination.family, {}, 0};
    const wire::Gid& node = engine()->nic_config().gids[0];
    if (!from.is_any() && from.gid != node && !is_loopback(from)) return ENODEV;
    if (from.port != 0) {
      if (const int error = take_port(id, from); error != 0) return error;
    } else {
      // A port of its own, but not the node's: nobody can reach what does not listen.
      id.source = {from.family, from.gid, ephemeral_port()};
    }
    id.state = IdState::address_bound;
  }
  if (id.state != IdState::address_bound || id.source.family != destination.family) return EINVAL;
  const wire::Gid& own = engine()->nic_config().gids[0];
  id.destination = destination;
  if (destination.is_any() || is_loopback(destination)) id.destination.gid = own;
  id.source.gid = own;
  const wire::Gid& to = id.destination.gid;
  const bool same_family = to.is_ipv4() == own.is_ipv4();
  const auto mac = same_family ? engine()->resolve(to) : std::nullopt;
  // Nobody answers for an address that no process stands on and that is not a node's by its nature.
  const bool is_there = !engine()->link_kind().all_peers_are_here || to.is_multicast() || host::node_number(to) ||
                        !engine()->services().is_deserted(to);
  if (!mac || !is_there) {
    id.state = IdState::address_bound;
    report(id, UserEvent::address_error, same_family ? -ETIMEDOUT : -ENETUNREACH);
    return 0;
  }
  id.destination_mac = *mac;
  id.has_device = true;
  id.state = IdState::address_resolved;
  fill_path(id);
  report(id, UserEvent::address_resolved);
  return 0;
}

int CmDevice::resolve_ip(const Call& call) {
  const auto command = arguments<rdma_ucm_resolve_ip>(call.in);
  const auto found = find(call, command.id);
  if (!found) return found.error();
  Id* const id = *found;
  return resolve_to(*id, address_from(&command.src_addr, sizeof command.src_addr),
                    address_from(&command.dst_addr, sizeof command.dst_addr));
}

int CmDevice::resolve_address(const Call& call) {
  const auto command = arguments<rdma_ucm_resolve_addr>(call.in);
  if (command.reserved != 0 || command.src_size > sizeof command.src_addr || command.dst_size > sizeof command.dst_addr)
    return EINVAL;
  const auto found = find(call, command.id);
  if (!found) return found.error();
  Id* const id = *found;
  return resolve_to(*id, address_from(&command.src_addr, command.src_size),
                    address_from(&command.dst_addr, command.dst_size));
}

int CmDevice::resolve_route(const Call& call) {
  const auto command = arguments<rdma_ucm_resolve_route>(call.in);
  const auto found = find(call, command.id);
  if (!found) return found.error();
  Id* const id = *found;
  if (id->state != IdState::address_resolved) return EINVAL;
  id->state = IdState::route_resolved;
  fill_path(*id);
  report(*id, UserEvent::route_resolved);
  return 0;
}

// -- Queries ---------------------------------------------------------------------------------------------------------

int CmDevice::query_route(const Call& call) {
  const auto command = arguments<rdma_ucm_query>(call.in);
  constexpr std::size_t kOldestBytes = offsetof(rdma_ucm_query_route_resp, ibdev_index);
  if (call.out_bytes < kOldestBytes) return ENOSPC;
  const auto found = find(call, command.id);
  if (!found) return found.error();
  const Id* const id = *found;
  rdma_ucm_query_route_resp response{};
  sockaddr_storage address;
  address_to(id->source, address);
  std::memcpy(&response.src_addr, &address, sizeof response.src_addr);
  address_to(id->destination, address);
  std::memcpy(&response.dst_addr, &address, sizeof response.dst_addr);
  if (id->has_device) {
    response.node_guid = device_of(context_->device)->guid;
    response.port_num = 1;
    ib_user_path_rec& route = response.ib_route[0];
    std::ranges::copy(id->destination.gid.octets, route.dgid);
    std::ranges::copy(engine()->nic_config().gids[0].octets, route.sgid);
    const bool has_route =
        id->state == IdState::route_resolved || id->state == IdState::connect || id->state == IdState::disconnect;
    response.num_paths = has_route ? 1 : 0;
    route.pkey = 0xffff;
    if (has_route) {
      route.flow_label = htonl(id->path.flow_label);
      route.hop_limit = id->path.hop_limit;
      route.traffic_class = id->path.traffic_class;
      route.reversible = 1;
      route.numb_path = 1;
      route.mtu_selector = route.rate_selector = route.packet_life_time_selector = kExactly;
      route.mtu = id->path.mtu;
      route.rate = id->path.packet_rate;
      route.packet_life_time = id->path.packet_lifetime;
    }
  }
  return respond(call, command.response, &response, sizeof response);
}

int CmDevice::query(const Call& call) {
  const auto command = arguments<rdma_ucm_query>(call.in);
  const auto found = find(call, command.id);
  if (!found) return found.error();
  const Id* const id = *found;
  // AF_IB is not offered, so that librdmacm asks in the older form; this one answers whoever asks all the same.
  if (command.option != RDMA_USER_CM_QUERY_ADDR) return ENOSYS;
  if (call.out_bytes < offsetof(rdma_ucm_query_addr_resp, ibdev_index)) return ENOSPC;
  rdma_ucm_query_addr_resp response{};
  sockaddr_storage address;
  address_to(id->source, address);
  std::memcpy(&response.src_addr, &address, sizeof address);
  address_to(id->destination, address);
  std::memcpy(&response.dst_addr, &address, sizeof address);
  response.src_size = static_cast<std::uint16_t>(bytes_of(id->source));
  response.dst_size = static_cast<std::uint16_t>(bytes_of(id->destination));
  if (id->has_device) {
    response.node_guid = device_of(context_->device)->guid;
    response.port_num = 1;
    response.pkey = 0xffff;
  }
  return respond(call, command.response, &response, sizeof response);
}

int CmDevice::set_option(const Call& call) {
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
      if (id->state == IdState::address_resolved) fill_path(*id);
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
