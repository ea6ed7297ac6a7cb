// HostAddress: which of this machine's own addresses is meant, in words that are the same on every machine.
//
// Solely responsible for that: a launcher (mpirun, srun, Kubernetes) starts one command line on many machines, and each
// of them is a node of its own (`verbena exec --link udp --node 10.77.0.0/24`). It looks at the machine's interfaces
// and, for a file of hosts, asks the resolver; what a node is otherwise stands in identity.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wire/result.h"
#include "wire/types.h"

namespace verbena::host {

struct InterfaceAddress {
  std::string interface;
  wire::Gid address;
};

/// Of the interfaces that are up, in the kernel's order, IPv4 as mapped addresses.
std::vector<InterfaceAddress> own_addresses();

/// `text`: SUBNET/BITS (the first address in it), the name of an interface (its first IPv4 address, else its first
/// IPv6 address that is not link-local), or hosts:FILE (the first host in the file that is this machine; as Open MPI's
/// and MPICH's files have it: a name or address begins a line, # a comment). The error is one line for the user.
Result<wire::Gid, std::string> host_address(std::string_view text, const std::vector<InterfaceAddress>& own);

inline constexpr std::string_view kHostsPrefix = "hosts:";

}  // namespace verbena::host
