#include "emulator/host/link/link_factory.h"

#include <algorithm>
#include <string_view>

#include "emulator/host/config/environment.h"
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

}  // namespace

Result<OpenedLink, std::string> open_link(const EngineConfig& config) {
  const LinkKind* const kind = find_link_kind(config.link);
  if (kind == nullptr) return Failure{"unknown link '" + config.link + "': want " + link_rule(config.link)};
  return kOpeners[kind - kLinkKinds].open(config);
}

}  // namespace verbena::host
