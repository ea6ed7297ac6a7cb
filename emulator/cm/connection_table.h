// ConnectionTable: the connections of a communication manager, and how each of them is found.
//
// Solely responsible for them: by their own IDs, by their peers' IDs and QP numbers, by their deadlines, and counted by
// the processes at their other ends. What a state stands for, and what follows it, is not known here.
//
// Private to the communication manager.
// Tested by: tests/cm/connection_test.cc, tests/cm/ending_test.cc
#pragma once

#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "emulator/cm/connection.h"
#include "emulator/cm/mad.h"
#include "emulator/cm/peer_processes.h"

namespace verbena::cm {

enum class State : std::uint8_t {
  request_sent,
  request_received,
  reply_received,
  reply_sent,
  established,
  disconnect_sent,
  disconnect_received,
  timewait,
  service_request_sent,
  service_request_received,
};

struct Connection {
  static constexpr std::uint8_t kResponseTimeout = 20;  // exponential: 4.3 s, as rdma_cm asks for
  static constexpr std::uint8_t kRetriesMax = 15;

  ConnectionId id = 0;
  State state{};
  bool owned = true;    // false: destroyed by the owner, ends by itself
  bool adopted = true;  // false: a request that nobody has taken on yet, and so nobody can be told about
  std::uint32_t remote_id = 0;
  std::uint64_t context = 0;
  std::uint64_t service_id = 0;
  std::uint64_t transaction_id = 0;
  wire::Qpn local_qpn;
  Transport transport = Transport::rc;
  Agreement agreement;
  std::uint32_t probe = 0;  // the last probe before its peer was known
  bool is_bereft = false;   // its peer has ended, and has said its last word
  // How long the peer may take to answer, and how often it is asked again: both are in the REQ, for both sides.
  std::uint8_t response_timeout = kResponseTimeout;
  std::uint8_t retries_max = kRetriesMax;
  Mad last{};  // what is sent again until there is an answer
  std::uint8_t retries_left = 0;
  Time deadline = kNever;
};

class ConnectionTable {
 public:
  static constexpr std::size_t kConnectionsMax = 1 << 17;

  /// `slot`: the process's, in all IDs. `first_id`: of the first connection.
  ConnectionTable(std::uint8_t slot, std::uint32_t first_id) : slot_(slot), next_id_(first_id) {}

  PeerProcesses& peers() { return peers_; }
  const PeerProcesses& peers() const { return peers_; }
  std::size_t size() const { return connections_.size(); }
  /// By their IDs, in no order.
  std::unordered_map<ConnectionId, Connection>& all() { return connections_; }
  const std::unordered_map<ConnectionId, Connection>& all() const { return connections_; }

  /// Null: too many connections.
  Connection* make(std::uint64_t context, const Path& path);
  void erase(ConnectionId id);
  void clear();

  // These give null for none.
  Connection* find(ConnectionId id);
  const Connection* find(ConnectionId id) const;
  const Connection* find_by_peer_id(const wire::Gid& address, std::uint32_t id) const;
  Connection* find_by_peer_id(const wire::Gid& address, std::uint32_t id);
  const Connection* find_by_peer_qpn(const wire::Gid& address, wire::Qpn qpn) const;
  Connection* find_by_peer_qpn(const wire::Gid& address, wire::Qpn qpn);
  /// From now on the connection is found by what it says of its peer: the communication ID, or the QP number.
  void index_peer_id(const Connection& connection);
  void index_peer_qpn(const Connection& connection);
  void forget_peer_qpn(const Connection& connection);

  /// The process at its other end is that of the slot.
  void bind_peer(Connection& connection, std::uint8_t slot);
  /// The process at its other end has ended, and has said its last word.
  void bereave(Connection& connection);

  void set_deadline(Connection& connection, Time deadline);
  Time next_deadline() const { return timers_.empty() ? kNever : timers_.begin()->first; }
  /// Whose deadline is next; there is one.
  Connection& next_due();

 private:
  struct PeerKey {
    wire::Gid address;
    std::uint32_t number = 0;
    auto operator<=>(const PeerKey&) const = default;
  };
  using PeerIndex = std::map<PeerKey, ConnectionId>;

  const Connection* find_in(const PeerIndex& index, const PeerKey& key) const;
  static void forget_in(PeerIndex& index, const PeerKey& key, ConnectionId id);
  void count_peer(Connection& connection);
  void forget_peer(const Connection& connection);

  std::uint8_t slot_;
  std::uint32_t next_id_;
  std::unordered_map<ConnectionId, Connection> connections_;
  PeerIndex by_peer_id_;   // requests received, by the peer's communication ID
  PeerIndex by_peer_qpn_;  // and by its QP number
  PeerProcesses peers_;
  std::set<std::pair<Time, ConnectionId>> timers_;
};

}  // namespace verbena::cm
