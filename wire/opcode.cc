#include "wire/opcode.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace verbena::wire {
namespace {

using enum OperationCode;

constexpr std::size_t kOpcodes = 256;
constexpr std::size_t kOperationCodes = 0x1e;

constexpr std::array<std::string_view, kOperationCodes> kOperationNames{
    "SEND First",
    "SEND Middle",
    "SEND Last",
    "SEND Last with Immediate",
    "SEND Only",
    "SEND Only with Immediate",
    "RDMA WRITE First",
    "RDMA WRITE Middle",
    "RDMA WRITE Last",
    "RDMA WRITE Last with Immediate",
    "RDMA WRITE Only",
    "RDMA WRITE Only with Immediate",
    "RDMA READ Request",
    "RDMA READ response First",
    "RDMA READ response Middle",
    "RDMA READ response Last",
    "RDMA READ response Only",
    "Acknowledge",
    "ATOMIC Acknowledge",
    "CmpSwap",
    "FetchAdd",
    "",
    "SEND Last with Invalidate",
    "SEND Only with Invalidate",
    "",
    "",
    "",
    "",
    "",
    "ATOMIC WRITE",
};

constexpr bool is_defined(Transport transport, unsigned code) {
  return code < kOperationCodes && !kOperationNames[code].empty() &&
         wire::is_defined(transport, static_cast<OperationCode>(code));
}

constexpr Operation operation_of(OperationCode code) {
  if (code == atomic_write) return Operation::atomic_write;
  if (code <= send_only_with_immediate || code >= send_last_with_invalidate) return Operation::send;
  if (code <= write_only_with_immediate) return Operation::write;
  if (code == read_request) return Operation::read_request;
  if (code <= read_response_only) return Operation::read_response;
  if (code == acknowledge) return Operation::acknowledge;
  if (code == atomic_acknowledge) return Operation::atomic_acknowledge;
  return code == compare_swap ? Operation::compare_swap : Operation::fetch_add;
}

constexpr Position position_of(OperationCode code) {
  switch (code) {
    case send_first:
    case write_first:
    case read_response_first:
      return Position::first;
    case send_middle:
    case write_middle:
    case read_response_middle:
      return Position::middle;
    case send_last:
    case send_last_with_immediate:
    case send_last_with_invalidate:
    case write_last:
    case write_last_with_immediate:
    case read_response_last:
      return Position::last;
    case send_only:
    case send_only_with_immediate:
    case send_only_with_invalidate:
    case write_only:
    case write_only_with_immediate:
    case read_request:
    case read_response_only:
    case acknowledge:
    case atomic_acknowledge:
    case compare_swap:
    case fetch_add:
    case atomic_write:
      return Position::only;
  }
  return Position::only;
}

constexpr OpcodeInfo describe(Transport transport, OperationCode code) {
  OpcodeInfo info;
  info.defined = true;
  info.operation = operation_of(code);
  info.position = position_of(code);
  const bool is_send = info.operation == Operation::send;
  const bool is_write = info.operation == Operation::write;
  info.is_request = is_send || is_write || info.operation == Operation::read_request ||
                    info.operation == Operation::compare_swap || info.operation == Operation::fetch_add ||
                    info.operation == Operation::atomic_write;
  info.has_payload =
      is_send || is_write || info.operation == Operation::atomic_write || info.operation == Operation::read_response;
  info.has_immediate = code == send_last_with_immediate || code == send_only_with_immediate ||
                       code == write_last_with_immediate || code == write_only_with_immediate;
  info.has_invalidate = code == send_last_with_invalidate || code == send_only_with_invalidate;
  info.consumes_receive = (is_send && info.ends_message()) || (is_write && info.has_immediate);
  info.has_reth = (is_write && info.starts_message()) || info.operation == Operation::read_request ||
                  info.operation == Operation::atomic_write;
  info.has_atomic_eth = info.operation == Operation::compare_swap || info.operation == Operation::fetch_add;
  info.takes_resource =
      info.operation == Operation::read_request || info.operation == Operation::atomic_write || info.has_atomic_eth;
  info.has_aeth = info.operation == Operation::acknowledge || info.operation == Operation::atomic_acknowledge ||
                  (info.operation == Operation::read_response && info.position != Position::middle);
  info.has_atomic_ack_eth = info.operation == Operation::atomic_acknowledge;
  info.has_deth = transport == Transport::ud;
  info.has_xrceth = transport == Transport::xrc && info.is_request;
  info.extension_bytes = static_cast<std::uint8_t>((info.has_xrceth ? 4 : 0) + (info.has_deth ? 8 : 0) +
                                                   (info.has_reth ? 16 : 0) + (info.has_atomic_eth ? 28 : 0) +
                                                   (info.has_aeth ? 4 : 0) + (info.has_atomic_ack_eth ? 8 : 0) +
                                                   (info.has_immediate ? 4 : 0) + (info.has_invalidate ? 4 : 0));
  return info;
}

struct Name {
  std::array<char, 40> text{};
  std::size_t size = 0;
  constexpr void append(std::string_view part) {
    for (const char c : part) text[size++] = c;
  }
};

constexpr std::string_view transport_name(Transport transport) {
  switch (transport) {
    case Transport::rc:
      return "RC ";
    case Transport::uc:
      return "UC ";
    case Transport::rd:
      return "RD ";
    case Transport::ud:
      return "UD ";
    case Transport::cnp:
      return "";
    case Transport::xrc:
      return "XRC ";
  }
  return "";
}

constexpr std::array<Name, kOpcodes> make_names() {
  std::array<Name, kOpcodes> names{};
  for (std::size_t octet = 0; octet < kOpcodes; ++octet) {
    const auto transport = static_cast<Transport>(octet >> 5);
    const auto code = static_cast<unsigned>(octet & 0x1f);
    if (!is_defined(transport, code)) continue;
    names[octet].append(transport_name(transport));
    names[octet].append(kOperationNames[code]);
  }
  return names;
}
constexpr std::array<Name, kOpcodes> kNames = make_names();

constexpr std::array<OpcodeInfo, kOpcodes> make_table() {
  std::array<OpcodeInfo, kOpcodes> table{};
  for (std::size_t octet = 0; octet < kOpcodes; ++octet) {
    const auto transport = static_cast<Transport>(octet >> 5);
    const auto code = static_cast<unsigned>(octet & 0x1f);
    if (!is_defined(transport, code)) {
      table[octet].name = "undefined";
      continue;
    }
    table[octet] = describe(transport, static_cast<OperationCode>(code));
    table[octet].name = std::string_view(kNames[octet].text.data(), kNames[octet].size);
  }
  // Annex A17: a BTH and 16 reserved octets, which are handled as its payload.
  OpcodeInfo& cnp = table[static_cast<std::size_t>(Opcode::cnp)];
  cnp.name = "CNP";
  cnp.operation = Operation::congestion_notification;
  cnp.position = Position::only;
  cnp.defined = true;
  cnp.has_payload = true;
  return table;
}
constexpr std::array<OpcodeInfo, kOpcodes> kTable = make_table();

constexpr std::size_t kWordBytes = 4;  // extension headers are whole words
constexpr std::size_t kExtensionBytesMax = 32;

/// In the order in which they stand (IBTA 9.2), until `bytes` are used up.
OpcodeInfo cut(OpcodeInfo info, std::size_t bytes) {
  std::size_t end = 0;
  const auto keep = [&](bool& has, std::size_t header_bytes) {
    if (!has) return;
    end += header_bytes;
    has = end <= bytes;
  };
  keep(info.has_xrceth, 4);
  keep(info.has_deth, 8);
  keep(info.has_reth, 16);
  keep(info.has_atomic_eth, 28);
  keep(info.has_aeth, 4);
  keep(info.has_atomic_ack_eth, 8);
  keep(info.has_immediate, 4);
  keep(info.has_invalidate, 4);
  return info;
}

std::vector<OpcodeInfo> make_cut_table() {
  std::vector<OpcodeInfo> table;
  for (std::size_t bytes = 0; bytes <= kExtensionBytesMax; bytes += kWordBytes)
    for (const OpcodeInfo& info : kTable) table.push_back(cut(info, bytes));
  return table;
}

}  // namespace

const OpcodeInfo& opcode_info(Opcode opcode) {
  return kTable[static_cast<std::uint8_t>(opcode)];
}

const OpcodeInfo& opcode_info_within(Opcode opcode, std::size_t bytes) {
  static const std::vector<OpcodeInfo> table = make_cut_table();
  const std::size_t words = std::min(bytes, kExtensionBytesMax) / kWordBytes;
  return table[words * kOpcodes + static_cast<std::uint8_t>(opcode)];
}

}  // namespace verbena::wire
