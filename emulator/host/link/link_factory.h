// The one place that knows which kinds of link there are. Adding a kind: its folder, its row in link_factory.cc, and
// what is true of it in config/link_kind.h.
#pragma once

#include <string>

#include "emulator/host/config/engine_config.h"
#include "emulator/host/link/link.h"

namespace verbena::host {

/// Opens the link that `config.link` names, bare: captures and faults are put around it by the engine. The error is one
/// line for the user; an unknown kind names the right ones.
Result<OpenedLink, std::string> open_link(const EngineConfig& config);

}  // namespace verbena::host
