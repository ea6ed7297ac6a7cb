#include "captures/render/words/total_rows.h"

#include "wire/member_name.h"

namespace verbena::captures {

namespace {

template <std::uint64_t Totals::* kMember>
constexpr TotalRow row(std::string_view words, bool always = false) {
  return {words, wire::member_name<kMember>(), kMember, always};
}

constexpr TotalRow kRows[] = {
    row<&Totals::packets>("packets", true),
    row<&Totals::bytes>("bytes", true),
    row<&Totals::payload_bytes>("payload bytes", true),
    row<&Totals::retransmitted_packets>("retransmitted packets"),
    row<&Totals::go_backs>("  runs (go-back-N)"),
    row<&Totals::timeouts>("  of these timeouts"),
    row<&Totals::read_re_requests>("  of these READ re-requests"),
    row<&Totals::unexplained_go_backs>("  of these unexplained"),
    row<&Totals::repeated_responses>("READ responses again"),
    row<&Totals::gaps>("gaps"),
    row<&Totals::missing_packets>("  packets missing in them"),
    row<&Totals::holes>("holes of the capture"),
    row<&Totals::hole_packets>("  packets it lacks"),
    row<&Totals::late_packets>("late packets"),
    row<&Totals::duplicates>("duplicates"),
    row<&Totals::seen_before>("duplicates or late"),
    row<&Totals::repeated_answers>("answers once more"),
    row<&Totals::unasked_answers>("answers to nothing sent"),
    row<&Totals::nak_sequence_errors>("NAK sequence error sent"),
    row<&Totals::rnr_naks>("RNR NAK sent"),
    row<&Totals::other_naks>("other NAK sent"),
    row<&Totals::bad_icrc>("bad ICRC"),
    row<&Totals::bad_vcrc>("bad VCRC"),
    row<&Totals::dropped_by_fault>("dropped by a fault"),
    row<&Totals::ecn_marked>("ECN-marked"),
    row<&Totals::cnps>("CNP sent"),
    row<&Totals::lacking_headers>("headers cut off"),
};

}  // namespace

std::span<const TotalRow> total_rows() {
  return kRows;
}

}  // namespace verbena::captures
