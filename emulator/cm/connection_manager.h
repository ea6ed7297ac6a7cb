// ConnectionManager: the communication manager of one process of a node, as a pure state machine over QP1 datagrams.
//
// Solely responsible for connections and service ID resolution (IBTA vol 1, chapter 12): messages, duplicates, retries,
// timeouts, TIMEWAIT. It reads no clock and draws no chance: calls, datagrams and the time go in, datagrams (outbox())
// and events (events()) come out. It does not know ports, addresses of applications or QPs (verbs-shim/rdma_cm), nor
// how the processes of a node share QP1 (emulator/host). Not thread-safe: the engine serialises all calls.
// Tested by: tests/cm/connection_test.cc, tests/cm/ending_test.cc, tests/cm/waiting_test.cc
#pragma once

#include <optional>
#include <vector>

#include "emulator/cm/config.h"
#include "emulator/cm/connection.h"
#include "emulator/cm/connection_table.h"
#include "emulator/cm/ending.h"
#include "emulator/cm/event_queue.h"
#include "emulator/cm/exchange.h"
#include "emulator/cm/listeners.h"
#include "emulator/cm/outbox.h"
#include "emulator/cm/reception.h"
#include "wire/packet_view.h"

namespace verbena::cm {

class ConnectionManager {
 public:
  explicit ConnectionManager(const Config& config);

  Listeners& listeners() { return listeners_; }
  PeerProcesses& peers() { return table_.peers(); }
  const PeerProcesses& peers() const { return table_.peers(); }
  /// What comes out: datagrams for the wire, and news for who owns the connections.
  Outbox& outbox() { return exchange_.outbox(); }
  EventQueue& events() { return events_; }
  const EventQueue& events() const { return events_; }

  /// Sends REQ. 0: too many connections.
  ConnectionId request(Time now, const RequestInit& init);
  // The following return false in a state that does not allow them, or for an unknown connection.
  /// Takes a request on: events of the connection carry `context` from here on. Its QP may be brought up before the
  /// reply, so the PSN that the reply will announce, which this QP expects first, is said now.
  bool adopt(ConnectionId id, std::uint64_t context, wire::Psn starting_psn);
  /// Sends REP.
  bool reply(Time now, ConnectionId id, const Offer& offer, const PrivateData& data);
  /// Sends RTU.
  bool ready(Time now, ConnectionId id, const PrivateData& data);
  bool reject(Time now, ConnectionId id, RejectReason reason, const PrivateData& data) {
    return ending_.reject(now, id, reason, data);
  }
  /// Sends DREQ, or DREP if the peer has asked.
  bool disconnect(Time now, ConnectionId id) { return ending_.disconnect(now, id); }
  /// Data arrived before the RTU (communication established event).
  bool establish(ConnectionId id);
  /// Ends the connection in whatever way its state asks for; no more events of it.
  void destroy(Time now, ConnectionId id);
  const Agreement* agreement(ConnectionId id) const;

  /// This process is about to end, and nobody will repeat its messages for it: what waits for a DREP gets in
  /// milliseconds the repetitions that would have taken a minute.
  void disconnect_all(Time now) { exchange_.hurry_disconnects(now); }
  bool awaits_disconnects() const;
  /// The process that sends a request from a QP number that is in a connection with its slot still: either the request
  /// is wrong (12.9.8.3.1), or the connection was a predecessor's.
  std::optional<PeerProcess> sender_if_stale(const wire::PacketView& packet) const {
    return reception_.sender_if_stale(packet);
  }
  /// A process has ended without a word. Returns what its node's kernel says for it, as frames from there to here: a
  /// DREQ, REJ or SIDR_REP for each of its connections that was made before the probe `before` began. Once for each,
  /// for Linux repeats none of them (cm_destroy_id in cm.c). Nothing ends before such a frame is received.
  std::vector<LastWord> last_words(const PeerProcess& peer, std::uint32_t before) {
    return ending_.last_words(peer, before);
  }

  /// The device has gone, and with it every connection and listener: nothing is sent, and one event tells it.
  void device_removed();

  /// Sends SIDR_REQ.
  ConnectionId request_service(Time now, const RequestInit& init);
  struct ServiceAnswer {
    ServiceStatus status = ServiceStatus::valid;
    wire::Qpn qpn;
    std::uint32_t qkey = 0;
  };
  /// Sends SIDR_REP; the request is done with.
  bool reply_service(Time now, ConnectionId id, const ServiceAnswer& answer, const PrivateData& data);

  /// A datagram for QP1 with the right Q_Key. Bad ones are ignored.
  void receive(Time now, const wire::PacketView& packet) { reception_.receive(now, packet); }
  void on_deadline(Time now);
  Time next_deadline() const { return table_.next_deadline(); }
  std::size_t connections() const { return table_.size(); }

 private:
  Config config_;
  Listeners listeners_;
  EventQueue events_;
  ConnectionTable table_;
  Exchange exchange_;
  Ending ending_;
  Reception reception_;
};

}  // namespace verbena::cm
