#include "captures/checkers/flow.h"

#include <algorithm>

namespace verbena::checkers {

using wire::distance;
using wire::Operation;
using wire::Psn;

// -- MessageLog -----------------------------------------------------------------------------------------------------

std::size_t MessageLog::index_from(Psn psn) const {
  std::size_t index = messages_.size();
  // What is asked for is nearly always among the last few.
  for (int near = 0; near < 4; ++near) {
    if (index == 0) return 0;
    const Message& message = messages_[index - 1];
    if (distance(psn, message.first + message.known_packets()) <= 0) return index;
    --index;
  }
  const auto found = std::partition_point(
      messages_.begin(), messages_.begin() + static_cast<std::ptrdiff_t>(index),
      [&](const Message& message) { return distance(psn, message.first + message.known_packets()) <= 0; });
  return static_cast<std::size_t>(found - messages_.begin());
}

Message* MessageLog::find(Psn psn) {
  const std::size_t index = index_from(psn);
  if (index == messages_.size() || distance(messages_[index].first, psn) < 0) return nullptr;
  return &messages_[index];
}

void MessageLog::insert(const Message& message) {
  if (messages_.size() == 2 * kMessagesKept)
    messages_.erase(messages_.begin(), messages_.begin() + static_cast<std::ptrdiff_t>(kMessagesKept));
  // PSNs have an order within half of their circle only.
  constexpr std::int32_t kFarthest = 1 << 22;
  const auto is_far = [&](const Message& other, std::int32_t farthest) {
    const std::int32_t away = distance(other.first, message.first);
    return away > farthest || away < -farthest;
  };
  if (!messages_.empty() && is_far(messages_.front(), kFarthest))
    std::erase_if(messages_, [&](const Message& other) { return is_far(other, kFarthest / 2); });
  const std::size_t index = index_from(message.first);
  messages_.insert(messages_.begin() + static_cast<std::ptrdiff_t>(index), message);
}

// -- The parts of taking note ---------------------------------------------------------------------------------------

namespace {

void raise_to(Psn& bound, Psn value) {
  if (distance(bound, value) > 0) bound = value;
}

Message message_of(const Observation& seen) {
  const wire::OpcodeInfo& info = seen.info;
  Message made;
  made.first = seen.psn;
  made.operation = info.operation;
  made.seen = seen.span;
  if (info.has_reth) {
    const wire::Reth& reth = seen.packet.reth();
    made.length = reth.length;
    made.address = reth.address;
    made.rkey = reth.rkey;
  }
  if (info.has_atomic_eth) {
    made.address = seen.packet.atomic_eth().address;
    made.rkey = seen.packet.atomic_eth().rkey;
    made.operand = seen.packet.atomic_eth().swap_or_add;
  }
  if (info.position == wire::Position::only)
    made.packets = seen.span;
  else if (info.operation == Operation::write && seen.packet.payload_bytes() != 0)
    made.packets = packets_of(made.length, static_cast<std::uint32_t>(seen.packet.payload_bytes()));
  return made;
}

void note_message(CheckedStream& flow, const Observation& seen) {
  if (seen.info.starts_message()) {
    if (seen.message == nullptr) flow.log.insert(message_of(seen));
    return;
  }
  Message* message = seen.message != nullptr ? seen.message : flow.log.find(seen.psn - 1);
  if (message == nullptr || message->operation != seen.info.operation) return;
  const auto offset = static_cast<std::uint32_t>(distance(message->first, seen.psn));
  message->seen = std::max(message->seen, offset + 1);
  if (message->packets == 0 && seen.info.ends_message()) message->packets = offset + 1;
}

void note_request_content(CheckedStream& flow, const Observation& seen) {
  if (!flow.started) flow.next = seen.psn;
  flow.started = true;
  const bool is_full = seen.info.has_payload && !seen.info.ends_message();
  if (flow.mtu_bytes == 0 && is_full) flow.mtu_bytes = static_cast<std::uint32_t>(seen.packet.payload_bytes());
  note_message(flow, seen);
  if (seen.info.takes_resource) flow.has_data_requests = true;
  flow.last_psn = seen.psn;
  flow.last_span = seen.span;
  flow.last_info = &seen.info;
  if (distance(flow.next, seen.psn + seen.span) > 0) flow.next_is_of_answer = false;
  raise_to(flow.next, seen.psn + seen.span);
  constexpr std::int32_t kHalf = 1 << 22;
  if (flow.first_psn && distance(*flow.first_psn, flow.next) > kHalf) flow.has_come_around = true;
}

/// When a requester that sends again has started its ACK timer anew, at the earliest: when the NAK came, when it has
/// waited for the RNR NAK, or when the timer ran out. What it then sends may leave later.
Time timer_restarted_at(const CheckedStream& flow, Time now) {
  if (flow.nak) return flow.nak_at;
  if (flow.was_rnr) return now;
  return std::min(now, std::max(flow.progress_at, flow.outstanding_since) + flow.ack_timeout);
}

/// `next` is still what it was before this packet.
void note_departure(CheckedStream& flow, const Observation& seen) {
  const bool is_again = flow.departs && distance(flow.departing_next, seen.psn) < 0;
  if (flow.acked_known && flow.acked == seen.psn && !is_again && distance(flow.next, seen.psn) >= 0)
    flow.outstanding_since = seen.time();
  if (is_again) {
    flow.progress_at = std::max(flow.progress_at, timer_restarted_at(flow, seen.time()));
    flow.nak.reset();
    flow.was_rnr = false;
  }
  if (flow.rnr && flow.rnr->psn == seen.psn) flow.rnr.reset();
  // What was sent by then may be seen to leave later.
  const auto& all_lost_at = flow.selective.all_lost_at;
  if (all_lost_at && seen.time() - *all_lost_at <= seen.options.departure_delay_max)
    raise_to(flow.selective.lost_until, seen.psn + seen.span);
  flow.departs = true;
  flow.departing_next = seen.psn + seen.span;
}

/// A responder with selective repeat may have kept what arrived ahead.
void pass_over_what_arrived(CheckedStream& flow) {
  auto& ahead = flow.selective.arrived_ahead;
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (const auto& [psn, span] : ahead)
      if (psn == flow.expected) {
        flow.expected = psn + span;
        goes_on = true;
        break;
      }
    std::erase_if(ahead, [&](const auto& packet) { return distance(packet.first, flow.expected) > 0; });
  }
}

void note_arrival_ahead(CheckedStream& flow, Psn psn, std::uint32_t span) {
  auto& ahead = flow.selective.arrived_ahead;
  const bool is_known = std::ranges::any_of(ahead, [&](const auto& packet) { return packet.first == psn; });
  if (!is_known && ahead.size() < kAheadKept) ahead.emplace_back(psn, span);
}

void note_arrival(CheckedStream& flow, const Observation& seen) {
  const Psn behind = seen.psn + seen.span;
  if (!flow.arrives && !flow.expected_is_sure) {
    flow.expected = flow.highest_arrived = behind;
    flow.expected_has_arrived = true;
  } else if (seen.psn == flow.expected) {
    flow.expected = behind;
    flow.expected_has_arrived = true;
    pass_over_what_arrived(flow);
  } else if (flow.selective.is_offered && distance(flow.expected, seen.psn) > 0) {
    note_arrival_ahead(flow, seen.psn, seen.span);
  }
  flow.arrives = true;
  raise_to(flow.highest_arrived, behind);
  if (flow.nak_sent == seen.psn) flow.nak_sent.reset();
}

void note_answer_content(CheckedStream& flow, const Observation& seen) {
  const bool is_full = seen.info.operation == Operation::read_response && !seen.info.ends_message();
  if (flow.mtu_bytes == 0 && is_full) flow.mtu_bytes = static_cast<std::uint32_t>(seen.packet.payload_bytes());
  if (seen.message == nullptr || !seen.message->awaits_data() || seen.is_acknowledge()) return;
  Message& message = *seen.message;
  message.answered = std::max(message.answered, static_cast<std::uint32_t>(distance(message.first, seen.psn)) + 1);
  if (seen.info.has_atomic_ack_eth && !message.has_original) {
    message.has_original = true;
    message.original = seen.packet.atomic_ack_eth().original;
  }
}

/// A packet has arrived at an end whose requests are the flow's: it says whether the other takes selective repeat.
void note_agreement(CheckedStream& flow, const Observation& seen) {
  SelectiveStream& selective = flow.selective;
  if (selective.is_agreed || (seen.packet.bth().reserved7 & wire::kTakesSelectiveRepeat) == 0) return;
  selective.is_agreed = true;
  selective.lost_until = flow.next;  // what it was sending again by going back, it goes on with
  selective.all_lost_at = seen.time();
}

/// What the requester is told of arrivals ahead, and what it may take for lost from then on.
void note_sack(CheckedStream& flow, const Observation& seen, const wire::Syndrome& syndrome) {
  SelectiveStream& selective = flow.selective;
  std::erase_if(selective.sacked, [&](Psn psn) { return distance(psn, flow.acked) > 0; });
  const auto sack = sack_of(seen.packet);
  if (!sack) {
    if (syndrome.kind == wire::Syndrome::Kind::ack) return;
    selective.lost_until = flow.next;
    selective.all_lost_at = seen.time();
    std::erase(selective.sacked, seen.psn);
    return;
  }
  raise_to(selective.lost_until, sack->highest);
  const auto arrived = [&](Psn psn) {
    const bool is_outstanding = distance(flow.acked, psn) >= 0 && distance(psn, flow.next) > 0;
    const bool is_known = std::find(selective.sacked.begin(), selective.sacked.end(), psn) != selective.sacked.end();
    if (is_outstanding && !is_known && selective.sacked.size() < kAheadKept) selective.sacked.push_back(psn);
  };
  arrived(sack->highest);
  for (std::uint32_t i = 0; i < 64; ++i)
    if ((sack->below >> i & 1) != 0) arrived(sack->highest - 1 - i);
}

/// One behind what the response acknowledges.
Psn acknowledged_by(const Observation& seen) {
  const auto syndrome = seen.syndrome();
  const bool is_positive = !syndrome || syndrome->kind == wire::Syndrome::Kind::ack;
  return is_positive ? seen.psn + 1 : seen.psn;
}

bool is_sequence_error(const wire::Syndrome& syndrome) {
  return syndrome.kind == wire::Syndrome::Kind::nak && syndrome.nak_code() == wire::NakCode::psn_sequence_error;
}

void note_answer_departure(Connection& connection, CheckedStream& flow, const Observation& seen) {
  const Psn behind = acknowledged_by(seen);
  if (!flow.expected_is_sure && flow.arrives) {
    // A response has its request's PSN, new or sent again; what an answer was believed to show, its copy shows as well.
    flow.expected_is_sure = seen.is_acknowledge() && flow.expected_has_arrived && behind == flow.expected;
    if (distance(flow.expected, behind) > 0) flow.expected_has_arrived = false;
    raise_to(flow.expected, behind);
  }
  if (!seen.is_acknowledge()) return;
  if (!flow.has_answered) flow.answered = behind;
  flow.has_answered = true;
  raise_to(flow.answered, behind);
  const wire::Syndrome syndrome = *seen.syndrome();
  if (is_sequence_error(syndrome)) flow.nak_sent = seen.psn;
  if (is_fatal(syndrome)) connection.failed[seen.sender] = Failed{seen.time(), true};
}

/// Whether a READ or an atomic before `psn` has not got all its responses: that is asked for first, whatever else an
/// answer says.
bool lacks_responses(const CheckedStream& flow, Psn psn) {
  constexpr std::size_t kLookedAtMax = 256;
  const auto messages = flow.log.messages();
  const std::size_t end = flow.log.index_from(psn);
  for (std::size_t i = end - std::min(end, kLookedAtMax); i < end; ++i)
    if (messages[i].awaits_data() && messages[i].delivered < messages[i].packets) return true;
  return false;
}

void note_data_arrival(const Observation& seen) {
  if (seen.is_acknowledge() || seen.message == nullptr || !seen.message->awaits_data()) return;
  Message& message = *seen.message;
  if (message.first + message.delivered == seen.psn) ++message.delivered;
}

void note_answer_arrival(Connection& connection, CheckedStream& flow, const Observation& seen) {
  note_data_arrival(seen);
  const Psn behind = acknowledged_by(seen);
  // Of a stream that goes back when we first see it, what it acknowledges had been sent before.
  if (const auto ahead = distance(flow.next, behind);
      flow.started && !flow.sent_is_sure && ahead > 0 && ahead <= kRestartPackets) {
    flow.next = behind;
    flow.next_is_of_answer = true;
  }
  if (!flow.acked_known) {
    // To requests from before we saw any: it says nothing of the later ones, and may itself be late.
    if (!flow.started || distance(behind, flow.next) < 0) return;
    flow.acked_known = true;
    flow.acked = behind;
    flow.progress_at = seen.time();
  } else if (distance(flow.acked, behind) > 0 && distance(behind, flow.next) >= 0) {
    flow.acked = behind;
    flow.progress_at = seen.time();
    // What was asked for may be acknowledged before it is sent again; the requester then goes back less far, but it
    // does.
    if (flow.acked == flow.next) {
      flow.nak.reset();
      flow.was_rnr = false;
    }
    if (flow.rnr && distance(flow.rnr->psn, behind) > 0) flow.rnr.reset();
  }
  raise_to(flow.selective.lost_until, flow.acked);
  if (!seen.is_acknowledge()) return;
  const wire::Syndrome syndrome = *seen.syndrome();
  if (flow.selective.is_offered) note_sack(flow, seen, syndrome);
  const bool is_news = distance(flow.acked, seen.psn) >= 0 && distance(seen.psn, flow.next) > 0;
  if (is_news && is_sequence_error(syndrome)) {
    flow.nak = seen.psn;
    flow.nak_at = seen.time();
  }
  if (is_news && syndrome.kind == wire::Syndrome::Kind::rnr_nak) {
    flow.was_rnr = true;
    // A copy that the network made of the NAK may or may not make the requester wait anew.
    if (!flow.rnr && !lacks_responses(flow, seen.psn))
      flow.rnr = RnrWait{seen.psn, seen.time(), seen.time() + wire::rnr_timer(syndrome.value)};
  }
  if (is_news && is_fatal(syndrome) && !connection.failed[1 - seen.sender])
    connection.failed[1 - seen.sender] = Failed{seen.time(), false};
}

}  // namespace

std::uint32_t span_of(const wire::PacketView& packet, const CheckedStream& flow) {
  if (packet.opcode().operation != Operation::read_request) return 1;
  constexpr std::uint32_t kMtuLeastBytes = 256;
  if (packet.reth().length <= kMtuLeastBytes) return 1;
  return flow.mtu_bytes == 0 ? 0 : packets_of(packet.reth().length, flow.mtu_bytes);
}

bool is_fatal(const wire::Syndrome& syndrome) {
  return syndrome.kind == wire::Syndrome::Kind::nak && syndrome.nak_code() != wire::NakCode::psn_sequence_error;
}

void start_connection(Connection& connection) {
  ++connection.generation;
  connection.tainted = connection.doubtful = false;
  connection.failed = {};
  for (unsigned end = 0; end < 2; ++end) {
    CheckedStream& flow = connection.flows[end];
    const CheckedEnd& info = connection.info.ends[end];
    const std::uint32_t index = flow.index;
    connection.sees_departs[end] = info.first_psn.has_value();
    MessageLog log = std::move(flow.log);  // keeps its room
    log.clear();
    flow = CheckedStream{};
    flow.log = std::move(log);
    flow.index = index;
    flow.generation = connection.generation;
    flow.first_psn = info.first_psn;
    flow.ack_timeout = info.ack_timeout;
    flow.rto_low = info.rto_low;
    flow.mtu_bytes = connection.info.path_mtu_bytes;
    if (!info.first_psn) continue;
    flow.next = flow.acked = flow.expected = flow.highest_arrived = *info.first_psn;
    flow.selective.lost_until = *info.first_psn;
    flow.acked_known = flow.expected_is_sure = flow.sent_is_sure = true;
  }
}

bool begins_anew(const Observation& seen) {
  const CheckedStream& flow = *seen.flow;
  if (!seen.views.content || !seen.info.is_request || !flow.started || flow.first_psn) return false;
  const std::int32_t ahead = distance(flow.next, seen.psn);
  if (ahead > kRestartPackets || ahead < -kRestartPackets || seen.span == 0) return true;
  return ahead != 0 && seen.time() - flow.last_time >= kRestartSilence;
}

void take_note(Observation& seen) {
  CheckedStream& flow = *seen.flow;
  if (seen.views.arrives) note_agreement(seen.connection->flows[1 - seen.sender], seen);
  if (seen.views.content) flow.last_time = seen.time();
  if (seen.info.is_request) {
    if ((seen.packet.bth().reserved7 & wire::kTakesSelectiveRepeat) != 0) flow.selective.is_offered = true;
    if (placement_of(seen.packet) && !flow.selective.is_agreed) {
      flow.selective.is_agreed = true;
      flow.selective.lost_until = flow.next;
      flow.selective.all_lost_at = seen.time();
    }
    if (seen.views.departs) note_departure(flow, seen);
    if (seen.views.arrives) note_arrival(flow, seen);
    if (seen.views.content) note_request_content(flow, seen);
    return;
  }
  // With selective repeat what was seen last may have been sent again, and more before we saw any.
  const bool is_all = flow.departs && !flow.next_is_of_answer && acknowledged_by(seen) == flow.next;
  if (is_all && !flow.selective.is_offered) flow.sent_is_sure = true;
  if (seen.views.content) note_answer_content(flow, seen);
  if (seen.views.departs) note_answer_departure(*seen.connection, flow, seen);
  if (seen.views.arrives) note_answer_arrival(*seen.connection, flow, seen);
}

}  // namespace verbena::checkers
