// Ending: how the connections of a communication manager end: by either side's wish, by refusal, without an answer,
// with the process at either end, and TIMEWAIT behind them.
//
// Solely responsible for which message says so in which state, and for what the owner is told.
//
// Private to the communication manager.
// Tested by: tests/cm/ending_test.cc
#pragma once

#include <vector>

#include "emulator/cm/config.h"
#include "emulator/cm/connection_table.h"
#include "emulator/cm/event_queue.h"
#include "emulator/cm/exchange.h"

namespace verbena::cm {

class Ending {
 public:
  Ending(const Config& config, ConnectionTable& table, Exchange& exchange, EventQueue& events);

  // As ConnectionManager's.
  bool reject(Time now, ConnectionId id, RejectReason reason, const PrivateData& data);
  bool disconnect(Time now, ConnectionId id);
  std::vector<LastWord> last_words(const PeerProcess& peer, std::uint32_t before);

  void enter_timewait(Time now, Connection& connection);
  void send_disconnect(Time now, Connection& connection);
  /// The peer has ended it in a way that asks for no answer.
  void end_by_peer(Time now, Connection& connection, std::uint16_t reason, const PrivateData& data);
  /// The last message was repeated often enough, and there is no answer.
  void give_up(Time now, Connection& connection);

 private:
  const Config& config_;
  ConnectionTable& table_;
  Exchange& exchange_;
  EventQueue& events_;
};

}  // namespace verbena::cm
