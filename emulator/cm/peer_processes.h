// PeerProcesses: the processes at the other ends of a process's connections.
//
// Solely responsible for counting connections by the process at their other end, and for telling which of these came
// since somebody last looked after them. Whether they live is found by who looks (emulator/host/engine); what becomes
// of the connections of one that does not is the ConnectionManager's.
//
// A slot is taken again as soon as its process has ended, so that of two connections with the same PeerProcess one may
// be a successor's. A probe tells them apart by when they were made.
// Tested by: tests/cm/ending_test.cc
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "emulator/cm/connection.h"
#include "wire/assert.h"

namespace verbena::cm {

class ConnectionTable;

class PeerProcesses {
 public:
  struct Probe {
    std::uint32_t number = 0;      // greater than that of any probe before
    std::set<PeerProcess> joined;  // who has got a connection since the last one
  };
  Probe begin_probe() { return {++probe_, std::exchange(joined_, {})}; }
  bool has_joined() const { return !joined_.empty(); }
  /// It is to be looked after as if it had just got a connection.
  void suspect(const PeerProcess& peer) { joined_.insert(peer); }
  /// And of how many connections each.
  const std::map<PeerProcess, std::uint32_t>& all() const { return connections_; }

 private:
  friend class ConnectionTable;

  /// One more connection with it. Returns the last probe before.
  std::uint32_t add(const PeerProcess& peer) {
    ++connections_[peer];
    joined_.insert(peer);
    return probe_;
  }
  /// One connection less.
  void remove(const PeerProcess& peer) {
    const auto found = connections_.find(peer);
    VERBENA_ASSERT(found != connections_.end() && found->second != 0);
    if (--found->second == 0) connections_.erase(found);
  }
  /// Nobody has a connection any more.
  void clear() {
    connections_.clear();
    joined_.clear();
  }

  std::map<PeerProcess, std::uint32_t> connections_;
  std::set<PeerProcess> joined_;
  std::uint32_t probe_ = 0;
};

}  // namespace verbena::cm
