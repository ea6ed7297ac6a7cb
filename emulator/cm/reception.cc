#include "emulator/cm/reception.h"

#include <algorithm>

#include "emulator/cm/message.h"

namespace verbena::cm {
namespace {

constexpr std::uint8_t kPathsNotSupported = 2;  // 12.8.2.1: APR status

template <class MessageLayout>
PrivateData private_data(std::span<const std::byte> body, std::size_t skip = 0) {
  return PrivateData::of(body.subspan(MessageLayout::bytes + skip));
}

}  // namespace

Reception::Reception(Listeners& listeners, ConnectionTable& table, Exchange& exchange, Ending& ending,
                     EventQueue& events)
    : listeners_(listeners), table_(table), exchange_(exchange), ending_(ending), events_(events) {}

std::optional<PeerProcess> Reception::sender_if_stale(const wire::PacketView& packet) const {
  const auto header = mad_header(packet);
  if (!header || header->attribute != wire::CmAttribute::request) return std::nullopt;
  const auto request = parse<wire::CmRequestLayout>(packet.payload().subspan(wire::MadHeaderLayout::bytes));
  const wire::Gid address = packet.source();
  const Connection* same_qp = table_.find_by_peer_qpn(address, request.local_qpn);
  if (same_qp == nullptr || table_.find_by_peer_id(address, request.local_id) != nullptr) return std::nullopt;
  const PeerProcess peer{address, slot_of_id(request.local_id)};
  if (same_qp->agreement.path.slot != peer.slot) return std::nullopt;
  return peer;
}

void Reception::receive(Time now, const wire::PacketView& packet) {
  const auto header = mad_header(packet);
  if (!header) return;
  Path back;
  back.address = packet.source();
  back.source = packet.destination();
  back.next_hop = packet.network().last_hop();
  back.encapsulation = &packet.network().encapsulation();
  back.traffic_class = packet.network().traffic_class() & 0xfc;
  back.pkey = packet.bth().pkey;
  const Message message{*header, packet.payload().subspan(wire::MadHeaderLayout::bytes), back};
  switch (header->attribute) {
    case wire::CmAttribute::request:
      return receive_request(now, message);
    case wire::CmAttribute::message_receipt:
      return receive_receipt(now, message);
    case wire::CmAttribute::reject:
      return receive_reject(now, message);
    case wire::CmAttribute::reply:
      return receive_reply(message);
    case wire::CmAttribute::ready_to_use:
      return receive_ready(message);
    case wire::CmAttribute::disconnect_request:
      return receive_disconnect(now, message);
    case wire::CmAttribute::disconnect_reply:
      return receive_disconnect_reply(now, message);
    case wire::CmAttribute::service_request:
      return receive_service_request(message);
    case wire::CmAttribute::service_reply:
      return receive_service_reply(message);
    case wire::CmAttribute::load_alternate_path:
      return refuse_path(message);
    case wire::CmAttribute::alternate_path_response:
      return;
  }
}

Connection* Reception::known(const Message& message) {
  const auto pair = parse<wire::CmPairLayout>(message.body);
  Connection* connection = table_.find(pair.remote_id);
  if (connection == nullptr || connection->agreement.path.address != message.back.address) return nullptr;
  if (connection->remote_id != 0 && connection->remote_id != pair.local_id) return nullptr;
  return connection;
}

void Reception::receive_request(Time now, const Message& message) {
  const auto request = parse<wire::CmRequestLayout>(message.body);
  Path path = message.back;
  path.slot = slot_of_id(request.local_id);
  path.pkey = request.pkey;
  path.mtu = request.path_mtu;
  path.packet_rate = request.primary_packet_rate;
  path.packet_lifetime = static_cast<std::uint8_t>(std::max(1, int{request.primary_local_ack_timeout}) - 1);
  path.flow_label = request.primary_flow_label;
  path.traffic_class = request.primary_traffic_class;
  if (const Connection* same = table_.find_by_peer_id(path.address, request.local_id))
    return receive_again(*same, message);
  wire::CmReject refusal;
  refusal.remote_id = request.local_id;
  // 12.9.8.3.1: the peer's QP number is in a connection still, so one of the two is stale: both go.
  if (Connection* old = table_.find_by_peer_qpn(path.address, request.local_qpn)) {
    if (old->state == State::established || old->state == State::reply_sent) {
      events_.raise(EventType::disconnected, *old);
      ending_.send_disconnect(now, *old);
    }
    refusal.reason = static_cast<std::uint16_t>(RejectReason::stale_connection);
    return exchange_.send_reject(path, message.header.transaction_id, refusal, {});
  }
  const auto* const listener = listeners_.find(request.service_id, asker_of<wire::CmRequestLayout>(message.body));
  Connection* connection = listener != nullptr ? table_.make(*listener, path) : nullptr;
  if (connection == nullptr) {
    // As the kernel: whoever listens here, but not for this IP version, turns the request down itself.
    const bool is_for_others = listener == nullptr && listeners_.has(request.service_id);
    const RejectReason reason = is_for_others ? RejectReason::consumer_defined : RejectReason::invalid_service_id;
    refusal.reason = static_cast<std::uint16_t>(reason);
    return exchange_.send_reject(path, message.header.transaction_id, refusal, {});
  }
  connection->state = State::request_received;
  connection->adopted = false;
  connection->remote_id = request.local_id;
  connection->service_id = request.service_id;
  connection->transaction_id = message.header.transaction_id;
  connection->response_timeout = std::max(request.local_cm_response_timeout, kResponseTimeoutMin);
  connection->retries_max = request.max_cm_retries;
  connection->transport = request.transport_service_type == 0   ? Transport::rc
                          : request.transport_service_type == 1 ? Transport::uc
                                                                : Transport::xrc;
  Agreement& agreement = connection->agreement;
  agreement.remote_qpn = request.local_qpn;
  agreement.send_psn = request.starting_psn;
  agreement.responder_resources = request.initiator_depth;
  agreement.initiator_depth = request.responder_resources;
  agreement.retry_count = request.retry_count;
  agreement.rnr_retry_count = request.rnr_retry_count;
  agreement.ack_timeout = request.primary_local_ack_timeout;
  table_.index_peer_id(*connection);
  table_.index_peer_qpn(*connection);
  Event& event = events_.raise(EventType::request, *connection);
  event.offer = {.qpn = request.local_qpn,
                 .starting_psn = request.starting_psn,
                 .responder_resources = request.initiator_depth,
                 .initiator_depth = request.responder_resources,
                 .retry_count = request.retry_count,
                 .rnr_retry_count = request.rnr_retry_count,
                 .flow_control = request.end_to_end_flow_control,
                 .srq = request.srq};
  event.private_data = private_data<wire::CmRequestLayout>(message.body);
}

void Reception::receive_again(const Connection& connection, const Message& message) {
  switch (connection.state) {
    case State::request_received:
      return exchange_.send_receipt(connection, wire::kMessageRequest);
    case State::reply_sent:
      return exchange_.send(connection.agreement.path, connection.last);
    case State::timewait: {
      wire::CmReject refusal;
      refusal.remote_id = connection.remote_id;
      refusal.reason = static_cast<std::uint16_t>(RejectReason::stale_connection);
      return exchange_.send_reject(connection.agreement.path, message.header.transaction_id, refusal, {});
    }
    case State::request_sent:
    case State::reply_received:
    case State::established:
    case State::disconnect_sent:
    case State::disconnect_received:
    case State::service_request_sent:
    case State::service_request_received:
      return;
  }
}

void Reception::receive_reply(const Message& message) {
  const auto reply = parse<wire::CmReplyLayout>(message.body);
  Connection* connection = known(message);
  if (connection == nullptr) {
    // 12.9.8.2: what is not known here cannot be confirmed; the peer need not wait for its timeout.
    wire::CmReject refusal;
    refusal.local_id = reply.remote_id;
    refusal.remote_id = reply.local_id;
    refusal.message = wire::kMessageReply;
    refusal.reason = static_cast<std::uint16_t>(RejectReason::invalid_communication_id);
    Path back = message.back;
    back.slot = slot_of_id(reply.local_id);
    return exchange_.send_reject(back, message.header.transaction_id, refusal, {});
  }
  if (connection->state == State::established) return exchange_.send_pair(*connection, wire::CmAttribute::ready_to_use);
  if (connection->state == State::reply_received) return exchange_.send_receipt(*connection, wire::kMessageReply);
  if (connection->state != State::request_sent) return;
  connection->state = State::reply_received;
  table_.set_deadline(*connection, kNever);
  connection->remote_id = reply.local_id;
  Agreement& agreement = connection->agreement;
  table_.bind_peer(*connection, slot_of_id(reply.local_id));
  const bool is_xrc = connection->transport == Transport::xrc;
  agreement.remote_qpn = is_xrc ? wire::Qpn(reply.local_eecn) : reply.local_qpn;
  agreement.send_psn = reply.starting_psn;
  agreement.responder_resources = reply.initiator_depth;
  agreement.initiator_depth = reply.responder_resources;
  agreement.rnr_retry_count = reply.rnr_retry_count;
  agreement.ack_timeout = ack_timeout_for(agreement.path.packet_lifetime, reply.target_ack_delay);
  table_.index_peer_qpn(*connection);
  Event& event = events_.raise(EventType::reply, *connection);
  event.offer = {.qpn = agreement.remote_qpn,
                 .starting_psn = reply.starting_psn,
                 .responder_resources = reply.initiator_depth,
                 .initiator_depth = reply.responder_resources,
                 .rnr_retry_count = reply.rnr_retry_count,
                 .flow_control = reply.end_to_end_flow_control,
                 .srq = reply.srq};
  event.private_data = private_data<wire::CmReplyLayout>(message.body);
}

void Reception::receive_ready(const Message& message) {
  Connection* connection = known(message);
  if (connection == nullptr || connection->state != State::reply_sent) return;
  connection->state = State::established;
  table_.set_deadline(*connection, kNever);
  events_.raise(EventType::ready, *connection).private_data = private_data<wire::CmPairLayout>(message.body);
}

void Reception::receive_reject(Time now, const Message& message) {
  const auto reject = parse<wire::CmRejectLayout>(message.body);
  // A REQ that timed out is rejected by an ID that the passive side knows as the remote one only.
  Connection* connection = known(message);
  if (connection == nullptr && reject.remote_id == 0)
    connection = table_.find_by_peer_id(message.back.address, reject.local_id);
  if (connection == nullptr) return;
  ending_.end_by_peer(now, *connection, reject.reason,
                      private_data<wire::CmRejectLayout>(message.body, wire::kCmRejectInfoBytes));
}

void Reception::receive_receipt(Time now, const Message& message) {
  const auto receipt = parse<wire::CmReceiptLayout>(message.body);
  Connection* connection = known(message);
  if (connection == nullptr) return;
  const bool about_request = receipt.message == wire::kMessageRequest && connection->state == State::request_sent;
  const bool about_reply = receipt.message == wire::kMessageReply && connection->state == State::reply_sent;
  if (about_request || about_reply) exchange_.grant(now, *connection, receipt.service_timeout);
  if (about_request) table_.bind_peer(*connection, slot_of_id(receipt.local_id));
}

void Reception::receive_disconnect(Time now, const Message& message) {
  const auto request = parse<wire::CmDisconnectLayout>(message.body);
  Connection* connection = known(message);
  if (connection == nullptr) {
    // 12.9.8.3: gone already, or never there; in either case the peer may stop asking.
    Path back = message.back;
    back.slot = slot_of_id(request.local_id);
    return exchange_.send(
        back, make_mad<wire::CmPairLayout>(wire::CmAttribute::disconnect_reply, message.header.transaction_id,
                                           {request.remote_id, request.local_id}, {}));
  }
  if (request.remote_qpn != connection->local_qpn) return;  // 12.9.8.3: of a connection that had the same ID
  switch (connection->state) {
    case State::established:
    case State::reply_sent:
    case State::reply_received:
      table_.set_deadline(*connection, kNever);
      connection->transaction_id = message.header.transaction_id;
      connection->state = State::disconnect_received;
      events_.raise(EventType::disconnected, *connection);
      return;
    case State::disconnect_sent:
      // Both asked at once: each answers the other.
      exchange_.send_pair(*connection, wire::CmAttribute::disconnect_reply);
      events_.raise(EventType::disconnected, *connection);
      return ending_.enter_timewait(now, *connection);
    case State::timewait:
      return exchange_.send_pair(*connection, wire::CmAttribute::disconnect_reply);
    case State::disconnect_received:
    case State::request_sent:
    case State::request_received:
    case State::service_request_sent:
    case State::service_request_received:
      return;
  }
}

void Reception::receive_disconnect_reply(Time now, const Message& message) {
  Connection* connection = known(message);
  if (connection == nullptr || connection->state != State::disconnect_sent) return;
  events_.raise(EventType::disconnected, *connection);
  ending_.enter_timewait(now, *connection);
}

void Reception::receive_service_request(const Message& message) {
  const auto request = parse<wire::CmServiceRequestLayout>(message.body);
  Path path = message.back;
  path.slot = slot_of_id(request.request_id);
  path.pkey = request.pkey;
  if (table_.find_by_peer_id(path.address, request.request_id) != nullptr)
    return;  // asked already, and not yet answered
  const auto* const listener =
      listeners_.find(request.service_id, asker_of<wire::CmServiceRequestLayout>(message.body));
  Connection* connection = listener != nullptr ? table_.make(*listener, path) : nullptr;
  if (connection == nullptr) {
    wire::CmServiceReply refusal;
    refusal.request_id = request.request_id;
    const bool is_for_others = listener == nullptr && listeners_.has(request.service_id);
    const ServiceStatus status = is_for_others ? ServiceStatus::rejected : ServiceStatus::invalid_service_id;
    refusal.status = static_cast<std::uint8_t>(status);
    refusal.service_id = request.service_id;
    return exchange_.send(path, make_mad<wire::CmServiceReplyLayout>(wire::CmAttribute::service_reply,
                                                                     message.header.transaction_id, refusal, {}));
  }
  connection->state = State::service_request_received;
  connection->adopted = false;
  connection->remote_id = request.request_id;
  connection->service_id = request.service_id;
  connection->transaction_id = message.header.transaction_id;
  table_.index_peer_id(*connection);
  events_.raise(EventType::service_request, *connection).private_data =
      private_data<wire::CmServiceRequestLayout>(message.body);
}

void Reception::receive_service_reply(const Message& message) {
  const auto reply = parse<wire::CmServiceReplyLayout>(message.body);
  Connection* connection = table_.find(reply.request_id);
  if (connection == nullptr || connection->state != State::service_request_sent ||
      connection->agreement.path.address != message.back.address)
    return;
  Event& event = events_.raise(EventType::service_reply, *connection);
  event.status = reply.status;
  event.offer.qpn = reply.qpn;
  event.qkey = reply.qkey;
  event.private_data = private_data<wire::CmServiceReplyLayout>(message.body, wire::kCmServiceInfoBytes);
  table_.erase(connection->id);
}

void Reception::refuse_path(const Message& message) {
  const Connection* connection = known(message);
  if (connection == nullptr || connection->state != State::established) return;
  wire::CmPathResponse response;
  response.local_id = connection->id;
  response.remote_id = connection->remote_id;
  response.status = kPathsNotSupported;
  exchange_.send(connection->agreement.path,
                 make_mad<wire::CmPathResponseLayout>(wire::CmAttribute::alternate_path_response,
                                                      message.header.transaction_id, response, {}));
}

}  // namespace verbena::cm
