// Reading a management datagram of the communication manager: its header, and what lies where behind it.
//
// Private to the communication manager; mad.h puts such datagrams together.
// Tested by: tests/cm/kernel_capture_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "emulator/cm/connection.h"
#include "wire/management.h"
#include "wire/packet_view.h"

namespace verbena::cm {

/// Nothing: the packet is no message between communication managers.
std::optional<wire::MadHeader> mad_header(const wire::PacketView& packet);

/// Of what is behind the MAD header.
template <class MessageLayout>
typename MessageLayout::Header parse(std::span<const std::byte> body) {
  return MessageLayout::parse(body.first<MessageLayout::bytes>());
}

/// Who asks: the IP version is the upper half of the addressing header's second octet (annex A11).
template <class MessageLayout>
wire::IpVersions asker_of(std::span<const std::byte> body) {
  constexpr std::uint8_t kIpv4 = 4;
  constexpr std::uint8_t kIpv6 = 6;
  const auto header = wire::IpAddressingHeaderLayout::parse(
      body.subspan(MessageLayout::bytes).template first<wire::IpAddressingHeaderLayout::bytes>());
  const bool is_ipv4 = header.ip_version == kIpv4;
  const bool is_ipv6 = header.ip_version == kIpv6;
  return {is_ipv4, is_ipv6, !is_ipv4 && !is_ipv6};
}

}  // namespace verbena::cm
