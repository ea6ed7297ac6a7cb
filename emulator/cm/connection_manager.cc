#include "emulator/cm/connection_manager.h"

#include <algorithm>

#include "wire/assert.h"

namespace verbena::cm {
namespace {

wire::FramePath origin_of(const Config& config) {
  wire::FramePath origin;
  origin.from = config.path_address;
  origin.source = config.address;
  if (config.udp_source_port != 0) origin.udp_source_port = config.udp_source_port;
  return origin;
}

}  // namespace

ConnectionManager::ConnectionManager(const Config& config)
    : config_(config), table_(config.slot, config.first_id), outbox_(origin_of(config)) {}

// -- Connections -----------------------------------------------------------------------------------------------------

Duration ConnectionManager::response_time(const Connection& connection, std::uint8_t exponent) const {
  return exponential_time(exponent) + exponential_time(connection.agreement.path.packet_lifetime) * 2;
}

/// How long a message waits for its answer before it is sent again.
Duration ConnectionManager::repeat_time(const Connection& connection) const {
  if (!leaves_ || connection.state != State::disconnect_sent)
    return response_time(connection, connection.response_timeout);
  const unsigned doublings =
      std::min<unsigned>(connection.retries_max - connection.retries_left, kDisconnectDoublingsMax);
  return kDisconnectRepeat * (std::int64_t{1} << doublings);
}

const Agreement* ConnectionManager::agreement(ConnectionId id) const {
  const Connection* connection = table_.find(id);
  return connection == nullptr ? nullptr : &connection->agreement;
}

Event& ConnectionManager::raise(EventType type, const Connection& connection) {
  static thread_local Event ignored;
  const bool is_request = type == EventType::request || type == EventType::service_request;
  if (!connection.owned || (!connection.adopted && !is_request)) return ignored;
  Event& event = events_.push();
  event.type = type;
  event.connection = connection.id;
  event.context = connection.context;
  event.service_id = connection.service_id;
  event.transport = connection.transport;
  event.path = connection.agreement.path;
  return event;
}

// -- Messages --------------------------------------------------------------------------------------------------------

void ConnectionManager::send_until_answered(Time now, Connection& connection, const Mad& mad) {
  VERBENA_ASSERT(connection.state == State::request_sent || connection.state == State::reply_sent ||
                 connection.state == State::disconnect_sent || connection.state == State::service_request_sent);
  connection.last = mad;
  connection.retries_left = connection.retries_max;
  outbox_.push(connection.agreement.path, mad);
  table_.set_deadline(connection, now + repeat_time(connection));
}

void ConnectionManager::send_reject(const Path& path, std::uint64_t transaction_id, wire::CmReject reject,
                                    const PrivateData& data) {
  // 12.6.7.2: who gives up before it was answered says which CA it is, since its peer may know it by that and the
  // sender's ID only. The kernel looks it up so (cm_acquire_rejected_id).
  const bool names_ca = reject.reason == static_cast<std::uint16_t>(RejectReason::timeout);
  if (names_ca) reject.info_bytes = sizeof config_.ca_guid;
  Mad mad =
      make_mad<wire::CmRejectLayout>(wire::CmAttribute::reject, transaction_id, reject, data, wire::kCmRejectInfoBytes);
  constexpr std::size_t kInfoAt = wire::MadHeaderLayout::bytes + wire::CmRejectLayout::bytes;
  for (std::size_t i = 0; names_ca && i < sizeof config_.ca_guid; ++i)
    mad[kInfoAt + i] = static_cast<std::byte>(config_.ca_guid >> (8 * (sizeof config_.ca_guid - 1 - i)));
  outbox_.push(path, mad);
}

void ConnectionManager::send_pair(const Connection& connection, wire::CmAttribute attribute, const PrivateData& data) {
  outbox_.push(connection.agreement.path, make_mad<wire::CmPairLayout>(attribute, connection.transaction_id,
                                                                       {connection.id, connection.remote_id}, data));
}

void ConnectionManager::send_receipt(const Connection& connection, std::uint8_t about) {
  wire::CmReceipt message;
  message.local_id = connection.id;
  message.remote_id = connection.remote_id;
  message.message = about;
  message.service_timeout = kReceiptTimeout;
  outbox_.push(connection.agreement.path, make_mad<wire::CmReceiptLayout>(wire::CmAttribute::message_receipt,
                                                                          connection.transaction_id, message, {}));
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
  message.path_mtu = path.mtu;
  message.max_cm_retries = Connection::kRetriesMax;
  if (init.transport != Transport::xrc) {  // an XRC initiator answers nothing, and is not answered to
    message.responder_resources = init.offer.responder_resources;
    message.retry_count = init.offer.retry_count;
    message.rnr_retry_count = init.offer.rnr_retry_count;
    message.srq = init.offer.srq;
  }
  message.primary_local_gid = config_.address;
  message.primary_remote_gid = path.address;
  message.primary_flow_label = path.flow_label;
  message.primary_packet_rate = path.packet_rate;
  message.primary_traffic_class = path.traffic_class;
  message.primary_hop_limit = path.hop_limit;
  message.primary_subnet_local = path.hop_limit <= 1;
  message.primary_local_ack_timeout = agreement.ack_timeout;
  send_until_answered(now, *connection,
                      make_mad<wire::CmRequestLayout>(wire::CmAttribute::request, connection->transaction_id, message,
                                                      init.private_data));
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
  send_until_answered(
      now, *connection,
      make_mad<wire::CmReplyLayout>(wire::CmAttribute::reply, connection->transaction_id, message, data));
  return true;
}

bool ConnectionManager::ready(Time, ConnectionId id, const PrivateData& data) {
  Connection* connection = table_.find(id);
  if (connection == nullptr || connection->state != State::reply_received) return false;
  connection->state = State::established;
  send_pair(*connection, wire::CmAttribute::ready_to_use, data);
  return true;
}

bool ConnectionManager::establish(ConnectionId id) {
  Connection* connection = table_.find(id);
  if (connection == nullptr) return false;
  if (connection->state == State::established) return true;
  if (connection->state != State::reply_sent) return false;
  connection->state = State::established;
  table_.set_deadline(*connection, kNever);
  raise(EventType::ready, *connection);
  return true;
}

// -- Service ID resolution -------------------------------------------------------------------------------------------

ConnectionId ConnectionManager::request_service(Time now, const RequestInit& init) {
  Connection* connection = table_.make(init.context, init.path);
  if (connection == nullptr) return 0;
  connection->state = State::service_request_sent;
  connection->service_id = init.service_id;
  wire::CmServiceRequest message;
  message.request_id = connection->id;
  message.service_id = init.service_id;
  send_until_answered(now, *connection,
                      make_mad<wire::CmServiceRequestLayout>(wire::CmAttribute::service_request,
                                                             connection->transaction_id, message, init.private_data));
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
  outbox_.push(connection->agreement.path,
               make_mad<wire::CmServiceReplyLayout>(wire::CmAttribute::service_reply, connection->transaction_id,
                                                    message, data, wire::kCmServiceInfoBytes));
  // Another SIDR_REQ after a lost answer is a new request: there is no connection that could be doubled.
  table_.erase(id);
  return true;
}

// -- Time -------------------------------------------------------------------------------------------------

void ConnectionManager::on_deadline(Time now) {
  while (next_deadline() <= now) {
    Connection& connection = table_.next_due();
    table_.set_deadline(connection, kNever);
    if (connection.state == State::timewait) {
      raise(EventType::timewait_over, connection);
      table_.erase(connection.id);
      continue;
    }
    if (connection.retries_left > 0) {
      --connection.retries_left;
      outbox_.push(connection.agreement.path, connection.last);
      table_.set_deadline(connection, now + repeat_time(connection));
      continue;
    }
    switch (connection.state) {
      case State::disconnect_sent:
        raise(EventType::disconnected, connection).timed_out = true;
        enter_timewait(now, connection);
        break;
      case State::request_sent:
      case State::reply_sent:
        raise(EventType::unreachable, connection);
        reject(now, connection.id, RejectReason::timeout, {});
        break;
      case State::service_request_sent:
        raise(EventType::unreachable, connection);
        table_.erase(connection.id);
        break;
      case State::request_received:
      case State::reply_received:
      case State::established:
      case State::disconnect_received:
      case State::timewait:
      case State::service_request_received:
        break;
    }
  }
}

}  // namespace verbena::cm
