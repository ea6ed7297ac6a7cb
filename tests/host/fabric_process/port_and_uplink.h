// A fabric port and an uplink in one thread that stays on one core, so that each is on the core of the other.
#pragma once

#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <memory>
#include <string>
#include <vector>

#include "emulator/host/fabric_process/shm_ports.h"
#include "emulator/host/link/shm/shm_uplink.h"
#include "emulator/host/os/clock.h"
#include "tests/host/link/link_frames.h"

namespace verbena::host::test {

/// This thread stays on one core for as long as this lives.
class OneCore {
 public:
  OneCore() {
    BOOST_REQUIRE(sched_getaffinity(0, sizeof before_, &before_) == 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    core = sched_getcpu();
    CPU_SET(static_cast<std::size_t>(core), &one);
    BOOST_REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  }
  ~OneCore() { sched_setaffinity(0, sizeof before_, &before_); }
  /// False: there is no other that this process may use.
  bool leave() const {
    cpu_set_t others = before_;
    CPU_CLR(static_cast<std::size_t>(core), &others);
    return CPU_COUNT(&others) != 0 && sched_setaffinity(0, sizeof others, &others) == 0;
  }
  int core = -1;

 private:
  cpu_set_t before_{};
};

inline EngineConfig on_one_core(std::uint8_t number) {
  EngineConfig config;
  config.fabric = "cores." + std::to_string(getpid());
  config.address = node(number);
  return config;
}
template <class Link>
std::unique_ptr<Link> require(Result<std::unique_ptr<Link>, std::string> opened) {
  BOOST_REQUIRE_MESSAGE(opened.ok(), (opened.ok() ? "" : opened.error()));
  return std::move(*opened);
}

struct Taker final : PeerSink {
  std::size_t turn(const PeerName&) override { return admitted; }
  void frame(std::span<const std::byte> frame, wire::IcrcState) override { octets.push_back(frame.size()); }
  std::size_t admitted = SIZE_MAX;
  std::vector<std::size_t> octets;
};

inline void send(ShmUplink& uplink, std::uint32_t psn = 0) {
  const FrameRequest request{.source = node(1), .destination = node(2), .psn = psn, .payload_bytes = 100};
  BOOST_REQUIRE(commit(uplink, request));
  uplink.publish();
  uplink.flush();
}

struct Pair {
  Pair() : ports(require(ShmPorts::open(on_one_core(0).fabric))), uplink(require(ShmUplink::open(on_one_core(1)))) {
    pass();
    uplink->service();  // the answer
  }
  void pass() {
    ports->control().service();
    ports->receive(clock_now(), taker, 64);
  }
  OneCore pinned;
  Taker taker;
  std::unique_ptr<ShmPorts> ports;
  std::unique_ptr<ShmUplink> uplink;
};

inline void send_back(ShmPorts& ports, std::uint32_t psn) {
  const FrameRequest request{.source = node(2), .destination = node(1), .psn = psn, .payload_bytes = 100};
  const std::vector<std::byte> frame = build(request);
  std::uint32_t hint = 0;
  const auto room = ports.reserve({request.destination, request.qpn, hint}, frame.size());
  BOOST_REQUIRE((room && !room->empty()));
  std::ranges::copy(frame, room->begin());
  ports.commit(frame.size(), wire::IcrcState::present);
  ports.publish();
  ports.flush();
}

template <class Link>
bool is_rung(const Link& link) {
  pollfd bell{link.wait_descriptors().frames, POLLIN, 0};
  return poll(&bell, 1, 0) > 0;
}

inline std::size_t taken(ShmUplink& uplink) {
  Taker taker;
  return uplink.receive(clock_now(), taker, 64);
}

}  // namespace verbena::host::test
