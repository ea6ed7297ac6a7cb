#include "emulator/cm/ending.h"

#include <algorithm>
#include <optional>

namespace verbena::cm {
namespace {

/// Nothing: the connection is about to end without it.
std::optional<Mad> last_word_of(const Connection& connection) {
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

}  // namespace

Ending::Ending(const Config& config, ConnectionTable& table, Exchange& exchange, EventQueue& events)
    : config_(config), table_(table), exchange_(exchange), events_(events) {}

void Ending::enter_timewait(Time now, Connection& connection) {
  // 12.9.8.4: twice the packet lifetime and the remote CA's delay, which is what the ACK timeout stands for.
  connection.state = State::timewait;
  // The peer's QP number may come again (12.9.8.3.1 is about connections that stand); its ID still tells duplicates.
  table_.forget_peer_qpn(connection);
  table_.set_deadline(connection, now + exponential_time(connection.agreement.ack_timeout));
}

void Ending::send_disconnect(Time now, Connection& connection) {
  wire::CmDisconnect message;
  message.local_id = connection.id;
  message.remote_id = connection.remote_id;
  message.remote_qpn = connection.agreement.remote_qpn;
  connection.state = State::disconnect_sent;
  exchange_.send_until_answered(now, connection,
                                make_mad<wire::CmDisconnectLayout>(wire::CmAttribute::disconnect_request,
                                                                   transaction_of(connection.id), message, {}));
}

bool Ending::reject(Time now, ConnectionId id, RejectReason reason, const PrivateData& data) {
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
  exchange_.send_reject(connection->agreement.path, connection->transaction_id, message, data);
  enter_timewait(now, *connection);
  return true;
}

bool Ending::disconnect(Time now, ConnectionId id) {
  Connection* connection = table_.find(id);
  if (connection == nullptr) return false;
  if (connection->state == State::established || connection->state == State::reply_sent ||
      connection->state == State::reply_received) {
    send_disconnect(now, *connection);
    return true;
  }
  if (connection->state != State::disconnect_received) return false;
  exchange_.send_pair(*connection, wire::CmAttribute::disconnect_reply);
  enter_timewait(now, *connection);
  return true;
}

void Ending::end_by_peer(Time now, Connection& connection, std::uint16_t reason, const PrivateData& data) {
  switch (connection.state) {
    case State::request_sent:
    case State::request_received:
    case State::reply_received:
    case State::reply_sent: {
      Event& event = events_.raise(EventType::rejected, connection);
      event.status = reason;
      event.private_data = data;
      return enter_timewait(now, connection);
    }
    case State::established:
      events_.raise(EventType::disconnected, connection);
      return enter_timewait(now, connection);
    case State::disconnect_sent:
    case State::disconnect_received:
    case State::timewait:
    case State::service_request_sent:
    case State::service_request_received:
      return;
  }
}

void Ending::give_up(Time now, Connection& connection) {
  switch (connection.state) {
    case State::disconnect_sent:
      events_.raise(EventType::disconnected, connection).timed_out = true;
      enter_timewait(now, connection);
      break;
    case State::request_sent:
    case State::reply_sent:
      events_.raise(EventType::unreachable, connection);
      reject(now, connection.id, RejectReason::timeout, {});
      break;
    case State::service_request_sent:
      events_.raise(EventType::unreachable, connection);
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

std::vector<LastWord> Ending::last_words(const PeerProcess& peer, std::uint32_t before) {
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
    way.encapsulation = path.encapsulation;
    way.from = path.next_hop;
    way.source = path.address;
    way.to = exchange_.outbox().from();
    way.destination = path.source != wire::Gid{} ? path.source : config_.address;
    way.traffic_class = path.traffic_class;
    way.hop_limit = path.hop_limit;
    way.flow_label = path.flow_label;
    LastWord& word = words.emplace_back(frame_bytes_of(way));
    word.resize(write_frame(way, {wire::Psn(0), path.pkey}, *mad, word, wire::IcrcState::present));
  }
  return words;
}

}  // namespace verbena::cm
