// Uplink: a process that is plugged into a served fabric, as the test plays it.
#pragma once

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <memory>
#include <thread>

#include "emulator/host/link/shm/shm_uplink.h"
#include "tests/host/fabric_process/served.h"
#include "tests/host/link/link_frames.h"

namespace verbena::host::test {

/// A process that is plugged in.
struct Uplink {
  Uplink(const Served& fabric, std::uint8_t number, std::uint32_t device = 0)
      : address(device_address(node(number), {device})) {
    EngineConfig config;
    config.fabric = fabric.name;
    config.address = address;
    auto opened = open_fabric_link(config);
    BOOST_REQUIRE_MESSAGE(opened.ok(), (opened.ok() ? "" : opened.error()));
    slot = opened->slot;
    link = std::move(opened->link);
  }
  FrameRequest request_to(const Uplink& to, std::uint32_t psn, std::size_t bytes = 100) const {
    return {.source = address,
            .destination = to.address,
            .qpn = wire::Qpn(qpn_base_of(to.slot).value() + 0x11),
            .psn = psn,
            .payload_bytes = bytes};
  }
  /// Sends frames first..last and waits until the other has `wanted` frames.
  bool send(Uplink& to, std::uint32_t first, std::uint32_t last, std::size_t wanted,
            std::chrono::milliseconds limit = std::chrono::seconds(10)) {
    for (std::uint32_t psn = first; psn <= last; ++psn) {
      const bool sent = until([&] { return commit(*link, request_to(to, psn)); }, [&] { pass(to); });
      if (!sent) return false;
      pass(to);
    }
    return until([&] { return to.collector.frames.size() >= wanted; }, [&] { pass(to); }, limit);
  }
  void pass(Uplink& to) {
    link->service();
    to.link->service();
    link->publish();
    link->flush();
    link->receive(clock_now(), collector, 64);
    if (&to != this) to.link->receive(clock_now(), to.collector, 64);
    std::this_thread::yield();
  }

  wire::Gid address;
  std::uint8_t slot = 0;
  std::unique_ptr<Link> link;
  Collector collector;
};

inline bool in_order(const Uplink& uplink) {
  for (std::size_t i = 0; i < uplink.collector.frames.size(); ++i)
    if (psn_of(uplink.collector.frames[i]) != i || !is_intact(uplink.collector.frames[i])) return false;
  return true;
}

}  // namespace verbena::host::test
