// Results: which rows were run and what came of them, in memory and in a file that a later run goes on from.
//
// Solely the keeping. The file has a line of JSON for the program and one for each row; a last line that is cut off, as
// where a run was killed, is left out.
// Tested by: tests/cli/exhaust_test.cc
#pragma once

#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/exhaust/subjects.h"
#include "cli/exhaust/verdict.h"
#include "wire/result.h"

namespace verbena::cli::exhaust {

struct Judged {
  Row row;
  Verdict verdict;
  double seconds = 0;
  std::string replay;  // one command
};

/// {"row": "ibv_create_cq 1: ENOMEM", "kind": "verbs", "subject": .., "effect": .., "rules": [..], "outcome": "passed",
/// "why": .., "more": .., "seconds": 0.2, "replay": ..}
nlohmann::ordered_json json_of(const Judged& judged);

class Results {
 public:
  /// Of the command `program`, in memory alone.
  explicit Results(std::string program) : program_(std::move(program)) {}
  /// Those in the file, if it is there, and all that are added from now on. The error is one line: it cannot be
  /// written, or is of another program.
  Result<void, std::string> keep_in(const std::string& path);
  /// Those of one more file, of whatever program the first one is of.
  Result<void, std::string> merge(const std::string& path);

  bool has(const std::string& row_name) const { return by_name_.contains(row_name); }
  void add(Judged judged);
  const std::vector<Judged>& all() const { return all_; }
  const std::string& program() const { return program_; }

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  Result<bool, std::string> read(const std::string& path);
  void take(Judged judged);

  std::string program_;
  std::vector<Judged> all_;
  std::map<std::string, std::size_t> by_name_;
  std::unique_ptr<std::FILE, CloseFile> file_;
};

}  // namespace verbena::cli::exhaust
