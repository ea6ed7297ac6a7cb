// ServiceDirectory: which process of a node of this machine listens for which service ID.
//
// Solely responsible for the node-wide space of service IDs (rdma_cm's ports lie in it) and for finding the process
// that a connection request has to reach. Names (abstract_name.h): verbena-cm/UID/FABRIC/ADDRESS/SERVICE is the claim,
// the same with /SLOT says who listens, and .../node/SLOT that a process is there at all. It does not know the
// communication manager.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "emulator/host/abstract_name.h"
#include "wire/types.h"

namespace verbena::host {

/// An eye on one process of this machine: it tells when that process has ended, and is not deceived by another one that
/// has got its place since.
class PresenceWatch {
 public:
  explicit PresenceWatch(HeldName connected) : descriptor_(std::move(connected)) {}
  bool is_gone() const;

 private:
  HeldName descriptor_;
};

struct ServiceClaim {
  HeldName service;
  HeldName listener;  // not held as long as nobody listens
};

/// Whether the name of a socket, as /proc/net/unix has it, says that its holder listens for a service.
bool names_listener(std::string_view name);

class ServiceDirectory {
 public:
  ServiceDirectory(std::string fabric, std::uint8_t slot, const wire::Gid& address)
      : fabric_(std::move(fabric)), address_(address), slot_(slot) {}

  /// Says that this process is there. Not held: it is said already, or there are no descriptors left.
  HeldName announce() const;
  /// Nothing: there is no such process on this machine, or no descriptor left.
  std::optional<PresenceWatch> watch(const wire::Gid& node, std::uint8_t slot) const;
  /// For this process of this node. `error` is EADDRINUSE when another one has it.
  std::optional<ServiceClaim> claim(std::uint64_t service, int& error) const;
  /// Says that this process listens for what it has claimed.
  HeldName serve(std::uint64_t service) const;
  /// The slot of the process on `node` that listens for the service.
  std::optional<std::uint8_t> find_listener(const wire::Gid& node, std::uint64_t service) const;
  /// Of that one, else of any process there; nothing: none is.
  std::optional<std::uint8_t> find_process(const wire::Gid& node, std::uint64_t service) const;

 private:
  std::string fabric_;
  wire::Gid address_;
  std::uint8_t slot_;
};

}  // namespace verbena::host
