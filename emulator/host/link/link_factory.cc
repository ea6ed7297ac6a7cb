#include "emulator/host/link/link_factory.h"

#include <string_view>

#include "emulator/host/link/raw/raw_link.h"
#include "emulator/host/link/shm/shm_cable.h"
#include "emulator/host/link/shm/shm_uplink.h"
#include "emulator/host/link/udp/udp_link.h"

namespace verbena::host {

Result<OpenedLink, std::string> open_link(const EngineConfig& config) {
  const std::string_view kind = std::string_view(config.link).substr(0, config.link.find(':'));
  if (config.link == "shm") return open_shm_link(config);
  if (config.link == "fabric") return open_fabric_link(config);
  if (config.link == "udp") return open_udp_link(config);
  if (kind == "raw") return open_raw_link(config);
  return Failure{"unknown link '" + config.link + "': shm, fabric, udp and raw:IFACE are right"};
}

}  // namespace verbena::host
