// The commands about multicast groups: join and leave. On a managed fabric the subnet administrator makes a port a
// member; on the others a group is whatever its address says.
// Tested by: tests/shim/rdma_cm/rdma_cm_test.cc, tests/programs/managed_cm.py
#include <algorithm>
#include <cerrno>

#include "emulator/host/node/node_directory.h"
#include "verbs-shim/rdma_cm/administration.h"
#include "verbs-shim/rdma_cm/commands.h"
#include "verbs-shim/rdma_cm/planned_news.h"
#include "wire/roce_v1.h"

namespace verbena::shim::rdma_cm {
namespace {

/// As a port without a manager has it.
cm::Path static_group_path(const Id& id, const Address& group) {
  cm::Path path = id.path;
  path.encapsulation = &id.device_port->default_encapsulation();
  path.address = group.gid;
  path.traffic_class = id.traffic_class.value_or(id.device_port->default_traffic_class());
  if (id.device_port->is_infiniband()) {
    path.address = infiniband_group(group, id.port_space, wire::kPkeyDefault);
    path.next_hop = wire::PathAddress(host::static_group_lid(path.address), 0);
    path.hop_limit = 1;  // it stays within the subnet
    path.flow_label = 0;
  } else if (group.gid.is_ipv4() && path.encapsulation == &wire::kRoceV1) {
    // As cma_iboe_set_mgid of the kernel: in RoCE v1, an IPv4 group is one of global scope.
    path.address.octets[0] = 0xff;
    path.address.octets[1] = 0x0e;
  }
  return path;
}

/// The join state of RDMA_MC_JOIN_FLAG_*; 0: there is no such flag.
std::uint8_t join_state_of(std::uint16_t flags) {
  if (flags == RDMA_MC_JOIN_FLAG_FULLMEMBER) return wire::McMemberRecord::kFullMember;
  return flags == RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER ? wire::McMemberRecord::kSendOnlyFullMember : 0;
}

}  // namespace

int Commands::join(Id& id, const Call& call, const Joining& wanted) {
  rdma_ucm_create_id_resp response{};
  if (call.out_bytes < sizeof response) return ENOSPC;
  const std::uint8_t join_state = join_state_of(wanted.flags);
  if (!id.is_datagram() || join_state == 0 || wanted.group.family == 0 || !wanted.group.gid.is_multicast())
    return EINVAL;
  if (id.device_port == nullptr || (id.state != IdState::address_bound && id.state != IdState::address_resolved))
    return EINVAL;
  if (wanted.group.family == AF_IB && !id.device_port->is_infiniband()) return EINVAL;
  MulticastGroup group{.handle = endpoints_.ids().free_group_handle(), .uid = wanted.uid};
  if (id.device_port->is_managed()) {
    const Asker asker = asker_of(id);
    const wire::Gid address = infiniband_group(wanted.group, id.port_space, asker.pkey);
    const int error = endpoints_.ask(*id.device_port, join_request(asker, address, id, join_state), group.request);
    if (error != 0) return error;
  } else {
    const int planned = planned_group_error(id);
    if (planned == 0)
      report_joined(id, group, static_group_path(id, wanted.group), default_qkey(id));
    else
      report_lost(id, group, -planned);
  }
  id.groups.push_back(group);
  response.id = group.handle;
  return respond(call, wanted.response, &response, sizeof response);
}

int Commands::join_ip_multicast(const Call& call) {
  const auto command = arguments<rdma_ucm_join_ip_mcast>(call.in);
  const auto found = find(call, command.id);
  if (!found) return found.error();
  return join(**found, call, {command.uid, command.response, address_from(&command.addr, sizeof command.addr)});
}

int Commands::join_multicast(const Call& call) {
  const auto command = arguments<rdma_ucm_join_mcast>(call.in);
  if (command.addr_size > sizeof command.addr) return EINVAL;
  const auto found = find(call, command.id);
  if (!found) return found.error();
  return join(**found, call,
              {command.uid, command.response, address_from(&command.addr, command.addr_size), command.join_flags});
}

int Commands::leave_multicast(const Call& call) {
  const auto command = arguments<rdma_ucm_destroy_id>(call.in);
  rdma_ucm_destroy_id_resp response{};
  if (call.out_bytes < sizeof response) return ENOSPC;
  for (const auto& id : endpoints_.ids()) {
    if (!id || id->channel != call.channel) continue;
    const auto found = std::ranges::find(id->groups, command.id, &MulticastGroup::handle);
    if (found == id->groups.end()) continue;
    endpoints_.leave(*id, *found);
    const auto waiting = call.channel->withdraw(id->serial, call.descriptor);
    for (const ChannelEvent& event : waiting)
      if (event.response.uid != found->uid) call.channel->push(event);
    response.events_reported = found->events_reported;
    id->groups.erase(found);
    return respond(call, command.response, &response, sizeof response);
  }
  return ENOENT;
}

}  // namespace verbena::shim::rdma_cm
