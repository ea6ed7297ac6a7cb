// The commands that ask what an ID has: in one answer (QUERY_ROUTE), or addresses, GIDs and paths one by one (QUERY).
// librdmacm uses either family, and both in a process that several threads begin at once: it takes the second one for
// as long as it tries whether there is AF_IB.
// Tested by: tests/shim/rdma_cm/rdma_cm_commands_test.cc
#include <infiniband/ib.h>
#include <infiniband/sa.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "verbs-shim/rdma_cm/commands.h"
#include "wire/subnet_administration.h"

namespace verbena::shim::rdma_cm {
namespace {

constexpr unsigned kSelectorShift = 6;
constexpr unsigned kFlowLabelShift = 8;
constexpr std::uint8_t kReversible = 0x80;
constexpr std::uint8_t kOnePath = 1;

// The kernel's form of a path record is that of the wire, which librdmacm's header describes.
static_assert(sizeof(ibv_path_data) == sizeof(ib_path_rec_data));
static_assert(sizeof(rdma_ucm_query_path_resp) % alignof(ib_path_rec_data) == 0);

bool has_route(const Id& id) {
  return id.state == IdState::route_resolved || id.state == IdState::connect || id.state == IdState::disconnect;
}

/// Of a port on InfiniBand, on the ID's path.
std::uint16_t own_lid(const Id& id) {
  return id.path.source_lid != wire::kLidNone ? id.path.source_lid.value() : id.device_port->infiniband_port().base_lid;
}

std::uint8_t exactly(std::uint8_t value) {
  return static_cast<std::uint8_t>(wire::kSelectorExactly << kSelectorShift | value);
}

void write_address(const Address& address, __kernel_sockaddr_storage& into) {
  sockaddr_storage name;
  address_to(address, name);
  std::memcpy(&into, &name, sizeof into);
}

/// One end of an ID, by GID and service ID (rdma_get_service_id of the kernel).
void write_infiniband_address(const Id& id, const Address& address, const wire::Gid& gid,
                              __kernel_sockaddr_storage& into) {
  if (address.family == AF_IB) return write_address(address, into);
  sockaddr_ib name{};
  name.sib_family = AF_IB;
  name.sib_pkey = htons(id.pkey());
  std::ranges::copy(gid.octets, name.sib_addr.sib_raw);
  name.sib_sid = htobe64(service_id(id, address));
  std::memcpy(&into, &name, sizeof name);
}

void write_device(const Id& id, rdma_ucm_query_addr_resp& response) {
  if (id.device_port == nullptr) return;
  response.node_guid = id.device_port->guid();
  response.ibdev_index = id.device_port->identity().number.device;
  response.port_num = id.device_port->number();
  response.pkey = htons(id.pkey());
}

int query_addresses(const Call& call, const Id& id, std::uint64_t into) {
  if (call.out_bytes < offsetof(rdma_ucm_query_addr_resp, ibdev_index)) return ENOSPC;
  rdma_ucm_query_addr_resp response{};
  write_device(id, response);
  write_address(id.source, response.src_addr);
  write_address(id.destination, response.dst_addr);
  response.src_size = static_cast<std::uint16_t>(bytes_of(id.source));
  response.dst_size = static_cast<std::uint16_t>(bytes_of(id.destination));
  return respond(call, into, &response, sizeof response);
}

int query_gids(const Call& call, const Id& id, std::uint64_t into) {
  if (call.out_bytes < offsetof(rdma_ucm_query_addr_resp, ibdev_index)) return ENOSPC;
  rdma_ucm_query_addr_resp response{};
  write_device(id, response);
  write_infiniband_address(id, id.source, id.own_gid(), response.src_addr);
  write_infiniband_address(id, id.destination, id.device_port != nullptr ? id.peer_gid() : wire::Gid{},
                           response.dst_addr);
  response.src_size = response.dst_size = sizeof(sockaddr_ib);
  return respond(call, into, &response, sizeof response);
}

int query_path(const Call& call, const Id& id, std::uint64_t into) {
  struct {
    std::uint32_t paths = 0;
    std::uint32_t reserved = 0;
    ibv_path_data path{};
  } response;
  static_assert(offsetof(decltype(response), path) == sizeof(rdma_ucm_query_path_resp));
  if (call.out_bytes < sizeof(rdma_ucm_query_path_resp)) return ENOSPC;
  response.paths = id.device_port != nullptr && has_route(id) ? 1 : 0;
  // As the kernel counts: how many there are, whether or not there is room for them.
  const bool has_room = call.out_bytes - sizeof(rdma_ucm_query_path_resp) > sizeof(ib_path_rec_data);
  if (response.paths == 0 || !has_room) return respond(call, into, &response, sizeof(rdma_ucm_query_path_resp));
  response.path.flags = IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY | IBV_PATH_FLAG_BIDIRECTIONAL;
  ibv_path_record& path = response.path.path;
  std::ranges::copy(id.peer_gid().octets, path.dgid.raw);
  std::ranges::copy(id.own_gid().octets, path.sgid.raw);
  path.flowlabel_hoplimit = htobe32(id.path.flow_label << kFlowLabelShift | id.path.hop_limit);
  path.tclass = id.path.traffic_class;
  if (id.device_port->is_infiniband()) {
    constexpr unsigned kServiceLevelMask = 0xf;
    path.slid = htobe16(own_lid(id));
    path.dlid = htobe16(id.path.next_hop.lid().value());
    path.qosclass_sl = htobe16(id.path.next_hop.service_level() & kServiceLevelMask);
  }
  path.reversible_numpath = kReversible | kOnePath;
  path.pkey = htobe16(id.path.pkey);
  path.mtu = exactly(id.path.mtu);
  path.rate = exactly(id.path.packet_rate);
  path.packetlifetime = exactly(id.path.packet_lifetime);
  return respond(call, into, &response, sizeof response);
}

}  // namespace

int Commands::query_route(const Call& call) {
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
  if (id->device_port != nullptr) {
    response.node_guid = id->device_port->guid();
    response.ibdev_index = id->device_port->identity().number.device;
    response.port_num = id->device_port->number();
    ib_user_path_rec& route = response.ib_route[0];
    std::ranges::copy(id->peer_gid().octets, route.dgid);
    std::ranges::copy(id->own_gid().octets, route.sgid);
    response.num_paths = has_route(*id) ? 1 : 0;
    route.pkey = htons(id->pkey());
    if (has_route(*id)) {
      route.flow_label = htonl(id->path.flow_label);
      route.hop_limit = id->path.hop_limit;
      route.traffic_class = id->path.traffic_class;
      if (id->device_port->is_infiniband()) {
        route.slid = htons(own_lid(*id));
        route.dlid = htons(id->path.next_hop.lid().value());
        route.sl = id->path.next_hop.service_level();
      }
      route.reversible = 1;
      route.numb_path = 1;
      route.mtu_selector = route.rate_selector = route.packet_life_time_selector = wire::kSelectorExactly;
      route.mtu = id->path.mtu;
      route.rate = id->path.packet_rate;
      route.packet_life_time = id->path.packet_lifetime;
    }
  }
  return respond(call, command.response, &response, sizeof response);
}

int Commands::query(const Call& call) {
  const auto command = arguments<rdma_ucm_query>(call.in);
  const auto found = find(call, command.id);
  if (!found) return found.error();
  const Id& id = **found;
  switch (command.option) {
    case RDMA_USER_CM_QUERY_ADDR:
      return query_addresses(call, id, command.response);
    case RDMA_USER_CM_QUERY_PATH:
      return query_path(call, id, command.response);
    case RDMA_USER_CM_QUERY_GID:
      return query_gids(call, id, command.response);
    default:
      return ENOSYS;
  }
}

}  // namespace verbena::shim::rdma_cm
