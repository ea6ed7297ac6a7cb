// LinkKind: the kinds of links that a process can ask for, and what is true of each.
//
// Solely the table: whoever wants to know something of a link by its name asks here. What opens them is
// link_factory.cc. libc only: the path shim includes it.
// Tested by: tests/host/link/link_factory_test.cc
#pragma once

#include <string_view>

namespace verbena::host {

struct LinkKind {
  std::string_view name;
  bool has_interface;       // ":IFACE" comes behind the name
  bool has_fabric_process;  // what it reaches, a fabric process says
  bool has_link_local;      // it carries frames for the link_local_of() its nodes as well
  bool reaches_by_slot;     // a peer is a process, so that a request has to name its slot
  bool all_peers_are_here;  // on this machine, where ServiceDirectory knows them
  bool carries_ethernet;    // whole frames, so that RoCE v1 goes over it as well
};

inline constexpr LinkKind kLinkKinds[] = {
    {"shm", false, false, true, true, true, true},
    {"fabric", false, true, true, false, true, true},
    {"udp", false, false, false, false, false, false},
    {"raw", true, false, false, false, false, true},
};
inline constexpr const LinkKind& kLinkKindDefault = kLinkKinds[0];

/// What comes behind the name of the kind: the interface, or those of several devices; empty if nothing does.
constexpr std::string_view interface_of(std::string_view link) {
  const auto colon = link.find(':');
  if (colon != link.npos) link.remove_prefix(colon + 1);
  return colon == link.npos ? std::string_view() : link;
}

/// Of "shm" or "raw:eth0"; null: there is no such kind, an interface is missing, or one is too many.
constexpr const LinkKind* find_link_kind(std::string_view link) {
  const bool has_interface = !interface_of(link).empty();
  if (has_interface) link.remove_suffix(link.size() - link.find(':'));
  for (const LinkKind& kind : kLinkKinds)
    if (kind.name == link && kind.has_interface == has_interface) return &kind;
  return nullptr;
}

}  // namespace verbena::host
