#include "emulator/host/fabric_process/hub_affinity.h"

namespace verbena::host {

cpu_set_t HubAffinity::choose(const CoreLoads& loads, int present) const {
  cpu_set_t cores;
  CPU_AND(&cores, &loads.polled_on, &allowed_);
  CPU_XOR(&cores, &cores, &allowed_);
  if (CPU_COUNT(&cores) != 0) return cores;
  auto chosen = static_cast<std::size_t>(present);
  if (present < 0 || present >= CPU_SETSIZE || !CPU_ISSET(chosen, &allowed_)) return allowed_;
  std::uint64_t least = loads.octets[chosen] * kWorthMoving;
  for (std::size_t core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed_) || loads.octets[core] <= least) continue;
    chosen = core;
    least = loads.octets[core];
  }
  CPU_SET(chosen, &cores);
  return cores;
}

}  // namespace verbena::host
