// Chance: numbers that look random and are a function of what they are drawn for.
//
// Solely responsible for turning (seed, link, flow, packet, rule) into 64 well-mixed bits. Integer arithmetic only, so
// that every compiler and library gives the same run. It keeps no state.
// Tested by: tests/fabric/fault_plan_test.cc
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace verbena::fabric {

/// The finishing step of splitmix64 (Steele, Lea, Flood 2014): a bijection in which each input bit moves half of the
/// output.
constexpr std::uint64_t mix(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

/// Depends on every word and on their order.
constexpr std::uint64_t mix_all(std::initializer_list<std::uint64_t> words) {
  std::uint64_t state = 0;
  for (const std::uint64_t word : words) state = mix(state ^ word);
  return state;
}

/// FNV-1a, to give a link's name a number.
constexpr std::uint64_t hash_text(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001b3u;
  return hash;
}

/// A sequence of draws, for tests and generators that need one after another.
class Dice {
 public:
  constexpr explicit Dice(std::uint64_t seed) : state_(mix(seed)) {}
  constexpr std::uint64_t next() { return mix(state_ += 0x9e3779b97f4a7c15u); }
  /// In [0, bound). `bound` is not 0.
  constexpr std::uint64_t below(std::uint64_t bound) { return next() % bound; }

 private:
  std::uint64_t state_;
};

}  // namespace verbena::fabric
