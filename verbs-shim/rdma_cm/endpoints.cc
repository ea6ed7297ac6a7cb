#include "verbs-shim/rdma_cm/endpoints.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "verbs-shim/rdma_cm/planned_news.h"

namespace verbena::shim::rdma_cm {
namespace {

constexpr std::size_t kAddressBytes = wire::IpAddressingHeaderLayout::bytes;

void fill(rdma_ucm_conn_param& into, const cm::Event& event, std::size_t skip) {
  into.qp_num = event.offer.qpn.value();
  into.responder_resources = event.offer.responder_resources;
  into.initiator_depth = event.offer.initiator_depth;
  into.retry_count = event.offer.retry_count;
  into.rnr_retry_count = event.offer.rnr_retry_count;
  into.flow_control = event.offer.flow_control;
  into.srq = event.offer.srq;
  const auto data = event.private_data.view().subspan(std::min(skip, event.private_data.bytes));
  into.private_data_len = static_cast<std::uint8_t>(data.size());
  std::memcpy(into.private_data, data.data(), data.size());
}

/// The peer's addresses, as it says.
wire::IpAddressingHeader addresses_of(const cm::Event& event) {
  return wire::IpAddressingHeaderLayout::parse(event.private_data.view().first<kAddressBytes>());
}

/// As cma_save_net_info: of a listener by GIDs both ends are those of the path, or nobody's where a datagram asks. The
/// octets of private data that are not the application's.
std::size_t set_addresses_of_request(Id& id, const Id& listener, const cm::Event& event) {
  const DevicePort& at = *id.device_port;
  const bool is_infiniband = at.is_infiniband();  // whose GIDs are no addresses of IP
  if (listener.source.family != AF_IB) {
    const wire::IpAddressingHeader addresses = addresses_of(event);
    const sa_family_t family = addresses.ip_version == 4 ? AF_INET : AF_INET6;
    id.source = at.address_of(family, is_infiniband ? at.gid() : event.path.source, listener.source.port);
    id.destination = at.address_of(family, is_infiniband ? at.node_by_gid(event.path.address) : event.path.address,
                                   addresses.source_port);
    return kAddressBytes;
  }
  id.source = listener.source;
  id.destination.family = AF_IB;
  if (id.is_datagram()) return 0;
  const std::uint16_t pkey = event.path.pkey;
  id.source.gid = event.path.source;
  id.source.name = {
      .pkey = pkey, .flow_info = event.path.flow_label, .service = event.service_id, .mask = ~std::uint64_t{0}};
  id.destination.gid = event.path.address;
  id.destination.name = {.pkey = pkey, .flow_info = event.path.flow_label};
  return 0;
}

}  // namespace

int Endpoints::bind(Id& id, const Address& wanted, PortOwner port) {
  if (wanted.family == 0) return EAFNOSUPPORT;
  if (id.state != IdState::idle) return EINVAL;
  DevicePort* device_port = nullptr;
  if (!wanted.is_any()) {
    const auto found = devices_.with(wanted);
    if (!found) return found.error();
    device_port = *found;
  }
  Address address = wanted;
  if (address.family == AF_IB) {
    const auto name = name_in_space(id.port_space, address.name);
    if (!name) return EPROTONOSUPPORT;
    address.name = *name;
    if (address.port != 0) set_port(address, address.port);
  }
  // librdmacm binds a wildcard of AF_IB in every process: no device is opened for it before it listens.
  const bool is_trial = address.family == AF_IB && address.is_any() && address.port == 0;
  if (port == PortOwner::process || is_trial) {
    id.source = address;
    set_port(id.source, ports_.ephemeral());
  } else if (const int error = ports_.take(id, address); error != 0) {
    return error;
  }
  id.device_port = device_port;
  id.state = IdState::address_bound;
  return 0;
}

void Endpoints::end(Id& id) {
  for (const DevicePort& one : devices_) {
    if (one.engine() == nullptr) continue;
    one.run_connections([&](cm::ConnectionManager& manager, Time now) {
      if (id.state == IdState::listen) manager.listeners().remove(service_id(id, id.source), id.serial);
      if (id.connection != 0 && id.device_port == &one) manager.destroy(now, id.connection);
      return true;
    });
  }
  if (Id* const listener = ids_.by_serial(id.listener)) ++listener->backlog;
  for (MulticastGroup& group : id.groups) leave(id, group);
  if (id.owns_port()) ports_.release(id);
  ids_.remove(id);
}

void Endpoints::end_all(const std::shared_ptr<Channel>& channel) {
  for (const auto& id : ids_)
    if (id && id->channel == channel) end(*id);
}

void Endpoints::end_all() {
  // The channels stay: a thread of the application may sleep in one of them to the very end.
  for (const auto& id : ids_)
    if (id) end(*id);
  host::Engine::disconnect_all(devices_.engines());
}

void Endpoints::clear() {
  ids_.clear();
  ports_.clear();
  for (const auto& session : sessions_) session->abandon();
  sessions_.clear();
}

// -- On a managed fabric -------------------------------------------------------------------------------------------

int Endpoints::ask(const DevicePort& from, host::SaRequest request, std::uint64_t& id) {
  const auto host = host::managed_host(from.fabric(), from.gid());
  if (!host) return ENODEV;
  auto found = std::ranges::find_if(sessions_, [&](const auto& one) { return one->fabric() == from.fabric(); });
  if (found == sessions_.end()) {
    sessions_.push_back(std::make_unique<SaSession>(from.fabric(), hear_));
    found = sessions_.end() - 1;
  }
  request.host = *host;
  request.id = ++requests_;
  const int error = (*found)->ask(request);
  if (error == 0) id = request.id;
  return error;
}

void Endpoints::leave(const Id& id, MulticastGroup& group) {
  const std::uint64_t request = std::exchange(group.request, 0);
  if (request == 0 || id.device_port == nullptr) return;
  const auto found =
      std::ranges::find_if(sessions_, [&](const auto& one) { return one->fabric() == id.device_port->fabric(); });
  if (found != sessions_.end()) (*found)->ask({.operation = host::SaOperation::leave, .id = request});
}

void Endpoints::take_path_answer(Id& id, const host::SaAnswer& answer) {
  id.route_request = 0;
  if (id.state != IdState::route_query) return;  // its device has gone
  id.state = answer.status == 0 ? IdState::route_resolved : IdState::address_resolved;
  if (answer.status != 0) return report(id, UserEvent::route_error, answer.status);
  take_path(answer.record, id.path);
  id.next_hop = id.path.next_hop;
  report_route(id);
}

void Endpoints::take_group_answer(Id& id, MulticastGroup& group, const host::SaAnswer& answer) {
  if (answer.status == 0) {
    const GroupPath joined = group_path(answer.record);
    const int planned = planned_group_error(id);
    if (planned == 0) return report_joined(id, group, joined.path, joined.qkey);
    leave(id, group);
    return report_lost(id, group, -planned);
  }
  group.request = 0;
  report_lost(id, group, answer.status);
}

void Endpoints::take(const SaSession::News& news) {
  const auto concerns = [&](const Id& id, std::uint64_t request) {
    if (request == 0 || id.device_port == nullptr || id.device_port->fabric() != news.fabric) return false;
    return news.is_over || request == news.answer.id;
  };
  // With the process of the fabric, all that was asked there has gone, and all that was joined.
  const auto answer_or = [&](std::int32_t status) {
    return news.is_over ? host::SaAnswer{.status = status} : news.answer;
  };
  for (const auto& id : ids_) {
    if (id == nullptr) continue;
    if (concerns(*id, id->route_request)) take_path_answer(*id, answer_or(-ETIMEDOUT));
    for (MulticastGroup& group : id->groups)
      if (concerns(*id, group.request)) take_group_answer(*id, group, answer_or(-ENETRESET));
  }
}

// -- Events ----------------------------------------------------------------------------------------------------------

void Endpoints::take_request(DevicePort& at, const cm::Event& event) {
  const auto refuse = [&] {
    at.run_connections([&](cm::ConnectionManager& manager, Time now) {
      manager.destroy(now, event.connection);
      return true;
    });
  };
  Id* const listener = ids_.by_serial(event.context);
  if (listener == nullptr || listener->backlog == 0) return refuse();
  if (refuse_as_planned(at, event)) return;
  const std::uint64_t listener_serial = listener->serial;
  Id* const id = ids_.make(listener->channel, listener->port_space, listener->qp_type);
  if (id == nullptr) return refuse();
  --listener->backlog;
  id->listener = listener_serial;
  id->state = IdState::connect;
  id->connection = event.connection;
  id->device_port = &at;
  const std::size_t skip = set_addresses_of_request(*id, *listener, event);
  id->next_hop = event.path.next_hop;
  id->path = event.path;
  id->traffic_class = listener->traffic_class;
  at.run_connections([&](cm::ConnectionManager& manager, Time) {
    return manager.adopt(event.connection, id->serial, wire::Psn(id->starting_psn));
  });
  rdma_ucm_event_resp response{};
  response.event = static_cast<std::uint32_t>(UserEvent::connect_request);
  response.uid = listener->uid;
  response.id = id->handle;
  if (id->is_datagram()) {
    const auto data = event.private_data.view().subspan(skip);
    response.param.ud.private_data_len = static_cast<std::uint8_t>(data.size());
    std::memcpy(response.param.ud.private_data, data.data(), data.size());
  } else {
    fill(response.param.conn, event, skip);
  }
  report(*listener, response);
}

void Endpoints::take_answer(Id& id, const cm::Event& event) {
  const bool may_be_yes = event.type == cm::EventType::reply || event.type == cm::EventType::service_reply;
  if (may_be_yes && fail_answer_as_planned(id, event)) return;
  rdma_ucm_event_resp response{};
  response.uid = id.uid;
  response.id = id.handle;
  UserEvent type{};
  switch (event.type) {
    case cm::EventType::reply:
      type = UserEvent::connect_response;
      fill(response.param.conn, event, 0);
      break;
    case cm::EventType::ready:
      type = UserEvent::established;
      break;
    case cm::EventType::rejected:
      type = UserEvent::rejected;
      response.status = event.status;
      fill(response.param.conn, event, 0);
      break;
    case cm::EventType::unreachable:
      type = UserEvent::unreachable;
      response.status = static_cast<std::uint32_t>(-ETIMEDOUT);
      break;
    case cm::EventType::disconnected:
      if (id.state != IdState::connect) return;  // told already
      id.state = IdState::disconnect;
      type = UserEvent::disconnected;
      if (event.timed_out) response.status = static_cast<std::uint32_t>(-ETIMEDOUT);
      break;
    case cm::EventType::timewait_over:
      type = UserEvent::timewait_exit;
      break;
    case cm::EventType::service_reply: {
      rdma_ucm_ud_param& ud = response.param.ud;
      const auto data = event.private_data.view();
      ud.private_data_len = static_cast<std::uint8_t>(data.size());
      std::memcpy(ud.private_data, data.data(), data.size());
      type = event.status == 0 ? UserEvent::established : UserEvent::unreachable;
      response.status = event.status;
      if (event.status != 0) break;
      fill_ah(id.path, *id.device_port, ud.ah_attr);
      ud.qp_num = event.offer.qpn.value();
      ud.qkey = event.qkey;
      break;
    }
    case cm::EventType::request:
    case cm::EventType::service_request:
    case cm::EventType::device_removed:
      return;
  }
  response.event = static_cast<std::uint32_t>(type);
  // Nobody can be told of a request that the application has not taken on: its accept will fail.
  if (id.uid == 0) return;
  report(id, response);
}

/// As cma_process_remove tells everybody who has the device. A wildcard listener is not told: it goes on with others,
/// and with this one once it is there again. Each port of the device tells it.
void Endpoints::take_removal(const DevicePort& gone) {
  for (const auto& id : ids_) {
    if (id == nullptr) continue;
    if (std::erase_if(id->listening, [&](const Listening& one) { return one.at == &gone; }) != 0)
      is_hearing_all_ = is_hearing_all_ && id->device_port == &gone;
    if (id->device_port != &gone) continue;
    id->state = IdState::device_removed;
    id->connection = 0;
    ports_.release(*id);
    if (id->uid != 0) report(*id, UserEvent::device_removal);
  }
}

void Endpoints::hear_again() {
  if (is_hearing_all_) return;
  is_hearing_all_ = true;
  for (const auto& id : ids_)
    if (id != nullptr && id->state == IdState::listen && id->source.is_any() && !ports_.listen_on_more(*id))
      is_hearing_all_ = false;
}

void Endpoints::take(const Device& from, std::uint32_t port, const cm::Event& event) {
  DevicePort* const at = devices_.of(from, port);
  if (at == nullptr) return;
  if (event.type == cm::EventType::device_removed) return take_removal(*at);  // the device may be closed already
  if (at->engine() == nullptr) return;
  if (event.type == cm::EventType::request || event.type == cm::EventType::service_request)
    return take_request(*at, event);
  if (Id* const id = ids_.by_serial(event.context)) take_answer(*id, event);
}

}  // namespace verbena::shim::rdma_cm
