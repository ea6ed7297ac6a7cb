// ForkRegistry: keeps the engines of this process whole across fork().
//
// Solely responsible for the process's fork handlers: before fork() it brings every engine to rest, after it the
// parent's go on and the child's are abandoned (Engine::abandon_after_fork). NullLink is what an abandoned engine is
// left with.
// Tested by: tests/host/engine/engine_test.cc
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <vector>

#include "emulator/host/link/link.h"

namespace verbena::host {

class Engine;

class ForkRegistry {
 public:
  /// The handlers are there from here on, and so run within those that are installed later. Once is enough.
  static void install();
  static void add(Engine& engine);
  static void remove(Engine& engine);
  /// Each engine of the process, none of which goes meanwhile.
  template <class Call>
  static void each(Call&& call) {
    ForkRegistry& registry = instance();
    const std::lock_guard guard(registry.mutex_);
    for (Engine* const engine : registry.engines_) call(*engine);
  }

 private:
  static ForkRegistry& instance();
  static void prepare();
  static void parent();
  static void child();

  std::mutex mutex_;  // guards engines_; held across fork()
  std::vector<Engine*> engines_;
};

/// A cable to nowhere: frames vanish, none arrive.
class NullLink : public Link {
 public:
  std::span<std::byte> reserve(const nic::Destination&, std::size_t bytes) override { return {scratch_.data(), bytes}; }
  void commit(std::size_t, wire::IcrcState) override {}
  void cancel() override {}
  void publish() override {}
  std::size_t receive(Time, FrameSink&, std::size_t) override { return 0; }
  std::optional<Time> next_deadline() const override { return std::nullopt; }
  bool holds_back() const override { return false; }
  bool fetch(std::size_t) override { return false; }
  bool fetch_all() override { return true; }
  bool flush() override { return false; }
  void service() override {}
  WaitDescriptors wait_descriptors() const override { return {}; }
  bool arm() override { return true; }
  void disarm() override {}
  std::optional<wire::PathAddress> resolve(const wire::Gid&) override { return std::nullopt; }

 private:
  std::array<std::byte, wire::kFrameBytesMax> scratch_{};
};

}  // namespace verbena::host
