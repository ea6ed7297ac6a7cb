#include "cli/exhaust/campaign.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <utility>

#include "cli/run/interrupt.h"
#include "scenarios/outcome/shell_word.h"

namespace verbena::cli::exhaust {
namespace {

// A program may wait for the connection manager's timers, which are seconds (rdma_cm: 4.3 s until a REQ is repeated),
// and for a peer that does; what it needs without faults comes on top, several times.
constexpr Duration kSilenceLeast = seconds(6);
constexpr std::int64_t kSilenceFactor = 4;
constexpr Duration kWholeLeast = seconds(60);
constexpr std::int64_t kWholeFactor = 20;
constexpr Patience kCleanPatience{.silence = seconds(60), .whole = seconds(600)};
constexpr std::size_t kHungUnhitMax = 5;
constexpr long kStepNs = 2'000'000;
constexpr int kSignalBase = 128;

void rest() {
  const timespec step{0, kStepNs};
  nanosleep(&step, nullptr);
}

/// The status of `sh -c CHECK`.
int status_of(const std::string& check) {
  const int status = std::system(check.c_str());
  return WIFSIGNALED(status) ? kSignalBase + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

std::string Campaign::replay(const Row& row) const {
  std::string exec = "verbena exec --seed " + setting_.seed;
  std::string other = "verbena exec";
  for (std::string* const line : {&exec, &other})
    if (!setting_.nic.empty()) *line += " --nic " + scenarios::shell_word(setting_.nic);
  for (const std::string& rule : row.rules) exec += " --fault " + scenarios::shell_word(rule);
  const std::string program = " -- " + scenarios::shell_words(setting_.program);
  if (!setting_.server.empty())
    return fmt::format("{} --node 1 -- {} & {} --node 2 --wait-for-listener 1{}", other,
                       scenarios::shell_words(setting_.server), exec, program);
  if (!setting_.client.empty())
    return fmt::format("{} --node 1{} & {} --node 2 --wait-for-listener 1 -- {}", exec, program, other,
                       scenarios::shell_words(setting_.client));
  return exec + program;
}

Result<Ended, std::string> Campaign::run_alone(const std::vector<std::string>& faults, const Patience& patience) {
  auto trial = Trial::start(setting_, faults, 0, next_pair_++ % Trial::kPairs, patience);
  if (!trial) return Failure{trial.error()};
  while (true) {
    if (auto ended = trial->look()) return std::move(*ended);
    if (run::interrupted()) return Failure{std::string("interrupted")};
    rest();
  }
}

Result<CleanRun, Campaign::NotClean> Campaign::run_clean() {
  const std::vector<Subject> all = all_subjects();
  std::vector<std::string> rules;
  for (const Subject& subject : all) rules.push_back(subject.count_rule);
  CleanRun clean;
  std::vector<Ended> runs;
  const Patience patience{.silence = wishes_.silence.ns != 0 ? wishes_.silence : kCleanPatience.silence,
                          .whole = wishes_.limit.ns != 0 ? wishes_.limit : kCleanPatience.whole};
  for (int i = 0; i < 2; ++i) {
    auto ended = run_alone(rules, patience);
    if (!ended) return Failure{NotClean{ended.error(), ""}};
    const Verdict verdict = judge(*ended, 0, {.left = UINT64_MAX});
    if (verdict.outcome != Outcome::passed)
      return Failure{NotClean{fmt::format("without any fault the program does not pass ({}: {}): mend that first",
                                          to_string(verdict.outcome), verdict.why),
                              ended->last_lines}};
    runs.push_back(std::move(*ended));
  }
  if (!wishes_.check.empty() && status_of(wishes_.check) != 0)
    return Failure{NotClean{fmt::format("without any fault the check says no: {}", wishes_.check), ""}};
  const Ended& first = runs.front();
  clean.census = census_of(all, first.hits);
  clean.clean = {.left = std::max(first.left, runs.back().left),
                 .prints_same = !first.out.empty() && first.out == runs.back().out,
                 .out = first.out};
  const auto longest = [&](Duration Ended::* member) { return std::max(first.*member, runs.back().*member); };
  const auto learned = [](Duration least, Duration seen, std::int64_t factor) { return least + seen * factor; };
  clean.patience = {
      .silence = wishes_.silence.ns != 0 ? wishes_.silence
                                         : learned(kSilenceLeast, longest(&Ended::longest_silence), kSilenceFactor),
      .whole = wishes_.limit.ns != 0 ? wishes_.limit : learned(kWholeLeast, longest(&Ended::took), kWholeFactor)};
  clean.seconds = static_cast<double>(longest(&Ended::took).ns) / 1e9;
  return clean;
}

Judged Campaign::judged(const Row& row, const Ended& ended, const CleanRun& clean) const {
  Verdict verdict = judge(ended, row.rules.size(), clean.clean);
  if (verdict.outcome == Outcome::passed && !wishes_.check.empty())
    if (const int status = status_of(wishes_.check); status != 0) verdict = refused_by_check(wishes_.check, status);
  return {.row = row,
          .verdict = std::move(verdict),
          .seconds = static_cast<double>(ended.took.ns) / 1e9,
          .replay = replay(row)};
}

Result<void, std::string> Campaign::run(const CleanRun& clean, const std::vector<Row>& rows, Results& results,
                                        const std::function<bool(std::size_t)>& progress) {
  struct Running {
    const Row* row;
    Trial trial;
  };
  std::vector<std::string> life{"count dir=both"};
  for (const Subject& subject : clean.census.subjects)
    if (!subject.is_polled && (subject.kind == Kind::verbs || subject.kind == Kind::completions))
      life.push_back(subject.count_rule);
  std::vector<Running> running;
  std::size_t done = 0;
  std::size_t hung_unhit = 0;  // one behind the other
  for (auto next = rows.begin(); next != rows.end() || !running.empty();) {
    if (!progress(done)) return {};
    while (next != rows.end() && running.size() < wishes_.jobs) {
      const Row& row = *next++;
      if (results.has(row.name)) {
        ++done;
        continue;
      }
      std::vector<std::string> faults = row.rules;
      faults.insert(faults.end(), life.begin(), life.end());
      auto trial =
          Trial::start(setting_, std::move(faults), row.rules.size(), next_pair_++ % Trial::kPairs, clean.patience);
      if (!trial) return Failure{trial.error()};
      running.push_back({&row, std::move(*trial)});
    }
    const std::size_t before = running.size();
    std::erase_if(running, [&](Running& one) {
      const auto ended = one.trial.look();
      if (!ended) return false;
      Judged result = judged(*one.row, *ended, clean);
      hung_unhit = ended->hung && !has_any_hit(*ended, one.row->rules.size()) ? hung_unhit + 1 : 0;
      results.add(std::move(result));
      ++done;
      return true;
    });
    if (hung_unhit >= kHungUnhitMax)
      return Failure{
          fmt::format("{} runs one behind the other hung before their fault hit: the program hangs by itself "
                      "now. Has a run that was ended left something, such as a lock below /dev/shm? Remove "
                      "it, and go on with --state",
                      hung_unhit)};
    if (running.size() == before) rest();
  }
  progress(done);
  return {};
}

}  // namespace verbena::cli::exhaust
