// NicConfig: what one NIC is like: its addresses, its limits and its habits. A plain value.
// Tested by: tests/nic/credit_test.cc
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "emulator/nic/congestion/congestion_config.h"
#include "emulator/nic/objects/attributes.h"
#include "emulator/nic/objects/loss_recovery_config.h"
#include "wire/encapsulation.h"
#include "wire/static_rate.h"
#include "wire/time.h"
#include "wire/types.h"

namespace verbena::nic {

/// What is announced can be created, one more fails with no_memory.
struct NicLimits {
  std::uint32_t max_qp = 16384;
  std::uint32_t max_qp_wr = 16384;
  std::uint32_t max_sge = 30;
  std::uint32_t max_sge_read = 30;
  std::uint32_t max_inline_bytes = 1024;
  std::uint32_t max_cq = 16384;
  std::uint32_t max_cqe = 1 << 20;
  std::uint32_t max_mr = 1 << 18;
  std::uint64_t max_mr_bytes = std::uint64_t{1} << 46;
  std::uint32_t max_mw = 1 << 17;
  std::uint32_t max_pd = 16384;
  std::uint32_t max_ah = 1 << 17;
  std::uint32_t max_srq = 4096;
  std::uint32_t max_srq_wr = 16384;
  std::uint32_t max_srq_sge = 30;
  std::uint8_t max_read_atomic = 128;  // per QP, as responder and as initiator
  std::uint32_t max_message_bytes = 1u << 31;
  std::uint16_t pkeys = 1;
  std::uint32_t max_xrc_domains = 4096;
  std::uint32_t max_groups = 8192;        // multicast
  std::uint32_t max_group_members = 256;  // QPs of one group
  std::uint32_t max_work_queues = 4096;
  std::uint32_t max_indirection_tables = 1024;
  std::uint32_t max_indirection_table_size = 2048;
  std::uint32_t max_flows = 16384;
  std::uint32_t max_flow_counters = 4096;
  std::uint16_t max_flow_priority = 15;
  std::uint16_t max_moderation_count = UINT16_MAX;
  std::uint16_t max_moderation_period_us = 4095;
  std::uint32_t min_rate_kbps = 1;
  std::uint32_t max_rate_kbps = 400'000'000;
  /// Of all regions, in whole pages, as the kernel counts what it pins against RLIMIT_MEMLOCK: memory that two regions
  /// have counts twice; that of on-demand regions, of the device and of a dma-buf does not count.
  std::uint64_t max_pinned_bytes = std::uint64_t{1} << 62;

  bool operator==(const NicLimits&) const = default;
};

class CompletionJudge;

inline constexpr std::uint32_t kPortsMax = 2;  // of a NIC, counted from 1

/// An entry of a port's GID table: an address, and how packets from it are carried. On InfiniBand it may be empty: no
/// address.
struct GidEntry {
  constexpr GidEntry() = default;
  /// Implicit: an address alone is one of RoCE v2.
  constexpr GidEntry(const wire::Gid& address, const wire::Encapsulation& by = wire::kRoceV2)
      : gid(address), encapsulation(&by) {}
  wire::Gid gid;
  const wire::Encapsulation* encapsulation = &wire::kRoceV2;
};

inline constexpr std::size_t kGidsMax = 16;  // of a NIC: two ports with eight

struct PortConfig {
  wire::MacAddress mac;  // of a port on Ethernet
  // Of a port on InfiniBand: the first of 2^lmc LIDs. kLidNone: no subnet manager has given it any yet.
  wire::Lid lid;
  std::uint8_t lmc = 0;
  wire::Medium medium = wire::Medium::ethernet;
  bool is_up = true;                            // at first; Nic::set_port_up changes it
  std::uint8_t gids_begin = 0;                  // in NicConfig::gids
  std::uint64_t line_rate_bits_per_second = 0;  // 0: that of NicConfig::congestion

  /// On InfiniBand the LID with these path bits, of which the LMC says how many count.
  wire::PathAddress address(std::uint8_t path_bits = 0) const {
    if (medium == wire::Medium::ethernet) return mac;
    return {wire::Lid(lid.value() | (path_bits & ((1u << lmc) - 1))), 0};
  }
  bool has_lid(wire::Lid of) const { return lid != wire::kLidNone && of.value() >> lmc == lid.value() >> lmc; }
};

struct NicConfig {
  /// QPNs are qpn_base .. qpn_base + 2^qpn_bits - 1: the process slot lies above (design.md: nodes, processes).
  wire::Qpn qpn_base{0};
  std::uint8_t qpn_bits = 16;
  std::array<GidEntry, kGidsMax> gids{};  // of all ports, in their order: each packet is looked for in all
  std::uint8_t gid_count = 1;
  std::uint8_t port_count = 1;
  std::array<PortConfig, kPortsMax> ports{};
  std::uint32_t port_mtu_bytes = 4096;  // of every port
  /// 0: from the flow label or the QPNs (IBTA annex A17.3.2). A UDP socket link sends from one port and says so here.
  std::uint16_t udp_source_port = 0;
  /// What one QP may have unacknowledged, in octets (at least two packets): bounds what go-back-N sends again, and what
  /// a link without back pressure must hold.
  std::uint32_t window_bytes = 2 << 20;
  /// Request packets that go by without an acknowledgement, at most: as requester it asks for one so often, as
  /// responder it sends one unasked. 0: it asks at the end of a message, at half a window and after 64 packets, and
  /// sends none unasked.
  std::uint32_t acknowledge_every = 0;
  /// Of what has none of its own, as an administrator sets it: the upper six bits of its traffic class. 0: none.
  std::uint8_t dscp = 0;
  /// The same for CNPs, whatever the marked packet has. 0: as of that packet.
  std::uint8_t cnp_dscp = 0;
  /// Least time between two CNPs that answer marked packets of one QP. 0: none are sent.
  Duration cnp_interval{};
  /// Of connected QPs.
  CongestionConfig congestion;
  CompletionJudge* completion_judge = nullptr;  // null: completions are as they come; it outlives the NIC
  RoundTripListener* round_trips = nullptr;     // null: nobody wants to hear of them; it outlives the NIC
  /// Of RC QPs; XRC goes back N.
  LossRecoveryConfig loss_recovery;
  /// What it takes until a page of an on-demand region is there that the NIC meets for the first time. Until then it
  /// refuses requests of peers with RNR NAKs, drops datagrams and read responses, and holds back what is to be sent.
  Duration page_fault_delay{};
  /// From the arrival of a NAK for a sequence error to the first packet that is sent again; until then the QP sends no
  /// requests.
  Duration nak_reaction_latency{};
  /// From the response behind a missing one to the READ or atomic that is sent again, the implied NAK (IBTA 9.7.5.1.3);
  /// until then the QP sends no requests.
  Duration implied_nak_latency{};
  /// Seeds the first QPN and the key bytes, so that stale numbers are caught; same seed, same run.
  std::uint64_t seed = 0;
  NicLimits limits;

  wire::Medium medium() const { return ports[0].medium; }
  bool has_port(std::uint32_t port) const { return port >= 1 && port <= port_count; }
  /// Of a port that it has, in bits per second.
  std::uint64_t line_rate_of(std::uint32_t of_port) const {
    const std::uint64_t own = port(of_port).line_rate_bits_per_second;
    return own != 0 ? own : congestion.line_rate_bits_per_second;
  }
  /// Of a port that it has.
  CongestionConfig congestion_of(std::uint32_t of_port) const {
    CongestionConfig made = congestion;
    made.line_rate_bits_per_second = line_rate_of(of_port);
    return made;
  }
  /// What a path's static rate holds back to, in bits per second; 0: nothing, as where the port is no faster. Ethernet
  /// has none.
  std::uint64_t static_rate_of(const AddressVector& path) const {
    if (medium() == wire::Medium::ethernet) return 0;
    const std::uint64_t rate = wire::static_rate_bits_per_second(path.static_rate);
    return rate < line_rate_of(path.port) ? rate : 0;
  }
  /// Of a port that it has.
  const PortConfig& port(std::uint32_t port) const { return ports[port - 1]; }
  /// Its GID table; empty: there is no such port.
  std::span<const GidEntry> gids_of(std::uint32_t port) const {
    if (!has_port(port)) return {};
    const std::size_t end = port == port_count ? gid_count : ports[port].gids_begin;
    return std::span(gids).first(end).subspan(ports[port - 1].gids_begin);
  }
  /// Whether each entry is of RoCE v2 alone.
  bool is_roce_v2_alone() const {
    return std::ranges::all_of(std::span(gids).first(gid_count),
                               [](const GidEntry& entry) { return entry.encapsulation == &wire::kRoceV2; });
  }
};

}  // namespace verbena::nic
