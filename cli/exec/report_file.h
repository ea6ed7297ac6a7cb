// ReportFile: a memfd that the processes of a program append to, and that is read at the end.
//
// Solely the file: nothing can stay behind. What is in it is its user's.
// Tested by: tests/cli/leaks_report_test.cc
#pragma once

#include <string>

#include "emulator/host/os/descriptor.h"

namespace verbena::cli {

class ReportFile {
 public:
  /// `name` is for whoever looks below /proc. False: errno says why.
  bool open(const char* name);
  /// The file's name, for the programs; while this object lives.
  std::string path() const;
  std::string text() const;

 private:
  host::Descriptor descriptor_;
};

}  // namespace verbena::cli
