#include "wire/packet_text.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace verbena::wire {
namespace {

using Buffer = fmt::memory_buffer;

template <class... Arguments>
void add(Buffer& into, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  fmt::format_to(std::back_inserter(into), format, std::forward<Arguments>(arguments)...);
}

struct Run {
  std::size_t begin = 0;
  std::size_t size = 0;
};

/// The longest run of two or more zero groups, the first of equals: what "::" stands for.
Run longest_zero_run(const std::array<unsigned, 8>& groups) {
  Run best;
  for (std::size_t i = 0; i < groups.size();) {
    std::size_t end = i;
    while (end < groups.size() && groups[end] == 0) ++end;
    if (end - i >= 2 && end - i > best.size) best = {i, end - i};
    i = std::max(end, i + 1);
  }
  return best;
}

void add_gid(Buffer& into, const Gid& gid) {
  const auto& octets = gid.octets;
  if (const auto lid = lid_of(gid)) return add(into, "LID {}", lid->value());
  if (gid.is_ipv4()) {
    add(into, "{}.{}.{}.{}", octets[12], octets[13], octets[14], octets[15]);
    return;
  }
  std::array<unsigned, 8> groups{};
  for (std::size_t i = 0; i < groups.size(); ++i)
    groups[i] = static_cast<unsigned>(octets[2 * i] << 8 | octets[2 * i + 1]);
  const Run zeros = longest_zero_run(groups);
  for (std::size_t i = 0; i < groups.size();) {
    if (zeros.size != 0 && i == zeros.begin) {
      add(into, "::");
      i += zeros.size;
      continue;
    }
    const bool follows_zeros = zeros.size != 0 && i == zeros.begin + zeros.size;
    if (i != 0 && !follows_zeros) add(into, ":");
    add(into, "{:x}", groups[i]);
    ++i;
  }
}

void add_syndrome(Buffer& into, const Syndrome& syndrome) {
  switch (syndrome.kind) {
    case Syndrome::Kind::ack:
      if (syndrome.value == kUnlimitedCredits) {
        add(into, "ACK");
      } else {
        add(into, "ACK, {} credits", credit_count_of(syndrome.value));
      }
      return;
    case Syndrome::Kind::rnr_nak:
      add(into, "RNR NAK, retry after {:.2f} ms", static_cast<double>(rnr_timer(syndrome.value).ns) / 1e6);
      return;
    case Syndrome::Kind::nak:
      add(into, "NAK {}", to_string(syndrome.nak_code()));
      return;
    case Syndrome::Kind::reserved:
      add(into, "reserved syndrome");
      return;
  }
}

void add_extensions(Buffer& into, const PacketView& packet) {
  const OpcodeInfo& info = packet.opcode();
  if (info.has_xrceth) add(into, " srq 0x{:06x}", packet.xrceth().xrc_srq.value());
  if (info.has_deth) {
    add(into, " from qp 0x{:06x} qkey 0x{:08x}", packet.deth().source_qp.value(), packet.deth().qkey);
  }
  if (info.has_reth) {
    const Reth& reth = packet.reth();
    add(into, " va 0x{:x} rkey 0x{:08x} length {}", reth.address, reth.rkey.value, reth.length);
  }
  if (info.has_atomic_eth) {
    const AtomicEth& atomic = packet.atomic_eth();
    add(into, " va 0x{:x} rkey 0x{:08x}", atomic.address, atomic.rkey.value);
    if (info.operation == Operation::compare_swap) {
      add(into, " compare 0x{:x} swap 0x{:x}", atomic.compare, atomic.swap_or_add);
    } else {
      add(into, " add 0x{:x}", atomic.swap_or_add);
    }
  }
  if (info.has_aeth) {
    add(into, " [");
    add_syndrome(into, Syndrome::decode(packet.aeth().syndrome));
    add(into, "] msn {}", packet.aeth().msn);
  }
  if (info.has_atomic_ack_eth) add(into, " original 0x{:x}", packet.atomic_ack_eth().original);
  if (info.has_immediate) add(into, " immediate 0x{:08x}", packet.immediate().data);
  if (info.has_invalidate) add(into, " invalidate rkey 0x{:08x}", packet.ieth().rkey.value);
  if (const auto placement = placement_of(packet)) {
    if (info.operation == Operation::send)
      add(into, " placed at offset {} of receive {}", placement->address, placement->key);
    else
      add(into, " placed at va 0x{:x} rkey 0x{:08x} left {}", placement->address, placement->key, placement->length);
  }
  if (const auto sack = sack_of(packet)) add(into, " sack {} below 0x{:016x}", sack->highest.value(), sack->below);
}

/// Of each switch on the way: the rate of its port, and what waited there.
void add_telemetry(Buffer& into, const Telemetry& telemetry) {
  add(into, " telemetry{} [", telemetry.head.is_echo ? " echo" : "");
  for (std::size_t i = 0; i < telemetry.head.hops; ++i) {
    const TelemetryHop& hop = telemetry.hops[i];
    const std::uint32_t mega_bits = kTelemetryRates[hop.rate];
    if (i != 0) add(into, ", ");
    if (mega_bits == 0)
      add(into, "other rate");
    else
      add(into, "{} Mb/s", mega_bits);
    add(into, " queue {}", hop.queue * kTelemetryQueueUnit);
  }
  add(into, "]");
}

void add_flags(Buffer& into, const PacketView& packet) {
  constexpr std::uint16_t kDefaultPkeyBase = 0x7fff;  // the top bit is full or limited membership
  const Bth& bth = packet.bth();
  if (bth.ack_request) add(into, " ack-request");
  if (bth.solicited) add(into, " solicited");
  if (packet.network().is_congestion_marked()) add(into, " CE");
  if (bth.fecn) add(into, " FECN");
  if (bth.becn) add(into, " BECN");
  if (has_telemetry(packet)) add_telemetry(into, telemetry_of(packet));
  if ((bth.pkey & 0x7fff) != kDefaultPkeyBase) add(into, " pkey 0x{:04x}", bth.pkey);
}

}  // namespace

std::string to_text(const Gid& gid) {
  Buffer buffer;
  add_gid(buffer, gid);
  return fmt::to_string(buffer);
}

std::string to_text(const MacAddress& mac) {
  const auto& octets = mac.octets;
  return fmt::format("{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", octets[0], octets[1], octets[2], octets[3], octets[4],
                     octets[5]);
}

std::string_view to_string(NakCode code) {
  switch (code) {
    case NakCode::psn_sequence_error:
      return "PSN sequence error";
    case NakCode::invalid_request:
      return "invalid request";
    case NakCode::remote_access_error:
      return "remote access error";
    case NakCode::remote_operational_error:
      return "remote operational error";
    case NakCode::invalid_rd_request:
      return "invalid RD request";
  }
  return "reserved NAK code";
}

std::string to_text(const Syndrome& syndrome) {
  Buffer buffer;
  add_syndrome(buffer, syndrome);
  return fmt::to_string(buffer);
}

std::string to_text(const PauseFrame& frame) {
  Buffer buffer;
  const auto add_quanta = [&](std::uint16_t quanta) {
    if (quanta == 0)
      add(buffer, " goes on");
    else
      add(buffer, " stops for {} quanta", quanta);
  };
  add(buffer, "{}", frame.is_by_class ? "PFC" : "PAUSE");
  if (!frame.is_by_class) add_quanta(frame.quanta[0]);
  bool is_first = true;
  for (std::size_t i = 0; frame.is_by_class && i < kPauseClasses; ++i) {
    if ((frame.classes >> i & 1) == 0) continue;
    add(buffer, "{} class {}", is_first ? "" : ",", i);
    add_quanta(frame.quanta[i]);
    is_first = false;
  }
  return fmt::to_string(buffer);
}

void append_text(fmt::memory_buffer& into, const PacketView& packet) {
  const Bth& bth = packet.bth();
  add(into, "{} qp 0x{:06x}", packet.opcode().name, bth.dest_qp.value());
  if (packet.opcode().operation != Operation::congestion_notification) add(into, " psn {}", bth.psn.value());
  add_extensions(into, packet);
  if (packet.opcode().has_payload) add(into, " payload {}", packet.payload_bytes());
  add_flags(into, packet);
}

std::string to_text(const PacketView& packet) {
  Buffer buffer;
  append_text(buffer, packet);
  return fmt::to_string(buffer);
}

}  // namespace verbena::wire
