// Multicast over the udp link: who hears a group, once each, on other nodes and processes; what joining may not do.
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "emulator/host/link/udp/udp_link.h"
#include "emulator/host/link/udp/udp_socket.h"
#include "tests/host/link/link_frames.h"
#include "tests/host/link/network_namespaces.h"
#include "tests/support/waiting.h"

using namespace verbena;
using namespace verbena::host;
using namespace verbena::host::test;

namespace {

const wire::Gid kA = node(231);
const wire::Gid kB = node(232);
const wire::Gid kC = node(233);
const wire::Gid kGroup = wire::Gid::from_ipv4(0xef2f5b01);
const wire::Gid kOtherGroup = wire::Gid::from_ipv4(0xef2f5b02);

/// A link and what came out of it.
struct End {
  explicit End(const wire::Gid& address, std::uint8_t slot = 0) : address_(address) {
    auto opened = UdpLink::open({.address = address, .slot = slot});
    BOOST_REQUIRE_MESSAGE(opened.ok(), (opened.ok() ? "" : opened.error()));
    link = std::move(*opened);
  }
  void join(const wire::Gid& group = kGroup) {
    link->groups().join(group);
    link->flush();
  }
  void leave(const wire::Gid& group = kGroup) {
    link->groups().leave(group);
    link->flush();
  }
  FrameRequest to(const wire::Gid& destination, std::uint32_t psn, std::size_t bytes = 1000) const {
    const wire::Qpn qpn = destination.is_multicast() ? wire::kMulticastQpn : wire::Qpn(0x11);
    return {.source = address_, .destination = destination, .qpn = qpn, .psn = psn, .payload_bytes = bytes};
  }
  void send(const FrameRequest& request) {
    BOOST_REQUIRE(commit(*link, request));
    link->publish();
    link->flush();
  }
  /// Reads their greetings, which a link that knows of none does once in a while.
  void fetch_forwarded() {
    for (int i = 0; i < 100; ++i) pump(*link, got);
  }
  bool pump_until(std::size_t frames) {
    return until([&] { return got.frames.size() >= frames; }, [&] { pump(*link, got); });
  }
  std::unique_ptr<UdpLink> link;
  Collector got;

 private:
  wire::Gid address_;
};

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

}  // namespace

BOOST_AUTO_TEST_CASE(group_frame_reaches_each_process_of_each_member_node_once) {
  constexpr std::uint32_t kFrames = 30;
  End a(kA), a_sibling(kA, 1), b(kB), b_sibling(kB, 1), c(kC);
  for (End* end : {&a, &a_sibling, &b, &b_sibling}) end->join();
  c.join(kOtherGroup);
  a.fetch_forwarded();
  std::vector<std::vector<std::byte>> sent;
  for (std::uint32_t psn = 0; psn < kFrames; ++psn) {
    sent.push_back(build(a.to(kGroup, psn)));
    BOOST_REQUIRE(commit(*a.link, a.to(kGroup, psn)));
  }
  a.link->publish();
  a.link->flush();
  for (End* end : {&a_sibling, &b, &b_sibling}) {
    BOOST_REQUIRE(end->pump_until(kFrames));
    for (std::uint32_t i = 0; i < kFrames; ++i) BOOST_TEST(end->got.frames[i] == sent[i]);
  }
  // What would come twice, or back, has come before this.
  for (const wire::Gid& address : {kA, kB, kC}) a.send(a.to(address, 99));
  const auto pump_all = [&] {
    for (End* end : {&a, &a_sibling, &b, &b_sibling, &c}) pump(*end->link, end->got);
  };
  const auto have_last = [&] {
    return std::ranges::all_of(std::array{&a, &b, &c}, [](const End* end) {
      return !end->got.frames.empty() && psn_of(end->got.frames.back()) == 99;
    });
  };
  BOOST_REQUIRE(until(have_last, pump_all));
  for (int i = 0; i < 3; ++i) pump_all();
  BOOST_TEST(a.got.frames.size() == 1);  // a NIC loops its own back itself
  BOOST_TEST(a_sibling.got.frames.size() == kFrames);
  BOOST_TEST(b.got.frames.size() == kFrames + 1);
  BOOST_TEST(b_sibling.got.frames.size() == kFrames);
  BOOST_TEST(c.got.frames.size() == 1);
}

BOOST_AUTO_TEST_CASE(traffic_class_and_hop_limit_arrive_and_runs_keep_their_order) {
  constexpr std::uint32_t kFrames = 100;
  End a(kA), b(kB);
  b.join();
  std::vector<std::vector<std::byte>> sent;
  for (std::uint32_t psn = 0; psn < kFrames; ++psn) {
    FrameRequest request = a.to(kGroup, psn, psn % 40 == 39 ? 20 : 1024);
    request.traffic_class = psn < 50 ? 0 : 0x28;
    request.hop_limit = psn < 70 ? 64 : 1;
    sent.push_back(build(request));
    BOOST_REQUIRE(commit(*a.link, request));
  }
  a.link->publish();
  a.link->flush();
  BOOST_REQUIRE(b.pump_until(kFrames));
  for (std::uint32_t i = 0; i < kFrames; ++i) BOOST_TEST(b.got.frames[i] == sent[i]);
}

BOOST_AUTO_TEST_CASE(who_left_hears_nothing_and_gives_its_descriptor_back) {
  End a(kA), b(kB);
  const std::size_t before = open_descriptors();
  b.join();
  b.join();
  b.join(kOtherGroup);
  BOOST_TEST(open_descriptors() == before + 2);
  BOOST_TEST(b.link->groups().joined() == 2);
  b.leave(kOtherGroup);
  b.leave();
  b.leave();
  BOOST_TEST(open_descriptors() == before);
  a.send(a.to(kGroup, 1));
  b.join();
  a.send(a.to(kGroup, 2));
  BOOST_REQUIRE(b.pump_until(1));
  BOOST_TEST(psn_of(b.got.frames[0]) == 2);
  b.link.reset();
  a.link.reset();
  End again(kB);
  BOOST_TEST(again.link->groups().joined() == 0);
}

BOOST_AUTO_TEST_CASE(a_groups_frame_wakes_who_sleeps) {
  End a(kA), b(kB);
  b.join();
  pollfd wait{b.link->wait_descriptors().frames, POLLIN, 0};
  BOOST_TEST(::poll(&wait, 1, 0) == 0);
  BOOST_TEST(b.link->arm());
  b.link->flush();
  a.send(a.to(kGroup, 1));
  BOOST_TEST(::poll(&wait, 1, 5000) == 1);
  BOOST_TEST(b.link->fetch(Link::kAll));
  BOOST_TEST(!b.link->arm());
  BOOST_TEST(pump(*b.link, b.got) == 1);
  BOOST_TEST(::poll(&wait, 1, 0) == 0);
}

BOOST_AUTO_TEST_CASE(foreign_group_datagrams_are_handed_up_or_dropped) {
  End a(kA), b(kB);
  b.join();
  const int stranger = open_udp_socket(kC);
  const SocketAddress from = socket_address(kC, 0, 0);
  const SocketAddress at = socket_address(kGroup, wire::kRoceUdpPort, 0);
  BOOST_REQUIRE(::bind(stranger, &from.any, socket_address_bytes(from)) == 0);
  let_send_to_groups(stranger, kC, 0);
  std::size_t dropped = 0;
  std::size_t handed_up = 0;
  constexpr std::size_t kBytes[] = {0, 1, 8, 15, 16, 60, 1500, 4100, 5000, 65'000};
  for (const std::size_t bytes : kBytes) {
    const std::vector<std::byte> datagram(bytes);
    BOOST_REQUIRE(::sendto(stranger, datagram.data(), bytes, 0, &at.any, socket_address_bytes(at)) >= 0);
    bytes < 16 || bytes > 4150 ? ++dropped : ++handed_up;
  }
  // For a QP of another process: nobody passes it on, as that process has its own copy.
  FrameRequest misdirected = a.to(kGroup, 5);
  misdirected.qpn = wire::Qpn(0x030011);
  a.send(misdirected);
  a.send(a.to(kGroup, 77));
  BOOST_REQUIRE(b.pump_until(handed_up + 1));
  BOOST_TEST(b.link->receiver().datagrams_dropped() == dropped);
  BOOST_TEST(b.link->receiver().frames_passed_on() == 0);
  BOOST_TEST(psn_of(b.got.frames.back()) == 77);
  for (std::size_t i = 0; i + 1 < b.got.frames.size(); ++i) BOOST_TEST(!is_intact(b.got.frames[i]));
  ::close(stranger);
}

BOOST_AUTO_TEST_CASE(a_group_that_the_kernel_refuses_is_heard_within_the_node) {
  End a(kA), sibling(kA, 1), b(kB);
  rlimit allowed{};
  BOOST_REQUIRE(::getrlimit(RLIMIT_NOFILE, &allowed) == 0);
  rlimit none = allowed;
  none.rlim_cur = 3;
  BOOST_REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  sibling.join();
  BOOST_REQUIRE(::setrlimit(RLIMIT_NOFILE, &allowed) == 0);
  BOOST_TEST(sibling.link->groups().joins_refused() == 1);
  BOOST_TEST(sibling.link->groups().joined() == 0);
  a.fetch_forwarded();
  a.send(a.to(kGroup, 1));
  b.send(b.to(kGroup, 2));
  BOOST_REQUIRE(sibling.pump_until(1));
  for (int i = 0; i < 3; ++i) pump(*sibling.link, sibling.got);
  BOOST_TEST(sibling.got.frames.size() == 1);
  sibling.leave();
}

BOOST_AUTO_TEST_CASE(groups_come_and_go_while_others_read) {
  End a(kA), b(kB);
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    while (!stop) b.link->fetch(Link::kAll);
  });
  std::thread changer([&] {
    for (int i = 0; i < 200; ++i) i % 2 == 0 ? b.join(kOtherGroup) : b.leave(kOtherGroup);
    stop = true;
  });
  for (std::uint32_t psn = 0; psn < 100; ++psn) a.send(a.to(kOtherGroup, psn));
  changer.join();
  reader.join();
  BOOST_TEST(b.link->groups().joined() == 0);
  b.join();
  a.send(a.to(kGroup, 1000));
  BOOST_TEST(until([&] { return !b.got.frames.empty() && psn_of(b.got.frames.back()) == 1000; },
                   [&] { pump(*b.link, b.got); }));
}

// -- On interfaces ----------------------------------------------------------------------------------------------------

namespace {

boost::test_tools::assertion_result have_namespaces(boost::unit_test::test_unit_id) {
  const auto& namespaces = NetworkNamespaces::instance();
  if (namespaces.problem().empty() || !namespaces.may_be_missing()) return true;
  std::fprintf(stderr, "skipped: %s\n", namespaces.problem().c_str());
  return false;
}

void exchange_between_namespaces(const wire::Gid& a_address, const wire::Gid& b_address, const wire::Gid& group) {
  auto& namespaces = NetworkNamespaces::instance();
  BOOST_REQUIRE_MESSAGE(namespaces.problem().empty(), namespaces.problem());
  namespaces.enter_a();
  End a(a_address);
  a.join(group);
  namespaces.enter_b();
  End b(b_address);
  b.join(group);
  BOOST_TEST(a.link->groups().joined() + b.link->groups().joined() == 2);
  // An interface that has just come up refuses some groups for a while: lost, as on a wire.
  const auto both_have_got = [&] {
    pump(*a.link, a.got);
    pump(*b.link, b.got);
    if (!a.got.frames.empty() && !b.got.frames.empty()) return true;
    a.send(a.to(group, 1));
    b.send(b.to(group, 2));
    return false;
  };
  BOOST_REQUIRE(verbena::waiting::wait_until(both_have_got, seconds(60), milliseconds(1)));
  // And not their own.
  for (const auto& frame : a.got.frames) BOOST_TEST(frame == build(b.to(group, 2)));
  for (const auto& frame : b.got.frames) BOOST_TEST(frame == build(a.to(group, 1)));
}

}  // namespace

BOOST_AUTO_TEST_CASE(groups_of_ipv4_cross_an_interface, *boost::unit_test::precondition(have_namespaces)) {
  exchange_between_namespaces(*parse_node("10.47.0.1"), *parse_node("10.47.0.2"), kGroup);
}

BOOST_AUTO_TEST_CASE(groups_of_ipv6_cross_an_interface, *boost::unit_test::precondition(have_namespaces)) {
  constexpr std::uint8_t kScopes[] = {0x0e, 0x02};
  for (const std::uint8_t scope : kScopes) {
    wire::Gid group{{0xff, scope}};
    group.octets[15] = 0x47;
    exchange_between_namespaces(*parse_node("fd47::1"), *parse_node("fd47::2"), group);
  }
}
