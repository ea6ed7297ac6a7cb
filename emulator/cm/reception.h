// Reception: what the communication manager does with each message that arrives (IBTA vol 1, 12.9: the state tables).
//
// Solely responsible for which connection a message is about, and for what follows from it in which state. Bad messages
// are ignored.
//
// Private to the communication manager.
// Tested by: tests/cm/connection_test.cc
#pragma once

#include <optional>
#include <span>

#include "emulator/cm/connection_table.h"
#include "emulator/cm/ending.h"
#include "emulator/cm/event_queue.h"
#include "emulator/cm/exchange.h"
#include "emulator/cm/listeners.h"
#include "emulator/cm/message.h"

namespace verbena::cm {

class Reception {
 public:
  static constexpr std::uint8_t kResponseTimeoutMin = 8;  // of a peer's that asks for less: a millisecond

  Reception(Listeners& listeners, ConnectionTable& table, Exchange& exchange, Ending& ending, EventQueue& events);

  // As ConnectionManager's.
  void receive(Time now, const wire::PacketView& packet);
  std::optional<PeerProcess> sender_if_stale(const wire::PacketView& packet) const;

 private:
  struct Message {
    const wire::MadHeader& header;
    std::span<const std::byte> body;  // behind the MAD header
    Path back;                        // the way to its sender
  };

  /// The connection that a message between known ends speaks of: both IDs and the address fit.
  Connection* known(const Message& message);
  void receive_request(Time now, const Message& message);
  /// The same REQ once more (12.9.8.2).
  void receive_again(const Connection& connection, const Message& message);
  void receive_reply(const Message& message);
  void receive_ready(const Message& message);
  void receive_reject(Time now, const Message& message);
  void receive_receipt(Time now, const Message& message);
  void receive_disconnect(Time now, const Message& message);
  void receive_disconnect_reply(Time now, const Message& message);
  void receive_service_request(const Message& message);
  void receive_service_reply(const Message& message);
  void refuse_path(const Message& message);

  Listeners& listeners_;
  ConnectionTable& table_;
  Exchange& exchange_;
  Ending& ending_;
  EventQueue& events_;
};

}  // namespace verbena::cm
