// What is said of the processes of a program that have crashed: which signal, and who called whom.
//
// Solely the file that they append to, and its text. Who writes it is verbs-shim/verbs/crash.cc.
// Tested by: tests/programs/exhaust.py
#pragma once

#include <string>

#include "cli/exec/report_file.h"

namespace verbena::cli {

class CrashReport {
 public:
  bool open() { return file_.open("verbena-crashes"); }
  std::string path() const { return file_.path(); }
  /// One line for each process, and one for each of its callers, with the names that C++ has; empty: none crashed.
  std::string text() const;

 private:
  ReportFile file_;
};

}  // namespace verbena::cli
