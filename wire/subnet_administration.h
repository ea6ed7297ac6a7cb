// Records of subnet administration (SA) as plain values in host order, each with its layout, and where they lie.
//
// Solely responsible for the octets of PathRecord and MCMemberRecord and of what stands in front of them; mad.h has the
// header of all MADs. Who asks for them is emulator/host/subnet_process/sa_client.h. Source: IBTA vol 1, 15.2.
// Tested by: tests/wire/subnet_administration_test.cc
#pragma once

#include <cstddef>
#include <cstdint>

#include "wire/layout.h"
#include "wire/lid.h"
#include "wire/mad.h"
#include "wire/types.h"

namespace verbena::wire {

inline constexpr std::uint8_t kAdministrationClassVersion = 2;

/// 15.2.5, table: attributes of subnet administration.
inline constexpr std::uint16_t kAttributePathRecord = 0x35;
inline constexpr std::uint16_t kAttributeMcMemberRecord = 0x38;

/// What stands behind the MAD's header and that of RMPP (15.2.1.1), of which one segment needs nothing.
struct AdministrationHeader {
  std::uint64_t sm_key = 0;
  std::uint16_t attribute_offset = 0;  // in words of 8 octets, of one record in a table
  std::uint16_t reserved = 0;
  std::uint64_t component_mask = 0;
};
using AdministrationHeaderLayout =
    Layout<Field<&AdministrationHeader::sm_key, 64>, Field<&AdministrationHeader::attribute_offset, 16>,
           Field<&AdministrationHeader::reserved, 16>, Field<&AdministrationHeader::component_mask, 64>>;
inline constexpr std::size_t kAdministrationHeaderAt = 36;
inline constexpr std::size_t kAdministrationDataAt = 56;
inline constexpr std::size_t kAdministrationDataBytes = kMadBytes - kAdministrationDataAt;
static_assert(kAdministrationHeaderAt + AdministrationHeaderLayout::bytes == kAdministrationDataAt);

/// 13.4.7: asked again later, it may be answered.
inline constexpr std::uint16_t kStatusBusy = 1;

/// Selectors of MTU, rate and packet lifetime (15.2.5.16).
inline constexpr std::uint8_t kSelectorExactly = 2;

/// 15.2.5.16. MTU, rate and lifetime are coded as PortInfo and the verbs have them.
struct PathRecord {
  static constexpr std::uint64_t kServiceId = 3;  // these are bits of the component mask
  static constexpr std::uint64_t kDestination = 1 << 2;
  static constexpr std::uint64_t kSource = 1 << 3;
  static constexpr std::uint64_t kTrafficClass = 1 << 10;
  static constexpr std::uint64_t kReversible = 1 << 11;
  static constexpr std::uint64_t kPaths = 1 << 12;
  static constexpr std::uint64_t kPkey = 1 << 13;
  static constexpr std::uint64_t kQosClass = 1 << 14;

  std::uint64_t service_id = 0;
  Gid destination;
  Gid source;
  Lid destination_lid;
  Lid source_lid;
  std::uint8_t raw_traffic = 0;
  std::uint8_t reserved = 0;
  std::uint32_t flow_label = 0;
  std::uint8_t hop_limit = 0;
  std::uint8_t traffic_class = 0;
  bool is_reversible = false;
  std::uint8_t paths = 0;
  std::uint16_t pkey = 0;
  std::uint16_t qos_class = 0;
  std::uint8_t service_level = 0;
  std::uint8_t mtu_selector = 0;
  std::uint8_t mtu = 0;
  std::uint8_t rate_selector = 0;
  std::uint8_t rate = 0;
  std::uint8_t lifetime_selector = 0;
  std::uint8_t lifetime = 0;
  std::uint8_t preference = 0;
  std::uint64_t reserved_end = 0;
};
using PathRecordLayout =
    Layout<Field<&PathRecord::service_id, 64>, Field<&PathRecord::destination, 128>, Field<&PathRecord::source, 128>,
           Field<&PathRecord::destination_lid, 16>, Field<&PathRecord::source_lid, 16>,
           Field<&PathRecord::raw_traffic, 1>, Field<&PathRecord::reserved, 3>, Field<&PathRecord::flow_label, 20>,
           Field<&PathRecord::hop_limit, 8>, Field<&PathRecord::traffic_class, 8>, Field<&PathRecord::is_reversible, 1>,
           Field<&PathRecord::paths, 7>, Field<&PathRecord::pkey, 16>, Field<&PathRecord::qos_class, 12>,
           Field<&PathRecord::service_level, 4>, Field<&PathRecord::mtu_selector, 2>, Field<&PathRecord::mtu, 6>,
           Field<&PathRecord::rate_selector, 2>, Field<&PathRecord::rate, 6>, Field<&PathRecord::lifetime_selector, 2>,
           Field<&PathRecord::lifetime, 6>, Field<&PathRecord::preference, 8>, Field<&PathRecord::reserved_end, 48>>;
static_assert(PathRecordLayout::bytes == 64);

/// 15.2.5.17.
struct McMemberRecord {
  static constexpr std::uint64_t kGroup = 1 << 0;  // these are bits of the component mask
  static constexpr std::uint64_t kPort = 1 << 1;
  static constexpr std::uint64_t kQkey = 1 << 2;
  static constexpr std::uint64_t kTrafficClass = 1 << 6;
  static constexpr std::uint64_t kPkey = 1 << 7;
  static constexpr std::uint64_t kServiceLevel = 1 << 12;
  static constexpr std::uint64_t kFlowLabel = 1 << 13;
  static constexpr std::uint64_t kJoinState = 1 << 16;

  static constexpr std::uint8_t kFullMember = 1;  // these are bits of the join state
  static constexpr std::uint8_t kSendOnlyFullMember = 8;

  Gid group;
  Gid port;
  std::uint32_t qkey = 0;
  Lid lid;
  std::uint8_t mtu_selector = 0;
  std::uint8_t mtu = 0;
  std::uint8_t traffic_class = 0;
  std::uint16_t pkey = 0;
  std::uint8_t rate_selector = 0;
  std::uint8_t rate = 0;
  std::uint8_t lifetime_selector = 0;
  std::uint8_t lifetime = 0;
  std::uint8_t service_level = 0;
  std::uint32_t flow_label = 0;
  std::uint8_t hop_limit = 0;
  std::uint8_t scope = 0;
  std::uint8_t join_state = 0;
  bool proxy_join = false;
  std::uint32_t reserved = 0;
};
using McMemberRecordLayout =
    Layout<Field<&McMemberRecord::group, 128>, Field<&McMemberRecord::port, 128>, Field<&McMemberRecord::qkey, 32>,
           Field<&McMemberRecord::lid, 16>, Field<&McMemberRecord::mtu_selector, 2>, Field<&McMemberRecord::mtu, 6>,
           Field<&McMemberRecord::traffic_class, 8>, Field<&McMemberRecord::pkey, 16>,
           Field<&McMemberRecord::rate_selector, 2>, Field<&McMemberRecord::rate, 6>,
           Field<&McMemberRecord::lifetime_selector, 2>, Field<&McMemberRecord::lifetime, 6>,
           Field<&McMemberRecord::service_level, 4>, Field<&McMemberRecord::flow_label, 20>,
           Field<&McMemberRecord::hop_limit, 8>, Field<&McMemberRecord::scope, 4>,
           Field<&McMemberRecord::join_state, 4>, Field<&McMemberRecord::proxy_join, 1>,
           Field<&McMemberRecord::reserved, 23>>;
static_assert(McMemberRecordLayout::bytes == 52);

}  // namespace verbena::wire
