// RealCheckers: lets the checkers watch a fabric on the real clock: every frame where it enters and where it leaves.
//
// Solely responsible for what the fabric does not tell them: which queue pairs talk with each other. A response belongs
// to the one stream of requests the other way whose PSNs it can answer; where several could be meant, nothing is said
// until one is, and such requests and their answers are judged apart.
// When a frame really left its NIC, and when the other one took it, is not seen either: rules about time and about what
// a sender knew when it sent are judged as if a frame might have waited for hours.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "captures/checkers/checker.h"
#include "captures/checkers/request_range.h"
#include "emulator/fabric/network.h"
#include "scenarios/language/scenario.h"
#include "scenarios/outcome/checker_verdicts.h"

namespace verbena::scenarios {

class RealCheckers final : public fabric::Observer {
 public:
  explicit RealCheckers(fabric::Topology topology);

  void observe(const fabric::ObservedFrame& frame) override;
  /// At the end, as text for another process.
  std::string verdict();
  /// What verdict() said, in the runner. Anything else: no checker ran.
  static CheckerReports read(const std::string& verdict, Outcome& outcome);

 private:
  /// Packets that go one way to one QP.
  struct Stream {
    wire::Gid source;
    wire::Gid destination;
    wire::Qpn qpn;
    checkers::RequestRange requests;
    std::size_t peer = kNone;
    std::uint32_t attempts = 0;
  };
  using StreamKey = std::tuple<wire::Gid, wire::Gid, std::uint32_t>;

  void learn(const wire::PacketView& packet);
  std::size_t stream_of(const wire::PacketView& packet);
  /// A QP may have gone and another have got its number (a program that is run again, its peer still there): its
  /// answers then fit requests to a QP that nobody answers yet, and no longer those that they were paired with.
  bool is_answered_by(const Stream& responses, wire::Psn psn) const;
  void pair(std::size_t responses, wire::Psn psn);
  void connect(const Stream& one);

  static constexpr std::size_t kNone = SIZE_MAX;
  static constexpr std::size_t kStreamsMax = 1 << 16;

  fabric::Topology topology_;
  checkers::Checkers checkers_;
  std::map<StreamKey, std::size_t> index_;
  std::map<std::pair<wire::Gid, wire::Gid>, std::vector<std::size_t>> by_addresses_;
  std::vector<Stream> streams_;
  std::uint64_t frames_ = 0;
  Time begin_{};
};

}  // namespace verbena::scenarios
