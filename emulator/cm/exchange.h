// Exchange: what a communication manager sends, and sends again until there is an answer.
//
// Solely responsible for how long an answer is waited for, how often a message is repeated, and for the messages that
// need nothing but a connection's numbers. What a connection does without an answer is not decided here.
//
// Private to the communication manager.
// Tested by: tests/cm/waiting_test.cc
#pragma once

#include <cstdint>

#include "emulator/cm/config.h"
#include "emulator/cm/connection_table.h"
#include "emulator/cm/mad.h"
#include "emulator/cm/outbox.h"

namespace verbena::cm {

class Exchange {
 public:
  static constexpr std::uint8_t kReceiptTimeout = 24;  // exponential: how much time an MRA asks for
  // Of a process that ends: DREQ is repeated after 1, 2, 4 ... 64, 64 ... ms.
  static constexpr Duration kDisconnectRepeat = milliseconds(1);
  static constexpr unsigned kDisconnectDoublingsMax = 6;

  Exchange(const Config& config, ConnectionTable& table);
  Exchange(const Exchange&) = delete;  // what holds one does not move: its parts refer to each other

  Outbox& outbox() { return outbox_; }
  void send(const Path& path, const Mad& mad);
  /// Sends, and again until the deadline is cleared.
  void send_until_answered(Time now, Connection& connection, const Mad& mad);
  void send_reject(const Path& path, std::uint64_t transaction_id, wire::CmReject reject, const PrivateData& data);
  void send_pair(const Connection& connection, wire::CmAttribute attribute, const PrivateData& data = {});
  void send_receipt(const Connection& connection, std::uint8_t message);
  void clear() { outbox_.clear(); }

  /// The peer has asked for that much time (MRA).
  void grant(Time now, Connection& connection, std::uint8_t service_timeout);
  /// The deadline of a message has come. False: it has been repeated often enough.
  bool repeat(Time now, Connection& connection);
  /// The process is about to end: each DREQ gets in milliseconds the repetitions that would have taken a minute.
  void hurry_disconnects(Time now);

 private:
  Duration repeat_time(const Connection& connection) const;
  Duration response_time(const Connection& connection, std::uint8_t exponent) const;

  std::uint64_t ca_guid_;
  ConnectionTable& table_;
  Outbox outbox_;
  bool hurries_ = false;
};

}  // namespace verbena::cm
