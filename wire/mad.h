// Management datagrams: the header that all have (MAD), and the numbers and names of classes, methods and attributes.
//
// Solely that; the messages of connections are in management.h. Sources: IBTA vol 1, 13.4 (MAD, classes, methods), 14.2
// (subnet management), 15.2 (subnet administration), 16.1 (performance), 16.3 (device management), 16.7
// (communication management).
// Tested by: tests/wire/mad_test.cc
#pragma once

#include <cstdint>
#include <string>

#include "wire/layout.h"
#include "wire/types.h"

namespace verbena::wire {

inline constexpr std::size_t kMadBytes = 256;
inline constexpr std::uint8_t kMadBaseVersion = 1;
inline constexpr Qpn kSmiQpn{0};

/// 13.4.4
inline constexpr std::uint8_t kClassSubnetLid = 0x01;
inline constexpr std::uint8_t kClassSubnetAdministration = 0x03;
inline constexpr std::uint8_t kClassPerformance = 0x04;
inline constexpr std::uint8_t kClassBoard = 0x05;
inline constexpr std::uint8_t kClassDevice = 0x06;
inline constexpr std::uint8_t kClassCommunication = 0x07;
inline constexpr std::uint8_t kClassSnmp = 0x08;
inline constexpr std::uint8_t kClassCongestion = 0x21;
inline constexpr std::uint8_t kClassSubnetDirected = 0x81;

/// 13.4.5
inline constexpr std::uint8_t kMethodGet = 0x01;
inline constexpr std::uint8_t kMethodSet = 0x02;
inline constexpr std::uint8_t kMethodSend = 0x03;
inline constexpr std::uint8_t kMethodTrap = 0x05;
inline constexpr std::uint8_t kMethodReport = 0x06;
inline constexpr std::uint8_t kMethodTrapRepress = 0x07;
inline constexpr std::uint8_t kMethodGetTable = 0x12;
inline constexpr std::uint8_t kMethodGetTraceTable = 0x13;
inline constexpr std::uint8_t kMethodGetMulti = 0x14;
inline constexpr std::uint8_t kMethodDelete = 0x15;
/// Of the answer to the method without it.
inline constexpr std::uint8_t kMethodResponseBit = 0x80;

/// `Attribute` is the number, or an enum of those that a class has.
template <class Attribute>
struct MadHeaderOf {
  std::uint8_t base_version = kMadBaseVersion;
  std::uint8_t management_class = 0;
  std::uint8_t class_version = 0;
  std::uint8_t method = 0;
  std::uint16_t status = 0;
  std::uint16_t class_specific = 0;  // directed routes: hop pointer and hop count
  std::uint64_t transaction_id = 0;
  Attribute attribute{};
  std::uint16_t reserved = 0;
  std::uint32_t attribute_modifier = 0;
};
template <class Header>
using MadHeaderLayoutOf =
    Layout<Field<&Header::base_version, 8>, Field<&Header::management_class, 8>, Field<&Header::class_version, 8>,
           Field<&Header::method, 8>, Field<&Header::status, 16>, Field<&Header::class_specific, 16>,
           Field<&Header::transaction_id, 64>, Field<&Header::attribute, 16>, Field<&Header::reserved, 16>,
           Field<&Header::attribute_modifier, 32>>;

using AnyMadHeader = MadHeaderOf<std::uint16_t>;
using AnyMadHeaderLayout = MadHeaderLayoutOf<AnyMadHeader>;
static_assert(AnyMadHeaderLayout::bytes == 24);

/// "SubnGet(NodeInfo)", as the specification writes it: prefix of the class, method, attribute. What it does not name
/// has its number: "PerfGet(attribute 0xff)", "MAD class 0x30 method 0x1 attribute 0x10".
std::string mad_name(const AnyMadHeader& header);

}  // namespace verbena::wire
