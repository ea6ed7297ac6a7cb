// RoundTripRecorder: the round trips that the congestion control of each host measures.
//
// Solely counting them: a histogram a host, made when its first one comes.
// Tested by: tests/scenarios/virtual/expectations_test.cc
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "emulator/nic/congestion/congestion_control.h"
#include "scenarios/outcome/latency_histogram.h"

namespace verbena::scenarios {

class RoundTripRecorder {
 public:
  explicit RoundTripRecorder(std::uint32_t hosts) : hosts_(hosts) {}

  /// What the host's NIC is to tell; outlived by this.
  nic::RoundTripListener* listener(std::uint32_t host) { return &hosts_[host]; }
  LatencyHistogram of(const std::vector<std::uint32_t>& hosts) const {
    LatencyHistogram all;
    for (const std::uint32_t host : hosts)
      if (hosts_[host].measured) all.add(*hosts_[host].measured);
    return all;
  }
  LatencyHistogram of_all() const {
    LatencyHistogram all;
    for (const Host& host : hosts_)
      if (host.measured) all.add(*host.measured);
    return all;
  }

 private:
  struct Host final : nic::RoundTripListener {
    void round_trip(Duration duration) override {
      if (!measured) measured = std::make_unique<LatencyHistogram>();
      measured->add(duration.ns);
    }
    std::unique_ptr<LatencyHistogram> measured;
  };
  std::vector<Host> hosts_;
};

}  // namespace verbena::scenarios
