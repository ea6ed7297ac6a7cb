// The commands that make and end connections.
// Tested by: tests/shim/rdma_cm/rdma_cm_test.cc
#include <infiniband/ib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "verbs-shim/rdma_cm/administration.h"
#include "verbs-shim/rdma_cm/commands.h"
#include "wire/pkey_table.h"

namespace verbena::shim::rdma_cm {
namespace {

constexpr std::uint32_t kBacklogDefault = 1024;  // as the kernel has it for none and for too many
constexpr std::uint8_t kRetryMax = 7;
constexpr std::uint16_t kRefused = static_cast<std::uint16_t>(cm::RejectReason::invalid_service_id);

/// What REQ and SIDR_REQ have in front of the application's data; between GIDs nothing has.
std::size_t header_bytes(const Id& id) {
  return id.destination.family == AF_IB ? 0 : wire::IpAddressingHeaderLayout::bytes;
}

cm::PrivateData with_addresses(const Id& id, const rdma_ucm_conn_param& parameters) {
  if (header_bytes(id) == 0) {
    auto data =
        cm::PrivateData::of({reinterpret_cast<const std::byte*>(parameters.private_data), parameters.private_data_len});
    // The kernel writes the version of the header that is not there over the first octet (cma_format_hdr).
    if (data.bytes != 0) data.octets[0] = std::byte{0};
    return data;
  }
  wire::IpAddressingHeader header;
  const bool is_ipv4 = id.destination.family == AF_INET;
  header.ip_version = is_ipv4 ? 4 : 6;
  header.source_port = id.source.port;
  header.source = id.source.gid;
  header.destination = id.destination.gid;
  if (is_ipv4) {
    // In the last four octets, and zeros before them: not the form of a GID.
    for (wire::Gid* gid : {&header.source, &header.destination}) gid->octets[10] = gid->octets[11] = 0;
  }
  cm::PrivateData data;
  constexpr std::size_t kHeaderBytes = wire::IpAddressingHeaderLayout::bytes;
  wire::IpAddressingHeaderLayout::emit(header, std::span<std::byte, kHeaderBytes>(data.octets.data(), kHeaderBytes));
  const std::size_t room = data.octets.size() - kHeaderBytes;
  const std::size_t bytes = std::min<std::size_t>(parameters.private_data_len, room);
  std::memcpy(data.octets.data() + kHeaderBytes, parameters.private_data, bytes);
  data.bytes = kHeaderBytes + bytes;
  return data;
}

cm::PrivateData data_of(const void* octets, std::size_t bytes) {
  return cm::PrivateData::of({static_cast<const std::byte*>(octets), bytes});
}

cm::Offer offer_of(const rdma_ucm_conn_param& parameters, std::uint32_t psn) {
  return {.qpn = wire::Qpn(parameters.qp_num),
          .starting_psn = wire::Psn(psn),
          .responder_resources = parameters.responder_resources,
          .initiator_depth = parameters.initiator_depth,
          .retry_count = std::min(kRetryMax, parameters.retry_count),
          .rnr_retry_count = std::min(kRetryMax, parameters.rnr_retry_count),
          .flow_control = parameters.flow_control != 0,
          .srq = parameters.srq != 0};
}

cm::Transport transport_of(std::uint8_t qp_type) {
  if (qp_type == IBV_QPT_UC) return cm::Transport::uc;
  return qp_type == IBV_QPT_XRC_SEND || qp_type == IBV_QPT_XRC_RECV ? cm::Transport::xrc : cm::Transport::rc;
}

/// In the table of the ID's port. Nothing: it is not there.
std::optional<std::uint16_t> place_of_pkey(const Id& id) {
  if (!id.device_port->is_infiniband()) return 0;
  return wire::find_pkey(id.device_port->infiniband_port().pkeys, id.pkey());
}

int accept_datagram(Id& id, const rdma_ucm_conn_param& parameters) {
  const cm::ConnectionManager::ServiceAnswer answer{.status = cm::ServiceStatus::valid,
                                                    .qpn = wire::Qpn(parameters.qp_num),
                                                    .qkey = parameters.qkey != 0 ? parameters.qkey : default_qkey(id)};
  const bool done = id.device_port->run_connections([&](cm::ConnectionManager& manager, Time now) {
    return manager.reply_service(now, id.connection, answer,
                                 data_of(parameters.private_data, parameters.private_data_len));
  });
  return done ? 0 : EINVAL;
}

}  // namespace

int Commands::connect(const Call& call) {
  const auto command = arguments<rdma_ucm_connect>(call.in);
  const auto found = find(call, command.id);
  if (!found) return found.error();
  Id* const id = *found;
  if (command.conn_param.valid == 0) return EINVAL;
  if (id->state != IdState::route_resolved) return EINVAL;
  const std::size_t room = (id->is_datagram() ? wire::kCmPrivateBytes<wire::CmServiceRequestLayout>
                                              : wire::kCmPrivateBytes<wire::CmRequestLayout>)-header_bytes(*id);
  if (command.conn_param.private_data_len > room) return EINVAL;
  cm::RequestInit init;
  init.context = id->serial;
  init.service_id = service_id(*id, id->destination);
  id->path.traffic_class = id->traffic_class.value_or(id->device_port->default_traffic_class());
  const sa_family_t family = id->destination.family;
  const wire::IpVersions asker{family == AF_INET, family == AF_INET6, family == AF_IB};
  const host::ServiceDirectory& services = id->device_port->services();
  const wire::Gid to = id->peer_node();
  const bool by_slot = engine(*id).link_kind().reaches_by_slot;
  // Where a request reaches all processes of a node none has to be named, but one of this machine can be seen to end.
  id->path.slot =
      by_slot ? services.find_process(to, init.service_id, asker) : services.find_listener(to, init.service_id, asker);
  if (engine(*id).link_kind().all_peers_are_here && (by_slot ? !id->path.slot : services.is_deserted(to))) {
    // A node where nothing runs has nobody to refuse; its machine would.
    report(*id, id->is_datagram() ? UserEvent::unreachable : UserEvent::rejected,
           id->is_datagram() ? static_cast<int>(cm::ServiceStatus::invalid_service_id) : kRefused);
    return 0;
  }
  init.path = id->path;
  init.offer = offer_of(command.conn_param, id->starting_psn);
  init.transport = transport_of(id->qp_type);
  init.private_data = with_addresses(*id, command.conn_param);
  id->connection = id->device_port->run_connections([&](cm::ConnectionManager& manager, Time now) {
    return id->is_datagram() ? manager.request_service(now, init) : manager.request(now, init);
  });
  if (id->connection == 0) return ENOMEM;
  id->state = IdState::connect;
  return 0;
}

int Commands::listen(const Call& call) {
  const auto command = arguments<rdma_ucm_listen>(call.in);
  const auto found = find(call, command.id);
  if (!found) return found.error();
  Id* const id = *found;
  if (id->state == IdState::idle) {
    if (const int error = endpoints_.bind(*id, {AF_INET, wire::Gid::from_ipv4(0), 0}); error != 0) return error;
  }
  if (id->state != IdState::address_bound) return EINVAL;
  if (const int error = endpoints_.ports().start_listening(*id); error != 0) return error;
  const bool has_backlog = command.backlog != 0 && command.backlog <= kBacklogDefault;
  id->backlog = has_backlog ? command.backlog : kBacklogDefault;
  id->state = IdState::listen;
  return 0;
}

int Commands::accept(const Call& call) {
  const auto command = arguments<rdma_ucm_accept>(call.in);
  const auto found = find(call, command.id);
  if (!found) return found.error();
  Id* const id = *found;
  if (id->state != IdState::connect) return EINVAL;
  if (command.conn_param.valid == 0) {
    const bool done = id->device_port->run_connections(
        [&](cm::ConnectionManager& manager, Time now) { return manager.ready(now, id->connection, {}); });
    return done ? 0 : EINVAL;
  }
  int error = 0;
  if (id->is_datagram()) {
    error = accept_datagram(*id, command.conn_param);
  } else if (command.conn_param.private_data_len > wire::kCmPrivateBytes<wire::CmReplyLayout>) {
    return EINVAL;
  } else {
    const auto offer = offer_of(command.conn_param, id->starting_psn);
    const auto data = data_of(command.conn_param.private_data, command.conn_param.private_data_len);
    const bool done = id->device_port->run_connections(
        [&](cm::ConnectionManager& manager, Time now) { return manager.reply(now, id->connection, offer, data); });
    error = done ? 0 : EINVAL;
  }
  if (error != 0) return error;
  if (Id* const listener = endpoints_.ids().by_serial(id->listener)) ++listener->backlog;
  id->listener = 0;
  id->uid = command.uid;
  return 0;
}

int Commands::reject(const Call& call) {
  const auto command = arguments<rdma_ucm_reject>(call.in);
  const auto found = find(call, command.id);
  if (!found) return found.error();
  Id* const id = *found;
  if (id->connection == 0) return EINVAL;
  constexpr std::size_t kRejectData = wire::kCmPrivateBytes<wire::CmRejectLayout> - wire::kCmRejectInfoBytes;
  if (command.private_data_len > kRejectData) return EINVAL;
  const auto reason =
      command.reason != 0 ? static_cast<cm::RejectReason>(command.reason) : cm::RejectReason::consumer_defined;
  const auto data = data_of(command.private_data, command.private_data_len);
  const bool done = id->device_port->run_connections([&](cm::ConnectionManager& manager, Time now) {
    if (id->is_datagram())
      return manager.reply_service(now, id->connection, {.status = cm::ServiceStatus::rejected}, data);
    return manager.reject(now, id->connection, reason, data);
  });
  return done ? 0 : EINVAL;
}

int Commands::disconnect(const Call& call) {
  const auto command = arguments<rdma_ucm_disconnect>(call.in);
  const auto found = find(call, command.id);
  if (!found) return found.error();
  Id* const id = *found;
  if (id->connection == 0 || id->is_datagram()) return EINVAL;
  // Whatever the state, as the kernel: a connection that is gone is disconnected.
  id->device_port->run_connections(
      [&](cm::ConnectionManager& manager, Time now) { return manager.disconnect(now, id->connection); });
  return 0;
}

int Commands::init_qp_attributes(const Call& call) {
  const auto command = arguments<rdma_ucm_init_qp_attr>(call.in);
  ib_uverbs_qp_attr response{};
  if (call.out_bytes < sizeof response) return ENOSPC;
  const auto found = find(call, command.id);
  if (!found) return found.error();
  Id* const id = *found;
  if (id->device_port == nullptr || command.qp_state > IBV_QPS_ERR) return EINVAL;
  response.qp_state = command.qp_state;
  response.qp_attr_mask = IBV_QP_STATE;
  std::optional<cm::Agreement> agreed;
  if (id->connection != 0 && !id->is_datagram()) {
    agreed =
        id->device_port->run_connections([&](cm::ConnectionManager& manager, Time) -> std::optional<cm::Agreement> {
          const cm::Agreement* const agreement = manager.agreement(id->connection);
          if (agreement == nullptr) return std::nullopt;
          return *agreement;
        });
    if (!agreed) return EINVAL;
  }
  switch (command.qp_state) {
    case IBV_QPS_INIT:
      response.qp_attr_mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT;
      if (const auto index = place_of_pkey(*id))
        response.pkey_index = *index;
      else
        return ENOENT;
      response.port_num = id->device_port->number();
      if (id->is_datagram()) {
        response.qp_attr_mask |= IBV_QP_QKEY;
        response.qkey = id->qkey != 0 ? id->qkey : default_qkey(*id);
        break;
      }
      response.qp_attr_mask |= IBV_QP_ACCESS_FLAGS;
      if (agreed) {
        response.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
        if (agreed->responder_resources != 0)
          response.qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
      }
      break;
    case IBV_QPS_RTR:
      if (!agreed) return EINVAL;
      response.qp_attr_mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
      fill_ah(agreed->path, *id->device_port, response.ah_attr);
      response.path_mtu = agreed->path.mtu;
      response.dest_qp_num = agreed->remote_qpn.value();
      response.rq_psn = agreed->receive_psn.value();
      if (id->qp_type == IBV_QPT_RC || id->qp_type == IBV_QPT_XRC_RECV) {
        response.qp_attr_mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
        response.max_dest_rd_atomic = agreed->responder_resources;
      }
      break;
    case IBV_QPS_RTS:
      if (!agreed) return EINVAL;
      response.qp_attr_mask |= IBV_QP_SQ_PSN;
      response.sq_psn = agreed->send_psn.value();
      if (id->qp_type != IBV_QPT_UC) {
        response.qp_attr_mask |= IBV_QP_TIMEOUT;
        response.timeout = id->ack_timeout.value_or(agreed->ack_timeout);
      }
      if (id->qp_type == IBV_QPT_RC || id->qp_type == IBV_QPT_XRC_SEND) {
        response.qp_attr_mask |= IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
        response.retry_cnt = agreed->retry_count;
        response.rnr_retry = agreed->rnr_retry_count;
        response.max_rd_atomic = agreed->initiator_depth;
      }
      break;
    default:
      return EINVAL;
  }
  return respond(call, command.response, &response, sizeof response);
}

int Commands::notify(const Call& call) {
  const auto command = arguments<rdma_ucm_notify>(call.in);
  const auto found = find(call, command.id);
  if (!found) return found.error();
  Id* const id = *found;
  if (id->connection == 0) return EINVAL;
  if (command.event != IBV_EVENT_COMM_EST) return 0;
  const bool done = id->device_port->run_connections(
      [&](cm::ConnectionManager& manager, Time) { return manager.establish(id->connection); });
  return done ? 0 : EINVAL;
}

}  // namespace verbena::shim::rdma_cm
