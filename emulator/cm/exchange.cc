#include "emulator/cm/exchange.h"

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

Exchange::Exchange(const Config& config, ConnectionTable& table)
    : ca_guid_(config.ca_guid), table_(table), outbox_(origin_of(config)) {}

void Exchange::send(const Path& path, const Mad& mad) {
  outbox_.push(path, mad);
}

void Exchange::send_until_answered(Time now, Connection& connection, const Mad& mad) {
  VERBENA_ASSERT(connection.state == State::request_sent || connection.state == State::reply_sent ||
                 connection.state == State::disconnect_sent || connection.state == State::service_request_sent);
  connection.last = mad;
  connection.retries_left = connection.retries_max;
  outbox_.push(connection.agreement.path, mad);
  table_.set_deadline(connection, now + repeat_time(connection));
}

void Exchange::send_reject(const Path& path, std::uint64_t transaction_id, wire::CmReject reject,
                           const PrivateData& data) {
  // 12.6.7.2: who gives up before it was answered says which CA it is, since its peer may know it by that and the
  // sender's ID only. The kernel looks it up so (cm_acquire_rejected_id).
  const bool names_ca = reject.reason == static_cast<std::uint16_t>(RejectReason::timeout);
  if (names_ca) reject.info_bytes = sizeof ca_guid_;
  Mad mad =
      make_mad<wire::CmRejectLayout>(wire::CmAttribute::reject, transaction_id, reject, data, wire::kCmRejectInfoBytes);
  constexpr std::size_t kInfoAt = wire::MadHeaderLayout::bytes + wire::CmRejectLayout::bytes;
  for (std::size_t i = 0; names_ca && i < sizeof ca_guid_; ++i)
    mad[kInfoAt + i] = static_cast<std::byte>(ca_guid_ >> (8 * (sizeof ca_guid_ - 1 - i)));
  outbox_.push(path, mad);
}

void Exchange::send_pair(const Connection& connection, wire::CmAttribute attribute, const PrivateData& data) {
  outbox_.push(connection.agreement.path, make_mad<wire::CmPairLayout>(attribute, connection.transaction_id,
                                                                       {connection.id, connection.remote_id}, data));
}

void Exchange::send_receipt(const Connection& connection, std::uint8_t about) {
  wire::CmReceipt message;
  message.local_id = connection.id;
  message.remote_id = connection.remote_id;
  message.message = about;
  message.service_timeout = kReceiptTimeout;
  outbox_.push(connection.agreement.path, make_mad<wire::CmReceiptLayout>(wire::CmAttribute::message_receipt,
                                                                          connection.transaction_id, message, {}));
}

// -- Time -------------------------------------------------------------------------------------------------------------

Duration Exchange::response_time(const Connection& connection, std::uint8_t exponent) const {
  return exponential_time(exponent) + exponential_time(connection.agreement.path.packet_lifetime) * 2;
}

/// How long a message waits for its answer before it is sent again.
Duration Exchange::repeat_time(const Connection& connection) const {
  if (!hurries_ || connection.state != State::disconnect_sent)
    return response_time(connection, connection.response_timeout);
  const unsigned doublings =
      std::min<unsigned>(connection.retries_max - connection.retries_left, kDisconnectDoublingsMax);
  return kDisconnectRepeat * (std::int64_t{1} << doublings);
}

void Exchange::grant(Time now, Connection& connection, std::uint8_t service_timeout) {
  table_.set_deadline(connection, now + response_time(connection, service_timeout));
}

bool Exchange::repeat(Time now, Connection& connection) {
  if (connection.retries_left == 0) return false;
  --connection.retries_left;
  outbox_.push(connection.agreement.path, connection.last);
  table_.set_deadline(connection, now + repeat_time(connection));
  return true;
}

void Exchange::hurry_disconnects(Time now) {
  hurries_ = true;
  for (auto& [id, connection] : table_.all()) {
    if (connection.state != State::disconnect_sent) continue;
    connection.retries_left = connection.retries_max;
    table_.set_deadline(connection, now + repeat_time(connection));
  }
}

}  // namespace verbena::cm
