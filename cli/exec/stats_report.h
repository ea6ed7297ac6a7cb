// The counters that `verbena exec --stats` prints: the file that the program's processes write, and its text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace verbena::cli {

class StatsReport {
 public:
  StatsReport() = default;
  ~StatsReport();
  StatsReport(const StatsReport&) = delete;
  StatsReport& operator=(const StatsReport&) = delete;

  /// Makes the file (a memfd: nothing can stay behind) and sets the variable that names it. False: errno says why.
  bool open(const std::string& fabric);
  /// Counters that are not zero, summed over the processes, one a line. `nodes`: "node 1".
  std::string text(std::string_view nodes) const;
  /// All of them, for programs: {"processes": 1, "counters": {"tx_packets": 5, ...}}, one line.
  std::string json() const;
  /// All of them, summed over the processes.
  std::vector<std::pair<std::string_view, std::uint64_t>> sums() const;
  /// The file's name, for the programs; while this object lives.
  std::string path() const;

 private:
  std::size_t processes() const;
  int descriptor_ = -1;
  void* mapping_ = nullptr;
};

}  // namespace verbena::cli
