#include "emulator/cm/connection_table.h"

#include "wire/assert.h"

namespace verbena::cm {
namespace {
constexpr std::uint32_t kIdMask = (1u << kIdSlotShift) - 1;
}  // namespace

Connection* ConnectionTable::make(std::uint64_t context, const Path& path) {
  if (connections_.size() >= kConnectionsMax) return nullptr;
  ConnectionId id = 0;
  do {
    id = std::uint32_t{slot_} << kIdSlotShift | (next_id_++ & kIdMask);
  } while ((id & kIdMask) == 0 || connections_.contains(id));
  Connection& connection = connections_[id];
  connection.id = id;
  connection.context = context;
  connection.transaction_id = transaction_of(id);
  connection.agreement.path = path;
  if (path.slot) count_peer(connection);
  return &connection;
}

void ConnectionTable::erase(ConnectionId id) {
  Connection* connection = find(id);
  if (connection == nullptr) return;
  set_deadline(*connection, kNever);
  forget_peer(*connection);
  forget_in(by_peer_id_, {connection->agreement.path.address, connection->remote_id}, id);
  forget_peer_qpn(*connection);
  connections_.erase(id);
}

void ConnectionTable::clear() {
  connections_.clear();
  by_peer_id_.clear();
  by_peer_qpn_.clear();
  peers_.clear();
  timers_.clear();
}

// -- By ID ------------------------------------------------------------------------------------------------------------

const Connection* ConnectionTable::find(ConnectionId id) const {
  const auto found = connections_.find(id);
  return found == connections_.end() ? nullptr : &found->second;
}

Connection* ConnectionTable::find(ConnectionId id) {
  return const_cast<Connection*>(std::as_const(*this).find(id));
}

// -- By the peer's numbers --------------------------------------------------------------------------------------------

const Connection* ConnectionTable::find_in(const PeerIndex& index, const PeerKey& key) const {
  const auto found = index.find(key);
  return found == index.end() ? nullptr : find(found->second);
}

void ConnectionTable::forget_in(PeerIndex& index, const PeerKey& key, ConnectionId id) {
  const auto found = index.find(key);
  if (found != index.end() && found->second == id) index.erase(found);
}

const Connection* ConnectionTable::find_by_peer_id(const wire::Gid& address, std::uint32_t id) const {
  return find_in(by_peer_id_, {address, id});
}

Connection* ConnectionTable::find_by_peer_id(const wire::Gid& address, std::uint32_t id) {
  return const_cast<Connection*>(std::as_const(*this).find_by_peer_id(address, id));
}

const Connection* ConnectionTable::find_by_peer_qpn(const wire::Gid& address, wire::Qpn qpn) const {
  return find_in(by_peer_qpn_, {address, qpn.value()});
}

Connection* ConnectionTable::find_by_peer_qpn(const wire::Gid& address, wire::Qpn qpn) {
  return const_cast<Connection*>(std::as_const(*this).find_by_peer_qpn(address, qpn));
}

void ConnectionTable::index_peer_id(const Connection& connection) {
  by_peer_id_[{connection.agreement.path.address, connection.remote_id}] = connection.id;
}

void ConnectionTable::index_peer_qpn(const Connection& connection) {
  by_peer_qpn_[{connection.agreement.path.address, connection.agreement.remote_qpn.value()}] = connection.id;
}

void ConnectionTable::forget_peer_qpn(const Connection& connection) {
  forget_in(by_peer_qpn_, {connection.agreement.path.address, connection.agreement.remote_qpn.value()}, connection.id);
}

// -- By the peer's process --------------------------------------------------------------------------------------------

void ConnectionTable::count_peer(Connection& connection) {
  const Path& path = connection.agreement.path;
  VERBENA_ASSERT(path.slot.has_value());
  connection.probe = peers_.add({path.address, *path.slot});
}

void ConnectionTable::bind_peer(Connection& connection, std::uint8_t slot) {
  Path& path = connection.agreement.path;
  if (path.slot == slot) return;
  forget_peer(connection);
  path.slot = slot;
  count_peer(connection);
}

void ConnectionTable::forget_peer(const Connection& connection) {
  const Path& path = connection.agreement.path;
  if (path.slot && !connection.is_bereft) peers_.remove({path.address, *path.slot});
}

void ConnectionTable::bereave(Connection& connection) {
  forget_peer(connection);
  connection.is_bereft = true;
}

// -- By deadline ------------------------------------------------------------------------------------------------------

void ConnectionTable::set_deadline(Connection& connection, Time deadline) {
  if (connection.deadline != kNever) {
    const std::size_t erased = timers_.erase({connection.deadline, connection.id});
    VERBENA_ASSERT(erased == 1);
  }
  connection.deadline = deadline;
  if (deadline == kNever) return;
  const bool is_new = timers_.insert({deadline, connection.id}).second;
  VERBENA_ASSERT(is_new);
}

Connection& ConnectionTable::next_due() {
  VERBENA_ASSERT(!timers_.empty());
  Connection* const connection = find(timers_.begin()->second);
  VERBENA_ASSERT(connection != nullptr);
  return *connection;
}

}  // namespace verbena::cm
