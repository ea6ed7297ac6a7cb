// ServiceDirectory: which process of a node of this machine listens for which service ID.
//
// Solely responsible for the node-wide space of service IDs (rdma_cm's ports lie in it) and for finding the process
// that a connection request has to reach. Names (abstract_name.h): verbena-cm/UID/FABRIC/ADDRESS/SERVICE is the claim
// for those who ask by IPv4, SERVICE.6 for those who ask by IPv6, SERVICE.ib for those who name no IP addresses; with
// /SLOT behind it, it says who listens, with .any that the claim is for any address; and .../node/SLOT that a process
// is there at all. It does not know the communication manager.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "emulator/host/os/abstract_name.h"
#include "wire/management.h"
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

using wire::IpVersion;

/// A service ID of the node, for one IP version.
struct ServiceClaim {
  HeldName service;
  HeldName any;  // held beside it by who is bound to no address in particular
};

/// Whether the name of a socket, as /proc/net/unix has it, says that its holder listens for a service.
bool names_listener(std::string_view name);

class ServiceDirectory {
 public:
  ServiceDirectory(std::string fabric, std::uint8_t slot, const wire::Gid& address)
      : fabric_(std::move(fabric)), address_(address), slot_(slot) {}

  /// Says that this process is there. Not held: it is said already, or there are no descriptors left.
  HeldName announce() const;
  struct Sighting {
    std::optional<PresenceWatch> watch;
    bool is_unknown = false;  // there is no descriptor left to look with
  };
  /// Without a watch, and known: there is no such process on this machine.
  Sighting watch(const wire::Gid& node, std::uint8_t slot) const;
  struct Claimed {
    std::uint64_t service = 0;
    IpVersion version{};
    bool any_address = false;
  };
  /// For this process of this node. Where another one has it, `error` is EADDRNOTAVAIL if either is for any address,
  /// else EADDRINUSE, as in the kernel's cma_check_port.
  std::optional<ServiceClaim> claim(const Claimed& claimed, int& error) const;
  /// Says that this process listens for what it has claimed.
  HeldName serve(std::uint64_t service, IpVersion version) const;
  /// The slot of the process on `node` that listens for the service, for one of these versions.
  std::optional<std::uint8_t> find_listener(const wire::Gid& node, std::uint64_t service, wire::IpVersions who) const;
  /// Of that one, else of any process there, rather of one that listens for others; nothing: none is.
  std::optional<std::uint8_t> find_process(const wire::Gid& node, std::uint64_t service, wire::IpVersions who) const;
  /// Whether nothing reaches the node now, whoever is there (port_signal.h).
  bool has_dead_port(const wire::Gid& node) const;
  /// Whether nobody is there to answer, and no dead port at either end keeps that a secret.
  bool is_deserted(const wire::Gid& node) const;

 private:
  std::string fabric_;
  wire::Gid address_;
  std::uint8_t slot_;
};

}  // namespace verbena::host
