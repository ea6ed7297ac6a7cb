// NicTuning: what a user wants of the NIC of a live process, whatever its program asks for.
//
// Solely responsible for the text of VERBENA_NIC (`verbena exec --nic`, and the `nic:` of a scenario under the real
// clock) and for what a live process makes of the settings. Its words are rows of fabric/nic_words.cc:
//   mtu=1024                  the port's MTU; longer path MTUs are refused
//   read-depth=16             reads and atomics in flight that a QP may have; more are refused
//   speed=25Gbps              the rate that the port shows; what limits it is the link. `verbena exec` says its cable's
//                             rate. By commas one of each device, or of each port
//   numa=0                    the NUMA node that programs see the device at; by commas one of each device
//   window=1MiB               octets that a QP has in flight
//   timeout=14 retry-count=7 rnr-retry=7 min-rnr-timer=12    instead of what the program gives ibv_modify_qp
//   timeout-min=4ms           shorter local ACK timeouts are rounded up to it
//   acknowledge-every=64      packets of a long message between requests for an acknowledgement
//   cnp-interval=4us          marked packets are answered with CNPs, no oftener for a QP
//   congestion-control=dcqcn  slows down for CNPs, lets switches mark its packets, and sends CNPs of its own every 50us
//                             (cnp-interval); or another policy. Their parameters: fabric/congestion_words.cc
//   dscp=26 cnp-dscp=48       of packets whose traffic class the program leaves at 0, and of CNPs
//   loss-recovery=selective-repeat   only what was lost is sent again, with peers that do so, too; its parameters:
//                             fabric/loss_recovery_words.cc
//   page-fault-delay=50us     until a page of an on-demand region is there that is touched for the first time
//   nak-latency=10us acknowledge-latency=500ns               from the request to its answer
//   nak-reaction-latency=10us implied-nak-latency=10us       from a NAK, or a gap in responses, to what is sent again
//   removed-after=2s          the device goes that long after it was opened: IBV_EVENT_DEVICE_FATAL, all QPs flush
//   max-qp=8 max-inline=64    limits of the device, lowered; also max-qp-wr, max-sge, max-cq, max-cqe, max-mr, max-mw,
//                             max-pd, max-ah, max-srq, max-srq-wr
//   vendor-id=0x2c9 part-id=4129 gids=v2 pkeys=0+0xffff refuse=uc+srq   what the device says that it is, and what it
//                             refuses: look_words.h
//   memlock=64KiB             what can be registered, as where RLIMIT_MEMLOCK is so low: more is ENOMEM
// Words that are not there change nothing.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/fabric/fault_rule.h"
#include "emulator/fabric/nic_settings.h"
#include "emulator/fabric/nic_words.h"
#include "emulator/host/config/look_words.h"
#include "emulator/host/config/own_devices.h"
#include "emulator/nic/objects/attributes.h"
#include "emulator/nic/objects/nic_config.h"
#include "wire/result.h"

namespace verbena::host {

struct NicTuning : fabric::NicSettings {
  /// A word with a value of each device, or of each port; the settings have the first one.
  struct Several {
    const fabric::NicWord* word = nullptr;  // of nic_words()
    std::vector<std::uint64_t> values;
    bool operator==(const Several& other) const { return word->name == other.word->name && values == other.values; }
  };
  std::vector<Several> several;
  DeviceLook look;  // what the device says that it is, and what it refuses

  bool operator==(const NicTuning&) const = default;

  /// The values of all devices, or of all ports, in their order, of a word in which they may differ.
  void say(std::string_view name, std::vector<std::uint64_t> values);
  /// Those of "speed", where the cable of a port may have no rate (0). Nothing is said if none has.
  void say_speeds(std::vector<std::uint64_t> bits_per_second);

  void apply(nic::NicConfig& config) const;
  /// Of a modify_qp. What the program does not name stays its own.
  void apply(nic::QpAttributes& attributes) const;
  /// The latencies, for the link of the process.
  std::vector<fabric::FaultRule> latencies() const;
};

/// The error is one line: the word, and what would be right.
Result<NicTuning, std::string> parse_nic_tuning(std::string_view text,
                                                std::span<const fabric::NicWord> words = fabric::nic_words());
/// The settings by name, for whoever offers them.
std::vector<std::string_view> nic_tuning_words(std::span<const fabric::NicWord> words = fabric::nic_words());
/// What parse_nic_tuning() reads back; empty if nothing is wanted.
std::string text_of(const NicTuning& tuning);

/// What is wrong with how many values a word has, for a node with these devices; empty: nothing.
std::string devices_misfit(const NicTuning& tuning, const OwnDevices& devices);

}  // namespace verbena::host
