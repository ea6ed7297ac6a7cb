#include "scenarios/workload/content_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/outcome/report_words.h"
#include "wire/counted.h"

namespace verbena::scenarios {
namespace {
constexpr std::uint64_t round_up(std::uint64_t octets) {
  return (octets + 7) / 8 * 8;
}
constexpr std::uint64_t kEarlierMax = 64;  // messages that used a slot before and may have left octets in it
constexpr std::uint64_t kOnTheWayOctets = 1 << 20;
constexpr std::uint64_t kOnTheWayMin = 16;
constexpr std::uint64_t kOnTheWayMax = 1024;
}  // namespace

MessageLayout::MessageLayout(const Workload& workload, const MessagePlan& messages) {
  depth = std::max(workload.queue_depth, 1u);
  slot_octets = std::max<std::uint64_t>(round_up(messages.octets_max()), 8);
  receive_depth = std::max(workload.receive_depth, 1u);
  receive_header = receive_header_octets(workload.transport);
  receive_octets = messages.has_receives() ? round_up(receive_header + messages.octets_max()) : 0;
  initiator_octets = depth * slot_octets;
  target_slots = depth;
  if (workload.transport != Transport::rc)
    target_slots += std::clamp(kOnTheWayOctets / slot_octets, kOnTheWayMin, kOnTheWayMax);
  receives_at = messages.has_target_slots() ? target_slots * slot_octets : 0;
  word_at = receives_at + receive_depth * receive_octets;
  target_octets = word_at + 8;
}

ContentCheck::ContentCheck(Connection& connection, Ledger& ledger, const MessagePlan& messages,
                           const MessageLayout& layout, const Settings& settings, SharedCounter* counter)
    : connection_(connection),
      ledger_(ledger),
      messages_(messages),
      layout_(layout),
      settings_(settings),
      octets_(settings.seed),
      counter_(counter) {}

void ContentCheck::begin(std::uint64_t first) {
  first_ = posted_ = next_received_ = first;
  swaps_posted_ = swaps_completed_ = swaps_expected_ = 0;
  if (lossy()) held_.assign(layout_.target_slots, 0);
  if (counter_ != nullptr) counter_generation_ = counter_->generation();
}

ContentCheck::Operands ContentCheck::posting(std::uint64_t number, const Message& message, Time now) {
  if (message.verb == Verb::compare_swap) return {swaps_posted_, swaps_posted_ + 1};
  if (message.verb == Verb::fetch_add) return {1, 0};
  if (!settings_.enabled) return {};
  if (message.verb == Verb::read) {
    octets_.fill(connection_.target_memory().subspan(layout_.target_slot(number), message.octets), number);
    return {};
  }
  if (lossy() && number >= first_ + layout_.target_slots) verify_unnotified_write(number - layout_.target_slots, now);
  octets_.fill(connection_.initiator_memory().subspan(layout_.slot(number), message.octets), number);
  return {};
}

void ContentCheck::posted(std::uint64_t number, const Message& message) {
  posted_ = number + 1;
  if (message.verb == Verb::compare_swap) ++swaps_posted_;
  if (message.verb == Verb::fetch_add && counter_ != nullptr && counter_generation_ == counter_->generation())
    counter_->posted();
}

void ContentCheck::damaged(std::uint64_t number, const std::string& text, Time now) {
  ledger_.damaged(now, fmt::format("{} message {}: {}", settings_.name, number, text));
}

void ContentCheck::verify(std::span<const std::byte> octets, std::uint64_t number, const char* what, Time now) {
  const auto wrong = octets_.first_difference(octets, number);
  if (!wrong) return ledger_.verified(octets.size());
  damaged(number,
          fmt::format("octet {} of {} {} is 0x{:02x} instead of 0x{:02x}", *wrong, octets.size(), what,
                      static_cast<unsigned>(octets[*wrong]), static_cast<unsigned>(octets_.octet_at(number, *wrong))),
          now);
}

/// Called when all of the message's effects have happened and nothing has touched its place since.
void ContentCheck::completed(std::uint64_t number, const Message& message, bool success, Time now) {
  const bool is_swap = message.verb == Verb::compare_swap;
  const std::uint64_t swap = is_swap ? swaps_expected_++ : 0;
  if (!settings_.enabled || !success) return;
  const auto mine = connection_.initiator_memory().subspan(layout_.slot(number));
  if (is_atomic(message.verb)) {
    std::uint64_t original = 0;
    std::memcpy(&original, mine.data(), 8);
    if (is_swap) {
      ++swaps_completed_;
      if (original == swap) return ledger_.verified(8);
      return damaged(number, fmt::format("compare and swap found {} instead of {}", original, swap), now);
    }
    if (counter_ == nullptr || counter_generation_ != counter_->generation()) return;
    if (counter_->completed(original)) return ledger_.verified(8);
    return damaged(number, fmt::format("fetch and add gave {}, which somebody else had got", original), now);
  }
  if (message.verb == Verb::read) return verify(mine.first(message.octets), number, "read", now);
  if (message.verb == Verb::write && !lossy())
    verify(connection_.target_memory().subspan(layout_.target_slot(number), message.octets), number, "written", now);
}

std::optional<std::uint64_t> ContentCheck::message_received(const nic::Completion& completion,
                                                            std::span<const std::byte> octets) {
  if (!lossy()) {  // in order, none left out
    while (next_received_ < posted_ && !consumes_receive(messages_.message(next_received_).verb)) ++next_received_;
    return next_received_ < posted_ ? std::optional(next_received_++) : std::nullopt;
  }
  if (completion.has_immediate) {
    if (posted_ == first_) return std::nullopt;
    const std::uint64_t last = posted_ - 1;
    const std::uint64_t number = last - ((last - completion.immediate) & 0xffffffffu);
    return number >= first_ && number <= last ? std::optional(number) : std::nullopt;
  }
  if (octets.size() >= 8) {
    const std::uint64_t number = octets_.message_of(octets);
    return number >= first_ && number < posted_ ? std::optional(number) : std::nullopt;
  }
  // Too short to say which it is: any recent one that it could be.
  constexpr std::uint64_t kRecentMax = 4096;
  const std::uint64_t oldest = posted_ - std::min(posted_ - first_, kRecentMax);
  for (std::uint64_t number = oldest; number < posted_; ++number) {
    const Message message = messages_.message(number);
    if (message.verb == Verb::send && message.octets == octets.size() && !octets_.first_difference(octets, number))
      return number;
  }
  return std::nullopt;
}

void ContentCheck::received(std::uint64_t receive, const nic::Completion& completion, Time now) {
  if (!settings_.enabled || completion.status != nic::CompletionStatus::success) return;
  const bool written = completion.opcode == nic::CompletionOpcode::receive_rdma_with_immediate;
  std::span<const std::byte> octets;
  const std::uint64_t header = layout_.receive_header;
  if (!written && completion.byte_count >= header)
    octets =
        connection_.target_memory().subspan(layout_.receive_slot(receive) + header, completion.byte_count - header);
  const auto number = message_received(completion, octets);
  if (!number) return damaged(receive, "a receive completed with a message that was never sent", now);
  const Message message = messages_.message(*number);
  const Verb verb = written ? Verb::write_immediate : Verb::send;
  if (message.verb != verb)
    return damaged(*number, fmt::format("came as {} instead of {}", name_of(verb), name_of(message.verb)), now);
  if (written) {
    if (completion.immediate != static_cast<std::uint32_t>(*number))
      return damaged(*number, fmt::format("came with immediate {}", completion.immediate), now);
    octets = connection_.target_memory().subspan(layout_.target_slot(*number), message.octets);
  }
  if (completion.byte_count != message.octets + (written ? 0 : header))
    return damaged(*number, fmt::format("{} of {} came", completion.byte_count, wire::counted(message.octets, "octet")),
                   now);
  verify(octets, *number, written ? "written" : "received", now);
}

bool ContentCheck::may_hold(std::uint64_t number, std::size_t offset, std::byte octet) const {
  const std::uint64_t slots = layout_.target_slots;
  const std::uint64_t held = held_[number % slots];
  if (octet == octets_.octet_at(number, offset)) return true;
  if (octet == (held == 0 ? std::byte{0} : octets_.octet_at(held - 1, offset))) return true;
  for (std::uint64_t k = 1; k <= kEarlierMax && number >= first_ + k * slots; ++k)
    if (octet == octets_.octet_at(number - k * slots, offset)) return true;
  return octet == std::byte{0};
}

/// A UC write has been delivered if all its octets are there. If not, those that differ are of an earlier message in
/// its slot, as far back as is looked; what is older still cannot be told from damage and ends as such.
void ContentCheck::verify_unnotified_write(std::uint64_t number, Time now) {
  const Message message = messages_.message(number);
  if (message.verb != Verb::write) return;
  const auto octets = connection_.target_memory().subspan(layout_.target_slot(number), message.octets);
  if (!octets_.first_difference(octets, number)) {
    held_[number % layout_.target_slots] = number + 1;
    return ledger_.verified(octets.size());
  }
  for (std::size_t i = 0; i < octets.size(); ++i)
    if (!may_hold(number, i, octets[i]))
      return damaged(number, fmt::format("octet {} is of no message that used its place", i), now);
}

void ContentCheck::check_end(Time now) {
  if (!settings_.enabled || posted_ == first_) return;
  if (lossy()) {
    const std::uint64_t oldest = posted_ - std::min(posted_ - first_, layout_.target_slots);
    for (std::uint64_t number = oldest; number < posted_; ++number) verify_unnotified_write(number, now);
  }
  if (swaps_posted_ == 0) return;
  std::uint64_t word = 0;
  std::memcpy(&word, connection_.target_memory().data() + layout_.word_at, 8);
  if (word < swaps_completed_ || word > swaps_posted_)
    damaged(posted_ - 1,
            fmt::format("the word is {} after {} swaps of {} posted", word, swaps_completed_, swaps_posted_), now);
}

}  // namespace verbena::scenarios
