// EventQueue: what a communication manager has to tell, until its owner asks.
//
// Solely responsible for the order of events, and for telling nothing about connections that nobody waits to hear of.
// What is an event, ConnectionManager, Ending and Reception say.
// Tested by: tests/cm/connection_test.cc
#pragma once

#include <deque>
#include <optional>

#include "emulator/cm/connection.h"

namespace verbena::cm {

struct Connection;

class EventQueue {
 public:
  std::optional<Event> poll() {
    if (events_.empty()) return std::nullopt;
    const Event event = events_.front();
    events_.pop_front();
    return event;
  }
  bool empty() const { return events_.empty(); }

 private:
  friend class ConnectionManager;
  friend class Ending;
  friend class Reception;

  /// A new event, to be filled in before the next call.
  Event& push() { return events_.emplace_back(); }
  /// The same, about a connection. Told to nobody if the connection is nobody's.
  Event& raise(EventType type, const Connection& connection);
  void clear() { events_.clear(); }
  /// Nobody wants to hear of this connection any more.
  void forget(ConnectionId id) {
    std::erase_if(events_, [id](const Event& event) { return event.connection == id; });
  }

  std::deque<Event> events_;
};

}  // namespace verbena::cm
