#include "emulator/cm/connection_manager.h"

#include <algorithm>

namespace verbena::cm {

ConnectionManager::ConnectionManager(const Config& config)
    : config_(config),
      table_(config.slot, config.first_id),
      exchange_(config_, table_),
      ending_(config_, table_, exchange_, events_),
      reception_(listeners_, table_, exchange_, ending_, events_) {}

// -- Connections -----------------------------------------------------------------------------------------------------

const Agreement* ConnectionManager::agreement(ConnectionId id) const {
  const Connection* connection = table_.find(id);
  return connection == nullptr ? nullptr : &connection->agreement;
}

ConnectionId ConnectionManager::request(Time now, const RequestInit& init) {
  Connection* connection = table_.make(init.context, init.path);
  if (connection == nullptr) return 0;
  const Path& path = init.path;
  connection->state = State::request_sent;
  connection->service_id = init.service_id;
  connection->transport = init.transport;
  connection->local_qpn = init.offer.qpn;
  Agreement& agreement = connection->agreement;
  agreement.receive_psn = init.offer.starting_psn;
  agreement.retry_count = init.offer.retry_count;
  agreement.ack_timeout = ack_timeout_for(path.packet_lifetime, config_.ack_delay);
  wire::CmRequest message;
  message.local_id = connection->id;
  message.service_id = init.service_id;
  message.local_ca_guid = config_.ca_guid;
  message.local_qpn = init.offer.qpn;
  message.initiator_depth = init.offer.initiator_depth;
  message.remote_cm_response_timeout = Connection::kResponseTimeout;
  message.transport_service_type = static_cast<std::uint8_t>(init.transport);
  message.extended_transport_type = init.transport == Transport::xrc ? 1 : 0;
  message.end_to_end_flow_control = init.offer.flow_control;
  message.starting_psn = init.offer.starting_psn;
  message.local_cm_response_timeout = Connection::kResponseTimeout;
  message.pkey = path.pkey;
  message.path_mtu = path.mtu;
  message.max_cm_retries = Connection::kRetriesMax;
  if (init.transport != Transport::xrc) {  // an XRC initiator answers nothing, and is not answered to
    message.responder_resources = init.offer.responder_resources;
    message.retry_count = init.offer.retry_count;
    message.rnr_retry_count = init.offer.rnr_retry_count;
    message.srq = init.offer.srq;
  }
  message.primary_local_gid = path.source != wire::Gid{} ? path.source : config_.address;
  message.primary_remote_gid = path.address;
  if (path.next_hop.medium() == wire::Medium::infiniband) {
    const wire::Lid own = exchange_.outbox().from().lid();
    message.primary_local_lid = (path.source_lid != wire::kLidNone ? path.source_lid : own).value();
    message.primary_remote_lid = path.next_hop.lid().value();
    message.primary_service_level = path.next_hop.service_level();
  }
  message.primary_flow_label = path.flow_label;
  message.primary_packet_rate = path.packet_rate;
  message.primary_traffic_class = path.traffic_class;
  message.primary_hop_limit = path.hop_limit;
  message.primary_subnet_local = path.hop_limit <= 1;
  message.primary_local_ack_timeout = agreement.ack_timeout;
  exchange_.send_until_answered(now, *connection,
                                make_mad<wire::CmRequestLayout>(wire::CmAttribute::request, connection->transaction_id,
                                                                message, init.private_data));
  return connection->id;
}

bool ConnectionManager::adopt(ConnectionId id, std::uint64_t context, wire::Psn starting_psn) {
  Connection* connection = table_.find(id);
  if (connection == nullptr || !connection->owned) return false;
  connection->context = context;
  connection->adopted = true;
  connection->agreement.receive_psn = starting_psn;
  return true;
}

bool ConnectionManager::reply(Time now, ConnectionId id, const Offer& offer, const PrivateData& data) {
  Connection* connection = table_.find(id);
  if (connection == nullptr || connection->state != State::request_received) return false;
  Agreement& agreement = connection->agreement;
  connection->local_qpn = offer.qpn;
  agreement.receive_psn = offer.starting_psn;
  agreement.responder_resources = offer.responder_resources;
  agreement.initiator_depth = offer.initiator_depth;
  wire::CmReply message;
  message.local_id = id;
  message.remote_id = connection->remote_id;
  message.starting_psn = offer.starting_psn;
  message.responder_resources = offer.responder_resources;
  message.target_ack_delay = config_.ack_delay;
  message.rnr_retry_count = offer.rnr_retry_count;
  if (connection->transport == Transport::xrc) {  // annex A14: the target QP stands where an EE context's number did
    message.local_eecn = offer.qpn.value();
    message.srq = true;
  } else {
    message.local_qpn = offer.qpn;
    message.initiator_depth = offer.initiator_depth;
    message.end_to_end_flow_control = offer.flow_control;
    message.srq = offer.srq;
  }
  message.local_ca_guid = config_.ca_guid;
  connection->state = State::reply_sent;
  exchange_.send_until_answered(
      now, *connection,
      make_mad<wire::CmReplyLayout>(wire::CmAttribute::reply, connection->transaction_id, message, data));
  return true;
}

bool ConnectionManager::ready(Time, ConnectionId id, const PrivateData& data) {
  Connection* connection = table_.find(id);
  if (connection == nullptr || connection->state != State::reply_received) return false;
  connection->state = State::established;
  exchange_.send_pair(*connection, wire::CmAttribute::ready_to_use, data);
  return true;
}

bool ConnectionManager::establish(ConnectionId id) {
  Connection* connection = table_.find(id);
  if (connection == nullptr) return false;
  if (connection->state == State::established) return true;
  if (connection->state != State::reply_sent) return false;
  connection->state = State::established;
  table_.set_deadline(*connection, kNever);
  events_.raise(EventType::ready, *connection);
  return true;
}

void ConnectionManager::destroy(Time now, ConnectionId id) {
  Connection* connection = table_.find(id);
  if (connection == nullptr || !connection->owned) return;
  events_.forget(id);
  connection->owned = false;
  switch (connection->state) {
    case State::request_sent:
      reject(now, id, RejectReason::timeout, {});
      break;
    case State::request_received:
    case State::reply_sent:
    case State::reply_received:
      reject(now, id, RejectReason::consumer_defined, {});
      break;
    case State::established:
    case State::disconnect_received:
      disconnect(now, id);
      break;
    case State::service_request_received:
      reply_service(now, id, {.status = ServiceStatus::rejected}, {});
      break;
    case State::service_request_sent:
      table_.erase(id);
      break;
    case State::disconnect_sent:
    case State::timewait:
      break;
  }
}

// -- Service ID resolution -------------------------------------------------------------------------------------------

ConnectionId ConnectionManager::request_service(Time now, const RequestInit& init) {
  Connection* connection = table_.make(init.context, init.path);
  if (connection == nullptr) return 0;
  connection->state = State::service_request_sent;
  connection->service_id = init.service_id;
  wire::CmServiceRequest message;
  message.request_id = connection->id;
  message.pkey = init.path.pkey;
  message.service_id = init.service_id;
  exchange_.send_until_answered(
      now, *connection,
      make_mad<wire::CmServiceRequestLayout>(wire::CmAttribute::service_request, connection->transaction_id, message,
                                             init.private_data));
  return connection->id;
}

bool ConnectionManager::reply_service(Time, ConnectionId id, const ServiceAnswer& answer, const PrivateData& data) {
  const Connection* connection = table_.find(id);
  if (connection == nullptr || connection->state != State::service_request_received) return false;
  wire::CmServiceReply message;
  message.request_id = connection->remote_id;
  message.status = static_cast<std::uint8_t>(answer.status);
  message.qpn = answer.qpn;
  message.qkey = answer.qkey;
  message.service_id = connection->service_id;
  exchange_.send(connection->agreement.path,
                 make_mad<wire::CmServiceReplyLayout>(wire::CmAttribute::service_reply, connection->transaction_id,
                                                      message, data, wire::kCmServiceInfoBytes));
  // Another SIDR_REQ after a lost answer is a new request: there is no connection that could be doubled.
  table_.erase(id);
  return true;
}

// -- The end of the process, or of the device -------------------------------------------------------------------------

bool ConnectionManager::awaits_disconnects() const {
  return std::ranges::any_of(table_.all(), [](const auto& it) { return it.second.state == State::disconnect_sent; });
}

void ConnectionManager::device_removed() {
  table_.clear();
  listeners_.clear();
  exchange_.clear();
  events_.clear();
  events_.push().type = EventType::device_removed;
}

// -- Time -------------------------------------------------------------------------------------------------------------

void ConnectionManager::on_deadline(Time now) {
  while (next_deadline() <= now) {
    Connection& connection = table_.next_due();
    table_.set_deadline(connection, kNever);
    if (connection.state == State::timewait) {
      events_.raise(EventType::timewait_over, connection);
      table_.erase(connection.id);
      continue;
    }
    if (!exchange_.repeat(now, connection)) ending_.give_up(now, connection);
  }
}

}  // namespace verbena::cm
