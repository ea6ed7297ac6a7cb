// Interleavings: every order in which the steps of a few processes can take place over shared words, on processors that
// delay stores (total store order, as x86: each process's stores wait in a buffer of its own until they are made
// visible, which may be at any later step; its own loads see them, a fence or an atomic exchange waits for them).
//
// Solely the exploration. A process is a function that touches shared words through a Steps object and keeps no other
// state between them, so that it can be run again up to any step. What is explored already is not explored again.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "wire/assert.h"

namespace verbena::test {

class Steps;

/// A run of all processes up to some step.
struct Configuration {
  static constexpr std::size_t kWords = 8;
  static constexpr std::size_t kProcesses = 3;
  struct Store {
    std::size_t word = 0;
    std::uint32_t value = 0;
    bool operator==(const Store&) const = default;
  };
  struct Process {
    std::vector<std::uint32_t> seen;  // what each step has yielded
    std::vector<Store> buffered;      // stores that nobody else sees yet
    bool has_ended = false;
    bool is_dead = false;
    bool is_blocked = false;  // until its wake-up word is not 0
    std::size_t blocked_on = 0;
    bool operator==(const Process&) const = default;
  };
  std::array<std::uint32_t, kWords> words{};
  std::array<Process, kProcesses> processes{};
  bool operator==(const Configuration&) const = default;
  /// The same for equal ones only.
  std::string key() const {
    std::string text;
    text.reserve(128);
    const auto put = [&](std::size_t value) {
      VERBENA_ASSERT(value < 256);  // else two configurations could have one key
      text.push_back(static_cast<char>(value));
    };
    for (const std::uint32_t word : words) put(word);
    for (const Process& process : processes) {
      put(process.seen.size());
      for (const std::uint32_t value : process.seen) put(value);
      put(process.buffered.size());
      for (const Store& store : process.buffered) {
        put(store.word);
        put(store.value);
      }
      put((process.has_ended ? 1u : 0u) | (process.is_dead ? 2u : 0u) | (process.is_blocked ? 4u : 0u));
    }
    return text;
  }
};

/// What a process sees: each call is one step.
class Steps {
 public:
  struct StepDone {};  // thrown behind the one step that is new

  Steps(Configuration& configuration, std::size_t process) : all_(configuration), self_(all_.processes[process]) {}

  std::uint32_t load(std::size_t word) {
    return step([&] {
      for (auto at = self_.buffered.rbegin(); at != self_.buffered.rend(); ++at)
        if (at->word == word) return at->value;
      return all_.words[word];
    });
  }
  void store(std::size_t word, std::uint32_t value) {
    step([&] {
      self_.buffered.push_back({word, value});
      return 0u;
    });
  }
  void store_and_fence(std::size_t word, std::uint32_t value) {
    step([&] {
      drain(all_, self_);
      all_.words[word] = value;
      return 0u;
    });
  }
  void fence() {
    step([&] {
      drain(all_, self_);
      return 0u;
    });
  }
  std::uint32_t exchange(std::size_t word, std::uint32_t value) {
    return step([&] {
      drain(all_, self_);
      return std::exchange(all_.words[word], value);
    });
  }
  void add(std::size_t word, std::uint32_t value) {
    step([&] {
      drain(all_, self_);
      return all_.words[word] += value;
    });
  }
  /// Sleeps until the word is not 0, which becomes 0: a descriptor that was rung.
  void wait(std::size_t word) {
    if (at_ == self_.seen.size() && all_.words[word] == 0) {
      self_.is_blocked = true;
      self_.blocked_on = word;
      throw StepDone{};
    }
    step([&] {
      drain(all_, self_);
      all_.words[word] = 0;
      return 0u;
    });
  }

  static void drain(Configuration& all, Configuration::Process& process) {
    for (const Configuration::Store& store : process.buffered) all.words[store.word] = store.value;
    process.buffered.clear();
  }

 private:
  template <class Do>
  std::uint32_t step(Do&& act) {
    if (at_ < self_.seen.size()) return self_.seen[at_++];
    self_.seen.push_back(act());
    throw StepDone{};
  }

  Configuration& all_;
  Configuration::Process& self_;
  std::size_t at_ = 0;
};

struct Exploration {
  std::vector<std::function<void(Steps&)>> processes;
  /// Called where nothing can happen any more; it throws or notes what is wrong.
  std::function<void(const Configuration&)> at_rest;
  /// These may be killed before any of their steps: what they have stored becomes visible, and `on_death` happens.
  std::vector<std::size_t> mortal;
  std::function<void(Configuration&)> on_death;
  std::uint64_t configurations = 0;  // explored
  std::uint64_t ends = 0;

  void run() {
    Configuration first;
    explore(first);
  }

 private:
  void explore(const Configuration& from) {
    if (!known_.insert(from.key()).second) return;
    ++configurations;
    bool moves = false;
    for (std::size_t i = 0; i < processes.size(); ++i) {
      const Configuration::Process& process = from.processes[i];
      if (!process.buffered.empty()) {  // its oldest store becomes visible
        Configuration next = from;
        Configuration::Store store = next.processes[i].buffered.front();
        next.processes[i].buffered.erase(next.processes[i].buffered.begin());
        next.words[store.word] = store.value;
        moves = true;
        explore(next);
      }
      const bool is_mortal = std::find(mortal.begin(), mortal.end(), i) != mortal.end();
      if (process.has_ended || process.is_dead) continue;
      if (is_mortal) {
        Configuration next = from;
        Steps::drain(next, next.processes[i]);
        next.processes[i].is_dead = true;
        if (on_death) on_death(next);
        explore(next);
      }
      if (process.is_blocked && from.words[process.blocked_on] == 0) continue;
      Configuration next = from;
      next.processes[i].is_blocked = false;
      Steps steps(next, i);
      try {
        processes[i](steps);
        next.processes[i].has_ended = true;
      } catch (const Steps::StepDone&) {
      }
      if (next == from) continue;
      moves = true;
      explore(next);
    }
    if (moves) return;
    ++ends;
    at_rest(from);
  }

  std::unordered_set<std::string> known_;
};

}  // namespace verbena::test
