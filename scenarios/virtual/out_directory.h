// OutDirectory: the files that a run leaves: a capture of every link, the event trace, the counters and the links' load
// and queues over time.
//
// Solely responsible for writing them within their limits, and for the one line that says why it could not. A file that
// takes no more ends the run. Frames are written down as they enter a link; what a fault did to one is its comment.
// Tested by: tests/scenarios/virtual/samples_test.cc
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "emulator/sim/world.h"
#include "scenarios/outcome/buffered_file.h"
#include "scenarios/outcome/outcome.h"
#include "scenarios/workload/journal.h"
#include "wire/result.h"

namespace verbena::scenarios {

class OutDirectory final : public Journal {
 public:
  /// Nothing is written where `path` is empty.
  OutDirectory(const Scenario& scenario, const std::string& path, std::uint64_t capture_octets_max);

  /// Makes the files that every run has. The error is one line.
  Result<void, std::string> begin();
  bool open() const override { return !path_.empty(); }
  void line(Time time, std::string_view text) override;
  void observe(const sim::ObservedFrame& frame);
  /// Writes a row for each counter that has changed, if it is time to.
  void sample(Time now, const sim::World& world);
  /// A row of links.csv: what a link accepted since the sample before, and what waits in front of it.
  struct LinkSample {
    Duration time{};  // since the start of the run
    std::string_view link;
    std::uint64_t octets = 0;
    std::uint32_t queue_octets = 0;
    Duration paused{};  // of the interval, for the class that was paused longest
  };
  void link_sample(const LinkSample& sample);
  /// Writes the counters as they are in the end, and what is left.
  Result<void, std::string> finish(Time now, const sim::World& world);
  /// Nothing: all is well.
  const std::string& error() const { return error_; }
  /// What the reader of the files should know.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  struct Capture {
    std::unique_ptr<BufferedFile> file;
    bool ended = false;  // by the limit, and says so
  };
  struct Line {
    Time time;
    std::uint64_t number = 0;
    std::string text;
    bool operator<(const Line& other) const {  // as std::push_heap wants it: the first on top
      return time != other.time ? time > other.time : number > other.number;
    }
  };
  void capture(const sim::ObservedFrame& frame);
  void end_capture(const sim::ObservedFrame& frame);
  std::size_t snap_bytes(std::span<const std::byte> frame) const;
  std::size_t encode(const sim::ObservedFrame& frame, std::size_t snap_bytes, std::string_view comment);
  void trace(const sim::ObservedFrame& frame);
  /// Those whose time has come: frames are seen before their transmission begins.
  void write_lines(Time until);
  Capture& capture_of(std::uint32_t cable);
  void append(BufferedFile& file, std::string_view octets);
  void append(BufferedFile& file, std::span<const std::byte> octets);

  const Scenario& scenario_;
  std::string path_;
  std::uint64_t limit_;  // of all captures together, and of the trace
  std::uint64_t captures_left_;
  std::uint64_t trace_left_;
  std::vector<Line> lines_;  // of the trace, a heap: not yet written
  std::uint64_t line_count_ = 0;
  std::vector<Capture> captures_;  // by cable
  std::map<std::string, std::uint32_t> names_used_;
  std::vector<std::byte> scratch_;
  std::unique_ptr<BufferedFile> events_;
  std::unique_ptr<BufferedFile> counters_;
  std::unique_ptr<BufferedFile> links_;  // null: links are not sampled
  std::vector<std::uint64_t> counted_;   // by host and counter: as written last
  Time next_sample_{0};
  std::string error_;
  std::vector<std::string> notes_;
  bool captures_full_ = false;
  bool trace_full_ = false;
};

}  // namespace verbena::scenarios
