// The table of rules: the one place to add one. Order is the order of reports.
//
// A clause is named by its number where the number could be verified (7.8.1, 9.7.4.1.5, 9.7.4.1.6, 9.7.5.2.8 and
// 9.7.6.1.3 are quoted by others from releases 1.2 to 1.5), else by the nearest one above it, with its topic in
// brackets.
// Tested by: tests/captures/checkers/broken_test.cc
#include <array>

#include "captures/checkers/rule.h"

namespace verbena::checkers {

std::unique_ptr<Rule> make_icrc(const RegionTable&);
std::unique_ptr<Rule> make_vcrc(const RegionTable&);
std::unique_ptr<Rule> make_message_order(const RegionTable&);
std::unique_ptr<Rule> make_payload_size(const RegionTable&);
std::unique_ptr<Rule> make_psn_order(const RegionTable&);
std::unique_ptr<Rule> make_psn_window(const RegionTable&);
std::unique_ptr<Rule> make_go_back_n(const RegionTable&);
std::unique_ptr<Rule> make_selective_repeat(const RegionTable&);
std::unique_ptr<Rule> make_ack_timeout(const RegionTable&);
std::unique_ptr<Rule> make_rnr_wait(const RegionTable&);
std::unique_ptr<Rule> make_aeth(const RegionTable&);
std::unique_ptr<Rule> make_answer_psn(const RegionTable&);
std::unique_ptr<Rule> make_ack_bounds(const RegionTable&);
std::unique_ptr<Rule> make_ack_order(const RegionTable&);
std::unique_ptr<Rule> make_nak(const RegionTable&);
std::unique_ptr<Rule> make_msn(const RegionTable&);
std::unique_ptr<Rule> make_completion_order(const RegionTable&);
std::unique_ptr<Rule> make_read_response(const RegionTable&);
std::unique_ptr<Rule> make_atomic_once(const RegionTable&);
std::unique_ptr<Rule> make_atomic_chain(const RegionTable&);
std::unique_ptr<Rule> make_region(const RegionTable&);
std::unique_ptr<Rule> make_failed_qp(const RegionTable&);
std::unique_ptr<Rule> make_uc_order(const RegionTable&);
std::unique_ptr<Rule> make_ud_form(const RegionTable&);
std::unique_ptr<Rule> make_cnp_form(const RegionTable&);
std::unique_ptr<Rule> make_cnp_interval(const RegionTable&);
std::unique_ptr<Rule> make_qp_rate(const RegionTable&);
std::unique_ptr<Rule> make_mark_echo(const RegionTable&);
std::unique_ptr<Rule> make_cm_psn(const RegionTable&);
std::unique_ptr<Rule> make_cm_state(const RegionTable&);

namespace {

constexpr std::uint32_t kRequests = kRequestContent | kRequestArrives;

constexpr std::array kRules = {
    RuleRow{{"icrc", "IBTA 7.8.1", "the invariant CRC is right where a packet leaves its sender"}, kIcrc, make_icrc},
    RuleRow{
        {"vcrc", "IBTA 7.8.2", "the variant CRC of a packet of InfiniBand is right on each link"}, kIcrc, make_vcrc},
    RuleRow{{"message-order", "IBTA 9.7.4.1 (operation sequence)",
             "FIRST, MIDDLE, LAST in order; a PSN is always the same packet"},
            kRequestContent,
            make_message_order},
    RuleRow{{"payload-size", "IBTA 9.7.4.1.6", "all packets but the last are full, and as long as the RETH says"},
            kRequestContent,
            make_payload_size},
    RuleRow{{"psn-order", "IBTA 9.7.1", "each request has the next PSN; none is left out when sending again"},
            kRequestDeparts,
            make_psn_order},
    RuleRow{{"psn-window", "IBTA 9.7.1", "at most 2^23 PSNs are outstanding"}, kRequestContent, make_psn_window},
    RuleRow{{"go-back-n", "IBTA 9.7.6", "sending again begins with the oldest request not acknowledged"},
            kRequestDeparts,
            make_go_back_n},
    RuleRow{{"selective-repeat", "docs/selective-repeat.md",
             "only what is missing is sent again, and nothing that has arrived"},
            kRequestDeparts,
            make_selective_repeat},
    RuleRow{{"ack-timeout", "IBTA 9.7.6.1.3", "without a NAK nothing is sent again before the local ACK timeout"},
            kRequestDeparts,
            make_ack_timeout},
    RuleRow{{"rnr-wait", "IBTA 9.7.5.2.8", "after an RNR NAK its request waits for as long as the NAK says"},
            kRequestDeparts,
            make_rnr_wait},
    RuleRow{{"aeth", "IBTA 9.7.5.2", "syndromes are defined ones, and fit their packet"}, kResponseContent, make_aeth},
    RuleRow{{"answer-psn", "IBTA 9.7.5.1", "an answer names a psn that was sent"},
            kResponseContent | kResponseArrives,
            make_answer_psn},
    RuleRow{{"ack-bounds", "IBTA 9.7.5.1", "only what has arrived in order is acknowledged"},
            kResponseDeparts,
            make_ack_bounds},
    RuleRow{{"ack-order", "IBTA 9.7.5.1", "acknowledgements never go backwards"}, kResponseDeparts, make_ack_order},
    RuleRow{
        {"nak", "IBTA 9.7.5.2", "a NAK names a gap (once) or a request that has arrived"}, kResponseDeparts, make_nak},
    RuleRow{{"msn", "IBTA 9.7.7 (message sequence number)", "the MSN counts the completed messages"},
            kResponseContent,
            make_msn},
    RuleRow{{"completion-order", "IBTA 9.7.5.1", "nothing is acknowledged before the responses to READs before it"},
            kResponseDeparts,
            make_completion_order},
    RuleRow{{"read-response", "IBTA 9.7.5.1", "READ responses: in order, as many, as large, from where asked for"},
            kRequests | kResponseContent,
            make_read_response},
    RuleRow{{"atomic-once", "IBTA 9.7.5.1", "an atomic that is sent again is answered with the same value"},
            kRequestContent | kResponseContent,
            make_atomic_once},
    RuleRow{{"atomic-chain", "IBTA 9.7.5.1", "each fetch-add finds what another one left (online only)"},
            kRequestContent | kResponseContent,
            make_atomic_chain},
    RuleRow{{"region", "IBTA 9.7.4.1.5", "no access outside of registered memory is executed (online only)"},
            kRequestContent | kResponseContent,
            make_region},
    RuleRow{{"failed-qp", "IBTA 9.9.2, 9.9.3", "a QP in error is silent until it is connected anew"},
            kRequestDeparts | kResponseDeparts,
            make_failed_qp},
    RuleRow{{"uc-order", "IBTA 9.8.2", "an unreliable connection sends nothing again"}, kRequestDeparts, make_uc_order},
    RuleRow{{"ud-form", "IBTA 9.8.3", "a datagram is one packet with a DETH"}, kDatagram, make_ud_form},
    RuleRow{{"cnp-form", "IBTA annex A17", "CNPs: BECN, PSN 0, 16 octets of zeros"}, kCongestion, make_cnp_form},
    RuleRow{{"cnp-interval", "IBTA annex A17", "CNPs are as far apart as their NIC is set to send them (online only)"},
            kCongestion,
            make_cnp_interval},
    RuleRow{{"qp-rate", "Zhu et al., SIGCOMM 2015", "a QP under DCQCN keeps to its rate (online only)"},
            kRequestDeparts | kResponseDeparts | kCongestion,
            make_qp_rate},
    RuleRow{{"mark-echo", "RFC 8257, 3.2", "BECN in an acknowledgement: a request that it acknowledges was marked"},
            kRequestArrives | kResponseDeparts,
            make_mark_echo},
    RuleRow{{"cm-psn", "IBTA 12.7.31", "each side's first request has the PSN that the other side's REQ or REP says"},
            kDatagram | kRequestContent,
            make_cm_psn},
    RuleRow{{"cm-state", "IBTA 12.9 (states of a connection)",
             "messages of a connection name what REQ and REP announce; those sent again are the same"},
            kDatagram,
            make_cm_state},
};

}  // namespace

std::span<const RuleRow> rule_table() {
  return kRules;
}

}  // namespace verbena::checkers
