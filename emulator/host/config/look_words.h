// DeviceLook: what a device says that it is, and what it refuses: the words of a personality (personality.h), which
// `verbena exec --nic` takes by themselves as well.
//
// Solely the values and how they are spelled. The limits and habits of a NIC are fabric/nic_words.h's. libibverbs reads
// them here; the path shim finds the words that files show in the text (device_words.h).
// Tested by: tests/host/config/look_words_test.cc
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "emulator/fabric/setting_words.h"

namespace verbena::host {

/// What a device may refuse.
enum class Refusable : std::uint8_t { rc, uc, ud, raw, xrc, srq, atomics, odp, mw, dm };
inline constexpr std::size_t kRefusables = 10;

enum class AtomicCapability : std::uint8_t { none, hca, global };

struct DeviceLook {
  std::optional<std::uint32_t> vendor_id;  // as verbs show it: of a ConnectX 0x02c9, on the bus 0x15b3
  std::optional<std::uint32_t> part_id;
  std::optional<std::uint32_t> hardware_version;
  std::string firmware;
  std::string board;
  std::string driver;  // of the kernel
  std::string hca_type;
  std::string pci_id;  // "15b3:1021"
  std::optional<AtomicCapability> atomics;
  std::optional<std::uint32_t> flags;              // device_cap_flags
  std::optional<std::uint32_t> message_bytes_max;  // of a port
  std::string gids;                                // the table of a port, identity.h reads it
  std::vector<std::uint16_t> pkeys;                // the same; empty: the default one alone
  std::array<int, kRefusables> refusals{};         // errno; 0: it is not refused

  int refusal(Refusable what) const { return refusals[static_cast<std::size_t>(what)]; }
  bool operator==(const DeviceLook&) const = default;
};

using LookWord = fabric::SettingWord<DeviceLook>;

std::span<const LookWord> look_words();

/// "vendor-id=0x2c9 part-id=4129": of each word that is said.
std::string text_of(const DeviceLook& look);

}  // namespace verbena::host
