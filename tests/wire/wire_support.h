// What the wire tests share: captures as frames, bytes with a wall behind them, a packet of every opcode.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/support/places.h"
#include "wire/packet_builder.h"
#include "wire/packet_view.h"
#include "wire/pcap_file.h"

namespace verbena::wire::test {

using Bytes = std::vector<std::byte>;

inline Bytes bytes_of(std::initializer_list<unsigned> octets) {
  Bytes bytes;
  for (const unsigned octet : octets) bytes.push_back(static_cast<std::byte>(octet));
  return bytes;
}

inline std::span<const std::byte> first_of(std::span<const std::byte> bytes, std::size_t size) {
  return bytes.first(size);
}

inline Bytes read_file(const std::string& name) {
  std::ifstream file(verbena::test::data_file(name), std::ios::binary);
  BOOST_REQUIRE_MESSAGE(file, "cannot open " << name);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  Bytes bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

/// A copy of bytes that ends where readable memory ends: one octet too far is a crash, in every build.
class WalledBytes {
 public:
  explicit WalledBytes(std::span<const std::byte> bytes) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t body = (bytes.size() + page - 1) / page * page;
    mapped_bytes_ = body + page;
    mapping_ = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    BOOST_REQUIRE(mapping_ != MAP_FAILED);
    BOOST_REQUIRE_EQUAL(mprotect(static_cast<char*>(mapping_) + body, page, PROT_NONE), 0);
    bytes_ = {static_cast<std::byte*>(mapping_) + body - bytes.size(), bytes.size()};
    if (!bytes.empty()) std::memcpy(bytes_.data(), bytes.data(), bytes.size());
  }
  ~WalledBytes() { munmap(mapping_, mapped_bytes_); }
  WalledBytes(const WalledBytes&) = delete;
  WalledBytes& operator=(const WalledBytes&) = delete;
  std::span<std::byte> get() const { return bytes_; }
  /// The last `size` octets of the room: still ends at the wall.
  std::span<std::byte> last(std::size_t size) const { return bytes_.last(size); }

 private:
  void* mapping_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  std::span<std::byte> bytes_;
};

/// The path that makes the builder repeat the headers of this packet.
inline FramePath path_of(const PacketView& view) {
  FramePath path;
  path.from = view.ethernet().source;
  path.to = view.ethernet().destination;
  path.source = view.source();
  path.destination = view.destination();
  path.traffic_class = view.ip().traffic_class();
  path.hop_limit = view.ip().hop_limit();
  path.udp_source_port = view.udp().source_port;
  path.vlan = view.vlan();
  if (view.ip().is_v4()) {
    path.ipv4_identification = view.ip().v4().identification;
    path.ipv4_dont_fragment = view.ip().v4().dont_fragment;
  } else {
    path.flow_label = view.ip().v6().flow_label;
  }
  return path;
}

/// Builds the packet again from what its view says.
inline Bytes rebuild(const PacketView& view) {
  const FrameTemplate frame_template(path_of(view));
  const OpcodeInfo& info = view.opcode();
  Bytes into(frame_bytes(frame_template, view.bth().opcode, view.payload().size()));
  PacketBuilder builder(into, frame_template, view.bth(), view.payload().size());
  if (info.has_xrceth) builder.append(view.xrceth());
  if (info.has_deth) builder.append(view.deth());
  if (info.has_reth) builder.append(view.reth());
  if (info.has_atomic_eth) builder.append(view.atomic_eth());
  if (info.has_aeth) builder.append(view.aeth());
  if (info.has_atomic_ack_eth) builder.append(view.atomic_ack_eth());
  if (info.has_immediate) builder.append(view.immediate());
  if (info.has_invalidate) builder.append(view.ieth());
  builder.append_payload(view.payload());
  BOOST_REQUIRE_EQUAL(builder.finish(), into.size());
  return into;
}

inline FramePath ipv4_path() {
  FramePath path;
  path.from = MacAddress{{0x02, 0x56, 0x7f, 0x2f, 0x5b, 0x01}};
  path.to = MacAddress{{0x02, 0x56, 0x7f, 0x2f, 0x5b, 0x02}};
  path.source = Gid::from_ipv4(0x7f2f5b01);
  path.destination = Gid::from_ipv4(0x7f2f5b02);
  return path;
}

inline FramePath ipv6_path() {
  FramePath path = ipv4_path();
  path.source.octets = {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  path.destination.octets = {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};
  path.traffic_class = 0x6a;
  path.flow_label = 0xabcde;
  return path;
}

inline FramePath with_vlan(FramePath path) {
  path.vlan = Vlan{.priority = 3, .drop_eligible = true, .vlan_id = 0x123, .ether_type = 0};
  return path;
}

inline std::vector<FramePath> all_paths() {
  return {ipv4_path(), ipv6_path(), with_vlan(ipv4_path()), with_vlan(ipv6_path())};
}

inline std::vector<Opcode> defined_opcodes() {
  std::vector<Opcode> opcodes;
  for (unsigned octet = 0; octet < 256; ++octet) {
    if (opcode_info(static_cast<Opcode>(octet)).defined) opcodes.push_back(static_cast<Opcode>(octet));
  }
  return opcodes;
}

inline Bytes pattern(std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + 1);
  return bytes;
}

inline constexpr Xrceth kXrceth{.reserved = 0, .xrc_srq = Qpn(0x123456)};
inline constexpr Deth kDeth{.qkey = 0x11111111, .reserved = 0, .source_qp = Qpn(0xabcdef)};
inline constexpr Reth kReth{.address = 0x7f00deadbeef0123, .rkey = Rkey{0x8001}, .length = 70000};
inline constexpr AtomicEth kAtomicEth{.address = 0x7f00deadbeef0128,
                                      .rkey = Rkey{0x8002},
                                      .swap_or_add = 0x0102030405060708,
                                      .compare = 0xf1f2f3f4f5f6f7f8};
inline constexpr Aeth kAeth{.syndrome = 0x1f, .msn = 0x00beef};
inline constexpr AtomicAckEth kAtomicAckEth{.original = 0x1122334455667788};
inline constexpr ImmDt kImmDt{.data = 0xcafef00d};
inline constexpr Ieth kIeth{.rkey = Rkey{0x8003}};

/// A packet of this opcode with every header of its own filled with something telling.
inline Bytes sample(const FramePath& path, Opcode opcode, std::size_t payload_bytes,
                    IcrcState icrc = IcrcState::present) {
  const OpcodeInfo& info = opcode_info(opcode);
  if (!info.has_payload) payload_bytes = 0;
  Bth bth;
  bth.opcode = opcode;
  bth.dest_qp = Qpn(0x01a2b3);
  bth.psn = Psn(0xfffffe);
  bth.ack_request = true;
  const FrameTemplate frame_template(path);
  Bytes into(frame_bytes(frame_template, opcode, payload_bytes));
  PacketBuilder builder(into, frame_template, bth, payload_bytes, icrc);
  if (info.has_xrceth) builder.append(kXrceth);
  if (info.has_deth) builder.append(kDeth);
  if (info.has_reth) builder.append(kReth);
  if (info.has_atomic_eth) builder.append(kAtomicEth);
  if (info.has_aeth) builder.append(kAeth);
  if (info.has_atomic_ack_eth) builder.append(kAtomicAckEth);
  if (info.has_immediate) builder.append(kImmDt);
  if (info.has_invalidate) builder.append(kIeth);
  builder.append_payload(pattern(payload_bytes));
  BOOST_REQUIRE_EQUAL(builder.finish(), into.size());
  return into;
}

inline constexpr Opcode kRcWriteOnly = make_opcode(Transport::rc, OperationCode::write_only);

}  // namespace verbena::wire::test
