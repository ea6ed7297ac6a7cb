#include "emulator/host/link/link_factory.h"

#include <algorithm>
#include <string_view>

#include "emulator/host/config/link_kind.h"
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

/// An interface that is missing is for the link to complain about.
bool is_kind_of(std::string_view link, const LinkKind& kind) {
  const std::size_t colon = link.find(':');
  return link.substr(0, colon) == kind.name && (kind.has_interface || colon == link.npos);
}

std::string right_ones() {
  std::string text;
  for (const LinkKind& kind : kLinkKinds) {
    if (&kind != std::begin(kLinkKinds)) text += &kind + 1 == std::end(kLinkKinds) ? " and " : ", ";
    text += kind.name;
    if (kind.has_interface) text += ":IFACE";
  }
  return text;
}

}  // namespace

Result<OpenedLink, std::string> open_link(const EngineConfig& config) {
  for (std::size_t i = 0; i < std::size(kOpeners); ++i)
    if (is_kind_of(config.link, kLinkKinds[i])) return kOpeners[i].open(config);
  return Failure{"unknown link '" + config.link + "': " + right_ones() + " are right"};
}

}  // namespace verbena::host
