#include "emulator/host/link/decorators.h"

#include <utility>
#include <vector>

#include "emulator/fabric/fault_rule.h"
#include "emulator/host/link/capture_file.h"
#include "emulator/host/link/faulty_link.h"
#include "emulator/host/node/node_directory.h"

namespace verbena::host {

Result<Decorators, std::string> make_decorators(FramePort& link, wire::Medium medium, const EngineConfig& config,
                                                std::uint8_t slot) {
  Decorators made;
  if (!config.capture_path.empty()) {
    auto file =
        CaptureFile::open({.path = config.capture_path, .snap_bytes = config.capture_snap_bytes, .medium = medium});
    if (!file) return Failure{file.error()};
    made.capture = std::make_unique<CapturingLink>(link, std::move(*file));
  }
  std::vector<fabric::FaultRule> rules = config.nic.latencies();
  rules.insert(rules.end(), config.faults.begin(), config.faults.end());
  if (rules.empty()) return made;
  CaptureTap* const tap = made.capture != nullptr ? &made.capture->tap() : nullptr;
  const std::string name = address_text(config.address) + "/" + std::to_string(slot);
  const std::uint64_t seed = config.seed.value_or(EngineConfig::kFaultSeed);
  made.faults =
      make_faulty_link(made.outermost(link), rules, seed, name, tap, nullptr, medium, FaultHits::in(config.stats_path));
  return made;
}

}  // namespace verbena::host
