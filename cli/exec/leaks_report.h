// What `verbena exec --leaks` says of the objects that its programs have left.
//
// Solely the file that the processes append to, and its judgement. Who was left, and by whom, is verbs/leaks.h's.
// Tested by: tests/cli/leaks_report_test.cc
#pragma once

#include <cstdint>
#include <string>

#include "cli/exec/report_file.h"

namespace verbena::cli {

class LeaksReport {
 public:
  bool open() { return file_.open("verbena-leaks"); }
  std::string path() const { return file_.path(); }

  struct Judged {
    std::string text;  // for the user, of several lines
    /// Nothing is left, and somebody was judged: a process that made objects and ended by itself.
    bool is_clean = false;
    std::uint64_t left = 0;  // objects, of those that were judged
  };
  Judged judge() const;

 private:
  ReportFile file_;
};

}  // namespace verbena::cli
