// What the connection manager says to a program instead of what was due, as a plan of faults has it
// (verbs/call_faults.h).
//
// Solely responsible for asking the plan, and for what becomes of the ID and of its connection then. Without a plan it
// is a look at a null pointer. Guarded by the device's lock.
// Tested by: tests/programs/failing_connections.py, tests/fabric/verb_rule_test.cc
#pragma once

#include "emulator/cm/connection.h"
#include "verbs-shim/rdma_cm/id.h"

namespace verbena::shim::rdma_cm {

/// Tells that the ID's address, or its route, is there; or that it is not, if that is planned, and takes the ID back to
/// the state before.
void report_address(Id& id);
void report_route(Id& id);
/// Whether its membership of a group is to fail. 0: it is not; else an errno value.
int planned_group_error(const Id& id);

/// A request for a listener is refused if that is planned. False: it is not.
bool refuse_as_planned(const DevicePort& at, const cm::Event& request);
/// The ID hears of a failure instead of its peer's yes if that is planned, and the peer hears of it. False: it is not.
bool fail_answer_as_planned(Id& id, const cm::Event& answer);

}  // namespace verbena::shim::rdma_cm
