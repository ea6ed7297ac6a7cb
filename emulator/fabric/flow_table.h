// FlowTable: who has sent what on one direction of a link so far: flow numbers, first PSNs, rounds of transmission.
//
// Solely responsible for turning a packet into (flow number, relative PSN, iteration, message, index). It decides
// nothing. It grows with the number of flows up to kFlowsMax; memory for iterations and messages is taken once per flow
// and only when asked for, never per packet.
// Tested by: tests/fabric/fault_rounds_test.cc
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "wire/packet_view.h"
#include "wire/types.h"

namespace verbena::fabric {

inline constexpr std::uint32_t kFlowsMax = 16'384;
/// How many PSNs back the number of transmissions is remembered exactly; farther back it is known to be at least 2.
inline constexpr std::uint32_t kIterationWindow = 4096;
/// How many messages back a packet's message is known; a packet of an older one is in none.
inline constexpr std::uint32_t kMessagesRemembered = 4096;
inline constexpr std::uint32_t kNoFlow = UINT32_MAX;
inline constexpr std::uint32_t kNoMessage = UINT32_MAX;

/// Packets of a flow that are numbered together.
enum class FlowClass : std::uint8_t { requests, responses, unnumbered };
inline constexpr std::size_t kFlowClasses = 3;

struct PacketRecord {
  std::uint32_t flow_id = kNoFlow;  // place in the table, kNoFlow: it is full
  std::uint32_t ordinal = kNoFlow;  // qp=: order of the flow's first packet of this class; kNoFlow: in no flow
  std::uint32_t relative_psn = 0;
  std::uint32_t iteration = 1;
  std::uint32_t message = kNoMessage;  // of the flow, from 0
  std::uint32_t packet_of_message = 0;
  std::uint32_t round = 1;  // of the message's transmission
  std::uint64_t index = 0;  // of the packet, within its flow and class
  std::uint64_t flow_hash = 0;
  FlowClass flow_class = FlowClass::requests;
};

class FlowTable {
 public:
  struct Wanted {
    bool iterations = false;
    bool messages = false;
  };
  explicit FlowTable(Wanted wanted);
  PacketRecord record(const wire::PacketView& packet);
  std::uint64_t untracked_packets() const { return untracked_packets_; }

 private:
  struct Transmissions {
    std::uint32_t psn = UINT32_MAX;  // none
    std::uint32_t times = 0;
  };
  struct Message {
    wire::Psn first;
    std::uint32_t rounds_before = 0;  // times that the sender had gone back when this message began
  };
  struct Sequence {
    std::uint32_t ordinal = kNoFlow;
    std::uint64_t packets = 0;
    wire::Psn first;
    wire::Psn highest;
    std::unique_ptr<Transmissions[]> transmissions;
    std::unique_ptr<Message[]> messages;  // a ring: message n is at n % kMessagesRemembered
    std::uint32_t messages_begun = 0;
    wire::Psn previous;
    std::uint32_t rounds = 0;  // times that the sender went back
  };
  struct FlowState {
    wire::Gid source;
    wire::Gid destination;
    wire::Qpn qpn;
    std::uint64_t hash = 0;
    std::array<Sequence, kFlowClasses> sequences;
  };

  std::uint32_t find_or_add(const wire::Gid& source, const wire::Gid& destination, wire::Qpn qpn, std::uint64_t hash);
  std::uint32_t empty_bucket(std::uint64_t hash) const;
  void grow();
  static std::uint32_t iteration_of(Sequence& sequence, wire::Psn psn);
  static void place_in_message(Sequence& sequence, const wire::PacketView& packet, PacketRecord& record);

  std::vector<FlowState> flows_;        // in the order in which they came
  std::vector<std::uint32_t> buckets_;  // indices of flows_; as many again are empty
  std::array<std::uint32_t, kFlowClasses> next_ordinal_{};
  std::uint64_t untracked_packets_ = 0;
  Wanted wanted_;
};

}  // namespace verbena::fabric
