// Listeners: who of a process waits for connections, and for which services.
//
// Solely responsible for finding the listener that a request is for. It keeps a number for each, its context, and knows
// neither requests nor connections.
// Tested by: tests/cm/listener_test.cc
#pragma once

#include <cstdint>
#include <map>

#include "wire/management.h"

namespace verbena::cm {

class ConnectionManager;

class Listeners {
 public:
  /// Of a service one may take who asks by IPv4, another who asks by IPv6, and another who names no IP addresses.
  /// False: somebody listens for it already.
  bool add(std::uint64_t service_id, std::uint64_t context, wire::IpVersions who = wire::kAnyIpVersion);
  void remove(std::uint64_t service_id, std::uint64_t context);

  /// The context of who takes such a request. Null: nobody.
  const std::uint64_t* find(std::uint64_t service_id, wire::IpVersions asker) const;
  /// Somebody listens, for whomever.
  bool has(std::uint64_t service_id) const;

 private:
  friend class ConnectionManager;

  void clear() { contexts_.clear(); }

  /// A listener for several versions is there several times.
  struct Key {
    std::uint64_t service_id = 0;
    wire::IpVersion asker{};
    auto operator<=>(const Key&) const = default;
  };
  std::map<Key, std::uint64_t> contexts_;
};

}  // namespace verbena::cm
