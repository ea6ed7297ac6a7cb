#include "emulator/host/link/reach_hint.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "emulator/host/config/environment.h"
#include "emulator/host/fabric_client/fabric_client.h"
#include "emulator/host/node/managed_port.h"
#include "emulator/host/node/node_directory.h"
#include "emulator/host/os/socket_address.h"

namespace verbena::host {
namespace {

/// The kernel sends nothing that comes from a loopback address anywhere but to a loopback address (RFC 1122, 3.2.1.3),
/// and a socket has one family.
std::optional<std::string> why_not_by_udp(const wire::Gid& own, const wire::Gid& peer) {
  const std::string pair = address_text(own) + " cannot reach " + address_text(peer);
  if (own.is_ipv4() != peer.is_ipv4())
    return pair + ": one is IPv4, the other IPv6: use --node with an address of the peer's family";
  if (is_loopback(own) && !is_loopback(peer))
    return pair + ": use --node with an address of this machine on the peer's network";
  return std::nullopt;
}

/// Addresses of nodes by number are left alone: their process may start later. Any other was given to `verbena exec
/// --node`, or belongs to a real network.
std::optional<std::string> why_not_by_shm(const std::string& fabric, const wire::Gid& peer) {
  if (is_port_address(peer)) return std::nullopt;
  const std::vector<SeatTaken> taken = seats_taken(fabric);
  if (std::any_of(taken.begin(), taken.end(), [&](const SeatTaken& seat) { return seat.address == peer; }))
    return std::nullopt;
  return "nobody has the address " + address_text(peer) + " on shm, fabric '" + fabric + "': use --link udp";
}

std::optional<std::string> why_not_by_fabric(const std::string& fabric, const wire::Gid& peer) {
  const auto hello = greet_fabric(fabric);
  if (!hello) return std::nullopt;  // a dead network says so itself
  const auto place = device_place(peer);
  if (place && place->node <= hello->nodes && place->device < hello->rails) return std::nullopt;
  std::string text = "fabric '" + fabric + "' has no node " + address_text(peer) + ": its nodes are " +
                     address_text(node_address(1)) + " to " + address_text(node_address(hello->nodes));
  if (hello->rails > 1)
    text += ", with " + std::to_string(hello->rails) + " rails, up to " +
            address_text(device_address(node_address(hello->nodes), {hello->rails - 1}));
  return text;
}

}  // namespace

std::optional<std::string> why_never_reached(const EngineConfig& config, const wire::Gid& peer) {
  const wire::Gid node = node_of(peer);
  if (node == config.address || node.is_multicast()) return std::nullopt;
  if (read_managed_port(config.fabric, config.address)) return std::nullopt;  // a manager says whose LIDs and GIDs are
  if (config.link == "udp") return why_not_by_udp(config.address, node);
  if (config.link == "shm") return why_not_by_shm(config.fabric, node);
  if (config.link == "fabric") return why_not_by_fabric(config.fabric, node);
  return std::nullopt;  // raw: the kernel is asked for the way, and its answer is the verb's
}

void ReachHint::tell(const wire::Gid& peer) {
  {
    // A child of fork() may have been born while another thread held it.
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || judged_.size() >= kPeersMax || !judged_.insert(peer).second) return;
  }
  if (std::getenv(kQuietVariable) != nullptr) return;
  if (const auto why = why_never_reached(config_, peer)) std::fprintf(stderr, "verbena: %s\n", why->c_str());
}

}  // namespace verbena::host
