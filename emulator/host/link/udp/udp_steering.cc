#include "emulator/host/link/udp/udp_steering.h"

#include <linux/filter.h>
#include <sys/socket.h>

#include <cstring>
#include <vector>

#include "emulator/host/os/cancellation_shield.h"
#include "emulator/host/os/clock.h"

namespace verbena::host {
namespace {

// A probe: magic (network order, for the BPF program), the socket's number, the prober's slot, the round, a zero.
constexpr std::uint32_t kProbeMagic = 0x56627270;
constexpr std::size_t kNumberAt = 4;
constexpr std::size_t kProberAt = 5;
constexpr std::size_t kRoundAt = 6;
constexpr std::uint32_t kSlotAt = 5;              // in the BTH: the upper octet of the destination QPN
constexpr std::uint32_t kAnySocket = 0xffffffff;  // no such number: the kernel chooses by its hash
constexpr std::size_t kSpareProbes = 2;           // for siblings that we have not heard of

constexpr std::array<std::byte, UdpSteering::kProbeBytes> make_probe(std::uint8_t number, std::uint8_t slot,
                                                                     std::uint8_t round) {
  std::array<std::byte, UdpSteering::kProbeBytes> probe{};
  for (std::size_t i = 0; i < 4; ++i) probe[i] = static_cast<std::byte>(kProbeMagic >> (24 - 8 * i));
  probe[kNumberAt] = std::byte{number};
  probe[kProberAt] = std::byte{slot};
  probe[kRoundAt] = std::byte{round};
  return probe;
}

}  // namespace

bool UdpSteering::take_probe(std::span<const std::byte> datagram, const SocketAddress& from) {
  if (datagram.size() != kProbeBytes) return false;
  const auto number = std::to_integer<std::uint8_t>(datagram[kNumberAt]);
  const auto prober = std::to_integer<std::uint8_t>(datagram[kProberAt]);
  const auto round = std::to_integer<std::uint8_t>(datagram[kRoundAt]);
  const auto expected = make_probe(number, prober, round);
  if (std::memcmp(datagram.data(), expected.data(), expected.size()) != 0) return false;
  // Only a process of this node sends from the node's own address and port.
  if (gid_of(from) != options_.address || port_of(from) != wire::kRoceUdpPort || prober >= kSlots) return false;
  const auto answer = static_cast<std::uint16_t>(round << 8 | number);
  prober == options_.slot ? note(options_.slot, answer) : forwarder_.tell(prober, answer);
  return true;
}

void UdpSteering::note(std::uint8_t sender_slot, std::uint16_t note) {
  if (sender_slot >= kSlots || note >> 8 != round_) return;
  const auto number = static_cast<std::uint8_t>(note);
  auto& answer = answers_[sender_slot];
  if (answer && *answer <= number) return;
  answer = number;
  if (socket_of_slot_[sender_slot] == number) return;
  socket_of_slot_[sender_slot] = number;
  learned_ = true;
}

void UdpSteering::step() {
  if (learned_) {
    learned_ = false;
    load();
  }
  if (!wanted_) return;
  const Time now = clock_now();
  if (now - last_probe_ < kProbeInterval) return;
  wanted_ = false;
  last_probe_ = now;
  probe();
}

void UdpSteering::probe() {
  const CancellationShield shield;
  ++round_;
  answers_.fill(std::nullopt);
  if (!load()) return;
  std::size_t sockets = 1 + kSpareProbes;
  for (std::uint32_t slot = 0; slot < kSlots; ++slot) sockets += forwarder_.knows(static_cast<std::uint8_t>(slot));
  const SocketAddress to = socket_address(options_.address, wire::kRoceUdpPort, options_.interface_index);
  for (std::size_t number = 0; number < sockets && number < kSlots; ++number) {
    const auto datagram = make_probe(static_cast<std::uint8_t>(number), options_.slot, round_);
    ::sendto(options_.socket, datagram.data(), datagram.size(), MSG_DONTWAIT | MSG_NOSIGNAL, &to.any,
             socket_address_bytes(to));
  }
}

bool UdpSteering::load() const {
  // Offsets count from the UDP payload (reuseport_select_sock of the kernel moves the packet there first). A load
  // beyond the end of the datagram ends the program with 0: any socket is as good as another for such a thing.
  std::vector<sock_filter> program = {
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, 0},         {BPF_JMP | BPF_JEQ | BPF_K, 0, 2, kProbeMagic},
      {BPF_LD | BPF_B | BPF_ABS, 0, 0, kNumberAt}, {BPF_RET | BPF_A, 0, 0, 0},
      {BPF_LD | BPF_B | BPF_ABS, 0, 0, kSlotAt},
  };
  for (std::uint32_t slot = 0; slot < kSlots; ++slot) {
    if (!socket_of_slot_[slot]) continue;
    program.push_back({BPF_JMP | BPF_JEQ | BPF_K, 0, 1, slot});
    program.push_back({BPF_RET | BPF_K, 0, 0, *socket_of_slot_[slot]});
  }
  program.push_back({BPF_RET | BPF_K, 0, 0, kAnySocket});
  sock_fprog attached{};
  attached.len = static_cast<unsigned short>(program.size());
  attached.filter = program.data();
  return ::setsockopt(options_.socket, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &attached, sizeof attached) == 0;
}

}  // namespace verbena::host
