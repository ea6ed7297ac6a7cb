// Notices of subnet management as plain values in host order, each with its layout: what a trap says.
//
// Solely responsible for where each field lies in the attribute Notice, and for the numbers of traps; who raises them
// is emulator/subnet/traps.h. Source: IBTA vol 1, 13.4.8.2 and 14.2.5.1.
// Tested by: tests/wire/subnet_management_test.cc
#pragma once

#include <cstddef>
#include <cstdint>

#include "wire/layout.h"
#include "wire/lid.h"
#include "wire/types.h"

namespace verbena::wire {

inline constexpr std::uint16_t kTrapInService = 64;  // a GID
inline constexpr std::uint16_t kTrapOutOfService = 65;
inline constexpr std::uint16_t kTrapGroupCreated = 66;
inline constexpr std::uint16_t kTrapGroupDeleted = 67;
inline constexpr std::uint16_t kTrapLinkStateChanged = 128;  // of a switch
inline constexpr std::uint16_t kTrapLinkIntegrity = 129;
inline constexpr std::uint16_t kTrapCapabilityChanged = 144;
inline constexpr std::uint16_t kTrapBadManagementKey = 256;
inline constexpr std::uint16_t kTrapBadPkey = 257;
inline constexpr std::uint16_t kTrapBadQkey = 258;
inline constexpr std::uint16_t kTrapBadPkeyAtSwitch = 259;
enum class NoticeType : std::uint8_t { fatal = 0, urgent = 1, security = 2, management = 3, information = 4 };

struct Notice {
  bool is_generic = true;
  NoticeType type = NoticeType::information;
  std::uint32_t producer = 0;  // NodeType, or a vendor
  std::uint16_t trap = 0;
  Lid issuer;
  bool toggle = false;
  std::uint16_t count = 0;
};
/// Behind it 54 octets of details follow.
using NoticeLayout =
    Layout<Field<&Notice::is_generic, 1>, Field<&Notice::type, 7>, Field<&Notice::producer, 24>,
           Field<&Notice::trap, 16>, Field<&Notice::issuer, 16>, Field<&Notice::toggle, 1>, Field<&Notice::count, 15>>;
static_assert(NoticeLayout::bytes == 10);

/// Of traps 64 to 67.
struct GidDetails {
  std::uint64_t reserved = 0;
  Gid gid;
};
using GidDetailsLayout = Layout<Field<&GidDetails::reserved, 48>, Field<&GidDetails::gid, 128>>;
static_assert(GidDetailsLayout::bytes == 22);

/// Of trap 128.
struct LinkStateDetails {
  Lid switch_lid;
};
using LinkStateDetailsLayout = Layout<Field<&LinkStateDetails::switch_lid, 16>>;

/// Of trap 144.
struct CapabilityDetails {
  std::uint16_t reserved0 = 0;
  Lid port_lid;
  std::uint16_t reserved4 = 0;
  bool has_other_changes = false;
  std::uint32_t capability_mask = 0;
  std::uint16_t other_changes = 0;
};
using CapabilityDetailsLayout =
    Layout<Field<&CapabilityDetails::reserved0, 16>, Field<&CapabilityDetails::port_lid, 16>,
           Field<&CapabilityDetails::reserved4, 15>, Field<&CapabilityDetails::has_other_changes, 1>,
           Field<&CapabilityDetails::capability_mask, 32>, Field<&CapabilityDetails::other_changes, 16>>;
static_assert(CapabilityDetailsLayout::bytes == 12);

/// Of traps 129 to 131.
struct LinkErrorDetails {
  std::uint16_t reserved = 0;
  Lid lid;
  std::uint8_t port = 0;
};
using LinkErrorDetailsLayout = Layout<Field<&LinkErrorDetails::reserved, 16>, Field<&LinkErrorDetails::lid, 16>,
                                      Field<&LinkErrorDetails::port, 8>>;
static_assert(LinkErrorDetailsLayout::bytes == 5);

/// Of trap 256: the request whose key was wrong. Behind it, of a directed route, stands the way back.
struct BadManagementKeyDetails {
  std::uint16_t reserved0 = 0;
  Lid lid;
  Lid directed_source;
  std::uint8_t method = 0;
  std::uint8_t reserved7 = 0;
  std::uint16_t attribute = 0;
  std::uint32_t attribute_modifier = 0;
  std::uint64_t key = 0;
  std::uint8_t reserved22 = 0;
  bool is_directed = false;
  bool is_path_cut = false;  // kNoticePathBytes have no room for it
  std::uint8_t hops = 0;
};
using BadManagementKeyDetailsLayout =
    Layout<Field<&BadManagementKeyDetails::reserved0, 16>, Field<&BadManagementKeyDetails::lid, 16>,
           Field<&BadManagementKeyDetails::directed_source, 16>, Field<&BadManagementKeyDetails::method, 8>,
           Field<&BadManagementKeyDetails::reserved7, 8>, Field<&BadManagementKeyDetails::attribute, 16>,
           Field<&BadManagementKeyDetails::attribute_modifier, 32>, Field<&BadManagementKeyDetails::key, 64>,
           Field<&BadManagementKeyDetails::reserved22, 8>, Field<&BadManagementKeyDetails::is_directed, 1>,
           Field<&BadManagementKeyDetails::is_path_cut, 1>, Field<&BadManagementKeyDetails::hops, 6>>;
static_assert(BadManagementKeyDetailsLayout::bytes == 24);
inline constexpr std::size_t kNoticePathBytes = 30;

/// Of traps 257 and 258: the packet whose key was wrong. GIDs are 0 if it had no GRH, the sender's QP if it named none.
struct BadKeyDetails {
  std::uint16_t reserved = 0;
  Lid source;
  Lid destination;
  std::uint32_t key = 0;
  std::uint8_t service_level = 0;
  std::uint8_t reserved10 = 0;
  Qpn source_qp;
  std::uint8_t reserved14 = 0;
  Qpn destination_qp;
  Gid source_gid;
  Gid destination_gid;
  constexpr bool operator==(const BadKeyDetails&) const = default;
};
using BadKeyDetailsLayout = Layout<Field<&BadKeyDetails::reserved, 16>, Field<&BadKeyDetails::source, 16>,
                                   Field<&BadKeyDetails::destination, 16>, Field<&BadKeyDetails::key, 32>,
                                   Field<&BadKeyDetails::service_level, 4>, Field<&BadKeyDetails::reserved10, 4>,
                                   Field<&BadKeyDetails::source_qp, 24>, Field<&BadKeyDetails::reserved14, 8>,
                                   Field<&BadKeyDetails::destination_qp, 24>, Field<&BadKeyDetails::source_gid, 128>,
                                   Field<&BadKeyDetails::destination_gid, 128>>;
static_assert(BadKeyDetailsLayout::bytes == 50);

/// Of trap 259: the same at a switch's port, and which port that is. `valid`: a bit for each field from `source` on.
struct BadPkeyAtSwitchDetails {
  std::uint16_t valid = 0;
  Lid source;
  Lid destination;
  std::uint16_t pkey = 0;
  std::uint8_t service_level = 0;
  std::uint8_t reserved8 = 0;
  Qpn source_qp;
  std::uint8_t reserved12 = 0;
  Qpn destination_qp;
  Gid source_gid;
  Gid destination_gid;
  Lid switch_lid;
  std::uint8_t port = 0;
};
using BadPkeyAtSwitchDetailsLayout =
    Layout<Field<&BadPkeyAtSwitchDetails::valid, 16>, Field<&BadPkeyAtSwitchDetails::source, 16>,
           Field<&BadPkeyAtSwitchDetails::destination, 16>, Field<&BadPkeyAtSwitchDetails::pkey, 16>,
           Field<&BadPkeyAtSwitchDetails::service_level, 4>, Field<&BadPkeyAtSwitchDetails::reserved8, 4>,
           Field<&BadPkeyAtSwitchDetails::source_qp, 24>, Field<&BadPkeyAtSwitchDetails::reserved12, 8>,
           Field<&BadPkeyAtSwitchDetails::destination_qp, 24>, Field<&BadPkeyAtSwitchDetails::source_gid, 128>,
           Field<&BadPkeyAtSwitchDetails::destination_gid, 128>, Field<&BadPkeyAtSwitchDetails::switch_lid, 16>,
           Field<&BadPkeyAtSwitchDetails::port, 8>>;
static_assert(BadPkeyAtSwitchDetailsLayout::bytes == 51);

}  // namespace verbena::wire
