// Snapshot: takes the FabricSnapshot of a fabric process.
//
// Solely responsible for where each number comes from. It runs on the thread that carries frames: it copies and adds,
// and makes no text.
// Tested by: tests/host/fabric_process/fabric_process_test.cc
#pragma once

#include "emulator/fabric/element_faults.h"
#include "emulator/host/fabric_client/fabric_snapshot.h"
#include "emulator/host/fabric_process/fabric_capture.h"
#include "emulator/host/fabric_process/fabric_ports.h"
#include "emulator/host/fabric_process/subnet_service.h"
#include "emulator/host/node/stats_file.h"

namespace verbena::host {

struct SnapshotSources {
  const FabricPorts& ports;
  const fabric::ElementFaults& elements;
  const StatsFile* counters = nullptr;     // nothing: nobody counts
  const FabricCapture* capture = nullptr;  // nothing: there is none
  const SubnetService* managed = nullptr;  // nothing: no manager is to manage the fabric
  Time started{};
};
/// Without the fabric's name and the list of its faults, which are its owner's.
FabricSnapshot take_snapshot(Time now, const SnapshotSources& sources);

}  // namespace verbena::host
