#include "emulator/subnet/traps.h"

#include <algorithm>

#include "emulator/subnet/smp.h"

namespace verbena::subnet {
namespace {

/// 14.2.5.6: 4.096 us times 2^N.
Duration subnet_timeout_of(const wire::PortInfo& info) {
  constexpr std::int64_t kUnit = 4096;
  return Duration{kUnit << info.subnet_timeout};
}

}  // namespace

std::optional<Datagram> Traps::raise(Time now, PortEnd from, const wire::PortInfo& info, wire::Notice notice,
                                     std::span<const std::byte> details) {
  if (info.master_sm_lid == wire::kLidNone || info.base_lid == wire::kLidNone) return std::nullopt;
  const auto is_same = [&](const Trap& one) { return one.from == from && one.number == notice.trap; };
  const bool is_of_security = notice.type == wire::NoticeType::security;
  const auto before = std::ranges::find_if(traps_, is_same);
  if (is_of_security && before != traps_.end() && now < before->rests_until) return std::nullopt;
  std::erase_if(traps_, is_same);
  Trap trap{.from = from,
            .number = notice.trap,
            .datagram = {},
            .deadline = now + kInterval,
            .left = kTimesMax - 1,
            .rests_until = is_of_security ? now + subnet_timeout_of(info) : now};
  trap.datagram.source = info.base_lid;
  trap.datagram.destination = info.master_sm_lid;
  trap.datagram.service_level = info.master_sm_sl;
  trap.datagram.octets.resize(wire::kMadBytes);
  Smp smp(trap.datagram.octets);
  smp.set_header({.management_class = wire::kClassSubnetLid,
                  .class_version = wire::kSubnetClassVersion,
                  .method = wire::kMethodTrap,
                  .transaction_id = ++transaction_,
                  .attribute = wire::kAttributeNotice});
  notice.issuer = info.base_lid;
  smp.write_data<wire::NoticeLayout>(notice);
  std::ranges::copy(details, smp.data().begin() + wire::NoticeLayout::bytes);
  traps_.push_back(trap);
  return trap.datagram;
}

void Traps::repress(const Datagram& repression) {
  const wire::AnyMadHeader header = Smp(repression.octets).header();
  if (header.method != wire::kMethodTrapRepress) return;
  constexpr std::uint64_t kLow = 0xffffffff;
  for (Trap& trap : traps_) {
    const std::uint64_t sent = Smp(trap.datagram.octets).header().transaction_id;
    if ((sent & kLow) == (header.transaction_id & kLow) && trap.datagram.source == repression.destination)
      trap.left = 0;
  }
}

void Traps::forget(std::size_t node) {
  std::erase_if(traps_, [&](const Trap& trap) { return trap.from.node == node; });
}

std::vector<Traps::Sent> Traps::due(Time now) {
  std::vector<Sent> sent;
  for (Trap& trap : traps_) {
    if (trap.left == 0 || trap.deadline > now) continue;
    trap.deadline = now + kInterval;
    --trap.left;
    sent.push_back({trap.from, trap.datagram});
  }
  std::erase_if(traps_, [&](const Trap& trap) { return trap.left == 0 && trap.rests_until <= now; });
  return sent;
}

std::optional<Time> Traps::next_deadline() const {
  std::optional<Time> first;
  for (const Trap& trap : traps_)
    if (trap.left != 0 && (!first || trap.deadline < *first)) first = trap.deadline;
  return first;
}

}  // namespace verbena::subnet
