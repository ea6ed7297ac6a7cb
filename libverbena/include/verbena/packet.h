// Packet: one RoCE v2 packet as plain values, and the way between it and the octets of a frame.
//
// Numbers are in host order. A packet that was read has exactly the headers that its opcode carries (IBTA vol 1, 9.2);
// one that is sent takes zeros for those that are missing, and those that its opcode does not carry are left out.
#pragma once

#include <verbena/result.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace libverbena {

/// The opcode octet of a BTH (IBTA vol 1, table 38; annex A17 for CNP). Others are made by a cast.
enum class Opcode : std::uint8_t {
  rc_send_first = 0x00,
  rc_send_middle = 0x01,
  rc_send_last = 0x02,
  rc_send_last_with_immediate = 0x03,
  rc_send_only = 0x04,
  rc_send_only_with_immediate = 0x05,
  rc_write_first = 0x06,
  rc_write_middle = 0x07,
  rc_write_last = 0x08,
  rc_write_last_with_immediate = 0x09,
  rc_write_only = 0x0a,
  rc_write_only_with_immediate = 0x0b,
  rc_read_request = 0x0c,
  rc_read_response_first = 0x0d,
  rc_read_response_middle = 0x0e,
  rc_read_response_last = 0x0f,
  rc_read_response_only = 0x10,
  rc_acknowledge = 0x11,
  rc_atomic_acknowledge = 0x12,
  rc_compare_swap = 0x13,
  rc_fetch_add = 0x14,
  rc_send_last_with_invalidate = 0x16,
  rc_send_only_with_invalidate = 0x17,
  rc_atomic_write = 0x1d,
  uc_send_only = 0x24,
  uc_write_only = 0x2a,
  ud_send_only = 0x64,
  ud_send_only_with_immediate = 0x65,
  cnp = 0x81,
};

/// "send-first", "uc-write-only", "acknowledge": as packet scripts name it, without "rc-". Empty: no such opcode.
LIBVERBENA_PUBLIC std::string to_string(Opcode opcode);

/// Syndrome octets of an AETH (IBTA vol 1, 9.7.5.2). Credits of an ACK: code 31, which means none are counted.
inline constexpr std::uint8_t kAck = 0x1f;
inline constexpr std::uint8_t kRnrNak = 0x20;  // plus the timer code, table 46
inline constexpr std::uint8_t kNakPsnSequenceError = 0x60;
inline constexpr std::uint8_t kNakInvalidRequest = 0x61;
inline constexpr std::uint8_t kNakRemoteAccessError = 0x62;
inline constexpr std::uint8_t kNakRemoteOperationalError = 0x63;

/// ACK extended transport header (IBTA vol 1, 9.3.5).
struct Aeth {
  std::uint8_t syndrome = kAck;
  std::uint32_t msn = 0;  // 24 bits
};
/// RDMA extended transport header (9.3.3). Lengths in octets.
struct Reth {
  std::uint64_t address = 0;
  std::uint32_t rkey = 0;
  std::uint32_t length = 0;
};
/// Atomic extended transport header (9.3.4).
struct AtomicEth {
  std::uint64_t address = 0;
  std::uint32_t rkey = 0;
  std::uint64_t swap_or_add = 0;
  std::uint64_t compare = 0;
};

struct Packet {
  Opcode opcode = Opcode::rc_send_only;
  std::uint32_t psn = 0;      // 24 bits
  std::uint32_t dest_qp = 0;  // 24 bits; 0 of one that is sent: the QP at the other end
  bool solicited = false;
  bool ack_request = false;
  bool fecn = false;
  bool becn = false;
  std::uint16_t pkey = 0xffff;
  std::optional<Aeth> aeth{};
  std::optional<Reth> reth{};
  std::optional<AtomicEth> atomic{};
  std::optional<std::uint64_t> atomic_original{};  // of an ATOMIC acknowledge
  std::optional<std::uint32_t> immediate{};
  std::optional<std::uint32_t> invalidated_rkey{};
  std::optional<std::uint32_t> qkey{};       // UD
  std::optional<std::uint32_t> source_qp{};  // UD
  std::vector<std::byte> payload{};          // at most 4096 octets, without padding
  // Only of one that was read.
  std::string source{};  // IP address
  std::string destination{};
  bool icrc_is_right = true;
};

/// Of a whole Ethernet frame with a RoCE v2 packet; VLAN tag or not. The error says what it is not.
LIBVERBENA_PUBLIC Result<Packet> read_packet(std::span<const std::byte> frame);
/// One line in the specification's words, as `verbena explain` and captures have it.
LIBVERBENA_PUBLIC Result<std::string> describe(std::span<const std::byte> frame);

}  // namespace libverbena
