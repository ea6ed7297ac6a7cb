#include "verbs-shim/rdma_cm/commands.h"

#include <cerrno>
#include <iterator>

namespace verbena::shim::rdma_cm {
// By RDMA_USER_CM_CMD_*. The kernel's own table has holes as well (GET_OPTION).
const Commands::Handler Commands::kHandlers[] = {
    &Commands::create_id,
    &Commands::destroy_id,
    &Commands::bind_ip,
    &Commands::resolve_ip,
    &Commands::resolve_route,
    &Commands::query_route,
    &Commands::connect,
    &Commands::listen,
    &Commands::accept,
    &Commands::reject,
    &Commands::disconnect,
    &Commands::init_qp_attributes,
    &Commands::get_event,
    &Commands::not_offered,
    &Commands::set_option,
    &Commands::notify,
    &Commands::join_ip_multicast,
    &Commands::leave_multicast,
    &Commands::migrate_id,
    &Commands::query,
    &Commands::bind,
    &Commands::resolve_address,
    &Commands::join_multicast,
};

bool Commands::knows(std::uint32_t number) {
  return number < std::size(kHandlers);
}

int Commands::run(std::uint32_t number, const Call& call) {
  return (this->*kHandlers[number])(call);
}

void Commands::reap() {
  for (const auto& channel : channels_.over()) {
    endpoints_.end_all(channel);
    channels_.remove(*channel);
  }
}

Result<Id*, int> Commands::find(const Call& call, std::uint32_t handle) {
  const auto found = endpoints_.ids().find(call.channel, handle);
  // The device has gone, and the ID is not told yet.
  if (found && (*found)->device_port != nullptr && (*found)->device_port->engine() == nullptr) return Failure{ENODEV};
  return found;
}

int respond(const Call& call, std::uint64_t pointer, const void* data, std::size_t bytes) {
  std::memcpy(reinterpret_cast<void*>(pointer), data, std::min(bytes, call.out_bytes));
  return 0;
}

int Commands::not_offered(const Call&) {
  return ENOSYS;
}

int Commands::create_id(const Call& call) {
  const auto command = arguments<rdma_ucm_create_id>(call.in);
  rdma_ucm_create_id_resp response{};
  if (call.out_bytes < sizeof response) return ENOSPC;
  switch (command.ps) {
    case RDMA_PS_TCP:
    case RDMA_PS_UDP:
    case RDMA_PS_IPOIB:
    case RDMA_PS_IB:
      break;
    default:
      return EINVAL;
  }
  const bool is_datagram = command.ps == RDMA_PS_UDP || command.ps == RDMA_PS_IPOIB;
  std::uint8_t qp_type = command.qp_type;
  if (is_datagram) qp_type = IBV_QPT_UD;
  if (command.ps == RDMA_PS_TCP) qp_type = IBV_QPT_RC;
  reap();
  Id* const id = endpoints_.ids().make(call.channel, command.ps, qp_type);
  if (id == nullptr) return ENOMEM;
  id->uid = command.uid;
  response.id = id->handle;
  return respond(call, command.response, &response, sizeof response);
}

int Commands::destroy_id(const Call& call) {
  const auto command = arguments<rdma_ucm_destroy_id>(call.in);
  rdma_ucm_destroy_id_resp response{};
  if (call.out_bytes < sizeof response) return ENOSPC;
  Id* const id = endpoints_.ids().of_channel(call.channel, command.id);
  if (id == nullptr) return ENOENT;
  inbox_.empty();  // a request may be on its way to a listener
  const auto waiting = call.channel->withdraw(id->serial, call.descriptor);
  const bool listens = id->state == IdState::listen;
  response.events_reported = id->events_reported;
  endpoints_.end(*id);
  if (listens) {
    // The requests that wait unheard are refused with it.
    for (const ChannelEvent& event : waiting)
      if (event.response.event == static_cast<std::uint32_t>(UserEvent::connect_request))
        if (Id* const request = endpoints_.ids().of_channel(call.channel, event.response.id)) endpoints_.end(*request);
  }
  return respond(call, command.response, &response, sizeof response);
}

int Commands::get_event(const Call& call) {
  const auto command = arguments<rdma_ucm_get_event>(call.in);
  constexpr std::size_t kOldestBytes = offsetof(rdma_ucm_event_resp, reserved);
  if (call.out_bytes < kOldestBytes) return ENOSPC;
  const auto event = call.channel->pop();
  if (!event) return EAGAIN;  // its event was withdrawn: wait for another
  if (Id* const id = endpoints_.ids().by_serial(event->reporter)) {
    ++id->events_reported;
    for (MulticastGroup& group : id->groups)
      if (group.uid == event->response.uid) ++group.events_reported;
  }
  return respond(call, command.response, &event->response, sizeof event->response);
}

int Commands::migrate_id(const Call& call) {
  const auto command = arguments<rdma_ucm_migrate_id>(call.in);
  rdma_ucm_migrate_resp response{};
  if (call.out_bytes < sizeof response) return ENOSPC;
  Id* const id = endpoints_.ids().at(command.id);
  if (id == nullptr) return ENOENT;
  if (id->channel != call.channel) {
    const auto waiting = id->channel->withdraw(id->serial, static_cast<int>(command.fd));
    endpoints_.ids().move(*id, call.channel);
    for (const ChannelEvent& event : waiting) call.channel->push(event);
  }
  response.events_reported = id->events_reported;
  return respond(call, command.response, &response, sizeof response);
}

}  // namespace verbena::shim::rdma_cm
