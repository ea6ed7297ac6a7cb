// The settings of a NIC as one table: what scenarios, profiles and `verbena exec --nic` read, what is handed on to
// programs, and what changes a NIC's configuration.
//
// Solely how each setting is spelled, what it may be and what it does to a NicConfig or a QP. Those of congestion
// control and loss recovery have tables of their own (congestion_words.h, loss_recovery_words.h); who looks for one of
// them by name goes through take_policy_word().
// Tested by: tests/fabric/nic_words_test.cc, tests/host/config/nic_tuning_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/fabric/nic_settings.h"
#include "emulator/fabric/quantity.h"
#include "emulator/nic/objects/attributes.h"
#include "emulator/nic/objects/nic_config.h"

namespace verbena::fabric {

/// What a setting's value is, always a number: nanoseconds, bits per second, octets, or just that.
enum class NicValue : std::uint8_t { time, rate, octets, number, choice };

struct NicWord {
  /// Who says it: of a scenario's NIC and its profile; of the NIC alone; of one that programs see (a scenario's with
  /// `clock: real`, `--nic`); or of a program's NIC alone (`--nic`).
  enum class Of : std::uint8_t { behaviour, nic, seen, program };
  /// Of a node with several devices: whether each device, or each port, may have a value of its own.
  enum class Each : std::uint8_t { node, device, port };
  std::string_view name;
  std::string_view right;  // what its value may be: "want 0 to 7"
  Of of = Of::behaviour;
  Each each = Each::node;
  NicValue value = NicValue::number;
  std::uint64_t least = 0;
  std::uint64_t most = 0;
  std::span<const Named<std::uint64_t>> choices{};  // of `choice`
  void (*set)(NicSettings& into, std::uint64_t value) = nullptr;
  std::optional<std::uint64_t> (*get)(const NicSettings& of) = nullptr;  // nothing: it is not said
  void (*apply)(const NicSettings& of, nic::NicConfig& into) = nullptr;  // null: the NIC's configuration has it not
  void (*apply_to_qp)(const NicSettings& of, nic::QpAttributes& into) = nullptr;  // null: QPs have it not
};

/// In the order in which they are listed and written.
std::span<const NicWord> nic_words();

/// "25000000000bps".
std::string text_of(const NicWord& word, std::uint64_t value);

/// False: the text is no such value.
bool take(const NicWord& word, std::string_view text, NicSettings& into);
/// "mtu=1024 timeout=9": what take() reads back, of each setting that is said; policies last.
std::string text_of(const NicSettings& settings, std::span<const NicWord> words = nic_words());

/// A setting of congestion control or loss recovery. Nothing: there is none of this name. Empty: it is taken. Else what
/// its value may be.
std::optional<std::string> take_policy_word(std::string_view name, std::string_view value,
                                            nic::CongestionConfig& congestion, nic::LossRecoveryConfig& loss_recovery);
/// All names of take_policy_word().
std::vector<std::string_view> policy_word_names();
/// What is wrong with them together; empty: nothing.
std::string_view contradiction(const nic::CongestionConfig& congestion, const nic::LossRecoveryConfig& loss_recovery);

/// CNPs that congestion control needs and nobody has spoken of.
Duration cnp_interval_of(const nic::CongestionConfig& congestion, Duration said);

/// Limits are lowered and never raised; the rest becomes what is said. The line rate stays, unless there is a speed.
void apply(const NicSettings& settings, nic::NicConfig& config, std::span<const NicWord> words = nic_words());
/// Makes entry 0 of a NIC with one address the entries that the address has on this wire: by v1, by v2, or by both in
/// this order.
void use_wire(const wire::WireKind& wire, nic::NicConfig& config);
/// By which version two such NICs talk if nobody says: RoCE v2 if both have it, else v1. Those that have none in common
/// send by what each has, and hear nothing.
wire::RoceVersion version_between(const wire::WireKind& own, const wire::WireKind& peer);
/// The entry of a version that the wire has.
std::uint8_t gid_index_of(const wire::WireKind& own, wire::RoceVersion version);
/// Of a modify_qp. What is not said stays as it is.
void apply(const NicSettings& settings, nic::QpAttributes& attributes, std::span<const NicWord> words = nic_words());

}  // namespace verbena::fabric
