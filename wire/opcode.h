// The opcode table: per BTH opcode the transport, the operation, the place in the message, the headers that follow.
//
// The only place that knows what an opcode implies. Source: IBTA vol 1 release 1.4, table 38 and 9.2.1; release 1.6 for
// ATOMIC WRITE; annex A17 for CNP.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace verbena::wire {

enum class Transport : std::uint8_t { rc = 0, uc = 1, rd = 2, ud = 3, cnp = 4, xrc = 5 };

/// The low five bits of a BTH opcode; the upper three are the Transport.
enum class OperationCode : std::uint8_t {
  send_first = 0x00,
  send_middle = 0x01,
  send_last = 0x02,
  send_last_with_immediate = 0x03,
  send_only = 0x04,
  send_only_with_immediate = 0x05,
  write_first = 0x06,
  write_middle = 0x07,
  write_last = 0x08,
  write_last_with_immediate = 0x09,
  write_only = 0x0a,
  write_only_with_immediate = 0x0b,
  read_request = 0x0c,
  read_response_first = 0x0d,
  read_response_middle = 0x0e,
  read_response_last = 0x0f,
  read_response_only = 0x10,
  acknowledge = 0x11,
  atomic_acknowledge = 0x12,
  compare_swap = 0x13,
  fetch_add = 0x14,
  send_last_with_invalidate = 0x16,
  send_only_with_invalidate = 0x17,
  atomic_write = 0x1d,
};

/// A whole BTH opcode octet. Any octet can stand here; opcode_info() says whether it is a defined one.
enum class Opcode : std::uint8_t { cnp = 0x81 };

constexpr Opcode make_opcode(Transport transport, OperationCode operation) {
  return static_cast<Opcode>(static_cast<unsigned>(transport) << 5 | static_cast<unsigned>(operation));
}
constexpr Transport transport_of(Opcode opcode) {
  return static_cast<Transport>(static_cast<unsigned>(opcode) >> 5);
}
constexpr OperationCode operation_code_of(Opcode opcode) {
  return static_cast<OperationCode>(static_cast<unsigned>(opcode) & 0x1f);
}

/// Table 38: whether a transport has the operation. RD (transport 2) is obsolete and not offered by RoCE devices.
constexpr bool is_defined(Transport transport, OperationCode operation) {
  switch (transport) {
    case Transport::rc:
      return true;
    case Transport::xrc:
      return operation != OperationCode::atomic_write;
    case Transport::uc:
      return operation <= OperationCode::write_only_with_immediate;
    case Transport::ud:
      return operation == OperationCode::send_only || operation == OperationCode::send_only_with_immediate;
    case Transport::rd:
    case Transport::cnp:
      return false;
  }
  return false;
}

enum class Operation : std::uint8_t {
  send,
  write,
  read_request,
  read_response,
  acknowledge,
  atomic_acknowledge,
  compare_swap,
  fetch_add,
  atomic_write,
  congestion_notification
};
enum class Position : std::uint8_t { first, middle, last, only };

struct OpcodeInfo {
  std::string_view name;  // "RC SEND First", in the specification's words
  Operation operation{};
  Position position{};
  bool defined = false;
  bool is_request = false;  // travels from requester to responder
  bool has_payload = false;
  bool consumes_receive = false;  // takes a receive work request at its last packet
  bool takes_resource = false;    // of the responder: READ, atomics, ATOMIC WRITE, answered by a response of their own
  bool has_immediate = false;     // ImmDt
  bool has_invalidate = false;    // IETH
  bool has_reth = false;
  bool has_atomic_eth = false;
  bool has_aeth = false;
  bool has_atomic_ack_eth = false;
  bool has_deth = false;
  bool has_xrceth = false;
  std::uint8_t extension_bytes = 0;  // all extension headers between BTH and payload

  constexpr bool starts_message() const { return position == Position::first || position == Position::only; }
  constexpr bool ends_message() const { return position == Position::last || position == Position::only; }
};

/// Never fails: an undefined opcode yields an entry whose `defined` is false.
const OpcodeInfo& opcode_info(Opcode opcode);

/// The same for a packet of which no more than `bytes` of its extension headers are there: it has those alone that are
/// whole. `extension_bytes` stays as it is. Not for the data path.
const OpcodeInfo& opcode_info_within(Opcode opcode, std::size_t bytes);

}  // namespace verbena::wire
