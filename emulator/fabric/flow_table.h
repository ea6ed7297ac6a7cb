// FlowTable: who has sent what on one direction of a link so far: flow numbers, first PSNs, rounds of transmission.
//
// Solely responsible for turning a packet into (flow number, relative PSN, iteration, index). It decides nothing.
// Its size is fixed; memory for iterations is taken once per flow and only when asked for, never per packet.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "wire/packet_view.h"
#include "wire/types.h"

namespace verbena::fabric {

inline constexpr std::uint32_t kFlowsMax = 1024;
/// How many PSNs back the number of transmissions is remembered exactly; farther back it is known to be at least 2.
inline constexpr std::uint32_t kIterationWindow = 4096;
inline constexpr std::uint32_t kNoFlow = UINT32_MAX;

struct PacketRecord {
  std::uint32_t flow_id = kNoFlow;  // place in the table, kNoFlow: it is full
  std::uint32_t ordinal = kNoFlow;  // qp=: order of the flow's first packet of this class; kNoFlow: in no flow
  std::uint32_t relative_psn = 0;
  std::uint32_t iteration = 1;
  std::uint64_t index = 0;  // of the packet, within its flow and class
  std::uint64_t flow_hash = 0;
  bool is_response = false;
};

class FlowTable {
 public:
  explicit FlowTable(bool count_iterations);
  PacketRecord record(const wire::PacketView& packet);
  std::uint64_t untracked_packets() const { return untracked_packets_; }

 private:
  struct Transmissions {
    std::uint32_t psn = UINT32_MAX;  // none
    std::uint32_t times = 0;
  };
  struct Sequence {
    std::uint32_t ordinal = kNoFlow;
    std::uint64_t packets = 0;
    wire::Psn first;
    wire::Psn highest;
    std::unique_ptr<Transmissions[]> transmissions;
  };
  struct Flow {
    bool used = false;
    wire::Gid source;
    wire::Gid destination;
    wire::Qpn qpn;
    std::array<Sequence, 2> sequences;  // requests, responses
  };

  std::uint32_t find_or_add(const wire::Gid& source, const wire::Gid& destination, wire::Qpn qpn, std::uint64_t hash);
  std::uint32_t iteration_of(Sequence& sequence, wire::Psn psn) const;

  std::vector<Flow> flows_;
  std::uint32_t used_ = 0;
  std::array<std::uint32_t, 2> next_ordinal_{};
  std::uint64_t untracked_packets_ = 0;
  bool count_iterations_;
};

}  // namespace verbena::fabric
