// UdpLink: two nodes in one process, over the loopback interface and the real port 4791.
#include "emulator/host/link/udp/udp_link.h"

#include <arpa/inet.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <mutex>
#include <thread>

#include "tests/host/link/link_frames.h"

using namespace verbena;
using namespace verbena::host;
using namespace verbena::host::test;

namespace {

const wire::Gid kA = node(201);
const wire::Gid kB = node(202);

struct TwoLinks {
  TwoLinks() : a(open(kA)), b(open(kB)) {}
  static std::unique_ptr<UdpLink> open(const wire::Gid& address) {
    auto link = UdpLink::open({.address = address, .slot = 0});
    BOOST_REQUIRE_MESSAGE(link.ok(), (link.ok() ? "" : link.error()));
    return std::move(*link);
  }
  std::unique_ptr<UdpLink> a;
  std::unique_ptr<UdpLink> b;
};

void send_raw(int socket, const wire::Gid& to, const std::vector<std::byte>& datagram) {
  const SocketAddress at = socket_address(to, wire::kRoceUdpPort, 0);
  BOOST_REQUIRE(::sendto(socket, datagram.data(), datagram.size(), 0, &at.any, socket_address_bytes(at)) ==
                static_cast<ssize_t>(datagram.size()));
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(frames_of_every_size_arrive_octet_for_octet, TwoLinks) {
  Collector collector;
  std::vector<std::vector<std::byte>> sent;
  std::uint32_t psn = 0;
  constexpr std::size_t kPayloadBytes[] = {0,   1,   2,    3,    4,    5,    63,   64,   65,  255,
                                           256, 512, 1000, 1024, 2047, 2048, 4093, 4095, 4096};
  for (const std::size_t bytes : kPayloadBytes) {
    const FrameRequest request{.source = kA, .destination = kB, .psn = psn++, .payload_bytes = bytes};
    sent.push_back(build(request));
    BOOST_REQUIRE(commit(*a, request));
  }
  a->publish();
  a->flush();
  BOOST_REQUIRE(until([&] { return collector.frames.size() >= sent.size(); }, [&] { pump(*b, collector); }));
  BOOST_TEST(collector.frames.size() == sent.size());
  for (std::size_t i = 0; i < sent.size(); ++i) BOOST_TEST(collector.frames[i] == sent[i]);
}

BOOST_FIXTURE_TEST_CASE(ten_thousand_frames_in_runs_of_equal_size_keep_their_order, TwoLinks) {
  constexpr std::uint32_t kFrames = 10'000;
  constexpr std::size_t kSizes[] = {4096, 64, 1024, 0};
  constexpr std::uint32_t kInFlightMax = 200;  // within what the socket buffer of a small machine holds
  Collector collector;
  std::uint32_t sent = 0;
  const auto step = [&] {
    while (sent < kFrames && sent - collector.frames.size() < kInFlightMax) {
      // Runs of 1 to 97 frames, the last of each shorter.
      const std::size_t bytes = kSizes[sent / 97 % 4] / (sent % 97 == 96 ? 2 : 1);
      if (!commit(*a, {.source = kA, .destination = kB, .psn = sent, .payload_bytes = bytes})) break;
      ++sent;
    }
    a->publish();
    a->flush();
    pump(*b, collector);
  };
  BOOST_REQUIRE(until([&] { return collector.frames.size() == kFrames; }, step, std::chrono::seconds(60)));
  for (std::uint32_t i = 0; i < kFrames; ++i) {
    if (psn_of(collector.frames[i]) != i || !is_intact(collector.frames[i]))
      BOOST_FAIL("frame " << i << " is not right");
  }
}

BOOST_FIXTURE_TEST_CASE(traffic_class_and_hop_limit_reach_the_other_side, TwoLinks) {
  Collector collector;
  const FrameRequest request{
      .source = kA, .destination = kB, .psn = 1, .payload_bytes = 100, .traffic_class = 0x6a, .hop_limit = 17};
  BOOST_REQUIRE(commit(*a, request));
  BOOST_REQUIRE(commit(*a, {.source = kA, .destination = kB, .psn = 2, .payload_bytes = 100}));
  a->publish();
  a->flush();
  BOOST_REQUIRE(until([&] { return collector.frames.size() == 2; }, [&] { pump(*b, collector); }));
  BOOST_TEST(collector.frames[0] == build(request));
  const auto second = wire::parse_frame(collector.frames[1]);
  BOOST_REQUIRE(second.ok());
  BOOST_TEST(second->ip().traffic_class() == 0);
  BOOST_TEST(second->ip().hop_limit() == 64);
}

BOOST_FIXTURE_TEST_CASE(a_groups_frame_reaches_the_nodes_other_processes_as_it_is, TwoLinks) {
  auto sibling = UdpLink::open({.address = kA, .slot = 1});
  BOOST_REQUIRE(sibling.ok());
  Collector own, siblings, others;
  const FrameRequest request{.source = kA,
                             .destination = wire::Gid::from_ipv4(0xe0010203),
                             .qpn = wire::kMulticastQpn,
                             .psn = 5,
                             .payload_bytes = 1000};
  const auto pass = [&] {
    pump(*a, own);
    pump(**sibling, siblings);
    pump(*b, others);
  };
  // Until they have heard of each other it is lost, as on a wire.
  const auto send = [&] {
    if (siblings.frames.empty()) {
      BOOST_REQUIRE(commit(*a, request));
      a->publish();
      a->flush();
    }
    pass();
  };
  BOOST_REQUIRE(until([&] { return !siblings.frames.empty(); }, send));
  BOOST_TEST(siblings.frames[0] == build(request));
  BOOST_TEST(own.frames.empty());  // a NIC loops its own back itself
  BOOST_TEST(others.frames.empty());
}

BOOST_FIXTURE_TEST_CASE(a_frame_to_the_own_node_comes_back, TwoLinks) {
  Collector collector;
  const FrameRequest request{.source = kA, .destination = kA, .psn = 5, .payload_bytes = 4096};
  BOOST_REQUIRE(commit(*a, request));
  a->publish();
  a->flush();
  BOOST_REQUIRE(until([&] { return collector.frames.size() == 1; }, [&] { pump(*a, collector); }));
  BOOST_TEST(collector.frames[0] == build(request));
}

BOOST_FIXTURE_TEST_CASE(nothing_leaves_before_it_is_published, TwoLinks) {
  Collector collector;
  BOOST_REQUIRE(commit(*a, {.source = kA, .destination = kB, .psn = 1}));
  a->flush();
  const auto room = a->reserve({kB, wire::Qpn(1), *std::make_unique<std::uint32_t>(0)}, 100);
  BOOST_REQUIRE(!room.empty());
  a->cancel();
  pollfd wait{b->wait_descriptors().frames, POLLIN, 0};
  BOOST_TEST(b->arm());
  b->flush();
  BOOST_TEST(::poll(&wait, 1, 20) == 0);
  a->publish();
  a->flush();
  BOOST_TEST(::poll(&wait, 1, 5000) == 1);
  BOOST_TEST(b->arm());  // still in the kernel
  BOOST_TEST(b->fetch(Link::kAll));
  BOOST_TEST(!b->arm());
  BOOST_TEST(pump(*b, collector) == 1);
  BOOST_TEST(b->arm());
  wait.revents = 0;
  BOOST_TEST(::poll(&wait, 1, 0) == 0);
}

BOOST_FIXTURE_TEST_CASE(frames_wake_nobody_while_the_application_polls, TwoLinks) {
  pollfd wait{b->wait_descriptors().frames, POLLIN, 0};
  BOOST_TEST(b->arm());
  b->disarm();
  b->flush();
  BOOST_REQUIRE(commit(*a, {.source = kA, .destination = kB, .psn = 1}));
  a->publish();
  a->flush();
  BOOST_TEST(::poll(&wait, 1, 20) == 0);
  BOOST_TEST(b->arm());  // it waits in the kernel, and rings as soon as somebody wants to know
  b->flush();
  BOOST_TEST(::poll(&wait, 1, 5000) == 1);
}

BOOST_FIXTURE_TEST_CASE(a_full_ring_is_back_pressure_until_it_is_flushed, TwoLinks) {
  std::uint32_t committed = 0;
  while (committed < 100'000 && commit(*a, {.source = kA, .destination = kB, .psn = committed})) ++committed;
  BOOST_TEST(committed >= 64);
  BOOST_TEST(committed < 100'000);
  a->publish();
  a->flush();
  BOOST_TEST(commit(*a, {.source = kA, .destination = kB, .psn = committed}));
  BOOST_TEST(!a->next_deadline().has_value());
}

BOOST_FIXTURE_TEST_CASE(a_budget_splits_a_batch_without_loss, TwoLinks) {
  Collector collector;
  for (std::uint32_t psn = 0; psn < 40; ++psn)
    BOOST_REQUIRE(commit(*a, {.source = kA, .destination = kB, .psn = psn, .payload_bytes = 200}));
  a->publish();
  a->flush();
  BOOST_REQUIRE(until([&] { return collector.frames.size() == 40; }, [&] { BOOST_TEST(pump(*b, collector, 3) <= 3); }));
  for (std::uint32_t psn = 0; psn < 40; ++psn) BOOST_TEST(psn_of(collector.frames[psn]) == psn);
}

BOOST_FIXTURE_TEST_CASE(threads_that_flush_at_once_keep_the_order, TwoLinks) {
  constexpr std::uint32_t kFrames = 4000;
  std::mutex engine_lock;
  std::uint32_t sent = 0;
  std::atomic<std::uint32_t> received{0};
  std::atomic<bool> give_up{false};
  const auto producer = [&] {
    while (!give_up) {
      {
        const std::lock_guard guard(engine_lock);
        if (sent == kFrames) break;
        for (int i = 0; i < 5 && sent < kFrames && sent - received < 150; ++i) {
          if (!commit(*a, {.source = kA, .destination = kB, .psn = sent, .payload_bytes = 64})) break;
          ++sent;
        }
        a->publish();
      }
      a->flush();
    }
  };
  std::thread first(producer);
  std::thread second(producer);
  Collector collector;
  const bool complete = until([&] { return collector.frames.size() == kFrames; },
                              [&] {
                                pump(*b, collector);
                                received = static_cast<std::uint32_t>(collector.frames.size());
                              },
                              std::chrono::seconds(60));
  give_up = true;
  first.join();
  second.join();
  BOOST_REQUIRE(complete);
  for (std::uint32_t i = 0; i < kFrames; ++i)
    if (psn_of(collector.frames[i]) != i) BOOST_FAIL("frame " << i << " is out of order");
}

BOOST_AUTO_TEST_CASE(kernel_learns_each_frames_process_and_again_if_one_leaves) {
  const wire::Gid shared = node(206);
  const auto sender = TwoLinks::open(kA);
  std::array<std::unique_ptr<UdpLink>, 3> members;
  for (std::uint8_t slot = 0; slot < members.size(); ++slot) {
    auto member = UdpLink::open({.address = shared, .slot = slot});
    BOOST_REQUIRE(member.ok());
    members[slot] = std::move(*member);
  }
  std::array<std::uint64_t, 3> received{};
  const auto pump_all = [&] {
    for (std::size_t slot = 0; slot < members.size(); ++slot) {
      Collector collector;
      if (members[slot]) pump(*members[slot], collector);
      for (const auto& frame : collector.frames) {
        const auto view = wire::parse_frame(frame);
        BOOST_REQUIRE((view.ok() && slot_of(view->bth().dest_qp) == slot));
        ++received[slot];
      }
    }
  };
  // One frame to each member; returns how many of them had to be passed on.
  const auto round = [&] {
    std::array<std::uint64_t, 3> wanted = received;
    std::uint64_t passed_on_before = 0;
    std::uint64_t passed_on_after = 0;
    for (std::uint32_t slot = 0; slot < members.size(); ++slot) {
      if (!members[slot]) continue;
      passed_on_before += members[slot]->receiver().frames_passed_on();
      ++wanted[slot];
      BOOST_REQUIRE(commit(*sender, {.source = kA, .destination = shared, .qpn = wire::Qpn(slot << 16 | 0x11)}));
    }
    sender->publish();
    sender->flush();
    BOOST_REQUIRE(until([&] { return received == wanted; }, pump_all));
    for (const auto& member : members)
      if (member) passed_on_after += member->receiver().frames_passed_on();
    return passed_on_after - passed_on_before;
  };
  // Each member asks for itself when it is given what is not its own, and what it knows by then replaces the rest.
  const auto is_settled = [&] {
    for (int i = 0; i < 100; ++i)
      if (round() != 0) return false;
    return true;
  };
  BOOST_TEST(round() > 0);  // one flow, three processes: the kernel cannot know yet
  BOOST_TEST(until(is_settled));
  members[0].reset();  // the last one takes its number
  BOOST_TEST(until(is_settled));
  BOOST_TEST(received[0] < received[1]);
  BOOST_TEST(received[1] == received[2]);
}

BOOST_FIXTURE_TEST_CASE(foreign_datagrams_are_handed_up_or_dropped_and_do_no_harm, TwoLinks) {
  const int stranger = ::socket(AF_INET, SOCK_DGRAM, 0);
  Collector collector;
  std::size_t dropped = 0;
  std::size_t handed_up = 0;
  constexpr std::size_t kPayloadBytes[] = {0, 1, 7, 15, 16, 17, 60, 1500, 4100, 5000, 65'000};
  for (const std::size_t bytes : kPayloadBytes) {
    // Zero octets: the QPN is 0, which belongs to the node.
    send_raw(stranger, kB, std::vector<std::byte>(bytes));
    bytes < 16 || bytes > 4150 ? ++dropped : ++handed_up;
  }
  BOOST_REQUIRE(commit(*a, {.source = kA, .destination = kB, .psn = 77, .payload_bytes = 10}));
  a->publish();
  a->flush();
  BOOST_REQUIRE(until([&] { return collector.frames.size() == handed_up + 1; }, [&] { pump(*b, collector); }));
  BOOST_TEST(b->receiver().datagrams_dropped() == dropped);
  BOOST_TEST(psn_of(collector.frames.back()) == 77);
  BOOST_TEST(is_intact(collector.frames.back()));
  for (std::size_t i = 0; i + 1 < collector.frames.size(); ++i) BOOST_TEST(!is_intact(collector.frames[i]));
  ::close(stranger);
}

BOOST_FIXTURE_TEST_CASE(frames_to_a_node_where_nobody_lives_vanish_silently, TwoLinks) {
  Collector collector;
  for (std::uint32_t psn = 0; psn < 50; ++psn)
    BOOST_REQUIRE(commit(*a, {.source = kA, .destination = node(250), .psn = psn, .payload_bytes = 64}));
  BOOST_REQUIRE(commit(*a, {.source = kA, .destination = kB, .psn = 99}));
  a->publish();
  a->flush();
  a->flush();
  BOOST_REQUIRE(until([&] { return collector.frames.size() == 1; }, [&] { pump(*b, collector); }));
  BOOST_TEST(psn_of(collector.frames[0]) == 99);
  BOOST_TEST(!a->next_deadline().has_value());
}

BOOST_FIXTURE_TEST_CASE(nodes_resolve_to_their_own_mac, TwoLinks) {
  BOOST_REQUIRE(a->resolve(kB).has_value());
  BOOST_TEST((*a->resolve(kB) == node_mac(kB)));
  wire::Gid ipv6;
  ipv6.octets[0] = 0xfd;
  BOOST_TEST(!a->resolve(ipv6).has_value());
}

BOOST_AUTO_TEST_CASE(the_ipv6_loopback_address_is_a_node_too) {
  wire::Gid one;
  one.octets[15] = 1;
  auto link = UdpLink::open({.address = one, .slot = 0});
  BOOST_REQUIRE_MESSAGE(link.ok(), (link.ok() ? "" : link.error()));
  Collector collector;
  std::vector<std::vector<std::byte>> sent;
  for (std::uint32_t psn = 0; psn < 20; ++psn) {
    const FrameRequest request{.source = one,
                               .destination = one,
                               .psn = psn,
                               .payload_bytes = psn == 19 ? 100u : 4096u,
                               .traffic_class = 8,
                               .hop_limit = 3};
    sent.push_back(build(request));
    BOOST_REQUIRE(commit(**link, request));
  }
  (*link)->publish();
  (*link)->flush();
  BOOST_REQUIRE(until([&] { return collector.frames.size() == sent.size(); }, [&] { pump(**link, collector); }));
  for (std::size_t i = 0; i < sent.size(); ++i) BOOST_TEST(collector.frames[i] == sent[i]);
}

BOOST_AUTO_TEST_CASE(an_address_that_is_not_local_is_refused_in_one_line) {
  auto link = UdpLink::open({.address = wire::Gid::from_ipv4(0xc0000201), .slot = 0});  // 192.0.2.1, documentation
  BOOST_REQUIRE(!link.ok());
  BOOST_TEST(link.error().find("192.0.2.1 is not an address of this machine") != std::string::npos);
  BOOST_TEST(link.error().find('\n') == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_port_that_someone_else_holds_is_refused_in_one_line) {
  const int holder = ::socket(AF_INET, SOCK_DGRAM, 0);
  const SocketAddress at = socket_address(node(203), wire::kRoceUdpPort, 0);
  BOOST_REQUIRE(::bind(holder, &at.any, socket_address_bytes(at)) == 0);
  auto link = UdpLink::open({.address = node(203), .slot = 0});
  BOOST_REQUIRE(!link.ok());
  BOOST_TEST(link.error().find("UDP port 4791 of 127.47.91.203 is taken") != std::string::npos);
  ::close(holder);
  BOOST_TEST(UdpLink::open({.address = node(203), .slot = 0}).ok());
}

BOOST_AUTO_TEST_CASE(a_slot_that_another_fabric_took_is_refused_in_one_line) {
  auto first = UdpLink::open({.address = node(204), .slot = 0});
  BOOST_REQUIRE(first.ok());
  auto second = UdpLink::open({.address = node(204), .slot = 0});
  BOOST_REQUIRE(!second.ok());
  BOOST_TEST(second.error().find("in use by another fabric") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_factory_takes_slots_in_order_and_frees_them) {
  EngineConfig config;
  config.fabric = "udp-link-test";
  config.address = node(205);
  config.link = "udp";
  auto first = open_udp_link(config);
  BOOST_REQUIRE_MESSAGE(first.ok(), (first.ok() ? "" : first.error()));
  auto second = open_udp_link(config);
  BOOST_REQUIRE(second.ok());
  BOOST_TEST(first->slot == 0);
  BOOST_TEST(second->slot == 1);
  BOOST_TEST((first->address == node_mac(config.address)));
  BOOST_TEST(first->mtu_bytes == 4096);
  first->link.reset();
  auto third = open_udp_link(config);
  BOOST_REQUIRE(third.ok());
  BOOST_TEST(third->slot == 0);
}

BOOST_AUTO_TEST_CASE(window_fits_a_known_peers_socket_buffer_several_times) {
  constexpr std::uint32_t kDefaultBuffer = 2 * 212'992;
  BOOST_TEST(udp_window_bytes(true, kDefaultBuffer) >= 128u * 1024);
  BOOST_TEST(udp_window_bytes(true, kDefaultBuffer) <= kDefaultBuffer / 3);
  BOOST_TEST(udp_window_bytes(true, 3u * 256 * 1024) == 256u * 1024);
  BOOST_TEST(udp_window_bytes(true, 32u << 20) == 512u * 1024);
  BOOST_TEST(udp_window_bytes(true, 0) == 128u * 1024);
  BOOST_TEST(udp_window_bytes(false, 32u << 20) == 128u * 1024);
}

BOOST_AUTO_TEST_CASE(path_mtu_leaves_room_for_every_header) {
  BOOST_TEST(path_mtu_for(65536) == 4096);
  BOOST_TEST(path_mtu_for(4200) == 4096);
  BOOST_TEST(path_mtu_for(4191) == 2048);
  BOOST_TEST(path_mtu_for(1500) == 1024);
  BOOST_TEST(path_mtu_for(576) == 256);
  BOOST_TEST(path_mtu_for(0) == 256);
}
