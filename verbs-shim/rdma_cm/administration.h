// What an ID on a managed fabric asks the subnet administrator, and what the answers mean to it.
//
// Solely the records, as the kernel's cma fills and reads them (cma_query_ib_route, cma_join_ib_multicast): plain
// values in and out. How they travel is sa_session.h's.
// Tested by: tests/shim/rdma_cm/rdma_cm_administration_test.cc, tests/programs/managed_cm.py
#pragma once

#include <cstdint>
#include <optional>

#include "emulator/cm/connection.h"
#include "emulator/host/node/managed_port.h"
#include "emulator/host/node/sa_messages.h"
#include "verbs-shim/rdma_cm/id.h"
#include "wire/subnet_administration.h"

namespace verbena::shim::rdma_cm {

/// Who asks, in the terms of the subnet.
struct Asker {
  wire::Gid gid;
  std::uint16_t pkey = 0;
};

/// Of an ID on a port on InfiniBand: its GID, and the P_Key that its name has (AF_IB). One with an IP address is in the
/// default partition, where IPoIB would be, or if the port is not, in the first one of its table.
Asker asker_of(const Id& id);

/// The path from the asker to a port. `timeout_ms`: in all.
host::SaRequest path_request(const Asker& asker, const wire::Gid& destination, const Id& id, std::uint32_t timeout_ms);
/// Puts what the administrator has answered into a path.
void take_path(const host::SaRecord& answer, cm::Path& path);

/// The membership of a group. `join_state`: a bit of McMemberRecord's.
host::SaRequest join_request(const Asker& asker, const wire::Gid& group, const Id& id, std::uint8_t join_state);
/// The way to a group, and its Q_Key.
struct GroupPath {
  cm::Path path;
  std::uint32_t qkey = 0;
};
GroupPath group_path(const host::SaRecord& answer);

/// The Q_Key of an ID that has set none, by its port space (cma_set_qkey).
std::uint32_t default_qkey(const Id& id);
/// The GID of a group on InfiniBand for a group's IP address: as IPoIB maps it (RFC 4391, clause 4: link-local scope),
/// with the signature of rdma_cm in the port space UDP; an IPv6 address that is a GID of a subnet administrator stays
/// one (cma_set_mgid).
wire::Gid infiniband_group(const Address& group, std::uint16_t port_space, std::uint16_t pkey);

}  // namespace verbena::shim::rdma_cm
