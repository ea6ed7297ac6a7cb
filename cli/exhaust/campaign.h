// Campaign: the clean runs of a program, and then one run for each row, several side by side.
//
// Solely the order of runs and what is handed from one to the next. One run is trial.h's, its worth verdict.h's.
// Tested by: tests/programs/exhaust.py
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/exhaust/results.h"
#include "cli/exhaust/session.h"
#include "cli/exhaust/trial.h"
#include "cli/exhaust/verdict.h"
#include "wire/result.h"

namespace verbena::cli::exhaust {

/// What a program does by itself.
struct CleanRun {
  Clean clean;
  Census census;
  Patience patience;
  double seconds = 0;
};

class Campaign {
 public:
  struct Wishes {
    unsigned jobs = 1;
    Duration silence{};  // 0: learned
    Duration limit{};
    std::string check;  // empty: none
  };
  Campaign(Setting setting, Wishes wishes) : setting_(std::move(setting)), wishes_(std::move(wishes)) {}

  /// Why nothing can be judged: in one line, and what the program printed last.
  struct NotClean {
    std::string why;
    std::string last_lines;
  };
  /// Runs it twice.
  Result<CleanRun, NotClean> run_clean();
  /// The rows that `results` does not have yet. `progress(done)` is called often, and says whether to go on. The error:
  /// a run could not be started, or the program hangs by itself now.
  Result<void, std::string> run(const CleanRun& clean, const std::vector<Row>& rows, Results& results,
                                const std::function<bool(std::size_t done)>& progress);

  /// The one command that has the program fail this way again.
  std::string replay(const Row& row) const;

 private:
  Result<Ended, std::string> run_alone(const std::vector<std::string>& faults, const Patience& patience);
  Judged judged(const Row& row, const Ended& ended, const CleanRun& clean) const;

  const Setting setting_;
  const Wishes wishes_;
  std::uint32_t next_pair_ = 0;
};

}  // namespace verbena::cli::exhaust
