// The rows of verb faults: what may be said of calls that fail or take long.
// Tested by: tests/fabric/verb_rule_test.cc
#include <algorithm>
#include <array>
#include <span>

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
using Value = std::variant<Chance, Numbers, Number, TimeSpan, Choice<Verb>, Choice<int>>;
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
                             Named<int>{"ETIMEDOUT", ETIMEDOUT},
                             Named<int>{"ECONNREFUSED", ECONNREFUSED},
                             Named<int>{"EHOSTUNREACH", EHOSTUNREACH},
                             Named<int>{"EADDRINUSE", EADDRINUSE},
                             Named<int>{"EADDRNOTAVAIL", EADDRNOTAVAIL}};

struct ActionRow {
  std::string_view name;
  VerbAction value;
  std::string_view text;
  std::string_view example;
  std::string_view (*lacks)(const VerbRule& rule, Given given) = nullptr;
};
struct WordRow {
  std::string_view name;
  std::optional<VerbAction> action;
  Value value;
  std::string_view text;
  std::string_view example;
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
std::string_view lacks_time(const VerbRule& rule, Given) {
  return rule.delay.ns == 0 ? "delay of a verb needs a time: by=50ms" : "";
}

constexpr std::array kActions{
    ActionRow{
        "fail", VerbAction::fail,
        "The call fails, and nothing is done: it returns what the verb returns for this error, and sets errno. Of "
        "a list of work requests those before the one that fails are posted, and bad_wr is that one.",
        "fail verb=create_cq nth=2 errno=ENOMEM", lacks_verb},
    ActionRow{"delay", VerbAction::delay, "The call takes so much longer, and is done as ever. by must be given.",
              "delay verb=modify_qp by=50ms", lacks_time}};

constexpr std::uint64_t kCountMax = 1'000'000'000;

constexpr std::array kWords{
    WordRow{"errno", VerbAction::fail, Choice<int>{&VerbRule::error, kErrnos},
            "With this error; the verb's most usual one if not said.", "fail verb=reg_mr errno=EFAULT"},
    WordRow{"by", VerbAction::delay, TimeSpan{&VerbRule::delay}, "So much longer.", "delay verb=reg_mr by=5ms"},
    WordRow{"verb", {}, Choice<Verb>{&VerbRule::verb, kVerbs}, "Calls of this verb.", "fail verb=post_send nth=10"},
    WordRow{"nth",
            {},
            Numbers{&VerbRule::calls, 1, kCountMax},
            "Only these calls, from 1, of those that fit the other conditions.",
            "fail verb=reg_mr nth=3-5"},
    WordRow{"qp",
            {},
            Numbers{&VerbRule::qps, 0, 0xffffff},
            "Only calls about these QPs, counted from 0 in the order in which the program made them.",
            "fail verb=post_send qp=1"},
    WordRow{"device",
            {},
            Numbers{&VerbRule::devices, 0, 255},
            "Only calls about these devices of the node, from 0.",
            "fail verb=open_device device=1"},
    WordRow{"p",
            {},
            Chance{&VerbRule::probability_ppb},
            "Each call that fits is hit with this probability; a percentage such as 1% may stand alone. 1 if not said.",
            "fail verb=post_recv p=0.001"},
    WordRow{"every",
            {},
            Number{&VerbRule::every, 1, kCountMax},
            "Of the calls that fit only each so many-th.",
            "fail verb=poll_cq every=1000"},
    WordRow{"count",
            {},
            Number{&VerbRule::count_max, 1, kCountMax},
            "At most so many calls, then no more.",
            "fail verb=create_qp count=1"},
    WordRow{"after",
            {},
            TimeSpan{&VerbRule::after},
            "Only so long after the program's first call of a verb.",
            "fail verb=post_send after=2s count=1"}};

constexpr VerbTable kTable{kActions, kWords};

FaultWord explained(const WordRow& row) {
  return {row.name, std::visit(RightValue{}, row.value), row.text, row.example};
}

}  // namespace

std::string_view verb_name(Verb verb) {
  return kVerbs[static_cast<std::size_t>(verb)].name;
}

int default_error(Verb verb) {
  return kErrors[static_cast<std::size_t>(verb)].of[0];
}

bool gives_error(Verb verb, int error) {
  const auto& known = kErrors[static_cast<std::size_t>(verb)].of;
  return verb == Verb::any || (error != 0 && std::ranges::find(known, error) != known.end());
}

bool is_verb_rule(std::string_view text) {
  const auto words = rule_text::words_of(text);
  if (words.empty()) return false;
  return words.front() == "fail" || std::ranges::any_of(words, [](auto word) { return word.starts_with("verb="); });
}

Result<VerbRule, std::string> parse_verb_rule(std::string_view text) {
  return RuleReader(text, kTable).run();
}

std::string warning_of(const VerbRule& rule) {
  if (rule.error == 0 || gives_error(rule.verb, rule.error)) return "";
  const auto name = std::ranges::find(kErrnos, rule.error, &Named<int>::value);
  std::string known;
  for (const int error : kErrors[static_cast<std::size_t>(rule.verb)].of)
    if (const auto one = std::ranges::find(kErrnos, error, &Named<int>::value); error != 0 && one != kErrnos.end())
      known += (known.empty() ? "" : ", ") + std::string(one->name);
  const std::string_view verb = verb_name(rule.verb);
  return (verb.starts_with("rdma_") ? "" : "ibv_") + std::string(verb) + " never gives " + std::string(name->name) +
         " (its man page has " + known + "); it will now";
}

std::vector<FaultActionWords> verb_action_words() {
  std::vector<FaultActionWords> words;
  for (const ActionRow& action : kActions) {
    words.push_back({{action.name, "", action.text, action.example}, {}});
    for (const WordRow& row : kWords)
      if (row.action == action.value) words.back().parameters.push_back(explained(row));
  }
  return words;
}

std::vector<FaultWord> verb_condition_words() {
  std::vector<FaultWord> words;
  for (const WordRow& row : kWords)
    if (!row.action) words.push_back(explained(row));
  return words;
}

}  // namespace verbena::fabric
