// `verbena exhaust`: which faults it tries, what it makes of a run, what it keeps and how it tells.
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "cli/exhaust/options.h"
#include "cli/exhaust/report.h"
#include "cli/exhaust/results.h"
#include "cli/exhaust/subjects.h"
#include "cli/exhaust/verdict.h"
#include "emulator/fabric/fault_rule.h"
#include "emulator/fabric/verb_rule.h"
#include "emulator/host/node/stats_file.h"

using namespace verbena;
using namespace verbena::cli::exhaust;

namespace {

const Subject& subject_named(const std::string& name) {
  static const std::vector<Subject> all = all_subjects();
  const auto found = std::ranges::find(all, name, &Subject::name);
  BOOST_REQUIRE(found != all.end());
  return *found;
}

bool is_rule(const std::string& text) {
  if (fabric::is_verb_rule(text)) return static_cast<bool>(fabric::parse_verb_rule(text));
  return static_cast<bool>(fabric::parse_fault(text));
}

Row row(const std::string& name, const std::string& subject = "ibv_reg_mr", Kind kind = Kind::verbs) {
  return {.kind = kind, .subject = subject, .effect = "ENOMEM", .rules = {"fail verb=reg_mr"}, .name = name};
}

Ended passed() {
  Ended ended;
  ended.hits = {1};
  return ended;
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_subject_is_counted_and_each_effect_is_a_fault) {
  std::set<std::string> names;
  for (const Subject& subject : all_subjects()) {
    BOOST_TEST(names.insert(subject.name).second, subject.name);
    BOOST_TEST(is_rule(subject.count_rule), subject.count_rule);
    BOOST_TEST(!subject.effects.empty(), subject.name);
    for (const Row& one : rows_of(subject, 3, 3)) BOOST_TEST(is_rule(one.rules.front()), one.rules.front());
  }
  // The hits of all are told by one file.
  BOOST_TEST(names.size() <= host::StatsFile::kFaults);
}

BOOST_AUTO_TEST_CASE(each_errno_of_the_man_page_and_each_status_is_a_row) {
  const std::vector<Row> rows = rows_of(subject_named("ibv_create_cq"), 2, 100);
  BOOST_REQUIRE(rows.size() == 6U);
  BOOST_TEST(rows[0].name == "ibv_create_cq 1: ENOMEM");
  BOOST_TEST(rows[0].rules.front() == "fail verb=create_cq errno=ENOMEM nth=1");
  BOOST_TEST(rows[5].name == "ibv_create_cq 2: ENOSYS");
  // enum ibv_wc_status of <infiniband/verbs.h> has 24, one of them success.
  BOOST_TEST(rows_of(subject_named("completion of send"), 1, 100).size() == 23U);
  const std::vector<Row> packets = rows_of(subject_named("sent cm-rtu"), 2, 100);
  BOOST_REQUIRE(packets.size() == 8U);
  BOOST_TEST(packets[4].rules.front() == "drop opcode=cm-rtu dir=tx skip=1 count=1");
  BOOST_TEST((packets[4].kind == Kind::cm));
}

BOOST_AUTO_TEST_CASE(places_are_spread_and_have_the_first_and_the_last) {
  const auto places = [](std::uint64_t count, std::uint64_t most, bool polled = false) {
    return places_of(count, most, polled);
  };
  BOOST_TEST(places(3, 20) == (std::vector<std::uint64_t>{1, 2, 3}), boost::test_tools::per_element());
  BOOST_TEST(places(100, 4) == (std::vector<std::uint64_t>{1, 34, 67, 100}), boost::test_tools::per_element());
  BOOST_TEST(places(0, 4).empty());
  BOOST_TEST(places(9, 1) == (std::vector<std::uint64_t>{1}), boost::test_tools::per_element());
  const auto polled = places(1'000'000, 6, true);
  BOOST_TEST(polled == (std::vector<std::uint64_t>{1, 2, 3, 4, 6, 9}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(pairs_are_different_rows_and_follow_from_the_seed) {
  const std::vector<Row> rows = rows_of(subject_named("ibv_create_cq"), 4, 100);
  const std::vector<Row> pairs = pairs_of(rows, 20, 7);
  BOOST_TEST(pairs.size() == 20U);
  std::set<std::string> names;
  for (const Row& pair : pairs) {
    BOOST_TEST(names.insert(pair.name).second);
    BOOST_TEST(pair.rules.size() == 2U);
    BOOST_TEST(pair.rules[0] != pair.rules[1]);
  }
  BOOST_TEST(pairs_of(rows, 20, 7)[3].name == pairs[3].name);
  BOOST_TEST(pairs_of(rows, 1'000'000, 7).size() == rows.size() * (rows.size() - 1) / 2);
  BOOST_TEST(pairs_of(std::span(rows).first(1), 5, 7).empty());
}

BOOST_AUTO_TEST_CASE(each_row_is_in_one_share) {
  for (const Row& one : rows_of(subject_named("completion of send"), 30, 100)) {
    std::uint64_t shares = 0;
    for (std::uint64_t number = 1; number <= 3; ++number) shares += Share{number, 3}.has(one.name) ? 1 : 0;
    BOOST_TEST(shares == 1U);
  }
  BOOST_TEST((Share{}.has("anything")));
}

BOOST_AUTO_TEST_CASE(a_launchers_rank_is_a_share) {
  for (const char* const name : {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "SLURM_PROCID", "SLURM_NTASKS"})
    unsetenv(name);
  BOOST_TEST(share_of({}).of == 1U);
  setenv("SLURM_PROCID", "2", 1);
  setenv("SLURM_NTASKS", "5", 1);
  BOOST_TEST(share_of({}).number == 3U);
  BOOST_TEST(share_of({}).of == 5U);
  Options said;
  said.share = "1/2";
  BOOST_TEST(share_of(said).of == 2U);
  unsetenv("SLURM_PROCID");
  unsetenv("SLURM_NTASKS");
}

BOOST_AUTO_TEST_CASE(a_run_is_judged_by_what_is_worst) {
  const Clean clean{.left = 1, .prints_same = true, .out = "42\n"};
  Ended ended = passed();
  ended.out = "42\n";
  const auto outcome = [&] { return judge(ended, 1, clean).outcome; };
  BOOST_CHECK(outcome() == Outcome::passed);
  ended.left = 1;
  BOOST_CHECK(outcome() == Outcome::passed);  // it leaves that without a fault as well
  ended.left = 2;
  BOOST_CHECK(outcome() == Outcome::leaked);
  ended.out = "41\n";
  BOOST_CHECK(outcome() == Outcome::wrong_data);
  ended.other_status = 1;
  BOOST_CHECK(outcome() == Outcome::own_error);
  ended.status = 3;
  ended.last_lines = "one\nCouldn't create CQ\n";
  BOOST_CHECK(outcome() == Outcome::own_error);
  BOOST_TEST(judge(ended, 1, clean).why == "status 3: Couldn't create CQ");
  ended.hung = ended.other_hung = true;
  BOOST_TEST(judge(ended, 1, clean).why == "status 3: Couldn't create CQ; its client hangs");
  ended.other_hung = false;
  BOOST_CHECK(outcome() == Outcome::hung);
  ended.hits = {0};
  BOOST_CHECK(outcome() == Outcome::not_hit);
  BOOST_TEST(judge(ended, 1, clean).why == "it hung before the fault hit");
  ended.hits = {1, 0};
  BOOST_TEST(judge(ended, 2, clean).why == "one of the faults did not hit");
  ended.hung = false;
  ended.status = 128 + SIGSEGV;
  BOOST_CHECK(outcome() == Outcome::crashed);
  ended.status = 1;
  ended.crash = "process 7: SIGABRT\n  libc.so.6+0x12\n  fill(int) at prog+0x34\n";
  BOOST_CHECK(outcome() == Outcome::crashed);
  BOOST_TEST(judge(ended, 1, clean).why == "SIGABRT in fill(int) at prog+0x34");
}

BOOST_AUTO_TEST_CASE(what_differs_from_run_to_run_is_no_data) {
  Ended ended = passed();
  ended.out = "1.7 GB/s\n";
  BOOST_CHECK(judge(ended, 1, {.left = 0, .prints_same = false, .out = "1.6 GB/s\n"}).outcome == Outcome::passed);
}

BOOST_AUTO_TEST_CASE(results_are_found_again_in_their_file) {
  char folder_name[] = "/tmp/verbena-exhaust-XXXXXX";
  BOOST_REQUIRE(mkdtemp(folder_name) != nullptr);
  const std::string folder = folder_name;
  const std::string path = folder + "/state";
  {
    Results results("prog");
    BOOST_REQUIRE(results.keep_in(path));
    results.add({row("a"), {Outcome::crashed, "SIGSEGV in \xff", "more"}, 0.5, "verbena exec"});
    results.add({row("b"), {}, 0.25, "verbena exec"});
  }
  std::ofstream(path, std::ios::app) << R"({"row": "c", "kind": "ver)";  // killed as it wrote
  Results again("prog");
  BOOST_REQUIRE(again.keep_in(path));
  BOOST_TEST(again.all().size() == 2U);
  BOOST_TEST(again.has("a"));
  BOOST_TEST(!again.has("c"));
  BOOST_CHECK(again.all()[0].verdict.outcome == Outcome::crashed);
  again.add({row("d"), {}, 0.25, "verbena exec"});
  Results merged("");
  BOOST_REQUIRE(merged.merge(path));
  BOOST_TEST(merged.program() == "prog");
  BOOST_TEST(merged.all().size() == 3U);
  Results other("another");
  BOOST_TEST(other.keep_in(path).error() == path + ": it is of prog: name another file, or remove it");
  BOOST_TEST(!merged.merge(folder + "/none"));
  BOOST_TEST(Results("prog").keep_in("/dev/zero").error() == "/dev/zero: it is no plain file: name one");
  std::ofstream(folder + "/text") << "hello\n";
  BOOST_TEST(Results("prog").keep_in(folder + "/text").error().find("not a file of verbena exhaust") !=
             std::string::npos);
  std::filesystem::remove_all(folder);
}

BOOST_AUTO_TEST_CASE(bad_rows_are_told_by_their_cause_with_one_command) {
  Results results("prog");
  results.add({row("ibv_reg_mr 1: ENOMEM"), {Outcome::hung, "silent after 6.0 s", ""}, 6, "REPLAY 1"});
  results.add({row("ibv_reg_mr 2: ENOMEM"), {Outcome::hung, "silent after 6.1 s", ""}, 6, "REPLAY 2"});
  results.add(
      {row("ibv_create_qp 1: EINVAL", "ibv_create_qp"), {Outcome::own_error, "status 1: no QP 17", ""}, 0, "R"});
  results.add(
      {row("ibv_create_qp 2: EINVAL", "ibv_create_qp"), {Outcome::own_error, "status 1: no QP 18", ""}, 0, "R"});
  const std::string text = bad_text(results);
  BOOST_TEST(text ==
             "\nhung: ibv_reg_mr (ENOMEM), 2 rows\n  ibv_reg_mr 1: ENOMEM: silent after 6.0 s\n  REPLAY 1\n"
             "  and ibv_reg_mr 2: ENOMEM\n");
  BOOST_TEST(own_errors_text(results).find("     2  status 1: no QP 17\n") != std::string::npos);
  BOOST_TEST(is_any_bad(results));
  BOOST_TEST(is_judged(results));
  const scenarios::JunitSuite suite = junit_of(results, 12);
  BOOST_TEST(suite.cases.size() == 4U);
  BOOST_TEST(!suite.cases[0].held);
  BOOST_TEST(suite.cases[2].held);
  BOOST_TEST(json_text(results).find(R"("outcomes":{"passed":0,"own error":2,"hung":2,)") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(no_fault_that_hit_is_no_judgement) {
  Results results("prog");
  BOOST_TEST(!is_judged(results));
  results.add({row("a"), {Outcome::not_hit, "", ""}, 0, ""});
  BOOST_TEST(!is_judged(results));
  BOOST_TEST(json_text(results).find(R"("held":false)") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(wrong_options_say_what_would_be_right) {
  const auto error = [](auto&& change) {
    Options options;
    change(options);
    return find_error(options).value_or("");
  };
  BOOST_TEST(error([](Options&) {}) == "");
  BOOST_TEST(error([](Options& o) { o.only = "verbs,packet"; }) ==
             "--only verbs,packet: packet is not one of verbs, completions, packets, cm");
  BOOST_TEST(error([](Options& o) { o.at_most = "0"; }) == "--at-most 0: not a number from 1 to 1000000, or all");
  BOOST_TEST(error([](Options& o) { o.jobs = "many"; }) == "--jobs many: not a number from 1 to 60");
  BOOST_TEST(error([](Options& o) { o.share = "3/2"; }) == "--share 3/2: not a share such as 1/4");
  BOOST_TEST(error([](Options& o) { o.server = "true 'x"; }) == "--server true 'x: a quote is not closed");
  BOOST_TEST(error([](Options& o) { o.server = o.client = "true"; }).starts_with("--server and --client exclude"));
}
