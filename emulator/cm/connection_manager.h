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

#include "emulator/cm/connection.h"
#include "emulator/cm/connection_table.h"
#include "emulator/cm/event_queue.h"
#include "emulator/cm/listeners.h"
#include "emulator/cm/mad.h"
#include "emulator/cm/outbox.h"
#include "wire/packet_view.h"

namespace verbena::cm {

struct Config {
  wire::Gid address;
  wire::PathAddress path_address;  // the port's own
  std::uint8_t slot = 0;
  std::uint64_t ca_guid = 0;
  std::uint32_t first_id = 1;         // whatever a former process did not use: its peers may remember
  std::uint16_t udp_source_port = 0;  // 0: chosen here
  std::uint8_t ack_delay = 15;        // exponential, of the local CA
};

class ConnectionManager {
 public:
  static constexpr std::uint8_t kResponseTimeoutMin = 8;  // of a peer's that asks for less: a millisecond
  static constexpr std::uint8_t kReceiptTimeout = 24;     // exponential: how much time an MRA asks for
  // Of a process that ends: DREQ is repeated after 1, 2, 4 ... 64, 64 ... ms.
  static constexpr Duration kDisconnectRepeat = milliseconds(1);
  static constexpr unsigned kDisconnectDoublingsMax = 6;

  explicit ConnectionManager(const Config& config);

  Listeners& listeners() { return listeners_; }
  PeerProcesses& peers() { return table_.peers(); }
  const PeerProcesses& peers() const { return table_.peers(); }
  /// What comes out: datagrams for the wire, and news for who owns the connections.
  Outbox& outbox() { return outbox_; }
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
  bool reject(Time now, ConnectionId id, RejectReason reason, const PrivateData& data);
  /// Sends DREQ, or DREP if the peer has asked.
  bool disconnect(Time now, ConnectionId id);
  /// Data arrived before the RTU (communication established event).
  bool establish(ConnectionId id);
  /// Ends the connection in whatever way its state asks for; no more events of it.
  void destroy(Time now, ConnectionId id);
  const Agreement* agreement(ConnectionId id) const;

  /// This process is about to end, and nobody will repeat its messages for it: what waits for a DREP gets in
  /// milliseconds the repetitions that would have taken a minute.
  void disconnect_all(Time now);
  bool awaits_disconnects() const;
  /// The process that sends a request from a QP number that is in a connection with its slot still: either the request
  /// is wrong (12.9.8.3.1), or the connection was a predecessor's.
  std::optional<PeerProcess> sender_if_stale(const wire::PacketView& packet) const;
  /// A process has ended without a word. Returns what its node's kernel says for it, as frames from there to here: a
  /// DREQ, REJ or SIDR_REP for each of its connections that was made before the probe `before` began. Once for each,
  /// for Linux repeats none of them (cm_destroy_id in cm.c). Nothing ends before such a frame is received.
  std::vector<LastWord> last_words(const PeerProcess& peer, std::uint32_t before);

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
  void receive(Time now, const wire::PacketView& packet);
  void on_deadline(Time now);
  Time next_deadline() const { return table_.next_deadline(); }
  std::size_t connections() const { return table_.size(); }

 private:
  struct Message {
    const wire::MadHeader& header;
    std::span<const std::byte> body;  // behind the MAD header
    Path back;                        // the way to its sender
  };

  // connection_manager.cc
  Duration repeat_time(const Connection& connection) const;
  Duration response_time(const Connection& connection, std::uint8_t exponent) const;
  /// Sends, and again until the deadline is cleared.
  void send_until_answered(Time now, Connection& connection, const Mad& mad);
  void send_reject(const Path& path, std::uint64_t transaction_id, wire::CmReject reject, const PrivateData& data);
  void send_pair(const Connection& connection, wire::CmAttribute attribute, const PrivateData& data = {});
  void send_receipt(const Connection& connection, std::uint8_t message);
  Event& raise(EventType type, const Connection& connection);

  // ending.cc
  std::optional<Mad> last_word_of(const Connection& connection) const;
  void enter_timewait(Time now, Connection& connection);
  void send_disconnect(Time now, Connection& connection);
  void end_by_peer(Time now, Connection& connection, std::uint16_t reason, const PrivateData& data);

  // receive.cc
  void receive_request(Time now, const Message& message);
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
  Connection* known(const Message& message);

  Config config_;
  Listeners listeners_;
  ConnectionTable table_;
  bool leaves_ = false;
  Outbox outbox_;
  EventQueue events_;
};

}  // namespace verbena::cm
