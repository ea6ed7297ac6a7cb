// The link of a NIC with two ports: frames by the port that their headers say, both looked at, one sleep for both, and
// one rest.
#include "emulator/host/link/ports_link.h"

#include <fcntl.h>
#include <poll.h>

#include <boost/test/unit_test.hpp>
#include <string>
#include <thread>
#include <vector>

#include "emulator/host/link/in_process_link.h"
#include "emulator/host/link/link_factory.h"
#include "tests/host/link/link_frames.h"

using namespace verbena;
using namespace verbena::host;
using namespace verbena::host::test;

namespace {

constexpr wire::Gid own(std::uint8_t port) {
  return node(static_cast<std::uint8_t>(10 + port));
}
constexpr wire::Gid far(std::uint8_t port) {
  return node(static_cast<std::uint8_t>(20 + port));
}
constexpr std::array<std::uint8_t, 2> kBoth{1, 2};

/// By which port each frame has arrived.
struct ByPort final : FrameSink {
  void frame(std::span<const std::byte> octets, wire::IcrcState) override {
    const auto packet = wire::parse_frame(octets);
    BOOST_REQUIRE(packet.ok());
    arrived.push_back({port, packet->bth().psn.value()});
  }
  void arrives_by(std::uint32_t by) override { port = by; }

  struct Arrived {
    std::uint32_t port;
    std::uint32_t psn;
    bool operator==(const Arrived&) const = default;
  };
  std::uint32_t port = 0;
  std::vector<Arrived> arrived;
};

/// Sends by the port, to whoever is at its other end.
bool send(Link& link, std::uint8_t port, std::uint32_t psn) {
  FrameRequest request{.source = own(port), .destination = far(port), .psn = psn};
  wire::FramePath path;
  path.from = node_mac(request.source);
  path.to = node_mac(request.destination);
  path.source = request.source;
  path.destination = request.destination;
  path.port = port;
  const wire::FrameTemplate flow(path);
  std::uint32_t hint = 0;
  const auto room = link.reserve({request.destination, request.qpn, hint, &flow}, bytes_of(flow, request));
  if (room.empty()) return false;
  link.commit(build_into(room, flow, request), wire::IcrcState::present);
  return true;
}

struct TwoCables {
  TwoCables() {
    std::vector<PortsLink::Port> ports;
    for (const std::uint8_t port : kBoth) {
      auto ends = connect_in_process({.first = own(port),
                                      .second = far(port),
                                      .first_mac = node_mac(own(port)),
                                      .second_mac = node_mac(far(port)),
                                      .depth_frames = 4});
      ports.emplace_back();
      ports.back().opened.link = std::move(ends.first);
      ports.back().opened.address = node_mac(own(port));
      ports.back().opened.mtu_bytes = port == 1 ? 4096 : 1024;
      ends_.push_back(std::move(ends.second));
    }
    auto made = PortsLink::open(std::move(ports));
    BOOST_REQUIRE(made.ok());
    opened = std::move(*made);
  }
  Link& link() { return *opened.link; }
  Link& end(std::uint8_t port) { return *ends_[port - 1]; }
  void send_from_end(std::uint8_t port, std::uint32_t psn) {
    BOOST_REQUIRE(commit(end(port), {.source = far(port), .destination = own(port), .psn = psn}));
    end(port).publish();
    end(port).flush();
  }
  bool is_readable() {
    pollfd descriptor{link().wait_descriptors().frames, POLLIN, 0};
    return ::poll(&descriptor, 1, 0) == 1;
  }

  OpenedLink opened;

 private:
  std::vector<std::unique_ptr<Link>> ends_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(frames_leave_by_the_port_that_their_headers_say) {
  TwoCables cables;
  for (const std::uint8_t port : kBoth) BOOST_REQUIRE(send(cables.link(), port, 100u + port));
  cables.link().publish();
  cables.link().flush();
  for (const std::uint8_t port : kBoth) {
    ByPort got;
    BOOST_TEST(cables.end(port).receive(clock_now(), got, 64) == 1u);
    BOOST_TEST(got.arrived.at(0).psn == 100u + port);
  }
}

BOOST_AUTO_TEST_CASE(what_names_no_headers_is_the_first_ports) {
  TwoCables cables;
  std::uint32_t hint = 0;
  const FrameRequest request{.source = own(1), .destination = far(1), .psn = 7};
  const auto flow = flow_of(request);
  const auto room = cables.link().reserve({request.destination, request.qpn, hint}, bytes_of(flow, request));
  BOOST_REQUIRE(!room.empty());
  cables.link().commit(build_into(room, flow, request), wire::IcrcState::present);
  cables.link().publish();
  ByPort got;
  BOOST_TEST(cables.end(1).receive(clock_now(), got, 64) == 1u);
}

BOOST_AUTO_TEST_CASE(a_full_port_keeps_the_other_one_going) {
  TwoCables cables;
  std::uint32_t psn = 0;
  while (send(cables.link(), 1, psn) && psn < 100) ++psn;
  BOOST_TEST(psn < 100u);
  BOOST_TEST(send(cables.link(), 2, 0));
}

BOOST_AUTO_TEST_CASE(frames_of_both_ports_are_taken_and_told_apart) {
  TwoCables cables;
  for (const std::uint8_t port : kBoth) cables.send_from_end(port, port);
  ByPort got;
  BOOST_TEST(cables.link().receive(clock_now(), got, 64) == 2u);
  BOOST_TEST((got.arrived == std::vector<ByPort::Arrived>{{1, 1}, {2, 2}}));
}

BOOST_AUTO_TEST_CASE(a_busy_port_does_not_starve_the_other_one) {
  TwoCables cables;
  for (std::uint32_t i = 0; i < 3; ++i)
    for (const std::uint8_t port : kBoth) cables.send_from_end(port, i);
  ByPort got;
  for (int pass = 0; pass < 2; ++pass) BOOST_TEST(cables.link().receive(clock_now(), got, 1) == 1u);
  BOOST_TEST((got.arrived == std::vector<ByPort::Arrived>{{1, 0}, {2, 0}}));
}

BOOST_AUTO_TEST_CASE(frames_at_either_port_end_a_sleep) {
  for (const std::uint8_t port : kBoth) {
    TwoCables cables;
    BOOST_TEST(cables.link().arm());
    cables.link().flush();
    BOOST_TEST(!cables.is_readable());
    cables.send_from_end(port, 1);
    BOOST_TEST(cables.is_readable());
    BOOST_TEST(!cables.link().arm());  // they wait
  }
}

BOOST_AUTO_TEST_CASE(the_least_of_the_ports_is_what_the_nic_has) {
  TwoCables cables;
  BOOST_TEST(cables.opened.mtu_bytes == 1024u);
  BOOST_TEST((cables.opened.address == wire::PathAddress(node_mac(own(1)))));
  BOOST_REQUIRE(cables.opened.further_ports.size() == 1u);
  BOOST_TEST((cables.opened.further_ports[0].address == wire::PathAddress(node_mac(own(2)))));
  BOOST_TEST((cables.link().of_port(2).resolve(far(2)) == wire::PathAddress(node_mac(far(2)))));
  BOOST_TEST(!cables.link().of_port(2).resolve(far(1)).has_value());
}

BOOST_AUTO_TEST_CASE(both_ports_have_one_slot_free_at_either_address) {
  EngineConfig config;
  config.fabric = "ports-link-test";
  config.address = node(1);
  config.further_ports = {{.address = device_address(node(1), {0, 2}), .link = "shm"}};
  const auto alone = NodeDirectory::join(config.fabric, config.further_ports[0].address);  // slot 0, of port 2 only
  BOOST_REQUIRE(alone.ok());
  const auto opened = open_link(config);
  BOOST_REQUIRE_MESSAGE(opened.ok(), (opened.ok() ? "" : opened.error()));
  BOOST_TEST(unsigned{opened->slot} == 1u);
  const auto seats = seats_taken(config.fabric);
  BOOST_TEST(seats.size() == 3u);
  BOOST_TEST(std::ranges::count_if(seats, [](const SeatTaken& seat) { return seat.slot == 1; }) == 2);
}

BOOST_AUTO_TEST_CASE(a_port_whose_link_does_not_open_says_why) {
  EngineConfig config;
  config.fabric = "ports-link-test";
  config.address = node(1);
  config.further_ports = {{.address = node(2), .link = "raw:nosuch0"}};
  const auto opened = open_link(config);
  BOOST_REQUIRE(!opened.ok());
  BOOST_TEST(opened.error() == "there is no interface nosuch0");
}

namespace {
constexpr Duration kLong = seconds(30);  // never waited out when all is well

/// A node with two ports on shared memory, and one that sends to either.
struct TwoShared {
  TwoShared() {
    EngineConfig config;
    config.fabric = "ports-link-rest." + std::to_string(getpid());
    config.address = addresses[0];
    config.further_ports = {{.address = addresses[1], .link = "shm"}};
    opened = require(open_link(config));
    EngineConfig of_peer;
    of_peer.fabric = config.fabric;
    of_peer.address = node(9);
    peer = require(open_link(of_peer));
  }
  static OpenedLink require(Result<OpenedLink, std::string> made) {
    BOOST_REQUIRE_MESSAGE(made.ok(), (made.ok() ? "" : made.error()));
    return std::move(*made);
  }
  void send_to(std::size_t port, std::uint32_t psn) {
    const FrameRequest request{
        .source = node(9), .destination = addresses[port], .qpn = qpn_base_of(opened.slot), .psn = psn};
    while (!commit(*peer.link, request)) peer.link->flush();
    peer.link->publish();
    peer.link->flush();
  }
  /// Until all that was sent is here, and the peers know each other.
  std::size_t take() {
    std::size_t taken = 0;
    ByPort got;
    for (const Time end = clock_now() + kLong; taken == 0 && clock_now() < end;) {
      opened.link->service();
      peer.link->service();
      taken = opened.link->receive(clock_now(), got, 64);
      opened.link->flush();
      peer.link->flush();
    }
    peer.link->service();
    return taken;
  }

  const std::array<wire::Gid, 2> addresses{node(1), device_address(node(1), {0, 2})};
  OpenedLink opened;
  OpenedLink peer;
};
}  // namespace

BOOST_AUTO_TEST_CASE(frames_at_either_port_end_a_rest) {
  TwoShared shared;
  for (std::size_t port = 0; port < 2; ++port) {
    shared.send_to(port, 1);
    BOOST_REQUIRE(shared.take() == 1u);
  }
  CoreRest* const rest = shared.opened.parts.core_rest;
  BOOST_REQUIRE(rest != nullptr);
  for (std::uint32_t i = 0; i < 200; ++i) {
    RestSet by;
    BOOST_REQUIRE(rest->begin_rest(by));
    BOOST_TEST(by.words().size() == 2u);
    std::thread sends([&] { shared.send_to(i % 2, 2 + i); });
    BOOST_TEST(JointRest().rest(by, kLong));
    sends.join();
    rest->finish_rest();
    BOOST_TEST(!rest->begin_rest(by));  // it waits
    BOOST_REQUIRE(shared.take() == 1u);
  }
}

BOOST_AUTO_TEST_CASE(a_rest_that_one_port_refuses_leaves_none_of_the_other) {
  TwoShared shared;
  for (std::size_t port = 0; port < 2; ++port) {
    shared.send_to(port, 1);
    BOOST_REQUIRE(shared.take() == 1u);
  }
  shared.send_to(1, 2);
  RestSet by;
  BOOST_TEST(!shared.opened.parts.core_rest->begin_rest(by));
  // Nobody rests at the first port: its frame rings the bell.
  BOOST_REQUIRE(shared.opened.link->of_port(1).arm());
  shared.send_to(0, 2);
  pollfd bell{shared.opened.link->of_port(1).wait_descriptors().frames, POLLIN, 0};
  BOOST_TEST(::poll(&bell, 1, 1000) == 1);
}

BOOST_AUTO_TEST_CASE(a_child_of_fork_keeps_no_descriptor_of_two_ports) {
  TwoShared shared;
  const Link::WaitDescriptors own = shared.opened.link->wait_descriptors();
  BOOST_REQUIRE(own.frames >= 0);
  BOOST_REQUIRE(own.control >= 0);
  shared.opened.parts.fork_guard->hold_for_fork();
  shared.opened.parts.fork_guard->release_after_fork();
  BOOST_TEST(::fcntl(own.frames, F_GETFD) >= 0);
  shared.opened.parts.fork_guard->abandon_after_fork();
  for (const int descriptor : {own.frames, own.control}) BOOST_TEST(::fcntl(descriptor, F_GETFD) == -1);
  [[maybe_unused]] static const Link* const forgotten = shared.opened.link.release();  // as the engine does
}
