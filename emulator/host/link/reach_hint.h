// ReachHint: one line on stderr for each peer that this kind of link can never reach, told when a program names the
// peer.
//
// Solely judging what can never be, and saying it once. A peer that merely is not there yet is no concern of it: it may
// start later, and the transport's timers find out. Frames go their way whatever is said here.
#pragma once

#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "emulator/host/config/engine_config.h"
#include "wire/types.h"

namespace verbena::host {

/// Why `peer` is out of reach for good, and what would mend it; nothing: it may well be reached. May ask the fabric
/// process, and who is on the fabric.
std::optional<std::string> why_never_reached(const EngineConfig& config, const wire::Gid& peer);

class ReachHint {
 public:
  explicit ReachHint(const EngineConfig& config) : config_(config) {}  // which outlives this
  /// Any thread, outside of the engine's lock. Silent where the environment has VERBENA_QUIET.
  void tell(const wire::Gid& peer);

 private:
  static constexpr std::size_t kPeersMax = 256;  // judged; then no more is said
  const EngineConfig& config_;
  std::mutex mutex_;
  std::set<wire::Gid> judged_;
};

}  // namespace verbena::host
