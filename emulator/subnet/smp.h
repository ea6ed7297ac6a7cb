// Smp: the parts of a subnet management packet in its 256 octets (IBTA vol 1, 14.2.1). A view; it owns nothing.
// Tested by: tests/subnet/agents_test.cc
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "wire/assert.h"
#include "wire/subnet_management.h"

namespace verbena::subnet {

class Smp {
 public:
  explicit Smp(std::vector<std::byte>& octets) : octets_(octets) { VERBENA_ASSERT(octets.size() >= wire::kMadBytes); }
  /// To look at.
  explicit Smp(const std::vector<std::byte>& octets) : Smp(const_cast<std::vector<std::byte>&>(octets)) {}

  wire::AnyMadHeader header() const {
    return wire::AnyMadHeaderLayout::parse(octets_.first<wire::AnyMadHeaderLayout::bytes>());
  }
  void set_header(const wire::AnyMadHeader& header) {
    wire::AnyMadHeaderLayout::emit(header, octets_.first<wire::AnyMadHeaderLayout::bytes>());
  }
  wire::SmpAddressing addressing() const {
    return wire::SmpAddressingLayout::parse(octets_.subspan<wire::kSmpKeyAt, wire::SmpAddressingLayout::bytes>());
  }
  std::span<std::byte> data() const { return octets_.subspan(wire::kSmpDataAt, wire::kSmpDataBytes); }

  bool is_directed() const { return u8(kClassAt) == wire::kClassSubnetDirected; }
  bool goes_back() const { return (u8(kStatusAt) & 0x80) != 0; }
  /// The way to where the route begins is by LIDs, and back from there.
  bool begins_by_lid() const { return addressing().directed_source != wire::kLidPermissive; }
  /// So is the way from where the route ends.
  bool ends_by_lid() const { return addressing().directed_destination != wire::kLidPermissive; }
  std::uint8_t hop_pointer() const { return u8(kHopPointerAt); }
  std::uint8_t hop_count() const { return u8(kHopPointerAt + 1); }
  void set_hop_pointer(std::uint8_t hop) { octets_[kHopPointerAt] = std::byte{hop}; }
  std::uint8_t initial_port(std::uint8_t hop) const { return u8(wire::kSmpInitialPathAt + hop % wire::kSmpPathBytes); }
  std::uint8_t return_port(std::uint8_t hop) const { return u8(wire::kSmpReturnPathAt + hop % wire::kSmpPathBytes); }
  void set_return_port(std::uint8_t hop, std::uint8_t port) {
    octets_[wire::kSmpReturnPathAt + hop % wire::kSmpPathBytes] = std::byte{port};
  }

  template <class HeaderLayout>
  typename HeaderLayout::Header read_data() const {
    return HeaderLayout::parse(data().first<HeaderLayout::bytes>());
  }
  template <class HeaderLayout>
  void write_data(const typename HeaderLayout::Header& value) {
    HeaderLayout::emit(value, data().first<HeaderLayout::bytes>());
  }

 private:
  static constexpr std::size_t kClassAt = 1;
  static constexpr std::size_t kStatusAt = 4;
  static constexpr std::size_t kHopPointerAt = 6;
  std::uint8_t u8(std::size_t at) const { return std::to_integer<std::uint8_t>(octets_[at]); }

  std::span<std::byte> octets_;
};

}  // namespace verbena::subnet
