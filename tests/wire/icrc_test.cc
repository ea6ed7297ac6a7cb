// The ICRC against a reference of its own: what it covers, what it masks, and solving for the IPv4 identification.
#include "wire/icrc.h"

#include <set>

#include "tests/wire/wire_support.h"

namespace verbena::wire::test {
namespace {

/// The ICRC as annex A17 words it, bit by bit and octet by octet, sharing nothing with the code under test.
std::uint32_t reference_icrc(std::span<const std::byte> frame, std::size_t ip_offset, bool is_ipv4) {
  Bytes covered(8, std::byte{0xff});
  covered.insert(covered.end(), frame.begin() + static_cast<std::ptrdiff_t>(ip_offset), frame.end() - 4);
  const std::size_t udp = 8 + (is_ipv4 ? 20u : 40u);
  if (is_ipv4) {
    for (const std::size_t i : std::initializer_list<std::size_t>{1, 8, 10, 11}) covered[8 + i] = std::byte{0xff};
  } else {
    covered[8] |= std::byte{0x0f};
    for (const std::size_t i : std::initializer_list<std::size_t>{1, 2, 3, 7}) covered[8 + i] = std::byte{0xff};
  }
  covered[udp + 6] = covered[udp + 7] = std::byte{0xff};
  covered[udp + 8 + 4] = std::byte{0xff};
  std::uint32_t crc = 0xffffffff;
  for (const std::byte octet : covered) {
    crc ^= std::to_integer<std::uint32_t>(octet);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320 : 0);
  }
  return ~crc;
}

std::size_t ip_offset_of(const FramePath& path) {
  return path.vlan ? 18 : 14;
}
std::size_t udp_offset_of(const FramePath& path) {
  return ip_offset_of(path) + (path.source.is_ipv4() ? std::size_t{20} : std::size_t{40});
}

/// The octets from the IP header on that routers and switches may change. The IPv6 version shares its octet with four
/// masked bits.
std::set<std::size_t> masked_octets(const FramePath& path) {
  const std::size_t ip = ip_offset_of(path);
  const std::size_t udp = udp_offset_of(path);
  std::set<std::size_t> masked{udp + 6, udp + 7, udp + 8 + 4};
  for (const std::size_t i :
       path.source.is_ipv4() ? std::set<std::size_t>{1, 8, 10, 11} : std::set<std::size_t>{1, 2, 3, 7}) {
    masked.insert(ip + i);
  }
  return masked;
}

}  // namespace

BOOST_AUTO_TEST_CASE(built_frames_carry_the_icrc_of_the_annex) {
  for (const FramePath& path : all_paths()) {
    for (const std::size_t payload : std::initializer_list<std::size_t>{0, 1, 2, 3, 4, 64, 191, 1024, 4095, 4096}) {
      const Bytes frame = sample(path, kRcWriteOnly, payload);
      const auto view = parse_frame(frame);
      BOOST_REQUIRE(view.ok());
      BOOST_TEST(view->icrc() == reference_icrc(frame, ip_offset_of(path), path.source.is_ipv4()));
      BOOST_TEST(view->icrc_is_valid());
    }
  }
}

BOOST_AUTO_TEST_CASE(flipped_bit_fails_the_icrc_unless_its_octet_is_masked) {
  for (const FramePath& path : all_paths()) {
    const Bytes good = sample(path, kRcWriteOnly, 33);
    const std::set<std::size_t> masked = masked_octets(path);
    std::size_t checked = 0;
    for (std::size_t octet = ip_offset_of(path); octet < good.size(); ++octet) {
      for (unsigned bit = 0; bit < 8; ++bit) {
        Bytes frame = good;
        frame[octet] ^= static_cast<std::byte>(1u << bit);
        const auto view = parse_frame(frame);
        if (!view) continue;  // noticed even earlier
        const bool is_masked =
            masked.contains(octet) || (!path.source.is_ipv4() && octet == ip_offset_of(path) && bit < 4);
        BOOST_REQUIRE_MESSAGE(view->icrc_is_valid() == is_masked, "octet " << octet << " bit " << bit);
        ++checked;
      }
    }
    BOOST_TEST(checked > 8 * 60u);
  }
}

BOOST_AUTO_TEST_CASE(crc_in_pieces_is_the_crc_of_the_whole) {
  const Bytes bytes = pattern(301);
  Icrc whole;
  whole.update(bytes.data(), bytes.size());
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    Icrc pieces;
    pieces.update(bytes.data(), cut);
    pieces.update(bytes.data() + cut, bytes.size() - cut);
    BOOST_REQUIRE_EQUAL(pieces.value(), whole.value());
  }
}

BOOST_AUTO_TEST_CASE(any_identification_can_be_solved_for_at_any_size) {
  for (const bool vlan : {false, true}) {
    for (const std::size_t payload : std::initializer_list<std::size_t>{0, 1, 100, 1024, 4096}) {
      for (const unsigned identification : {0u, 1u, 0x80u, 0x100u, 0x1234u, 0xffffu}) {
        FramePath path = vlan ? with_vlan(ipv4_path()) : ipv4_path();
        path.ipv4_identification = static_cast<std::uint16_t>(identification);
        Bytes frame = sample(path, kRcWriteOnly, payload);
        set_ipv4_identification(frame, 0x5555);
        BOOST_REQUIRE(!parse_frame(frame)->icrc_is_valid());
        const auto solved = solve_ipv4_identification(frame);
        BOOST_REQUIRE(solved.has_value());
        BOOST_TEST(*solved == identification);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_corrupted_payload_is_not_explained_by_an_identification) {
  Bytes frame = sample(ipv4_path(), kRcWriteOnly, 1024);
  for (std::size_t octet = frame.size() - 1000; octet < frame.size(); octet += 13) {
    frame[octet] ^= std::byte{0x10};
    BOOST_REQUIRE(!solve_ipv4_identification(frame).has_value());
    frame[octet] ^= std::byte{0x10};
  }
  BOOST_TEST(!solve_ipv4_identification(sample(ipv6_path(), kRcWriteOnly, 64)).has_value());
  BOOST_TEST(!solve_ipv4_identification(std::span(frame).first(frame.size() - 1)).has_value());
}

BOOST_AUTO_TEST_CASE(setting_the_identification_keeps_the_header_checksum_right) {
  for (const unsigned identification : {0u, 1u, 0xfffeu, 0xffffu, 0xb1e6u}) {
    FramePath path = ipv4_path();
    path.ipv4_identification = static_cast<std::uint16_t>(identification);
    const Bytes expected = sample(path, kRcWriteOnly, 8);
    Bytes frame = sample(ipv4_path(), kRcWriteOnly, 8);
    set_ipv4_identification(frame, path.ipv4_identification);
    BOOST_TEST(std::memcmp(frame.data(), expected.data(), expected.size() - kIcrcBytes) == 0);
  }
}

BOOST_AUTO_TEST_CASE(setting_the_identification_leaves_other_frames_alone) {
  const Bytes ipv6 = sample(ipv6_path(), kRcWriteOnly, 8);
  Bytes frame = ipv6;
  set_ipv4_identification(frame, 0x1234);
  BOOST_TEST(frame == ipv6, "an IPv6 frame is unchanged");
  const Bytes ipv4 = sample(with_vlan(ipv4_path()), kRcWriteOnly, 8);
  for (std::size_t size = 0; size < 38; ++size) {
    const WalledBytes walled(first_of(ipv4, size));
    set_ipv4_identification(walled.get(), 0x1234);
    BOOST_REQUIRE(std::memcmp(walled.get().data(), ipv4.data(), size) == 0);
  }
}

}  // namespace verbena::wire::test
