#include "emulator/cm/event_queue.h"

#include "emulator/cm/connection_table.h"

namespace verbena::cm {

Event& EventQueue::raise(EventType type, const Connection& connection) {
  static thread_local Event ignored;
  const bool is_request = type == EventType::request || type == EventType::service_request;
  if (!connection.owned || (!connection.adopted && !is_request)) return ignored;
  Event& event = push();
  event.type = type;
  event.connection = connection.id;
  event.context = connection.context;
  event.service_id = connection.service_id;
  event.transport = connection.transport;
  event.path = connection.agreement.path;
  return event;
}

}  // namespace verbena::cm
