// A file that was checked, with all that a report says of it.
//
// Solely the values; the reports are made in captures/render.
// Tested by: tests/cli/check_test.cc
#pragma once

#include <string>

#include "captures/check/capture_check.h"
#include "captures/check/verdict.h"

namespace verbena::captures {

struct CheckedFile {
  std::string name;
  Capture capture;
  CaptureFindings findings;
  Verdict verdict = Verdict::held;

  /// Rules look at all headers.
  std::uint64_t headless_count() const { return capture.headless_count() + capture.lacking_headers_count(); }
  std::uint64_t packet_count() const { return capture.packets().size() - capture.lacking_headers_count(); }
};

}  // namespace verbena::captures
