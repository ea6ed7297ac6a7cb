// FabricText: how a reader sees what a fabric process answers.
//
// Solely responsible for names and sentences of single values; tables are the command's (cli/stat.cc).
// Tested by: tests/host/fabric_client/render/fabric_json_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "emulator/host/fabric_client/fabric_messages.h"

namespace verbena::host {

/// "127.47.92.1", of the NIC port with this index.
std::string port_address(const FabricSnapshot& snapshot, std::size_t port);
/// "ACTIVE", as ibv_devinfo and sysfs name the state of a port of InfiniBand.
std::string_view port_state_name(std::uint8_t state);
/// "8", or "8-11" of a port whose LMC is 2.
std::string lids_text(const FabricSubnet::Port& port);
/// "InfiniBand, managed: 4 of 4 ports know a subnet manager, at LID 1".
std::string subnet_text(const FabricSubnet& subnet);
/// "n1->s1", of the link with this index.
std::string link_name(const FabricSnapshot& snapshot, std::size_t link);
/// "n1->n2", of a pair that is cut off.
std::string pair_name(const FabricSnapshot& snapshot, std::size_t pair);
/// "class 3: s1->s2 waits for s2->s1 waits for s1->s2", on InfiniBand "lane 3: ..."; there is a deadlock.
std::string deadlock_text(const FabricSnapshot& snapshot);
/// "LID 8 and 2 more go round: s1->s2 s2->s3 s3->s1", one of the snapshot's.
std::string loop_text(const FabricSnapshot& snapshot, const fabric::ForwardingLoop& loop);
/// "2 processes have not heard of it yet", of a fault of verbs.
std::string unheard_text(const FabricSnapshot::Fault& fault);
/// What is wrong now, a line each: faults of packets and verbs, then what is dead or cut off.
std::string faults_text(const FabricSnapshot& snapshot);

}  // namespace verbena::host
