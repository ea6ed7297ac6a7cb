// The rows of verb faults: what may be said of calls, of completions and of events.
// Tested by: tests/fabric/verb_rule_test.cc
#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>

#include "emulator/fabric/completion_words.h"
#include "emulator/fabric/fault_rows.h"
#include "emulator/fabric/nearest_word.h"
#include "emulator/fabric/rule_reader.h"
#include "emulator/fabric/verb_rule.h"

namespace verbena::fabric {
namespace {

using Number = rule_value::NumberOf<VerbRule>;
using Numbers = rule_value::RangeOf<VerbRule>;
using Chance = rule_value::Probability<VerbRule>;
using TimeSpan = rule_value::TimeOf<VerbRule>;
template <class T>
using Choice = rule_value::OneOf<VerbRule, T>;
using Flag = rule_value::YesNo<VerbRule>;
using Status = nic::CompletionStatus;
using Event = nic::AsyncEventType;
using Value = std::variant<Chance, Numbers, Number, TimeSpan, Flag, Choice<Verb>, Choice<int>, Choice<Status>,
                           Choice<Event>, Choice<CompletionOf>, Choice<PlannedEnd>, Choice<wire::RejectReason>>;
using Given = std::span<const std::string_view>;

constexpr std::array kVerbs{Named<Verb>{"any", Verb::any},
#define VERBENA_VERB(name, ...) Named<Verb>{#name, Verb::name},
                            VERBENA_FAULT_VERBS(VERBENA_VERB)
#undef VERBENA_VERB
};

struct Errors {
  static constexpr std::size_t kMax = 6;
  std::array<int, kMax> of{};
};
template <class... Error>
constexpr Errors errors(Error... error) {
  return {{error...}};
}
constexpr std::array kErrors{errors(EIO),
#define VERBENA_VERB(name, ...) errors(__VA_ARGS__),
                             VERBENA_FAULT_VERBS(VERBENA_VERB)
#undef VERBENA_VERB
};
static_assert(kErrors.size() == kVerbs.size());

constexpr std::array kErrnos{Named<int>{"EPERM", EPERM},
                             Named<int>{"ENOENT", ENOENT},
                             Named<int>{"EINTR", EINTR},
                             Named<int>{"EIO", EIO},
                             Named<int>{"ENXIO", ENXIO},
                             Named<int>{"EAGAIN", EAGAIN},
                             Named<int>{"ENOMEM", ENOMEM},
                             Named<int>{"EACCES", EACCES},
                             Named<int>{"EFAULT", EFAULT},
                             Named<int>{"EBUSY", EBUSY},
                             Named<int>{"ENODEV", ENODEV},
                             Named<int>{"EINVAL", EINVAL},
                             Named<int>{"ENFILE", ENFILE},
                             Named<int>{"EMFILE", EMFILE},
                             Named<int>{"ENOSPC", ENOSPC},
                             Named<int>{"ENOSYS", ENOSYS},
                             Named<int>{"EOVERFLOW", EOVERFLOW},
                             Named<int>{"EOPNOTSUPP", EOPNOTSUPP},
                             Named<int>{"ENETDOWN", ENETDOWN},
                             Named<int>{"ENETUNREACH", ENETUNREACH},
                             Named<int>{"ETIMEDOUT", ETIMEDOUT},
                             Named<int>{"ECONNREFUSED", ECONNREFUSED},
                             Named<int>{"EHOSTUNREACH", EHOSTUNREACH},
                             Named<int>{"EADDRINUSE", EADDRINUSE},
                             Named<int>{"EADDRNOTAVAIL", EADDRNOTAVAIL}};

constexpr std::span<const Named<Status>> kFailures = std::span(kCompletionStatuses).subspan(1);  // without success

constexpr std::array kQueues{Named<CompletionOf>{"send", CompletionOf::send},
                             Named<CompletionOf>{"receive", CompletionOf::receive}};

constexpr std::array kEnds{Named<PlannedEnd>{"ADDR_ERROR", PlannedEnd::address_error},
                           Named<PlannedEnd>{"ROUTE_ERROR", PlannedEnd::route_error},
                           Named<PlannedEnd>{"CONNECT_ERROR", PlannedEnd::connect_error},
                           Named<PlannedEnd>{"UNREACHABLE", PlannedEnd::unreachable},
                           Named<PlannedEnd>{"REJECTED", PlannedEnd::rejected},
                           Named<PlannedEnd>{"MULTICAST_ERROR", PlannedEnd::multicast_error}};

using Reason = Named<wire::RejectReason>;
constexpr std::array kReasons{
    Reason{"no-qp", wire::RejectReason::no_qp},
    Reason{"no-eec", wire::RejectReason::no_eec},
    Reason{"no-resources", wire::RejectReason::no_resources},
    Reason{"timeout", wire::RejectReason::timeout},
    Reason{"unsupported", wire::RejectReason::unsupported},
    Reason{"invalid-communication-id", wire::RejectReason::invalid_communication_id},
    Reason{"invalid-communication-instance", wire::RejectReason::invalid_communication_instance},
    Reason{"invalid-service-id", wire::RejectReason::invalid_service_id},
    Reason{"invalid-transport-type", wire::RejectReason::invalid_transport_type},
    Reason{"stale-connection", wire::RejectReason::stale_connection},
    Reason{"no-rdc", wire::RejectReason::no_rdc},
    Reason{"invalid-gid", wire::RejectReason::invalid_gid},
    Reason{"invalid-lid", wire::RejectReason::invalid_lid},
    Reason{"invalid-sl", wire::RejectReason::invalid_sl},
    Reason{"invalid-traffic-class", wire::RejectReason::invalid_traffic_class},
    Reason{"invalid-hop-limit", wire::RejectReason::invalid_hop_limit},
    Reason{"invalid-packet-rate", wire::RejectReason::invalid_packet_rate},
    Reason{"invalid-alternate-gid", wire::RejectReason::invalid_alternate_gid},
    Reason{"invalid-alternate-lid", wire::RejectReason::invalid_alternate_lid},
    Reason{"invalid-alternate-sl", wire::RejectReason::invalid_alternate_sl},
    Reason{"invalid-alternate-traffic-class", wire::RejectReason::invalid_alternate_traffic_class},
    Reason{"invalid-alternate-hop-limit", wire::RejectReason::invalid_alternate_hop_limit},
    Reason{"invalid-alternate-packet-rate", wire::RejectReason::invalid_alternate_packet_rate},
    Reason{"port-and-cm-redirection", wire::RejectReason::port_and_cm_redirection},
    Reason{"port-redirection", wire::RejectReason::port_redirection},
    Reason{"invalid-mtu", wire::RejectReason::invalid_mtu},
    Reason{"insufficient-responder-resources", wire::RejectReason::insufficient_responder_resources},
    Reason{"consumer-defined", wire::RejectReason::consumer_defined},
    Reason{"invalid-rnr-retry", wire::RejectReason::invalid_rnr_retry},
    Reason{"duplicate-communication-id", wire::RejectReason::duplicate_communication_id},
    Reason{"invalid-class-version", wire::RejectReason::invalid_class_version},
    Reason{"invalid-flow-label", wire::RejectReason::invalid_flow_label},
    Reason{"invalid-alternate-flow-label", wire::RejectReason::invalid_alternate_flow_label},
    Reason{"vendor-option", wire::RejectReason::vendor_option}};

struct ActionRow {
  std::string_view name;
  VerbAction value;
  std::string_view text;
  std::string_view example;
  std::string_view (*lacks)(const VerbRule& rule, Given given) = nullptr;
};
/// A set of actions.
using Actions = std::uint16_t;
constexpr Actions in(std::initializer_list<VerbAction> actions) {
  Actions set = 0;
  for (const VerbAction action : actions) set = static_cast<Actions>(set | 1u << static_cast<unsigned>(action));
  return set;
}
constexpr Actions kCalls = in({VerbAction::fail, VerbAction::delay, VerbAction::kill, VerbAction::count});
constexpr Actions kCompletions = in({VerbAction::completion, VerbAction::cq_overrun, VerbAction::count_completions});
constexpr Actions kConnections = in({VerbAction::reject, VerbAction::cm_event});
constexpr Actions kCounted = kCalls | kCompletions | kConnections;
constexpr Actions kOfQps = kCalls | kCompletions | in({VerbAction::async});
constexpr Actions kAll = kCounted | in({VerbAction::async});
struct WordRow {
  std::string_view name;
  Actions actions;
  Value value;
  std::string_view text;
  std::string_view example;

  bool belongs_to(VerbAction action) const { return (actions & in({action})) != 0; }
  /// Not of one kind of action alone.
  bool is_condition() const { return (actions & kOfQps) == kOfQps || (actions & kCounted) == kCounted; }
};
struct VerbTable {
  using Rule = VerbRule;
  std::span<const ActionRow> actions;
  std::span<const WordRow> words;
  void (*complete)(VerbRule& rule) = nullptr;
};

std::string_view lacks_verb(const VerbRule&, Given given) {
  return std::ranges::find(given, "verb") == given.end() ? "fail needs a verb: verb=create_cq, or verb=any" : "";
}
std::string_view lacks_where(const VerbRule&, Given given) {
  return std::ranges::find(given, "verb") == given.end() ? "kill needs a verb: verb=rdma_accept, or verb=any" : "";
}
std::string_view lacks_counted(const VerbRule&, Given given) {
  return std::ranges::find(given, "verb") == given.end() ? "count needs a verb: verb=create_cq, or verb=any" : "";
}
std::string_view lacks_end(const VerbRule& rule, Given given) {
  const auto is_given = [&](std::string_view word) { return std::ranges::find(given, word) != given.end(); };
  if (rule.end == PlannedEnd::none) return "cm-event needs an event: event=ROUTE_ERROR";
  if (is_given("reason") && rule.end != PlannedEnd::rejected) return "reason goes with event=REJECTED";
  if (is_given("errno") && rule.end == PlannedEnd::rejected)
    return "REJECTED has a reason and no errno: reason=stale-connection";
  return "";
}
std::string_view lacks_time(const VerbRule& rule, Given) {
  return rule.delay.ns == 0 ? "delay of a verb needs a time: by=50ms" : "";
}
std::string_view lacks_what(const VerbRule& rule, Given) {
  const bool changes = rule.status != Status::success || rule.twice || rule.spoiled || rule.delay.ns != 0;
  if (!changes && !rule.lost)
    return "completion needs what comes of it: status=, by=, lost=yes, twice=yes or spoiled=yes";
  if (rule.lost && (rule.twice || rule.spoiled || rule.delay.ns != 0))
    return "a completion that is lost comes neither late, nor twice, nor spoiled";
  if (rule.only_report && rule.status == Status::success) return "only-report goes with a status: status=REM_OP_ERR";
  return "";
}
std::string_view lacks_event(const VerbRule& rule, Given given) {
  const auto is_given = [&](std::string_view word) { return std::ranges::find(given, word) != given.end(); };
  if (!is_given("event")) return "async needs an event: event=QP_FATAL";
  const nic::EventScope scope = nic::scope_of(rule.event);
  if (is_given("qp") && scope != nic::EventScope::qp) return "qp goes with an event of a QP: event=QP_FATAL";
  if (is_given("cq") && scope != nic::EventScope::cq) return "cq goes with an event of a CQ: event=CQ_ERR";
  if (is_given("port") && scope != nic::EventScope::port) return "port goes with an event of a port: event=PORT_ERR";
  return "";
}

constexpr std::array kActions{
    ActionRow{
        "fail", VerbAction::fail,
        "The call fails, and nothing is done: it returns what the verb returns for this error, and sets errno. Of "
        "a list of work requests those before the one that fails are posted, and bad_wr is that one.",
        "fail verb=create_cq nth=2 errno=ENOMEM", lacks_verb},
    ActionRow{"delay", VerbAction::delay, "The call takes so much longer, and is done as ever. by must be given.",
              "delay verb=modify_qp by=50ms", lacks_time},
    ActionRow{
        "kill", VerbAction::kill,
        "The program dies in this call, before it is done, of SIGKILL. Its node's kernel says to its peers what it "
        "says for a process that was killed.",
        "kill verb=rdma_accept", lacks_where},
    ActionRow{"count", VerbAction::count, "Nothing happens to the call: it is counted as a hit.",
              "count verb=post_send qp=0", lacks_counted},
    ActionRow{"completion", VerbAction::completion,
              "A completion is another one than it would have been: it fails, comes late, twice, spoiled or never; "
              "several of these at once, too. The QP follows the status: a reliable one goes to the error state and is "
              "flushed, the send queue of an unreliable one stops, a receive that fails is answered with a NAK.",
              "completion qp=0 of=send nth=3 status=REM_OP_ERR", lacks_what},
    ActionRow{"cq-overrun", VerbAction::cq_overrun,
              "A completion finds no room in its CQ: the CQ fails (IBV_EVENT_CQ_ERR), and with it the QPs that use it.",
              "cq-overrun cq=0 nth=100"},
    ActionRow{"count-completions", VerbAction::count_completions,
              "Nothing happens to the completion: it is counted as a hit.", "count-completions of=receive cq=0"},
    ActionRow{
        "async", VerbAction::async,
        "An asynchronous event, without its cause. Those that tell of an error of a QP or CQ take it to its error "
        "state; the others change nothing but what the program hears.",
        "async event=QP_FATAL qp=0 at=2s", lacks_event},
    ActionRow{
        "reject", VerbAction::reject,
        "A REQ that comes for a listener of the program is answered with a REJ, and a SIDR_REQ with a SIDR_REP that "
        "refuses: the program does not hear of it, and its peer hears RDMA_CM_EVENT_REJECTED (of UD UNREACHABLE).",
        "reject reason=stale-connection count=1"},
    ActionRow{"cm-event", VerbAction::cm_event,
              "The program hears this event of librdmacm instead of the one that was due; the peer hears what it would "
              "after such a failure.",
              "cm-event event=ROUTE_ERROR nth=2", lacks_end}};

constexpr std::uint64_t kCountMax = 1'000'000'000;

constexpr std::array kWords{
    WordRow{"errno", in({VerbAction::fail}), Choice<int>{&VerbRule::error, kErrnos},
            "With this error; the verb's most usual one if not said.", "fail verb=reg_mr errno=EFAULT"},
    WordRow{
        "event", in({VerbAction::cm_event}), Choice<PlannedEnd>{&VerbRule::end, kEnds},
        "ADDR_ERROR instead of ADDR_RESOLVED, ROUTE_ERROR instead of ROUTE_RESOLVED, MULTICAST_ERROR instead of "
        "MULTICAST_JOIN; CONNECT_ERROR, UNREACHABLE or REJECTED instead of the peer's yes to rdma_connect. It must be "
        "given.",
        "cm-event event=UNREACHABLE count=2"},
    WordRow{
        "errno", in({VerbAction::cm_event}), Choice<int>{&VerbRule::error, kErrnos},
        "With this status, as a negative number; ETIMEDOUT if not said, of CONNECT_ERROR and MULTICAST_ERROR EINVAL.",
        "cm-event event=ADDR_ERROR errno=ENETUNREACH"},
    WordRow{"reason", kConnections, Choice<wire::RejectReason>{&VerbRule::reason, kReasons},
            "With this reason of the specification's table, which is the event's status; consumer-defined (28) if not "
            "said. "
            "Of UD: no-qp, invalid-service-id, or a rejection.",
            "reject reason=invalid-service-id"},
    WordRow{"by", in({VerbAction::delay}), TimeSpan{&VerbRule::delay}, "So much longer.", "delay verb=reg_mr by=5ms"},
    WordRow{"verb", kCalls, Choice<Verb>{&VerbRule::verb, kVerbs}, "Calls of this verb.", "fail verb=post_send nth=10"},
    WordRow{"status", in({VerbAction::completion}), Choice<Status>{&VerbRule::status, kFailures},
            "With this status, as ibv_poll_cq(3) names it.", "completion nth=2 status=RETRY_EXC_ERR"},
    WordRow{"only-report", in({VerbAction::completion}), Flag{&VerbRule::only_report},
            "The completion alone has the status: the QP goes on.", "completion status=GENERAL_ERR only-report=yes"},
    WordRow{"by", in({VerbAction::completion}), TimeSpan{&VerbRule::delay},
            "So much later. Those behind it in its CQ come behind it; those of other CQs pass it.",
            "completion cq=0 every=10 by=5ms"},
    WordRow{"lost", in({VerbAction::completion}), Flag{&VerbRule::lost},
            "It never comes. With a status, the QP fails in silence.", "completion of=receive nth=7 lost=yes"},
    WordRow{"twice", in({VerbAction::completion}), Flag{&VerbRule::twice}, "It comes twice, one behind the other.",
            "completion of=send nth=7 twice=yes"},
    WordRow{
        "spoiled", in({VerbAction::completion}), Flag{&VerbRule::spoiled},
        "What ibv_poll_cq(3) leaves undefined of a failed completion (opcode, byte_len, imm_data, wc_flags, src_qp) "
        "is garbage: a receive looks like a send. One that has not failed stays as it is.",
        "completion spoiled=yes"},
    WordRow{"of", kCompletions, Choice<CompletionOf>{&VerbRule::of, kQueues},
            "Only completions of this queue; of either if not said.", "completion of=receive nth=1 status=LOC_LEN_ERR"},
    WordRow{"event", in({VerbAction::async}), Choice<Event>{&VerbRule::event, kAsyncEvents},
            "This one, as ibv_get_async_event(3) names it. It must be given.", "async event=PORT_ERR at=1s"},
    WordRow{"at", in({VerbAction::async}), TimeSpan{&VerbRule::at},
            "So long after the program's first call of a verb; at once if not said.", "async event=DEVICE_FATAL at=5s"},
    WordRow{"port", in({VerbAction::async}), Number{&VerbRule::port, 1, 2}, "Of this port; 1 if not said.",
            "async event=PORT_ERR port=2 at=1s"},
    WordRow{"cq", kCompletions | in({VerbAction::async}), Numbers{&VerbRule::cqs, 0, 0xffffff},
            "Only of these CQs, counted from 0 in the order in which the program made them on the device.",
            "completion cq=1 every=100 by=1ms"},
    WordRow{"qp", kOfQps, Numbers{&VerbRule::qps, 0, 0xffffff},
            "Only calls about these QPs, or their completions, counted from 0 in the order in which the program made "
            "them on the device.",
            "fail verb=post_send qp=1"},
    WordRow{"nth", kCounted, Numbers{&VerbRule::calls, 1, kCountMax},
            "Only these calls, completions or answers, from 1, of those that fit the other conditions.",
            "fail verb=reg_mr nth=3-5"},
    WordRow{"device", kAll, Numbers{&VerbRule::devices, 0, 255}, "Only of these devices of the node, from 0.",
            "fail verb=open_device device=1"},
    WordRow{
        "p", kCounted, Chance{&VerbRule::probability_ppb},
        "Each call or completion that fits is hit with this probability; a percentage such as 1% may stand alone. 1 "
        "if not said.",
        "fail verb=post_recv p=0.001"},
    WordRow{"every", kCounted, Number{&VerbRule::every, 1, kCountMax},
            "Of the calls or completions that fit only each so many-th.", "fail verb=poll_cq every=1000"},
    WordRow{"count", kCounted, Number{&VerbRule::count_max, 1, kCountMax}, "At most so many, then no more.",
            "fail verb=create_qp count=1"},
    WordRow{"after", kCounted, TimeSpan{&VerbRule::after}, "Only so long after the program's first call of a verb.",
            "fail verb=post_send after=2s count=1"}};

constexpr VerbTable kTable{kActions, kWords};

FaultWord explained(const WordRow& row) {
  return {row.name, std::visit(RightValue{}, row.value), row.text, row.example};
}

}  // namespace

HitUnit hit_by(VerbAction action) {
  switch (action) {
    case VerbAction::fail:
    case VerbAction::delay:
    case VerbAction::kill:
    case VerbAction::count:
      return HitUnit::call;
    case VerbAction::completion:
    case VerbAction::cq_overrun:
    case VerbAction::count_completions:
      return HitUnit::completion;
    case VerbAction::async:
    case VerbAction::reject:
    case VerbAction::cm_event:
      return HitUnit::event;
  }
  return HitUnit::call;
}

std::string_view verb_name(Verb verb) {
  return kVerbs[static_cast<std::size_t>(verb)].name;
}

std::vector<Verb> all_verbs() {
  std::vector<Verb> all;
  for (const Named<Verb>& verb : std::span(kVerbs).subspan(1)) all.push_back(verb.value);
  return all;
}

std::vector<std::string_view> error_names(Verb verb) {
  std::vector<std::string_view> names;
  for (const int error : kErrors[static_cast<std::size_t>(verb)].of)
    if (const auto one = std::ranges::find(kErrnos, error, &Named<int>::value); error != 0 && one != kErrnos.end())
      names.push_back(one->name);
  return names;
}

int default_error(Verb verb) {
  return kErrors[static_cast<std::size_t>(verb)].of[0];
}

int default_error(PlannedEnd end) {
  return end == PlannedEnd::connect_error || end == PlannedEnd::multicast_error ? EINVAL : ETIMEDOUT;
}

bool gives_error(Verb verb, int error) {
  const auto& known = kErrors[static_cast<std::size_t>(verb)].of;
  return verb == Verb::any || (error != 0 && std::ranges::find(known, error) != known.end());
}

bool is_verb_rule(std::string_view text) {
  const auto words = rule_text::words_of(text);
  if (words.empty()) return false;
  if (std::ranges::any_of(words, [](auto word) { return word.starts_with("verb="); })) return true;
  const auto of_packets = fault_table().actions;
  std::vector<std::string_view> all;
  for (const FaultActionRow& row : of_packets) all.push_back(row.name);
  for (const ActionRow& row : kActions) all.push_back(row.name);
  const std::string_view meant = nearest(words.front(), all);
  return !meant.empty() && std::ranges::find(of_packets, meant, &FaultActionRow::name) == of_packets.end();
}

Result<VerbRule, std::string> parse_verb_rule(std::string_view text) {
  return RuleReader(text, kTable).run();
}

std::string warning_of(const VerbRule& rule) {
  if (rule.action != VerbAction::fail || rule.error == 0 || gives_error(rule.verb, rule.error)) return "";
  const auto name = std::ranges::find(kErrnos, rule.error, &Named<int>::value);
  std::string known;
  for (const std::string_view one : error_names(rule.verb)) known += (known.empty() ? "" : ", ") + std::string(one);
  const std::string_view verb = verb_name(rule.verb);
  return (verb.starts_with("rdma_") ? "" : "ibv_") + std::string(verb) + " never gives " + std::string(name->name) +
         " (its man page has " + known + "); it will now";
}

std::vector<FaultActionWords> verb_action_words() {
  std::vector<FaultActionWords> words;
  for (const ActionRow& action : kActions) {
    const bool is_counted = (in({action.value}) & kCounted) != 0;
    words.push_back({{action.name, "", action.text, action.example}, {}, is_counted});
    for (const WordRow& row : kWords)
      if (row.belongs_to(action.value) && !(is_counted && row.is_condition()))
        words.back().parameters.push_back(explained(row));
  }
  return words;
}

std::vector<FaultWord> verb_condition_words() {
  std::vector<FaultWord> words;
  for (const WordRow& row : kWords)
    if (row.is_condition()) words.push_back(explained(row));
  return words;
}

}  // namespace verbena::fabric
