// ScriptLine: one line of a packet script as a value, and the table of the words that it is read and written by.
//
// Private to this folder. Solely the language (verbena/script.h): it knows no world. Playing it is ScriptRun's.
// Tested by: tests/libverbena/script_test.cc
#pragma once

#include <verbena/world.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace libverbena {

/// A number of a packet by its name. `get`: nothing, if its opcode does not carry it.
struct NumberField {
  std::string_view name;
  std::uint64_t most;
  std::optional<std::uint64_t> (*get)(const Packet& packet);
  void (*set)(Packet& packet, std::uint64_t value);
};
struct FlagField {
  std::string_view name;
  bool Packet::* flag;
};

struct SyndromeWord {
  std::string_view name;
  std::uint8_t octet;
  std::uint8_t mask;  // the bits that an expectation looks at
};

struct ScriptLine {
  enum class Kind : std::uint8_t { expect, inject, silence };
  enum class Action : std::uint8_t { none, drop, duplicate, corrupt, delay };

  std::uint32_t number = 0;  // from 1
  std::string text;          // as it was read, without comment
  Kind kind = Kind::expect;
  std::string from;
  std::string to;
  Opcode opcode{};
  std::optional<std::int64_t> psn;  // relative
  std::optional<std::uint64_t> payload_bytes;
  std::optional<SyndromeWord> syndrome;
  std::vector<std::pair<const NumberField*, std::uint64_t>> numbers;
  std::vector<std::pair<const FlagField*, bool>> flags;
  std::optional<Duration> time;  // within, after, or of the silence
  Action action = Action::none;
  Duration delay{};

  /// What of `packet` is not as the line says: "psn is 1, not 2; ..."; empty: it fits. `relative_psn` is the packet's.
  std::string differences(const Packet& packet, std::int64_t relative_psn) const;
  /// The packet that an inject line sends, `first_psn` being what its psn is relative to.
  Packet packet(std::uint32_t first_psn) const;
};

/// The error says which line and which word.
Result<std::vector<ScriptLine>> read_script(std::string_view script);
/// "a > b  send-middle psn=2 len=1024": how a line would name the packet.
std::string line_of(const Link& link, const Packet& packet, std::int64_t relative_psn);

}  // namespace libverbena
