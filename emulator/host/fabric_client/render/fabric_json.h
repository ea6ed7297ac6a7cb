// FabricJson: what a fabric process answers, as JSON.
//
// Solely responsible for the keys and their order: what `verbena stat --json` and `verbena fault --json list` print,
// and what a run writes as fabric.json.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "emulator/host/fabric_client/fabric_snapshot.h"

namespace verbena::host {

nlohmann::ordered_json json_of(const FabricSnapshot& snapshot);
/// Of it what is wrong now: faults of packets, and what is dead or cut off.
nlohmann::ordered_json faults_json(const FabricSnapshot& snapshot);

}  // namespace verbena::host
