// How connections end: by either side's wish, by refusal, with the process at either end, and TIMEWAIT behind them.
#include <algorithm>

#include "emulator/cm/connection_manager.h"

namespace verbena::cm {

void ConnectionManager::enter_timewait(Time now, Connection& connection) {
  // 12.9.8.4: twice the packet lifetime and the remote CA's delay, which is what the ACK timeout stands for.
  connection.state = State::timewait;
  // The peer's QP number may come again (12.9.8.3.1 is about connections that stand); its ID still tells duplicates.
  table_.forget_peer_qpn(connection);
  table_.set_deadline(connection, now + exponential_time(connection.agreement.ack_timeout));
}

void ConnectionManager::send_disconnect(Time now, Connection& connection) {
  wire::CmDisconnect message;
  message.local_id = connection.id;
  message.remote_id = connection.remote_id;
  message.remote_qpn = connection.agreement.remote_qpn;
  connection.state = State::disconnect_sent;
  send_until_answered(now, connection,
                      make_mad<wire::CmDisconnectLayout>(wire::CmAttribute::disconnect_request,
                                                         transaction_of(connection.id), message, {}));
}

bool ConnectionManager::reject(Time now, ConnectionId id, RejectReason reason, const PrivateData& data) {
  Connection* connection = table_.find(id);
  if (connection == nullptr) return false;
  wire::CmReject message;
  message.local_id = id;
  message.remote_id = connection->remote_id;
  message.reason = static_cast<std::uint16_t>(reason);
  switch (connection->state) {
    case State::request_received:
      message.local_id = 0;
      message.message = wire::kMessageRequest;
      break;
    case State::reply_received:
      message.message = wire::kMessageReply;
      break;
    case State::request_sent:
    case State::reply_sent:
      message.message = wire::kMessageOther;
      break;
    case State::established:
    case State::disconnect_sent:
    case State::disconnect_received:
    case State::timewait:
    case State::service_request_sent:
    case State::service_request_received:
      return false;
  }
  send_reject(connection->agreement.path, connection->transaction_id, message, data);
  enter_timewait(now, *connection);
  return true;
}

bool ConnectionManager::disconnect(Time now, ConnectionId id) {
  Connection* connection = table_.find(id);
  if (connection == nullptr) return false;
  if (connection->state == State::established || connection->state == State::reply_sent ||
      connection->state == State::reply_received) {
    send_disconnect(now, *connection);
    return true;
  }
  if (connection->state != State::disconnect_received) return false;
  send_pair(*connection, wire::CmAttribute::disconnect_reply);
  enter_timewait(now, *connection);
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

/// The peer has ended it in a way that asks for no answer.
void ConnectionManager::end_by_peer(Time now, Connection& connection, std::uint16_t reason, const PrivateData& data) {
  switch (connection.state) {
    case State::request_sent:
    case State::request_received:
    case State::reply_received:
    case State::reply_sent: {
      Event& event = raise(EventType::rejected, connection);
      event.status = reason;
      event.private_data = data;
      return enter_timewait(now, connection);
    }
    case State::established:
      raise(EventType::disconnected, connection);
      return enter_timewait(now, connection);
    case State::disconnect_sent:
    case State::disconnect_received:
    case State::timewait:
    case State::service_request_sent:
    case State::service_request_received:
      return;
  }
}

/// Nothing: the connection is about to end without it.
std::optional<Mad> ConnectionManager::last_word_of(const Connection& connection) const {
  const std::uint64_t transaction = transaction_of(connection.remote_id);
  const auto reject = [&](std::uint8_t about) {
    wire::CmReject message;
    message.local_id = connection.remote_id;
    message.remote_id = connection.id;
    message.message = about;
    message.reason = static_cast<std::uint16_t>(RejectReason::consumer_defined);
    return make_mad<wire::CmRejectLayout>(wire::CmAttribute::reject, transaction, message, {},
                                          wire::kCmRejectInfoBytes);
  };
  switch (connection.state) {
    case State::request_sent:
      return reject(wire::kMessageRequest);
    case State::reply_sent:
      return reject(wire::kMessageReply);
    case State::request_received:
    case State::reply_received:
      return reject(wire::kMessageOther);
    case State::established:
    case State::disconnect_sent: {
      wire::CmDisconnect message;
      message.local_id = connection.remote_id;
      message.remote_id = connection.id;
      message.remote_qpn = connection.local_qpn;
      return make_mad<wire::CmDisconnectLayout>(wire::CmAttribute::disconnect_request, transaction, message, {});
    }
    case State::service_request_sent: {
      wire::CmServiceReply message;
      message.request_id = connection.id;
      message.status = static_cast<std::uint8_t>(ServiceStatus::rejected);
      message.service_id = connection.service_id;
      return make_mad<wire::CmServiceReplyLayout>(wire::CmAttribute::service_reply, connection.transaction_id, message,
                                                  {}, wire::kCmServiceInfoBytes);
    }
    case State::disconnect_received:
    case State::timewait:
    case State::service_request_received:
      return std::nullopt;
  }
  return std::nullopt;
}

std::vector<LastWord> ConnectionManager::last_words(const PeerProcess& peer, std::uint32_t before) {
  std::vector<ConnectionId> left;
  for (const auto& [id, connection] : table_.all()) {
    const Path& path = connection.agreement.path;
    if (path.slot == peer.slot && path.address == peer.address && connection.probe < before && !connection.is_bereft)
      left.push_back(id);
  }
  std::ranges::sort(left);  // the order of events is not that of a hash
  std::vector<LastWord> words;
  for (const ConnectionId id : left) {
    Connection& connection = *table_.find(id);
    const auto mad = last_word_of(connection);
    table_.bereave(connection);
    if (!mad) continue;
    const Path& path = connection.agreement.path;
    wire::FramePath way;
    way.from = path.next_hop;
    way.source = path.address;
    way.to = config_.path_address;
    way.destination = config_.address;
    way.traffic_class = path.traffic_class;
    way.hop_limit = path.hop_limit;
    way.flow_label = path.flow_label;
    LastWord& word = words.emplace_back(frame_bytes_of(way));
    word.resize(write_frame(way, wire::Psn(0), *mad, word, wire::IcrcState::present));
  }
  return words;
}

void ConnectionManager::device_removed() {
  table_.clear();
  listeners_.clear();
  outbox_.clear();
  events_.clear();
  events_.push().type = EventType::device_removed;
}

void ConnectionManager::disconnect_all(Time now) {
  leaves_ = true;
  for (auto& [id, connection] : table_.all()) {
    if (connection.state != State::disconnect_sent) continue;
    connection.retries_left = connection.retries_max;
    table_.set_deadline(connection, now + repeat_time(connection));
  }
}

bool ConnectionManager::awaits_disconnects() const {
  return std::ranges::any_of(table_.all(), [](const auto& it) { return it.second.state == State::disconnect_sent; });
}

}  // namespace verbena::cm
