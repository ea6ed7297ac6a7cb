// FabricCapture: a capture file for every cable of a fabric, as an observer of its network.
//
// Solely responsible for which frames go into which file: what a cable carries, both ways, and with a comment what a
// fault or a full queue kept from it. Writing is capture_file.h's. Forward frames are outbound, backward ones inbound.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/fabric/network.h"
#include "emulator/host/link/capture_file.h"

namespace verbena::host {

class FabricCapture final : public fabric::Observer {
 public:
  struct Options {
    std::string directory;                  // exists; files are named after the cables: n1-s1.pcapng
    fabric::Topology topology;              // cables beyond kFilesMax have no file
    std::uint64_t octets_max = UINT64_MAX;  // of all files together
    std::uint32_t snap_bytes = 0;           // kept of each frame; 0: all
  };
  /// What is not in the files.
  struct Missing {
    std::uint64_t frames = 0;  // beyond octets_max
    std::optional<Time> from;  // the first of them
    std::uint64_t cut = 0;     // frames of which only snap_bytes are there
  };
  static constexpr std::size_t kFilesMax = 256;

  /// Replaces files of these names. The error is one line.
  static Result<std::unique_ptr<FabricCapture>, std::string> open(const Options& options);

  void observe(const fabric::ObservedFrame& frame) override;
  /// Writes what has waited long enough.
  void write_out(Time now);
  std::optional<Time> next_deadline() const;
  const Missing& missing() const { return missing_; }

 private:
  static constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
  FabricCapture() = default;
  void leave_out(const fabric::ObservedFrame& frame);
  void write_down(const fabric::ObservedFrame& frame, std::string_view comment);

  std::vector<std::unique_ptr<CaptureFile>> files_;  // by cable
  std::vector<bool> says_end_;                       // by cable: its last packet says that the limit is reached
  std::uint64_t octets_left_ = 0;
  std::uint32_t snap_bytes_ = 0;
  Missing missing_;
};

}  // namespace verbena::host
