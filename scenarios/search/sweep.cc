#include "scenarios/search/sweep.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>

namespace verbena::scenarios {
namespace {

constexpr std::size_t kWhyBytes = 500;
constexpr std::size_t kCauseBytes = 200;
constexpr const char* kCrashed = "the run crashed";
constexpr unsigned kJobsMax = 256;
constexpr auto kLookEvery = std::chrono::milliseconds(20);
constexpr auto kPatience = std::chrono::milliseconds(700);  // with workers that are to stop

enum class SeedResult : std::uint8_t { unknown, held, not_held, interrupted, no_memory };

struct SeedRecord {
  std::atomic<SeedResult> verdict{SeedResult::unknown};
  std::array<char, kWhyBytes> why{};
  std::array<char, kCauseBytes> cause{};
};
struct WorkerRecord {
  std::atomic<std::uint64_t> index{UINT64_MAX};  // of the seed that it runs
};

/// What all processes see. Only pages that are written to take memory.
struct Shared {
  std::atomic<std::uint64_t> next{0};
  std::atomic<std::uint64_t> done{0};
  StopSign stop;
  std::array<WorkerRecord, kJobsMax> workers;
};

class SharedMemory {
 public:
  explicit SharedMemory(std::size_t bytes) : bytes_(bytes) {
    void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    memory_ = mapped == MAP_FAILED ? nullptr : static_cast<std::byte*>(mapped);
  }
  ~SharedMemory() {
    if (memory_ != nullptr) ::munmap(memory_, bytes_);
  }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  std::byte* get() const { return memory_; }

 private:
  std::size_t bytes_;
  std::byte* memory_ = nullptr;
};

template <std::size_t n>
void keep(std::array<char, n>& into, const std::string& text) {
  std::memcpy(into.data(), text.data(), std::min(text.size(), n - 1));
}

class Sweep {
 public:
  Sweep(const Scenario& scenario, const SweepOptions& options)
      : scenario_(scenario),
        options_(options),
        seeds_(options.last_seed - options.first_seed + 1),
        memory_(sizeof(Shared) + seeds_ * sizeof(SeedRecord)) {
    if (memory_.get() == nullptr) return;
    shared_ = new (memory_.get()) Shared;
    records_ = reinterpret_cast<SeedRecord*>(memory_.get() + sizeof(Shared));  // zero octets are a record
  }

  SweepResult run();

 private:
  [[noreturn]] void work(unsigned worker);
  bool start(unsigned worker);
  void reap();
  void end_late_workers();

  const Scenario& scenario_;
  const SweepOptions& options_;
  std::uint64_t seeds_;
  SharedMemory memory_;
  Shared* shared_ = nullptr;
  SeedRecord* records_ = nullptr;
  std::vector<pid_t> processes_;  // by worker; 0: none
  std::vector<std::uint64_t> crashed_;
  std::optional<std::chrono::steady_clock::time_point> stopped_at_;
  bool was_ended_ = false;  // a worker, by us
  SweepResult result_;
};

void Sweep::work(unsigned worker) {
  // Ctrl-C goes to all of them: it is the sweep's to deal with. Not ignored, for programs would inherit that.
  for (const int number : {SIGINT, SIGTERM}) ::signal(number, [](int) {});
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  Scenario scenario = scenario_;
  RunOptions run;
  run.stop = &shared_->stop;
  while (!shared_->stop.look()) {
    const std::uint64_t index = shared_->next.fetch_add(1);
    if (index >= seeds_) break;
    shared_->workers[worker].index.store(index);
    scenario.seed = options_.first_seed + index;
    const Outcome outcome = options_.run(scenario, run);
    SeedRecord& record = records_[index];
    if (outcome.end == Outcome::End::interrupted) {
      record.verdict.store(SeedResult::interrupted);
    } else if (outcome.is_shortage) {
      // It says nothing of the seed, and the next one would end no better.
      keep(record.why, outcome.error);
      record.verdict.store(SeedResult::no_memory);
      shared_->stop.raise();
    } else if (outcome.held()) {
      record.verdict.store(SeedResult::held);
    } else {
      keep(record.why, failure_text(outcome));
      keep(record.cause, failure_cause(outcome));
      record.verdict.store(SeedResult::not_held);
    }
    shared_->done.fetch_add(1);
    shared_->workers[worker].index.store(UINT64_MAX);
  }
  ::_exit(0);
}

bool Sweep::start(unsigned worker) {
  const pid_t child = ::fork();
  if (child == 0) work(worker);
  processes_[worker] = std::max(child, 0);
  return child > 0;
}

/// Workers that have ended. One that died in a run is replaced.
void Sweep::reap() {
  for (unsigned worker = 0; worker < processes_.size(); ++worker) {
    int status = 0;
    if (processes_[worker] == 0 || ::waitpid(processes_[worker], &status, WNOHANG) != processes_[worker]) continue;
    processes_[worker] = 0;
    const std::uint64_t index = shared_->workers[worker].index.exchange(UINT64_MAX);
    if (index == UINT64_MAX) continue;
    if (was_ended_) continue;
    crashed_.push_back(index);
    if (!shared_->stop.look()) (void)start(worker);
  }
}

/// Those that are still setting up their run do not look at the sign.
void Sweep::end_late_workers() {
  const auto now = std::chrono::steady_clock::now();
  if (!stopped_at_) stopped_at_ = now;
  if (was_ended_ || now - *stopped_at_ < kPatience) return;
  was_ended_ = true;
  for (const pid_t process : processes_)
    if (process != 0) ::kill(process, SIGKILL);
}

SweepResult Sweep::run() {
  if (shared_ == nullptr) {
    result_.error = fmt::format("no memory for {} seeds: {}", seeds_, std::strerror(errno));
    return result_;
  }
  processes_.resize(std::min<std::uint64_t>(std::clamp(options_.jobs, 1u, kJobsMax), seeds_), 0);
  bool any = false;
  for (unsigned worker = 0; worker < processes_.size(); ++worker) any = start(worker) || any;
  if (!any) {
    result_.error = fmt::format("no worker could be started: {}", std::strerror(errno));
    return result_;
  }
  while (std::any_of(processes_.begin(), processes_.end(), [](pid_t process) { return process != 0; })) {
    std::this_thread::sleep_for(kLookEvery);
    if (options_.stop != nullptr && options_.stop->look()) shared_->stop.raise();
    if (shared_->stop.look()) end_late_workers();
    reap();
    if (options_.progress) options_.progress(shared_->done.load() + crashed_.size(), crashed_.size());
  }
  result_.interrupted = shared_->stop.look();
  for (std::uint64_t index = 0; index < seeds_ && result_.error.empty(); ++index)
    if (records_[index].verdict.load() == SeedResult::no_memory) result_.error = records_[index].why.data();
  for (std::uint64_t index = 0; index < seeds_; ++index) {
    const std::uint64_t seed = options_.first_seed + index;
    const bool crashed = std::find(crashed_.begin(), crashed_.end(), index) != crashed_.end();
    const SeedResult verdict = records_[index].verdict.load();
    if (crashed) result_.failed.push_back({seed, true, kCrashed, kCrashed});
    if (verdict == SeedResult::not_held)
      result_.failed.push_back({seed, false, records_[index].why.data(), records_[index].cause.data()});
    if (crashed || verdict == SeedResult::held || verdict == SeedResult::not_held) ++result_.seeds_done;
  }
  return result_;
}

}  // namespace

SweepResult sweep(const Scenario& scenario, const SweepOptions& options) {
  return Sweep(scenario, options).run();
}

std::string failure_text(const Outcome& outcome) {
  if (!outcome.error.empty()) return outcome.error;
  for (const ExpectationOutcome& expectation : outcome.expectations)
    if (!expectation.held) return fmt::format("{}: {}", expectation.text, expectation.observed);
  return outcome.held() ? "" : "the run did not end by itself";
}

std::string failure_cause(const Outcome& outcome) {
  if (outcome.error.empty())
    for (const ExpectationOutcome& expectation : outcome.expectations)
      if (!expectation.held) return expectation.text;
  return failure_text(outcome);
}

std::vector<FailureCause> causes_of(const std::vector<FailedSeed>& failed) {
  std::vector<FailureCause> causes;
  for (const FailedSeed& seed : failed) {
    const auto known = std::ranges::find(causes, seed.cause, &FailureCause::cause);
    if (known != causes.end())
      known->seeds.push_back(&seed);
    else
      causes.push_back({seed.cause, {&seed}});
  }
  std::ranges::sort(causes, [](const FailureCause& a, const FailureCause& b) {
    return a.seeds.size() != b.seeds.size() ? a.seeds.size() > b.seeds.size() : a.seeds.front() < b.seeds.front();
  });
  return causes;
}

}  // namespace verbena::scenarios
