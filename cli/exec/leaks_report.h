// What `verbena exec --leaks` says of the objects that its programs have left.
//
// Solely the file that the processes append to, and its judgement. Who was left, and by whom, is verbs/leaks.h's.
// Tested by: tests/cli/leaks_report_test.cc
#pragma once

#include <string>

namespace verbena::cli {

class LeaksReport {
 public:
  LeaksReport() = default;
  ~LeaksReport();
  LeaksReport(const LeaksReport&) = delete;
  LeaksReport& operator=(const LeaksReport&) = delete;

  /// Makes the file (a memfd) and sets the variable that names it. False: errno says why.
  bool open();
  /// The file's name, for the programs; while this object lives.
  std::string path() const;

  struct Judged {
    std::string text;  // for the user, of several lines
    /// Nothing is left, and somebody was judged: a process that made objects and ended by itself.
    bool is_clean = false;
  };
  Judged judge() const;

 private:
  int descriptor_ = -1;
};

}  // namespace verbena::cli
