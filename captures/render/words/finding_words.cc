#include "captures/render/words/finding_words.h"

#include <fmt/format.h>

#include "wire/counted.h"
#include "wire/packet_text.h"

namespace verbena::captures {

namespace {

std::string name(wire::Psn first, wire::Psn psn) {
  return fmt::format("psn {} ({:+})", psn.value(), wire::distance(first, psn));
}

std::string name(wire::Psn first, wire::Psn from, std::uint32_t count) {
  if (count <= 1) return name(first, from);
  const wire::Psn last = from + (count - 1);
  return fmt::format("psn {}..{} ({:+}..{:+})", from.value(), last.value(), wire::distance(first, from),
                     wire::distance(first, last));
}

std::string packets(std::uint32_t count) {
  return wire::counted(count, "packet");
}

std::string missing(const Finding& finding, wire::Psn first, std::string_view where) {
  if (finding.is_hole)
    return fmt::format("hole of the capture{}: {} missing, {}: {}", where, name(first, finding.psn, finding.count),
                       packets(finding.count),
                       finding.kind == FindingKind::response_gap ? "nobody asks for them again"
                                                                 : "the other side has acknowledged them");
  return fmt::format("gap{}: {} missing, {}", where, name(first, finding.psn, finding.count), packets(finding.count));
}

std::string selective_retransmission(const Finding& finding, wire::Psn first) {
  std::string what = fmt::format("{} again, alone (selective repeat)", name(first, finding.psn));
  switch (finding.cause) {
    case Cause::sequence_nak:
      return fmt::format("{}: the NAK of {} ago tells of later ones", what, to_text(finding.since));
    case Cause::timeout:
      return fmt::format("{}: no NAK told of it; {} after the last answer", what, to_text(finding.since));
    case Cause::rnr_nak:
    case Cause::implied_nak:
    case Cause::cut_answer:
    case Cause::unknown:
      break;
  }
  return what;
}

std::string retransmission(const Finding& finding, wire::Psn first) {
  if (finding.is_selective) return selective_retransmission(finding, first);
  std::string what = fmt::format("{}from {}, {} back", finding.is_read ? "READ asked for again " : "retransmission ",
                                 name(first, finding.psn), packets(finding.count));
  switch (finding.cause) {
    case Cause::sequence_nak:
      return fmt::format("{}: go-back-N after the NAK of {} ago", what, to_text(finding.since));
    case Cause::rnr_nak:
      return fmt::format("{}: {} after the RNR NAK, which asked for {}", what, to_text(finding.since),
                         to_text(finding.asked));
    case Cause::implied_nak:
      return fmt::format("{}: a response is missing (implied NAK), shown by the answer of {} ago", what,
                         to_text(finding.since));
    case Cause::timeout:
      if (finding.attempt != 0)
        return fmt::format("timeout {}: {}: still no answer, {} after it was sent last", finding.attempt, what,
                           to_text(finding.since));
      return fmt::format("timeout: {}: {}, {} after the last progress", what,
                         finding.answer_passed ? "the answer was lost on its way" : "no NAK", to_text(finding.since));
    case Cause::cut_answer:
      return fmt::format("{}: an answer may have asked for it, what answers say is cut off", what);
    case Cause::unknown:
      return fmt::format("{}: nothing in the capture asked for it", what);
  }
  return what;
}

std::string unasked(const Finding& finding, wire::Psn first) {
  const std::string what = name(first, finding.psn);
  return finding.is_sure
             ? fmt::format("answers {}, which was never sent: {} beyond the last request", what, packets(finding.count))
             : fmt::format("answers {}, which the capture does not have", what);
}

/// Without what is added where the capture leaves a doubt.
std::string plain_words(const Finding& finding, wire::Psn first) {
  switch (finding.kind) {
    case FindingKind::gap:
      return missing(finding, first, "");
    case FindingKind::gap_in_run:
      return missing(finding, first, " in the retransmission");
    case FindingKind::response_gap:
      return missing(finding, first, " in READ or atomic responses");
    case FindingKind::late:
      return "late: it was missing, and comes out of order";
    case FindingKind::duplicate:
      return fmt::format("duplicate: the same packet came {} ago", to_text(finding.since));
    case FindingKind::seen_before:
      return fmt::format("seen before, {} ago: a copy, held back, or sent again; the capture does not show which",
                         to_text(finding.since));
    case FindingKind::late_or_again:
      return "it was missing: held back, or sent again; the capture does not show which";
    case FindingKind::retransmission:
      return retransmission(finding, first);
    case FindingKind::late_answer:
      return "late: a later answer has overtaken it";
    case FindingKind::repeated_answer:
      return "the same answer once more: copied, or given again to a request that came again";
    case FindingKind::unasked_answer:
      return unasked(finding, first);
    case FindingKind::nak:
      return fmt::format("NAK: the responder waits for {}", name(first, finding.psn));
    case FindingKind::rnr_nak:  // 9.7.5.2.8: the packet does not say which
      return fmt::format("RNR NAK: not ready for {} (no receive posted, or a page not there), try again after {}",
                         name(first, finding.psn), to_text(finding.asked));
    case FindingKind::fatal_nak:
      return fmt::format("the request at {} has failed, the queue pair ends in error", name(first, finding.psn));
    case FindingKind::bad_icrc:
      return "bad ICRC: the receiver drops it";
    case FindingKind::bad_vcrc:
      return "bad VCRC: the next port drops it";
  }
  return {};
}

}  // namespace

std::string to_text(Duration duration) {
  const double ns = static_cast<double>(duration.ns);
  if (duration.ns < 1000) return fmt::format("{} ns", duration.ns);
  if (duration.ns < 1000 * 1000) return fmt::format("{:.3g} us", ns / 1e3);
  if (duration.ns < 1000 * 1000 * 1000) return fmt::format("{:.3g} ms", ns / 1e6);
  return fmt::format("{:.3f} s", ns / 1e9);
}

std::string words(const Finding& finding, wire::Psn first) {
  Finding plain = finding;
  plain.is_hole = finding.is_hole && !finding.may_be_headless;
  std::string text = plain_words(plain, first);
  if (finding.kind == FindingKind::fatal_nak)
    text = fmt::format("{}: {}", wire::to_text(wire::Syndrome::decode(finding.syndrome)), text);
  if (finding.may_be_headless) text += ", or among the packets that are cut off within their headers";
  if (finding.is_datagram) text += ", or sent to another queue pair";
  return text;
}

}  // namespace verbena::captures
