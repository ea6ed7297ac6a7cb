// Putting a management datagram of the communication manager together.
// Tested by: tests/cm/kernel_capture_test.cc
#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "emulator/cm/connection.h"
#include "wire/management.h"

namespace verbena::cm {

using Mad = std::array<std::byte, wire::kMadBytes>;

/// What a connection's own messages are told apart by, in the kernel's form.
inline std::uint64_t transaction_of(ConnectionId id) {
  constexpr std::uint64_t kAgent = 2;
  return kAgent << 32 | __builtin_bswap32(id);
}

/// Header, message, and the private data behind `skip` octets that the message leaves empty.
template <class MessageLayout>
Mad make_mad(wire::CmAttribute attribute, std::uint64_t transaction_id, const typename MessageLayout::Header& message,
             const PrivateData& data, std::size_t skip = 0) {
  Mad mad{};
  wire::MadHeader header;
  header.management_class = wire::kManagementClassCm;
  header.class_version = wire::kCmClassVersion;
  header.method = wire::kMadMethodSend;
  header.attribute = attribute;
  header.transaction_id = transaction_id;
  constexpr std::size_t kHeaderBytes = wire::MadHeaderLayout::bytes;
  wire::MadHeaderLayout::emit(header, std::span<std::byte, kHeaderBytes>(mad.data(), kHeaderBytes));
  MessageLayout::emit(message,
                      std::span<std::byte, MessageLayout::bytes>(mad.data() + kHeaderBytes, MessageLayout::bytes));
  const std::size_t begin = kHeaderBytes + MessageLayout::bytes + skip;
  std::copy_n(data.octets.begin(), std::min(mad.size() - begin, data.bytes),
              mad.begin() + static_cast<std::ptrdiff_t>(begin));
  return mad;
}

}  // namespace verbena::cm
