// FixedText: a short text as a plain value, with its octets inside.
//
// Solely that: what does not fit is cut off. Needs nothing, allocates nothing: the path shim includes it.
// Tested by: tests/host/node/identity_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace verbena::host {

/// At most kBytes - 1 characters; a zero follows them.
template <std::size_t kBytes>
class FixedText {
 public:
  constexpr const char* c_str() const { return octets_; }
  constexpr std::string_view view() const { return {octets_, bytes_}; }
  constexpr bool empty() const { return bytes_ == 0; }
  constexpr bool operator==(const FixedText& other) const { return view() == other.view(); }

  constexpr FixedText& append(std::string_view text) {
    for (const char one : text) put(one);
    return *this;
  }
  constexpr FixedText& append_number(std::uint32_t number) {
    std::uint32_t unit = 1;
    while (number / unit >= 10) unit *= 10;
    for (; unit != 0; unit /= 10) put(static_cast<char>('0' + number / unit % 10));
    return *this;
  }
  /// Two digits.
  constexpr FixedText& append_hex_octet(std::uint32_t octet) {
    constexpr char kDigits[] = "0123456789abcdef";
    put(kDigits[octet >> 4 & 15]);
    put(kDigits[octet & 15]);
    return *this;
  }

 private:
  constexpr void put(char one) {
    if (bytes_ + 1 < kBytes) octets_[bytes_++] = one;
  }

  char octets_[kBytes] = {};
  std::size_t bytes_ = 0;
};

}  // namespace verbena::host
