// MessageOctets: what a message's octets are, so that each can be verified, and a message be told from its octets.
//
// Solely the function of (connection, message, offset) and its comparison. Words are seed + message * kMessageStep +
// offset/8 * kWordStep modulo 2^64: cheap, different at every place of every message, and the message's number can be
// computed back from the first word.
// Tested by: tests/scenarios/virtual/verbs_test.cc
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace verbena::scenarios {

class MessageOctets {
 public:
  explicit constexpr MessageOctets(std::uint64_t seed) : seed_(seed) {}

  constexpr std::uint64_t word(std::uint64_t message, std::uint64_t index) const {
    return seed_ + message * kMessageStep + index * kWordStep;
  }
  void fill(std::span<std::byte> into, std::uint64_t message) const {
    std::uint64_t value = word(message, 0);
    std::size_t done = 0;
    for (; done + 8 <= into.size(); done += 8, value += kWordStep) std::memcpy(into.data() + done, &value, 8);
    std::memcpy(into.data() + done, &value, into.size() - done);
  }
  /// The first octet that differs. `offset`: where in the message `octets` begin, a multiple of 8.
  std::optional<std::size_t> first_difference(std::span<const std::byte> octets, std::uint64_t message,
                                              std::size_t offset = 0) const {
    std::uint64_t value = word(message, offset / 8);
    for (std::size_t done = 0; done < octets.size(); done += 8, value += kWordStep) {
      const std::size_t bytes = std::min<std::size_t>(8, octets.size() - done);
      std::uint64_t seen = value;
      std::memcpy(&seen, octets.data() + done, bytes);
      if (seen == value) continue;
      for (std::size_t i = 0; i < bytes; ++i)
        if (octets[done + i] != octet(value, i)) return done + i;
    }
    return std::nullopt;
  }
  std::byte octet_at(std::uint64_t message, std::size_t offset) const {
    return octet(word(message, offset / 8), offset % 8);
  }
  /// Of which message the octets (at least eight) would be the beginning.
  std::uint64_t message_of(std::span<const std::byte> octets) const {
    std::uint64_t first = 0;
    std::memcpy(&first, octets.data(), 8);
    return (first - seed_) * inverse(kMessageStep);
  }

 private:
  static constexpr std::uint64_t kMessageStep = 0xd6e8feb86659fd93u;  // both odd
  static constexpr std::uint64_t kWordStep = 0x9e3779b97f4a7c15u;

  /// Newton's iteration: each round doubles the number of right bits.
  static constexpr std::uint64_t inverse(std::uint64_t odd) {
    std::uint64_t result = odd;
    for (int round = 0; round < 6; ++round) result *= 2 - odd * result;
    return result;
  }
  static std::byte octet(std::uint64_t value, std::size_t index) {
    std::byte octets[8];
    std::memcpy(octets, &value, 8);
    return octets[index];
  }

  std::uint64_t seed_;
};

}  // namespace verbena::scenarios
