// NetlinkAttributes: the attributes of a question that a program asks over netlink.
//
// Solely their finding, in octets that may be wrong in any way: what is cut off or too short is not there. Which ones
// mean something is said by rdma_netlink.h and route_answers.h.
// Tested by: tests/shim/sockets/rdma_netlink_test.cc
#pragma once

#include <linux/netlink.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

namespace verbena::path {

class NetlinkAttributes {
 public:
  NetlinkAttributes() = default;
  NetlinkAttributes(const char* octets, std::size_t bytes) : octets_(octets), bytes_(bytes) {}

  /// Null: there is none of this type, or a shorter one.
  const char* find(std::uint16_t type, std::size_t least) const {
    for (std::size_t at = 0; at + sizeof(nlattr) <= bytes_;) {
      nlattr one;
      std::memcpy(&one, octets_ + at, sizeof one);
      if (one.nla_len < sizeof one || one.nla_len > bytes_ - at) break;
      if ((one.nla_type & NLA_TYPE_MASK) == type && one.nla_len >= sizeof one + least) return octets_ + at + sizeof one;
      at += NLA_ALIGN(one.nla_len);
    }
    return nullptr;
  }
  /// Four octets, in the order in which they lie there.
  std::optional<std::uint32_t> number(std::uint16_t type) const {
    std::uint32_t value = 0;
    const char* const at = find(type, sizeof value);
    if (at == nullptr) return std::nullopt;
    std::memcpy(&value, at, sizeof value);
    return value;
  }

 private:
  const char* octets_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace verbena::path
