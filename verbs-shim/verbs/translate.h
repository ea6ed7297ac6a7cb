// Translation between the C ABI's values and the NIC's, where a cast does not do.
//
// Values only: nothing here knows an object or calls the engine, except that finding the Ethernet address behind a GID
// asks it (and so must not be called under its lock).
// Tested by: tests/shim/verbs/data_test.cc
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "emulator/host/engine/engine.h"
#include "emulator/nic/objects/attributes.h"
#include "emulator/nic/objects/completion.h"
#include "emulator/nic/objects/nic_config.h"

namespace verbena::shim {

/// What receive-side scaling can hash (enum ibv_rx_hash_fields).
inline constexpr std::uint32_t kReceiveHashFields =
    IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4 | IBV_RX_HASH_SRC_IPV6 | IBV_RX_HASH_DST_IPV6 |
    IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_DST_PORT_TCP | IBV_RX_HASH_SRC_PORT_UDP | IBV_RX_HASH_DST_PORT_UDP;

wire::Gid gid_of(const ibv_gid& gid);
ibv_gid gid_to(const wire::Gid& gid);

/// Network order.
std::uint64_t guid_to(const std::array<std::uint8_t, 8>& octets);

/// 256 .. 4096, or nothing for a value that is no ibv_mtu.
std::optional<std::uint32_t> mtu_bytes_of(ibv_mtu mtu);
ibv_mtu mtu_to(std::uint32_t bytes);

/// Fills `into` and resolves the Ethernet address. 0, EINVAL (no GRH, unknown port or source), or
/// ETIMEDOUT (nobody answers for that address).
int address_vector_of(const ibv_ah_attr& attributes, host::Engine& engine, nic::AddressVector& into);
ibv_ah_attr address_vector_to(const nic::AddressVector& address_vector);

void capabilities_to(const nic::QpCapabilities& capabilities, ibv_qp_cap& into);
nic::QpCapabilities capabilities_of(const ibv_qp_cap& capabilities);

/// 0 or an errno value; resolves addresses as above.
int qp_attributes_of(const ibv_qp_attr& attributes, int mask, host::Engine& engine, nic::QpAttributes& into);
void qp_attributes_to(const nic::QpAttributes& attributes, ibv_qp_attr& into);

/// 0: it is no datagram of InfiniBand.
std::uint16_t source_lid_of(const nic::Completion& completion);
void completion_to(const nic::Completion& completion, ibv_wc& into);
unsigned completion_flags_of(const nic::Completion& completion);

}  // namespace verbena::shim
