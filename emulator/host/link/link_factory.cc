#include "emulator/host/link/link_factory.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "emulator/host/config/environment.h"
#include "emulator/host/config/link_kind.h"
#include "emulator/host/link/ports_link.h"
#include "emulator/host/link/raw/raw_link.h"
#include "emulator/host/link/shm/shm_cable.h"
#include "emulator/host/link/shm/shm_uplink.h"
#include "emulator/host/link/udp/udp_link.h"

namespace verbena::host {
namespace {

struct Opener {
  std::string_view kind;
  Result<OpenedLink, std::string> (*open)(const EngineConfig& config);
};
constexpr Opener kOpeners[] = {
    {"shm", open_shm_link},
    {"fabric", open_fabric_link},
    {"udp", open_udp_link},
    {"raw", open_raw_link},
};
static_assert(std::ranges::equal(kOpeners, kLinkKinds, {}, &Opener::kind, &LinkKind::name),
              "each kind has a row here and one in link_kind.h, in one order");

Result<OpenedLink, std::string> open_port(const EngineConfig& config) {
  const LinkKind* const kind = find_link_kind(config.link);
  if (kind == nullptr) return Failure{"unknown link '" + config.link + "': want " + link_rule(config.link)};
  return kOpeners[kind - kLinkKinds].open(config);
}

/// The links of all ports at one slot, from which on the NIC counts its QPNs. Nothing: another process has that slot at
/// one of the addresses.
using Opened = std::optional<std::vector<PortsLink::Port>>;
Result<Opened, std::string> open_at(const EngineConfig& config, OpenedLink first) {
  const SlotRange slot = SlotRange::only(first.slot);
  std::vector<PortsLink::Port> ports;
  ports.push_back({.opened = std::move(first)});
  for (std::uint32_t port = 2; port <= 1 + config.further_ports.size(); ++port) {
    EngineConfig own = config_of_port(config, port);
    own.slots = slot;
    auto opened = open_port(own);
    if (!opened && NodeDirectory::join(own.fabric, own.address, slot)) return Failure{opened.error()};
    if (!opened) return Opened{};
    ports.push_back({.opened = std::move(*opened)});
  }
  for (std::uint32_t port = 1; port <= ports.size(); ++port) {
    OpenedLink& opened = ports[port - 1].opened;
    auto decorators = make_decorators(*opened.link, opened.medium, config_of_port(config, port), opened.slot);
    if (!decorators) return Failure{decorators.error()};
    ports[port - 1].decorators = std::move(*decorators);
  }
  return Opened{std::move(ports)};
}

}  // namespace

Result<OpenedLink, std::string> open_link(const EngineConfig& config) {
  if (config.further_ports.empty()) return open_port(config);
  EngineConfig own = config_of_port(config, 1);
  for (;;) {
    auto first = open_port(own);
    if (!first) return Failure{first.error()};
    own.slots.first = first->slot + 1u;
    auto ports = open_at(config, std::move(*first));
    if (!ports) return Failure{ports.error()};
    if (*ports) return PortsLink::open(std::move(**ports));
  }
}

}  // namespace verbena::host
