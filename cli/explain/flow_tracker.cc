#include "cli/explain/flow_tracker.h"

#include <fmt/format.h>

#include <algorithm>

#include "wire/packet_text.h"

namespace verbena::explain {

namespace {

constexpr std::size_t kMissingRangesMax = 256;
constexpr std::size_t kReadsMax = 256;
constexpr std::uint8_t kCongestionExperienced = 3;  // RFC 3168

std::uint32_t packets_of(std::uint32_t bytes, std::uint32_t mtu_bytes) {
  return std::max<std::uint32_t>(1, static_cast<std::uint32_t>((std::uint64_t{bytes} + mtu_bytes - 1) / mtu_bytes));
}

}  // namespace

std::string to_text(Duration duration) {
  const double ns = static_cast<double>(duration.ns);
  if (duration.ns < 1000) return fmt::format("{} ns", duration.ns);
  if (duration.ns < 1000 * 1000) return fmt::format("{:.3g} us", ns / 1e3);
  if (duration.ns < 1000 * 1000 * 1000) return fmt::format("{:.3g} ms", ns / 1e6);
  return fmt::format("{:.3f} s", ns / 1e9);
}

const Step& FlowTracker::step(const Packet& packet, const wire::PacketView& view) {
  step_.sender = conversation_.sender_of(view);
  step_.relative.reset();
  step_.is_again = false;
  step_.acknowledged = 0;
  step_.notes.clear();
  if (!any_) first_time_ = packet.time;
  any_ = true;
  last_time_ = packet.time;

  Totals& totals = totals_[step_.sender];
  ++totals.packets;
  totals.bytes += packet.captured.original_bytes;
  totals.payload_bytes += view.payload_bytes();
  judge_marks(packet, view);
  if (packet.is_whole() && !view.icrc_is_valid()) {
    ++totals.bad_icrc;
    problem("bad ICRC: the receiver drops it");
    return step_;
  }
  if (view.opcode().operation == wire::Operation::congestion_notification) {
    ++totals.cnps;
    problem("CNP: the sender is to slow down");
    return step_;
  }
  if (view.opcode().is_request)
    request(requesters_[step_.sender], totals, packet, view);
  else
    response(requesters_[1 - step_.sender], totals, packet, view);
  return step_;
}

void FlowTracker::judge_marks(const Packet& packet, const wire::PacketView& view) {
  Totals& totals = totals_[step_.sender];
  if (packet.was_dropped()) ++totals.dropped_by_fault;
  if (!packet.captured.comment.empty()) {
    std::string_view comment = packet.captured.comment;
    if (comment.starts_with(wire::kNotePrefix)) comment.remove_prefix(wire::kNotePrefix.size());
    problem(std::string(comment));
  }
  if ((view.traffic_class() & 3) == kCongestionExperienced) {
    ++totals.ecn_marked;
    problem("marked by ECN: congestion on the way");
  }
}

std::uint32_t FlowTracker::span_of(const wire::PacketView& view) const {
  if (view.opcode().operation != wire::Operation::read_request || conversation_.path_mtu_bytes == 0) return 1;
  return packets_of(view.reth().length, conversation_.path_mtu_bytes);
}

std::string FlowTracker::name(const Requester& requester, wire::Psn psn) const {
  return fmt::format("psn {} ({:+})", psn.value(), wire::distance(requester.first, psn));
}

std::string FlowTracker::name(const Requester& requester, wire::Psn from, std::uint32_t count) const {
  if (count <= 1) return name(requester, from);
  const wire::Psn last = from + (count - 1);
  return fmt::format("psn {}..{} ({:+}..{:+})", from.value(), last.value(), wire::distance(requester.first, from),
                     wire::distance(requester.first, last));
}

void FlowTracker::start(Requester& requester, wire::Psn psn, std::uint32_t span) {
  requester = Requester{};
  requester.started = true;
  requester.first = psn;
  requester.acked = psn;
  requester.next = psn + span;
}

void FlowTracker::gap(Requester& requester, Totals& totals, wire::Psn from, std::uint32_t count,
                      std::string_view where) {
  ++totals.gaps;
  totals.missing_packets += count;
  problem(
      fmt::format("gap{}: {} missing, {} packet{}", where, name(requester, from, count), count, count == 1 ? "" : "s"));
}

void FlowTracker::request(Requester& requester, Totals& totals, const Packet& packet, const wire::PacketView& view) {
  const wire::Psn psn = view.bth().psn;
  const std::uint32_t span = span_of(view);
  const bool is_new = !requester.started;
  const std::int32_t ahead = is_new ? 0 : wire::distance(requester.next, psn);
  if (is_new || ahead > kRestartPackets || ahead < -kRestartPackets) {
    if (!is_new) remark(fmt::format("psn jumps to {}: a new connection of the same queue pairs", psn.value()));
    start(requester, psn, span);
  } else if (ahead < 0 && wire::transport_of(view.bth().opcode) != wire::Transport::ud) {
    behind(requester, totals, packet, view, span);
  } else {
    if (ahead > 0) {
      gap(requester, totals, requester.next, static_cast<std::uint32_t>(ahead), "");
      remember_missing(requester, requester.next, static_cast<std::uint32_t>(ahead));
    } else if (ahead < 0) {
      ++totals.late_packets;
      problem("out of order");
    }
    if (ahead >= 0) requester.next = psn + span;
    requester.resending.reset();
  }
  const bool answered_as_read = view.opcode().takes_resource && !view.opcode().has_atomic_eth;
  if (answered_as_read) note_read(requester, psn, span);
  step_.relative = wire::distance(requester.first, psn);
  requester.previous = psn;
  requester.previous_at = packet.time;
}

void FlowTracker::remember_missing(Requester& requester, wire::Psn first, std::uint32_t count) {
  if (requester.missing.size() == kMissingRangesMax) requester.missing.erase(requester.missing.begin());
  requester.missing.push_back({first, count});
}

bool FlowTracker::take_missing(Requester& requester, wire::Psn psn, std::uint32_t span) {
  for (auto& range : requester.missing) {
    const std::int32_t offset = wire::distance(range.first, psn);
    if (offset < 0 || offset >= static_cast<std::int32_t>(range.count)) continue;
    const std::uint32_t before = static_cast<std::uint32_t>(offset);
    const std::uint32_t after = range.count > before + span ? range.count - before - span : 0;
    const wire::Psn behind_it = psn + span;
    if (before == 0 && after == 0) {
      requester.missing.erase(requester.missing.begin() + (&range - requester.missing.data()));
      return true;
    }
    range = before == 0 ? Range{behind_it, after} : Range{range.first, before};
    if (before != 0 && after != 0) requester.missing.push_back({behind_it, after});
    return true;
  }
  return false;
}

/// A request whose PSN has been passed already.
void FlowTracker::behind(Requester& requester, Totals& totals, const Packet& packet, const wire::PacketView& view,
                         std::uint32_t span) {
  const Time now = packet.time;
  const bool was_reordered = packet.captured.comment.find("reordered") != std::string_view::npos;
  const wire::Psn psn = view.bth().psn;
  const bool was_missing = take_missing(requester, psn, span);
  const bool asked_for = requester.nak && requester.nak->psn == psn;
  const bool goes_on = requester.resending && wire::distance(*requester.resending, psn) >= 0;
  const bool is_late = was_missing && !asked_for && !goes_on && now - requester.previous_at < kLateMax &&
                       view.opcode().operation != wire::Operation::read_request;
  if (wire::transport_of(view.bth().opcode) == wire::Transport::uc || is_late || was_reordered) {
    ++(was_missing ? totals.late_packets : totals.duplicates);
    problem(was_missing ? "late: it was missing, and comes out of order" : "duplicate");
    return;
  }
  const bool retry_asked = asked_for || (requester.rnr && requester.rnr->psn == psn);
  if (psn == requester.previous && !retry_asked && now - requester.previous_at < kDuplicateMax) {
    ++totals.duplicates;
    problem(fmt::format("duplicate: the same packet came {} ago", to_text(now - requester.previous_at)));
    return;
  }
  ++totals.retransmitted_packets;
  step_.is_again = true;
  const std::int32_t skipped = requester.resending ? wire::distance(*requester.resending, psn) : -1;
  if (skipped < 0 || retry_asked) {
    begin_run(requester, totals, now, view);
  } else if (skipped > 0) {
    gap(requester, totals, *requester.resending, static_cast<std::uint32_t>(skipped), " in the retransmission");
    remember_missing(requester, *requester.resending, static_cast<std::uint32_t>(skipped));
  }
  requester.resending = psn + span;
  if (wire::distance(requester.next, psn + span) > 0) requester.next = psn + span;
}

/// The first packet of a go-back-N: says why.
void FlowTracker::begin_run(Requester& requester, Totals& totals, Time now, const wire::PacketView& view) {
  const wire::Psn psn = view.bth().psn;
  const std::uint32_t back = static_cast<std::uint32_t>(wire::distance(psn, requester.next));
  const std::string where = fmt::format("from {}, {} packet{} back", name(requester, psn), back, back == 1 ? "" : "s");
  const Time heard = std::max(requester.previous_at, requester.heard_at);
  const auto read = std::find_if(requester.reads.begin(), requester.reads.end(), [&](const Read& r) {
    const std::int32_t offset = wire::distance(r.first, psn);
    return offset >= 0 && offset < static_cast<std::int32_t>(r.count);
  });
  ++totals.go_backs;
  const bool is_read = view.opcode().operation == wire::Operation::read_request;
  if (is_read) ++totals.read_re_requests;
  const std::string again = is_read ? "READ asked for again " : "retransmission ";
  const bool nak_was_lost = requester.nak && now - std::max(requester.previous_at, requester.nak->at) > kNakReactionMax;
  if (requester.nak && !nak_was_lost && wire::distance(requester.nak->psn, psn) <= 0) {
    problem(fmt::format("{}{}: go-back-N after the NAK of {} ago", again, where, to_text(now - requester.nak->at)));
    requester.nak.reset();
  } else if (requester.rnr) {
    problem(fmt::format("{}{}: {} after the RNR NAK, which asked for {}", again, where,
                        to_text(now - requester.rnr->at), to_text(requester.rnr->wait)));
    requester.rnr.reset();
  } else if (is_read && read != requester.reads.end() && read->has_gap) {
    problem(fmt::format("{}{}: a response is missing (implied NAK)", again, where));
  } else if (now - heard < kTimeoutMin) {
    problem(fmt::format("{}{}: nothing in the capture asked for it", again, where));
  } else {
    ++totals.timeouts;
    problem(fmt::format("timeout: {}{}: {}, {} after the last packet", again, where,
                        nak_was_lost ? "the NAK seems lost on its way" : "no NAK", to_text(now - heard)));
    requester.nak.reset();
  }
}

void FlowTracker::note_read(Requester& requester, wire::Psn psn, std::uint32_t span) {
  for (Read& read : requester.reads) {
    const std::int32_t offset = wire::distance(read.first, psn);
    if (offset < 0 || offset >= static_cast<std::int32_t>(read.count)) continue;
    read.next = psn;  // the responder starts again from here
    read.has_gap = false;
    return;
  }
  if (requester.reads.size() == kReadsMax) requester.reads.pop_front();
  requester.reads.push_back({psn, span, psn, psn, false});
}

void FlowTracker::response(Requester& requester, Totals& totals, const Packet& packet, const wire::PacketView& view) {
  if (!requester.started) return;  // the capture begins in the middle
  const wire::Psn psn = view.bth().psn;
  step_.relative = wire::distance(requester.first, psn);
  if (wire::distance(requester.next, psn) >= 0) remark("answers a packet that the capture does not have");
  if (packet.was_dropped()) {
    lose_response(requester, psn);
    return;
  }
  if (view.opcode().has_aeth) {
    const wire::Syndrome syndrome = wire::Syndrome::decode(view.aeth().syndrome);
    if (syndrome.kind != wire::Syndrome::Kind::ack) {
      negative(requester, totals, packet.time, view, syndrome);
      requester.heard_at = packet.time;
      return;
    }
  }
  requester.heard_at = packet.time;
  const bool is_read = view.opcode().operation == wire::Operation::read_response;
  if (!is_read || read_response(requester, totals, psn, view.opcode().ends_message())) acknowledge(requester, psn);
}

/// An answer that a fault took: the requester does not know what it said, but it will miss a READ response.
void FlowTracker::lose_response(Requester& requester, wire::Psn psn) {
  for (Read& read : requester.reads) {
    const std::int32_t offset = wire::distance(read.first, psn);
    if (offset < 0 || offset >= static_cast<std::int32_t>(read.count)) continue;
    read.has_gap = true;
    if (read.next == psn) read.next = psn + 1;
    if (read.highest == psn) read.highest = psn + 1;
  }
}

bool FlowTracker::read_response(Requester& requester, Totals& totals, wire::Psn psn, bool ends) {
  const auto repeat = [&](wire::Psn seen_before) {
    if (wire::distance(psn, seen_before) <= 0) return;
    step_.is_again = true;
    ++totals.repeated_responses;
  };
  for (auto read = requester.reads.begin(); read != requester.reads.end(); ++read) {
    const std::int32_t offset = wire::distance(read->first, psn);
    if (offset < 0 || offset >= static_cast<std::int32_t>(read->count)) continue;
    const std::int32_t ahead = wire::distance(read->next, psn);
    if (ahead > 0 && psn == read->highest) {  // still on its way when the READ was asked for again
      ++read->highest;
      return false;
    }
    if (ahead > 0) {
      gap(requester, totals, read->next, static_cast<std::uint32_t>(ahead), " in READ responses");
      read->has_gap = true;
    }
    repeat(read->highest);
    if (ahead >= 0) read->next = psn + 1;
    if (wire::distance(read->highest, psn + 1) > 0) read->highest = psn + 1;
    const bool is_contiguous = !read->has_gap;
    if (ends && is_contiguous) requester.reads.erase(read);
    return is_contiguous;
  }
  repeat(requester.acked);
  return true;
}

void FlowTracker::negative(Requester& requester, Totals& totals, Time now, const wire::PacketView& view,
                           const wire::Syndrome& syndrome) {
  const wire::Psn psn = view.bth().psn;
  if (syndrome.kind == wire::Syndrome::Kind::rnr_nak) {
    ++totals.rnr_naks;
    const Duration wait = wire::rnr_timer(syndrome.value);
    // 9.7.5.2.8: the packet does not say which.
    problem(fmt::format("RNR NAK: not ready for {} (no receive posted, or a page not there), try again after {}",
                        name(requester, psn), to_text(wait)));
    requester.rnr = Request{psn, now, wait};
  } else if (syndrome.kind == wire::Syndrome::Kind::nak && syndrome.nak_code() == wire::NakCode::psn_sequence_error) {
    ++totals.nak_sequence_errors;
    problem(fmt::format("NAK: the responder waits for {}", name(requester, psn)));
    requester.nak = Request{psn, now, {}};
  } else {
    ++totals.other_naks;
    problem(fmt::format("{}: the request at {} has failed, the queue pair ends in error", wire::to_text(syndrome),
                        name(requester, psn)));
  }
  acknowledge(requester, psn - 1);  // a NAK acknowledges all before it (9.7.5.2)
}

void FlowTracker::acknowledge(Requester& requester, wire::Psn psn) {
  const std::int32_t progress = wire::distance(requester.acked, psn + 1);
  if (progress <= 0 || progress > kRestartPackets) return;
  requester.acked = psn + 1;
  step_.acknowledged = static_cast<std::uint32_t>(progress);
  if (requester.nak && wire::distance(requester.nak->psn, psn) >= 0) requester.nak.reset();
  if (requester.rnr && wire::distance(requester.rnr->psn, psn) >= 0) requester.rnr.reset();
}

}  // namespace verbena::explain
