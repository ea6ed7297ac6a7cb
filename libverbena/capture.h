// Capture: one pcapng file of one cable, with an interface for each direction.
//
// Solely the file; what it is shown is WorldState's choice.
// Tested by: tests/libverbena/world_test.cc
#pragma once

#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wire/pcap_file.h"
#include "wire/time.h"

namespace libverbena {

class Capture {
 public:
  /// The file is made anew. is_good() says whether it could be.
  Capture(const std::string& path, const std::string& from_a, const std::string& from_b);
  void write(verbena::Time time, bool backward, std::span<const std::byte> frame, std::string_view comment);
  bool finish();
  bool is_good() const { return file_.good(); }
  const std::string& path() const { return path_; }

 private:
  void put(std::size_t bytes);

  std::string path_;
  std::ofstream file_;
  std::vector<std::byte> room_;
};

}  // namespace libverbena
