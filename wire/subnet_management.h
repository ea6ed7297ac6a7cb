// Attributes of subnet management and of performance management as plain values in host order, each with its layout.
//
// Solely responsible for where each field lies in a management datagram; mad.h has the header and the names. What an
// agent does with them belongs to emulator/subnet. Sources: IBTA vol 1, clauses as noted.
// Tested by: tests/wire/subnet_management_test.cc
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/layout.h"
#include "wire/lid.h"
#include "wire/mad.h"

namespace verbena::wire {

// -- Subnet management packets (14.2.1): where the parts of the 256 octets lie. --------------------------------------

inline constexpr std::size_t kSmpKeyAt = 24;
inline constexpr std::size_t kSmpDataAt = 64;
inline constexpr std::size_t kSmpDataBytes = 64;
inline constexpr std::size_t kSmpInitialPathAt = 128;
inline constexpr std::size_t kSmpReturnPathAt = 192;
inline constexpr std::size_t kSmpPathBytes = 64;
inline constexpr std::uint8_t kHopsMax = 63;
inline constexpr std::uint8_t kSubnetClassVersion = 1;
/// In the status of a directed route: it is on its way back (14.2.1.2).
inline constexpr std::uint16_t kDirectionBit = 0x8000;

/// What follows the header: of a packet that is routed by LIDs the key alone, of a directed route the LIDs at its ends.
struct SmpAddressing {
  std::uint64_t management_key = 0;
  Lid directed_source;
  Lid directed_destination;
};
using SmpAddressingLayout =
    Layout<Field<&SmpAddressing::management_key, 64>, Field<&SmpAddressing::directed_source, 16>,
           Field<&SmpAddressing::directed_destination, 16>>;
static_assert(SmpAddressingLayout::bytes == 12);

/// 13.4.7: status, without the direction.
inline constexpr std::uint16_t kStatusBadVersion = 1 << 2;
inline constexpr std::uint16_t kStatusBadMethod = 2 << 2;
inline constexpr std::uint16_t kStatusBadAttribute = 3 << 2;
inline constexpr std::uint16_t kStatusBadValue = 7 << 2;

/// 14.2.5, table: attributes of subnet management.
inline constexpr std::uint16_t kAttributeClassPortInfo = 0x01;
inline constexpr std::uint16_t kAttributeNotice = 0x02;
inline constexpr std::uint16_t kAttributeNodeDescription = 0x10;
inline constexpr std::uint16_t kAttributeNodeInfo = 0x11;
inline constexpr std::uint16_t kAttributeSwitchInfo = 0x12;
inline constexpr std::uint16_t kAttributeGuidInfo = 0x14;
inline constexpr std::uint16_t kAttributePortInfo = 0x15;
inline constexpr std::uint16_t kAttributePkeyTable = 0x16;
inline constexpr std::uint16_t kAttributeSlToVl = 0x17;
inline constexpr std::uint16_t kAttributeVlArbitration = 0x18;
inline constexpr std::uint16_t kAttributeLinearForwarding = 0x19;
inline constexpr std::uint16_t kAttributeMulticastForwarding = 0x1b;
inline constexpr std::uint16_t kAttributeSmInfo = 0x20;
/// 16.1.2
inline constexpr std::uint16_t kAttributePortCounters = 0x12;
inline constexpr std::uint16_t kAttributePortReceiveErrorDetails = 0x15;
inline constexpr std::uint16_t kAttributePortTransmitDiscardDetails = 0x16;
inline constexpr std::uint16_t kAttributePortCountersExtended = 0x1d;

enum class NodeType : std::uint8_t { channel_adapter = 1, switch_ = 2, router = 3 };

/// 14.2.5.3
struct NodeInfo {
  std::uint8_t base_version = 1;
  std::uint8_t class_version = 1;
  NodeType type = NodeType::channel_adapter;
  std::uint8_t ports = 0;
  std::uint64_t system_image_guid = 0;
  std::uint64_t node_guid = 0;
  std::uint64_t port_guid = 0;
  std::uint16_t partitions = 0;
  std::uint16_t device = 0;
  std::uint32_t revision = 0;
  std::uint8_t local_port = 0;
  std::uint32_t vendor = 0;
};
using NodeInfoLayout =
    Layout<Field<&NodeInfo::base_version, 8>, Field<&NodeInfo::class_version, 8>, Field<&NodeInfo::type, 8>,
           Field<&NodeInfo::ports, 8>, Field<&NodeInfo::system_image_guid, 64>, Field<&NodeInfo::node_guid, 64>,
           Field<&NodeInfo::port_guid, 64>, Field<&NodeInfo::partitions, 16>, Field<&NodeInfo::device, 16>,
           Field<&NodeInfo::revision, 32>, Field<&NodeInfo::local_port, 8>, Field<&NodeInfo::vendor, 24>>;
static_assert(NodeInfoLayout::bytes == 40);

/// 14.2.5.4
struct SwitchInfo {
  std::uint16_t linear_capacity = 0;
  std::uint16_t random_capacity = 0;
  std::uint16_t multicast_capacity = 0;
  std::uint16_t linear_top = 0;
  std::uint8_t default_port = 0;
  std::uint8_t default_multicast_primary_port = 0;
  std::uint8_t default_multicast_other_port = 0;
  std::uint8_t life_time = 0;
  bool port_state_change = false;  // writing 1 clears it
  std::uint8_t optimized_sl_to_vl = 0;
  std::uint16_t lids_per_port = 0;
  std::uint16_t partition_enforcement_capacity = 0;
  bool can_enforce_inbound = false;
  bool can_enforce_outbound = false;
  bool can_filter_raw_inbound = false;
  bool can_filter_raw_outbound = false;
  bool has_enhanced_port_0 = false;
  std::uint16_t reserved16 = 0;
  std::uint16_t multicast_top = 0;
};
using SwitchInfoLayout =
    Layout<Field<&SwitchInfo::linear_capacity, 16>, Field<&SwitchInfo::random_capacity, 16>,
           Field<&SwitchInfo::multicast_capacity, 16>, Field<&SwitchInfo::linear_top, 16>,
           Field<&SwitchInfo::default_port, 8>, Field<&SwitchInfo::default_multicast_primary_port, 8>,
           Field<&SwitchInfo::default_multicast_other_port, 8>, Field<&SwitchInfo::life_time, 5>,
           Field<&SwitchInfo::port_state_change, 1>, Field<&SwitchInfo::optimized_sl_to_vl, 2>,
           Field<&SwitchInfo::lids_per_port, 16>, Field<&SwitchInfo::partition_enforcement_capacity, 16>,
           Field<&SwitchInfo::can_enforce_inbound, 1>, Field<&SwitchInfo::can_enforce_outbound, 1>,
           Field<&SwitchInfo::can_filter_raw_inbound, 1>, Field<&SwitchInfo::can_filter_raw_outbound, 1>,
           Field<&SwitchInfo::has_enhanced_port_0, 1>, Field<&SwitchInfo::reserved16, 11>,
           Field<&SwitchInfo::multicast_top, 16>>;
static_assert(SwitchInfoLayout::bytes == 20);

/// 7.2.7
enum class PortState : std::uint8_t { no_change = 0, down = 1, init = 2, armed = 3, active = 4 };
/// 14.2.5.6
enum class PortPhysicalState : std::uint8_t {
  no_change = 0,
  sleep = 1,
  polling = 2,
  disabled = 3,
  training = 4,
  link_up = 5,
  error_recovery = 6,
};

/// 14.2.5.6
struct PortInfo {
  std::uint64_t management_key = 0;
  std::uint64_t subnet_prefix = 0xfe80000000000000;
  Lid base_lid;
  Lid master_sm_lid;
  std::uint32_t capability_mask = 0;
  std::uint16_t diagnostic_code = 0;
  std::uint16_t key_lease_seconds = 0;
  std::uint8_t local_port = 0;
  std::uint8_t width_enabled = 0;
  std::uint8_t width_supported = 0;
  std::uint8_t width_active = 0;
  std::uint8_t speed_supported = 0;
  PortState state = PortState::down;
  PortPhysicalState physical_state = PortPhysicalState::polling;
  std::uint8_t down_default_state = 2;
  std::uint8_t key_protect_bits = 0;
  std::uint8_t reserved34 = 0;
  std::uint8_t lmc = 0;
  std::uint8_t speed_active = 0;
  std::uint8_t speed_enabled = 0;
  std::uint8_t neighbor_mtu = 0;
  std::uint8_t master_sm_sl = 0;
  std::uint8_t vl_capacity = 0;
  std::uint8_t init_type = 0;
  std::uint8_t vl_high_limit = 0;
  std::uint8_t vl_arbitration_high_capacity = 0;
  std::uint8_t vl_arbitration_low_capacity = 0;
  std::uint8_t init_type_reply = 0;
  std::uint8_t mtu_capacity = 0;
  std::uint8_t vl_stall_count = 0;
  std::uint8_t hoq_life = 0;
  std::uint8_t operational_vls = 0;
  bool enforce_inbound = false;
  bool enforce_outbound = false;
  bool filter_raw_inbound = false;
  bool filter_raw_outbound = false;
  std::uint16_t key_violations = 0;
  std::uint16_t pkey_violations = 0;
  std::uint16_t qkey_violations = 0;
  std::uint8_t guid_capacity = 0;
  bool client_reregister = false;
  std::uint8_t multicast_pkey_trap_suppression = 0;
  std::uint8_t subnet_timeout = 0;
  std::uint8_t reserved52 = 0;
  std::uint8_t response_time = 0;
  std::uint8_t local_physical_errors = 0;
  std::uint8_t overrun_errors = 0;
  std::uint16_t max_credit_hint = 0;
  std::uint8_t reserved56 = 0;
  std::uint32_t link_round_trip_latency = 0;
  std::uint16_t capability_mask2 = 0;
  std::uint8_t speed_extended_active = 0;
  std::uint8_t speed_extended_supported = 0;
  std::uint8_t reserved63 = 0;
  std::uint8_t speed_extended_enabled = 0;
};
using PortInfoLayout = Layout<
    Field<&PortInfo::management_key, 64>, Field<&PortInfo::subnet_prefix, 64>, Field<&PortInfo::base_lid, 16>,
    Field<&PortInfo::master_sm_lid, 16>, Field<&PortInfo::capability_mask, 32>, Field<&PortInfo::diagnostic_code, 16>,
    Field<&PortInfo::key_lease_seconds, 16>, Field<&PortInfo::local_port, 8>, Field<&PortInfo::width_enabled, 8>,
    Field<&PortInfo::width_supported, 8>, Field<&PortInfo::width_active, 8>, Field<&PortInfo::speed_supported, 4>,
    Field<&PortInfo::state, 4>, Field<&PortInfo::physical_state, 4>, Field<&PortInfo::down_default_state, 4>,
    Field<&PortInfo::key_protect_bits, 2>, Field<&PortInfo::reserved34, 3>, Field<&PortInfo::lmc, 3>,
    Field<&PortInfo::speed_active, 4>, Field<&PortInfo::speed_enabled, 4>, Field<&PortInfo::neighbor_mtu, 4>,
    Field<&PortInfo::master_sm_sl, 4>, Field<&PortInfo::vl_capacity, 4>, Field<&PortInfo::init_type, 4>,
    Field<&PortInfo::vl_high_limit, 8>, Field<&PortInfo::vl_arbitration_high_capacity, 8>,
    Field<&PortInfo::vl_arbitration_low_capacity, 8>, Field<&PortInfo::init_type_reply, 4>,
    Field<&PortInfo::mtu_capacity, 4>, Field<&PortInfo::vl_stall_count, 3>, Field<&PortInfo::hoq_life, 5>,
    Field<&PortInfo::operational_vls, 4>, Field<&PortInfo::enforce_inbound, 1>, Field<&PortInfo::enforce_outbound, 1>,
    Field<&PortInfo::filter_raw_inbound, 1>, Field<&PortInfo::filter_raw_outbound, 1>,
    Field<&PortInfo::key_violations, 16>, Field<&PortInfo::pkey_violations, 16>, Field<&PortInfo::qkey_violations, 16>,
    Field<&PortInfo::guid_capacity, 8>, Field<&PortInfo::client_reregister, 1>,
    Field<&PortInfo::multicast_pkey_trap_suppression, 2>, Field<&PortInfo::subnet_timeout, 5>,
    Field<&PortInfo::reserved52, 3>, Field<&PortInfo::response_time, 5>, Field<&PortInfo::local_physical_errors, 4>,
    Field<&PortInfo::overrun_errors, 4>, Field<&PortInfo::max_credit_hint, 16>, Field<&PortInfo::reserved56, 8>,
    Field<&PortInfo::link_round_trip_latency, 24>, Field<&PortInfo::capability_mask2, 16>,
    Field<&PortInfo::speed_extended_active, 4>, Field<&PortInfo::speed_extended_supported, 4>,
    Field<&PortInfo::reserved63, 3>, Field<&PortInfo::speed_extended_enabled, 5>>;
static_assert(PortInfoLayout::bytes == 64);

/// Of a lane, by the codes of LinkSpeedActive, with the extended ones (FDR and above) where a port has such a speed.
constexpr std::uint8_t active_speed(const PortInfo& info) {
  constexpr std::uint8_t kFdr = 16;
  return info.speed_extended_active != 0 ? static_cast<std::uint8_t>(kFdr * info.speed_extended_active)
                                         : info.speed_active;
}

/// Of MTUCap and NeighborMTU: 1 is 256 octets, 5 is 4096.
constexpr std::uint32_t mtu_bytes(std::uint8_t code) {
  constexpr std::uint32_t kUnit = 128;
  return kUnit << code;
}

/// Bits of PortInfo::capability_mask (14.2.5.6).
inline constexpr std::uint32_t kCapabilityIsSm = 1 << 1;
inline constexpr std::uint32_t kCapabilityHasNotice = 1 << 2;
inline constexpr std::uint32_t kCapabilityHasTrap = 1 << 3;
inline constexpr std::uint32_t kCapabilityHasAutomaticMigration = 1 << 5;
inline constexpr std::uint32_t kCapabilityHasSlMapping = 1 << 6;
inline constexpr std::uint32_t kCapabilityHasSystemImageGuid = 1 << 11;
inline constexpr std::uint32_t kCapabilityHasExtendedSpeeds = 1 << 14;
inline constexpr std::uint32_t kCapabilityHasConnectionManagement = 1 << 16;
inline constexpr std::uint32_t kCapabilityHasDeviceManagement = 1 << 19;
inline constexpr std::uint32_t kCapabilityHasCapabilityNotice = 1 << 22;
inline constexpr std::uint32_t kCapabilityHasClientReregistration = 1 << 25;
/// What an adapter's port and a switch's port 0 have of these here, at any speed.
inline constexpr std::uint32_t kCapabilitiesHere =
    kCapabilityHasTrap | kCapabilityHasAutomaticMigration | kCapabilityHasSlMapping | kCapabilityHasSystemImageGuid |
    kCapabilityHasConnectionManagement | kCapabilityHasCapabilityNotice | kCapabilityHasClientReregistration;

/// 14.4.1
enum class SmState : std::uint8_t { not_active = 0, discovering = 1, standby = 2, master = 3 };

/// 14.2.5.13
struct SmInfo {
  std::uint64_t guid = 0;
  std::uint64_t sm_key = 0;
  std::uint32_t activity = 0;
  std::uint8_t priority = 0;
  SmState state = SmState::not_active;
};
using SmInfoLayout = Layout<Field<&SmInfo::guid, 64>, Field<&SmInfo::sm_key, 64>, Field<&SmInfo::activity, 32>,
                            Field<&SmInfo::priority, 4>, Field<&SmInfo::state, 4>>;
static_assert(SmInfoLayout::bytes == 21);

// -- Tables: so many entries a datagram (14.2.5.5, 14.2.5.7 to 14.2.5.12). -------------------------------------------

inline constexpr std::size_t kGuidsOfBlock = 8;
inline constexpr std::size_t kPkeysOfBlock = 32;
inline constexpr std::size_t kServiceLevels = 16;
inline constexpr std::size_t kArbitrationEntriesOfBlock = 32;
inline constexpr std::size_t kLinearEntriesOfBlock = 64;
inline constexpr std::size_t kMulticastEntriesOfBlock = 32;

/// 14.2.5.9
struct ArbitrationEntry {
  std::uint8_t reserved = 0;
  std::uint8_t virtual_lane = 0;
  std::uint8_t weight = 0;  // in units of 64 octets
};
using ArbitrationEntryLayout = Layout<Field<&ArbitrationEntry::reserved, 4>, Field<&ArbitrationEntry::virtual_lane, 4>,
                                      Field<&ArbitrationEntry::weight, 8>>;
static_assert(ArbitrationEntryLayout::bytes == 2);

// -- Classes of general services. ------------------------------------------------------------------------------------

/// 13.4.8.1
struct ClassPortInfo {
  std::uint8_t base_version = 1;
  std::uint8_t class_version = 1;
  std::uint16_t capability_mask = 0;
  std::uint32_t capability_mask2 = 0;
  std::uint8_t response_time = 0;
  Gid redirect_gid;
  std::uint8_t redirect_traffic_class = 0;
  std::uint8_t redirect_sl = 0;
  std::uint32_t redirect_flow_label = 0;
  Lid redirect_lid;
  std::uint16_t redirect_pkey = 0;
  std::uint8_t reserved32 = 0;
  Qpn redirect_qp;
  std::uint32_t redirect_qkey = 0;
  Gid trap_gid;
  std::uint8_t trap_traffic_class = 0;
  std::uint8_t trap_sl = 0;
  std::uint32_t trap_flow_label = 0;
  Lid trap_lid;
  std::uint16_t trap_pkey = 0;
  std::uint8_t trap_hop_limit = 0;
  Qpn trap_qp;
  std::uint32_t trap_qkey = 0;
};
using ClassPortInfoLayout =
    Layout<Field<&ClassPortInfo::base_version, 8>, Field<&ClassPortInfo::class_version, 8>,
           Field<&ClassPortInfo::capability_mask, 16>, Field<&ClassPortInfo::capability_mask2, 27>,
           Field<&ClassPortInfo::response_time, 5>, Field<&ClassPortInfo::redirect_gid, 128>,
           Field<&ClassPortInfo::redirect_traffic_class, 8>, Field<&ClassPortInfo::redirect_sl, 4>,
           Field<&ClassPortInfo::redirect_flow_label, 20>, Field<&ClassPortInfo::redirect_lid, 16>,
           Field<&ClassPortInfo::redirect_pkey, 16>, Field<&ClassPortInfo::reserved32, 8>,
           Field<&ClassPortInfo::redirect_qp, 24>, Field<&ClassPortInfo::redirect_qkey, 32>,
           Field<&ClassPortInfo::trap_gid, 128>, Field<&ClassPortInfo::trap_traffic_class, 8>,
           Field<&ClassPortInfo::trap_sl, 4>, Field<&ClassPortInfo::trap_flow_label, 20>,
           Field<&ClassPortInfo::trap_lid, 16>, Field<&ClassPortInfo::trap_pkey, 16>,
           Field<&ClassPortInfo::trap_hop_limit, 8>, Field<&ClassPortInfo::trap_qp, 24>,
           Field<&ClassPortInfo::trap_qkey, 32>>;
static_assert(ClassPortInfoLayout::bytes == 72);

/// Performance management has its attributes so far behind the start of the datagram (16.1.1).
inline constexpr std::size_t kPerformanceDataAt = 64;

/// 16.1.3.5. Counters stop at their highest value.
struct PortCounters {
  std::uint8_t reserved0 = 0;
  std::uint8_t port = 0;
  std::uint16_t select = 0;
  std::uint16_t symbol_errors = 0;
  std::uint8_t link_error_recoveries = 0;
  std::uint8_t link_downed = 0;
  std::uint16_t receive_errors = 0;
  std::uint16_t receive_remote_physical_errors = 0;
  std::uint16_t receive_switch_relay_errors = 0;
  std::uint16_t transmit_discards = 0;
  std::uint8_t transmit_constraint_errors = 0;
  std::uint8_t receive_constraint_errors = 0;
  std::uint8_t select2 = 0;
  std::uint8_t local_link_integrity_errors = 0;
  std::uint8_t excessive_buffer_overruns = 0;
  std::uint16_t qp1_dropped = 0;
  std::uint16_t vl15_dropped = 0;
  std::uint32_t transmit_words = 0;
  std::uint32_t receive_words = 0;
  std::uint32_t transmit_packets = 0;
  std::uint32_t receive_packets = 0;
  std::uint32_t transmit_wait = 0;
};
using PortCountersLayout =
    Layout<Field<&PortCounters::reserved0, 8>, Field<&PortCounters::port, 8>, Field<&PortCounters::select, 16>,
           Field<&PortCounters::symbol_errors, 16>, Field<&PortCounters::link_error_recoveries, 8>,
           Field<&PortCounters::link_downed, 8>, Field<&PortCounters::receive_errors, 16>,
           Field<&PortCounters::receive_remote_physical_errors, 16>,
           Field<&PortCounters::receive_switch_relay_errors, 16>, Field<&PortCounters::transmit_discards, 16>,
           Field<&PortCounters::transmit_constraint_errors, 8>, Field<&PortCounters::receive_constraint_errors, 8>,
           Field<&PortCounters::select2, 8>, Field<&PortCounters::local_link_integrity_errors, 4>,
           Field<&PortCounters::excessive_buffer_overruns, 4>, Field<&PortCounters::qp1_dropped, 16>,
           Field<&PortCounters::vl15_dropped, 16>, Field<&PortCounters::transmit_words, 32>,
           Field<&PortCounters::receive_words, 32>, Field<&PortCounters::transmit_packets, 32>,
           Field<&PortCounters::receive_packets, 32>, Field<&PortCounters::transmit_wait, 32>>;
static_assert(PortCountersLayout::bytes == 44);

/// 16.1.4.1
struct PortReceiveErrorDetails {
  std::uint8_t reserved0 = 0;
  std::uint8_t port = 0;
  std::uint16_t select = 0;
  std::uint16_t local_physical_errors = 0;
  std::uint16_t malformed_packets = 0;
  std::uint16_t buffer_overruns = 0;
  std::uint16_t lid_mapping_errors = 0;
  std::uint16_t lane_mapping_errors = 0;
  std::uint16_t looping_errors = 0;
};
using PortReceiveErrorDetailsLayout =
    Layout<Field<&PortReceiveErrorDetails::reserved0, 8>, Field<&PortReceiveErrorDetails::port, 8>,
           Field<&PortReceiveErrorDetails::select, 16>, Field<&PortReceiveErrorDetails::local_physical_errors, 16>,
           Field<&PortReceiveErrorDetails::malformed_packets, 16>, Field<&PortReceiveErrorDetails::buffer_overruns, 16>,
           Field<&PortReceiveErrorDetails::lid_mapping_errors, 16>,
           Field<&PortReceiveErrorDetails::lane_mapping_errors, 16>,
           Field<&PortReceiveErrorDetails::looping_errors, 16>>;
static_assert(PortReceiveErrorDetailsLayout::bytes == 16);

/// 16.1.4.2
struct PortTransmitDiscardDetails {
  std::uint8_t reserved0 = 0;
  std::uint8_t port = 0;
  std::uint16_t select = 0;
  std::uint16_t inactive_discards = 0;
  std::uint16_t neighbor_mtu_discards = 0;
  std::uint16_t switch_life_discards = 0;
  std::uint16_t head_of_queue_discards = 0;
};
using PortTransmitDiscardDetailsLayout =
    Layout<Field<&PortTransmitDiscardDetails::reserved0, 8>, Field<&PortTransmitDiscardDetails::port, 8>,
           Field<&PortTransmitDiscardDetails::select, 16>, Field<&PortTransmitDiscardDetails::inactive_discards, 16>,
           Field<&PortTransmitDiscardDetails::neighbor_mtu_discards, 16>,
           Field<&PortTransmitDiscardDetails::switch_life_discards, 16>,
           Field<&PortTransmitDiscardDetails::head_of_queue_discards, 16>>;
static_assert(PortTransmitDiscardDetailsLayout::bytes == 12);

/// 16.1.4.11
struct PortCountersExtended {
  std::uint8_t reserved0 = 0;
  std::uint8_t port = 0;
  std::uint16_t select = 0;
  std::uint32_t select2 = 0;
  std::uint64_t transmit_words = 0;
  std::uint64_t receive_words = 0;
  std::uint64_t transmit_packets = 0;
  std::uint64_t receive_packets = 0;
  std::uint64_t unicast_transmit_packets = 0;
  std::uint64_t unicast_receive_packets = 0;
  std::uint64_t multicast_transmit_packets = 0;
  std::uint64_t multicast_receive_packets = 0;
};
using PortCountersExtendedLayout =
    Layout<Field<&PortCountersExtended::reserved0, 8>, Field<&PortCountersExtended::port, 8>,
           Field<&PortCountersExtended::select, 16>, Field<&PortCountersExtended::select2, 32>,
           Field<&PortCountersExtended::transmit_words, 64>, Field<&PortCountersExtended::receive_words, 64>,
           Field<&PortCountersExtended::transmit_packets, 64>, Field<&PortCountersExtended::receive_packets, 64>,
           Field<&PortCountersExtended::unicast_transmit_packets, 64>,
           Field<&PortCountersExtended::unicast_receive_packets, 64>,
           Field<&PortCountersExtended::multicast_transmit_packets, 64>,
           Field<&PortCountersExtended::multicast_receive_packets, 64>>;
static_assert(PortCountersExtendedLayout::bytes == 72);

}  // namespace verbena::wire
