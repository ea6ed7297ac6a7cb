#include "emulator/fabric/network_credits.h"

#include "wire/assert.h"

namespace verbena::fabric {
namespace {

/// Room is told of once the sender does not know of a quarter of the buffer, or may be left with less than a largest
/// packet. For each packet it would be half of all packets.
constexpr std::uint32_t kWorthTelling = 4;
constexpr std::uint64_t kRefreshSymbols = 65'536;  // 7.9.4; of one octet
constexpr std::uint32_t kLargestBlocks = credit_blocks(wire::kFrameBytesMax);

std::array<LaneReceiver, kTrafficClasses> receivers_of(std::uint32_t buffer_bytes) {
  const LaneReceiver one(buffer_bytes);
  return {one, one, one, one, one, one, one, one};
}

}  // namespace

NetworkCredits::Link::Link(DirectionNumber the_reverse, std::uint32_t buffer_bytes)
    : reverse(the_reverse), receivers(receivers_of(buffer_bytes)) {
  told.fill(receivers[0].fccl());
  senders.fill(LaneSender(told[0]));
}

void NetworkCredits::add(DirectionNumber reverse, std::uint64_t bits_per_second) {
  Link& link = links_.emplace_back(reverse, lane_buffer_bytes_);
  if (bits_per_second != 0)
    link.refresh_after = {static_cast<std::int64_t>(kRefreshSymbols * 8 * 1'000'000'000 / bits_per_second)};
}

void NetworkCredits::sent(Time now, DirectionNumber number, TrafficClass lane, std::uint32_t bytes) {
  Link& link = links_[number];
  link.senders[lane].sent(credit_blocks(bytes));
  if (link.sent_since == 0) link.refresh_at = now + link.refresh_after;
  link.sent_since |= bit_of(lane);
}

wire::FlowControlPacket NetworkCredits::next(Time now, DirectionNumber number) {
  Link& link = links_[number];
  const ClassMask owed = link.to_tell != 0 ? link.to_tell : link.sent_since;
  VERBENA_ASSERT(owed != 0 && owes(now, number));
  const auto lane = static_cast<TrafficClass>(__builtin_ctz(owed));
  const auto others = static_cast<ClassMask>(~bit_of(lane));
  link.to_tell &= others;
  link.sent_since &= others;
  if (link.sent_since == 0) link.refresh_at = kNever;
  Link& reverse = links_[link.reverse];
  reverse.told[lane] = reverse.receivers[lane].fccl();
  return {.total_blocks_sent = link.senders[lane].fctbs(), .virtual_lane = lane, .credit_limit = reverse.told[lane]};
}

void NetworkCredits::arrived(DirectionNumber number, TrafficClass lane, std::uint32_t bytes) {
  links_[number].receivers[lane].arrived(credit_blocks(bytes));
}

bool NetworkCredits::freed(DirectionNumber number, TrafficClass lane, std::uint32_t bytes) {
  Link& link = links_[number];
  const std::uint32_t blocks = credit_blocks(bytes);
  if ((link.withheld & bit_of(lane)) != 0) {
    link.withheld_blocks[lane] += blocks;
    return false;
  }
  LaneReceiver& receiver = link.receivers[lane];
  receiver.freed(blocks);
  const std::uint32_t left = receiver.left_of(link.told[lane]);
  const std::uint32_t could = receiver.left_of(receiver.fccl());
  Link& back = links_[link.reverse];
  if (could <= left || (back.to_tell & bit_of(lane)) != 0) return false;
  if (left >= kLargestBlocks && (could - left) * kWorthTelling < receiver.buffer_blocks()) return false;
  back.to_tell |= bit_of(lane);
  return true;
}

void NetworkCredits::take(DirectionNumber number, const wire::FlowControlPacket& packet) {
  if (packet.virtual_lane >= kTrafficClasses) return;
  Link& link = links_[number];
  const auto lane = static_cast<TrafficClass>(packet.virtual_lane);
  LaneReceiver& receiver = link.receivers[lane];
  const std::uint16_t before = receiver.fccl();
  receiver.told(packet.total_blocks_sent);
  // What was lost has left its room behind: the sender has to hear of it.
  if (receiver.fccl() != before) links_[link.reverse].to_tell |= bit_of(lane);
  links_[link.reverse].senders[lane].told(packet.credit_limit);
}

void NetworkCredits::withhold(DirectionNumber number, ClassMask lanes) {
  Link& link = links_[number];
  const auto let_go = static_cast<ClassMask>(link.withheld & ~lanes);
  link.withheld = lanes;
  for (std::size_t i = 0; i < kTrafficClasses; ++i) {
    if ((let_go & bit_of(static_cast<TrafficClass>(i))) == 0) continue;
    link.receivers[i].freed(link.withheld_blocks[i]);
    link.withheld_blocks[i] = 0;
    links_[link.reverse].to_tell |= bit_of(static_cast<TrafficClass>(i));
  }
}

void NetworkCredits::link_is_down(DirectionNumber number) {
  Link& link = links_[number];
  link.senders.fill(LaneSender());
  link.told.fill(0);
  for (LaneReceiver& receiver : link.receivers) receiver.restart();
  link.to_tell = link.sent_since = 0;
  link.refresh_at = kNever;
}

void NetworkCredits::link_is_up(DirectionNumber number) {
  links_[number].to_tell = kEveryClass;
}

}  // namespace verbena::fabric
