// RawLink, and UdpLink against it, over a veth pair between two network namespaces.
#include "emulator/host/link/raw/raw_link.h"

#include <poll.h>

#include <boost/test/unit_test.hpp>
#include <cstdio>

#include "emulator/host/link/udp/udp_link.h"
#include "emulator/host/node/machine_interface.h"
#include "emulator/host/node/network_device.h"
#include "tests/host/link/link_frames.h"
#include "tests/host/link/network_namespaces.h"
#include "wire/icrc.h"

using namespace verbena;
using namespace verbena::host;
using namespace verbena::host::test;

namespace {

const wire::Gid kA = wire::Gid::from_ipv4(0x0a2f0001);
const wire::Gid kB = wire::Gid::from_ipv4(0x0a2f0002);
const wire::Gid kA6 = *parse_node("fd47::1");
const wire::Gid kB6 = *parse_node("fd47::2");

boost::test_tools::assertion_result have_namespaces(boost::unit_test::test_unit_id) {
  const auto& namespaces = NetworkNamespaces::instance();
  if (namespaces.problem().empty() || !namespaces.may_be_missing()) return true;
  std::fprintf(stderr, "skipped: %s\n", namespaces.problem().c_str());
  return false;
}

NetworkNamespaces& namespaces() {
  auto& result = NetworkNamespaces::instance();
  BOOST_REQUIRE_MESSAGE(result.problem().empty(), result.problem());
  return result;
}

std::unique_ptr<RawLink> open_raw(const wire::Gid& address, std::uint8_t slot = 0) {
  const bool is_a = address == kA || address == kA6;
  is_a ? namespaces().enter_a() : namespaces().enter_b();
  auto link = RawLink::open({.interface = is_a ? "va" : "vb", .address = address, .slot = slot});
  BOOST_REQUIRE_MESSAGE(link.ok(), (link.ok() ? "" : link.error()));
  return std::move(*link);
}

std::unique_ptr<UdpLink> open_udp(const wire::Gid& address) {
  address == kA || address == kA6 ? namespaces().enter_a() : namespaces().enter_b();
  auto link = UdpLink::open({.address = address, .slot = 0});
  BOOST_REQUIRE_MESSAGE(link.ok(), (link.ok() ? "" : link.error()));
  return std::move(*link);
}

/// Like build(), with the interfaces' MACs.
std::vector<std::byte> addressed(std::vector<std::byte> frame, const wire::MacAddress& to,
                                 const wire::MacAddress& from) {
  std::memcpy(frame.data(), to.octets.data(), 6);
  std::memcpy(frame.data() + 6, from.octets.data(), 6);
  return frame;
}

void send_frame(Link& link, const wire::Gid& to, wire::Qpn qpn, const std::vector<std::byte>& frame) {
  std::uint32_t hint = 0;
  const auto room = link.reserve({to, qpn, hint}, frame.size());
  BOOST_REQUIRE(!room.empty());
  std::memcpy(room.data(), frame.data(), frame.size());
  link.commit(frame.size(), wire::IcrcState::present);
}

void leave(Link& link) {
  link.publish();
  link.flush();
}

/// From the IP header on.
std::vector<std::byte> packet_of(const std::vector<std::byte>& frame) {
  return {frame.begin() + 14, frame.end()};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(two_namespaces, *boost::unit_test::precondition(have_namespaces))

BOOST_AUTO_TEST_CASE(frames_of_every_size_arrive_octet_for_octet_both_ways) {
  const auto a = open_raw(kA);
  const auto b = open_raw(kB);
  for (const bool from_a : {true, false}) {
    RawLink& sender = from_a ? *a : *b;
    RawLink& receiver = from_a ? *b : *a;
    std::vector<std::vector<std::byte>> sent;
    constexpr std::size_t kPayloadBytes[] = {0, 1, 3, 4, 64, 1000, 1024, 4093, 4096};
    for (const std::size_t bytes : kPayloadBytes) {
      const FrameRequest request{.source = from_a ? kA : kB,
                                 .destination = from_a ? kB : kA,
                                 .psn = static_cast<std::uint32_t>(sent.size()),
                                 .payload_bytes = bytes,
                                 .traffic_class = 0x68,
                                 .udp_source_port = 0xd123,
                                 .ipv4_identification = 0x4711};
      sent.push_back(addressed(build(request), receiver.mac(), sender.mac()));
      send_frame(sender, request.destination, request.qpn, sent.back());
    }
    leave(sender);
    Collector collector;
    BOOST_REQUIRE(until([&] { return collector.frames.size() == sent.size(); }, [&] { pump(receiver, collector); }));
    for (std::size_t i = 0; i < sent.size(); ++i) BOOST_TEST(collector.frames[i] == sent[i]);
  }
  BOOST_TEST(a->frames_refused() == 0);
}

BOOST_AUTO_TEST_CASE(ipv6_frames_arrive_too) {
  const auto a = open_raw(kA6);
  const auto b = open_udp(kB6);
  namespaces().enter_a();
  const auto mac = a->resolve(kB6);
  BOOST_REQUIRE(mac.has_value());
  const auto there =
      addressed(build({.source = kA6, .destination = kB6, .psn = 3, .payload_bytes = 999}), mac->mac(), a->mac());
  send_frame(*a, kB6, wire::Qpn(0x11), there);
  leave(*a);
  Collector at_b;
  BOOST_REQUIRE(until([&] { return at_b.frames.size() == 1; }, [&] { pump(*b, at_b); }));
  BOOST_TEST(packet_of(at_b.frames[0]) == packet_of(there));
  BOOST_REQUIRE(commit(*b, {.source = kB6, .destination = kA6, .psn = 4, .payload_bytes = 998, .hop_limit = 9}));
  leave(*b);
  Collector at_a;
  BOOST_REQUIRE(until([&] { return at_a.frames.size() == 1; }, [&] { pump(*a, at_a); }));
  BOOST_TEST(is_intact(at_a.frames[0]));
  const auto view = wire::parse_frame(at_a.frames[0]);
  BOOST_TEST(view->udp().checksum == 0);
  BOOST_TEST(view->ip().hop_limit() == 9);
}

BOOST_AUTO_TEST_CASE(ten_thousand_frames_keep_their_order) {
  constexpr std::uint32_t kFrames = 10'000;
  const auto a = open_raw(kA);
  const auto b = open_raw(kB);
  Collector collector;
  std::uint32_t sent = 0;
  const auto step = [&] {
    while (sent < kFrames && sent - collector.frames.size() < 100) {
      const FrameRequest request{.source = kA, .destination = kB, .psn = sent, .payload_bytes = sent % 2048};
      send_frame(*a, kB, request.qpn, addressed(build(request), b->mac(), a->mac()));
      ++sent;
    }
    leave(*a);
    pump(*b, collector);
  };
  BOOST_REQUIRE(until([&] { return collector.frames.size() == kFrames; }, step, std::chrono::seconds(60)));
  for (std::uint32_t i = 0; i < kFrames; ++i)
    if (psn_of(collector.frames[i]) != i || !is_intact(collector.frames[i]))
      BOOST_FAIL("frame " << i << " is not right");
}

BOOST_AUTO_TEST_CASE(neighbours_are_found_and_absent_ones_are_not) {
  const auto a = open_raw(kA);
  const auto b = open_raw(kB);
  namespaces().enter_a();
  BOOST_REQUIRE(a->resolve(kB).has_value());
  BOOST_TEST((*a->resolve(kB) == b->mac()));
  BOOST_TEST((*a->resolve(kA) == a->mac()));
  const Time before = clock_now();
  BOOST_TEST(!a->resolve(wire::Gid::from_ipv4(0x0a2f0009)).has_value());  // on the link, nobody there
  BOOST_TEST(!a->resolve(wire::Gid::from_ipv4(0x08080808)).has_value());  // no route
  BOOST_TEST((clock_now() - before < seconds(5)));
  BOOST_TEST(
      (a->resolve(wire::Gid::from_ipv4(0xe0000101))->mac().octets == std::array<std::uint8_t, 6>{1, 0, 0x5e, 0, 1, 1}));
}

/// Two interfaces that are one cable, in the namespace A.
struct Cable {
  Cable() {
    namespaces().enter_a();
    BOOST_REQUIRE(
        run("ip link add vc type veth peer name vd && ip addr add 10.49.0.1/24 dev vc && ip link set vc up && "
            "ip link set vd up"));
    await_carrier(true);
  }
  ~Cable() { run("ip link del vc >/dev/null 2>&1"); }
  static bool run(const std::string& command) { return std::system(command.c_str()) == 0; }
  /// The kernel takes up to a second to notice (its linkwatch).
  static void await_carrier(bool is_there) {
    BOOST_REQUIRE(until([&] { return is_running("vc") == is_there; }, [] { std::this_thread::yield(); }));
  }
};

BOOST_AUTO_TEST_CASE(each_change_of_the_interface_is_told) {
  const Cable cable;
  const auto raw = RawLink::open({.interface = "vc", .address = wire::Gid::from_ipv4(0x0a310001), .slot = 3});
  const auto udp = UdpLink::open({.address = wire::Gid::from_ipv4(0x0a310001), .slot = 4});
  BOOST_REQUIRE((raw.ok() && udp.ok()));
  struct Change {
    const char* command;
    Notice notice;
  };
  // The other end of the cable, and the interface itself.
  const Change changes[] = {{"ip link set vd down", Notice::port_down},
                            {"ip link set vd up", Notice::port_up},
                            {"ip link set vc down", Notice::port_down},
                            {"ip link set vc up", Notice::port_up},
                            {"ip link del vc", Notice::port_down}};
  for (Link* const link : {static_cast<Link*>(raw->get()), static_cast<Link*>(udp->get())}) {
    BOOST_TEST(link->has_signal());
    BOOST_TEST(link->wait_descriptors().control >= 0);
  }
  for (const Change& change : changes) {
    BOOST_REQUIRE(Cable::run(change.command));
    for (Link* const link : {static_cast<Link*>(raw->get()), static_cast<Link*>(udp->get())}) {
      std::optional<Notice> notice;
      const auto look = [&] {
        link->service();
        if (!notice) notice = link->take_notice();
      };
      BOOST_TEST_REQUIRE(until([&] { return notice.has_value(); }, look), change.command);
      BOOST_TEST((*notice == change.notice), change.command);
      BOOST_TEST(!link->take_notice().has_value());
      BOOST_TEST(link->has_signal() == (change.notice == Notice::port_up));
    }
  }
}

BOOST_AUTO_TEST_CASE(the_speed_of_an_interface_is_what_its_driver_says) {
  const Cable cable;
  BOOST_TEST((speed_of_interface("vc") == std::uint64_t{10'000'000'000}));  // of a veth
  BOOST_TEST((numa_node_of_interface("vc") == std::nullopt));
}

BOOST_AUTO_TEST_CASE(links_on_an_interface_that_is_down_have_no_signal) {
  const Cable cable;
  BOOST_REQUIRE(Cable::run("ip link set vd down"));
  Cable::await_carrier(false);
  const auto raw = RawLink::open({.interface = "vc", .address = wire::Gid::from_ipv4(0x0a310001), .slot = 3});
  BOOST_REQUIRE(raw.ok());
  BOOST_TEST(!(*raw)->has_signal());
}

BOOST_AUTO_TEST_CASE(the_kernel_does_not_answer_with_port_unreachable) {
  auto a = open_raw(kA);
  namespaces().enter_b();
  const int probe = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const SocketAddress to = socket_address(kA, wire::kRoceUdpPort, 0);
  BOOST_REQUIRE(::connect(probe, &to.any, socket_address_bytes(to)) == 0);
  const std::vector<std::byte> datagram(60);  // QPN 0: passes the filter
  Collector collector;
  BOOST_REQUIRE(::send(probe, datagram.data(), datagram.size(), 0) == 60);
  BOOST_REQUIRE(until([&] { return collector.frames.size() == 1; }, [&] { pump(*a, collector); }));
  pollfd wait{probe, POLLIN, 0};
  BOOST_TEST(::poll(&wait, 1, 100) == 0);
  a.reset();
  BOOST_REQUIRE(::send(probe, datagram.data(), datagram.size(), 0) == 60);
  BOOST_TEST(::poll(&wait, 1, 5000) == 1);  // without the link it does answer: the check above could have failed
  ::close(probe);
}

BOOST_AUTO_TEST_CASE(a_udp_link_puts_on_the_wire_what_the_icrc_says) {
  const auto a = open_raw(kA);
  const auto b = open_udp(kB);
  BOOST_TEST(b->limits().mtu_bytes == 4096);
  std::vector<std::vector<std::byte>> sent;
  for (std::uint32_t psn = 0; psn < 40; ++psn) {
    const FrameRequest request{
        .source = kB, .destination = kA, .psn = psn, .payload_bytes = 4096, .traffic_class = 0x22, .hop_limit = 33};
    sent.push_back(build(request));
    BOOST_REQUIRE(commit(*b, request));
  }
  leave(*b);
  Collector collector;
  BOOST_REQUIRE(until([&] { return collector.frames.size() == sent.size(); }, [&] { pump(*a, collector); }));
  // Identification 0, DF, UDP checksum 0, TOS, TTL: the packets are the very ones that were built.
  for (std::size_t i = 0; i < sent.size(); ++i) BOOST_TEST(packet_of(collector.frames[i]) == packet_of(sent[i]));
}

BOOST_AUTO_TEST_CASE(udp_link_finds_the_identification_of_a_foreign_sender) {
  const auto a = open_raw(kA);
  const auto b = open_udp(kB);
  namespaces().enter_a();
  const auto mac = a->resolve(kB);
  BOOST_REQUIRE(mac.has_value());
  std::vector<std::vector<std::byte>> sent;
  constexpr std::uint16_t kIdentifications[] = {0, 1, 0x1234, 0xffff};
  for (const std::uint16_t identification : kIdentifications) {
    const FrameRequest request{.source = kA,
                               .destination = kB,
                               .psn = static_cast<std::uint32_t>(sent.size()),
                               .payload_bytes = 1000,
                               .udp_source_port = 0xe001,
                               .ipv4_identification = identification};
    sent.push_back(addressed(build(request), mac->mac(), a->mac()));
    send_frame(*a, kB, request.qpn, sent.back());
  }
  auto corrupt = sent[2];
  corrupt[100] ^= std::byte{1};
  send_frame(*a, kB, wire::Qpn(0x11), corrupt);
  leave(*a);
  Collector collector;
  BOOST_REQUIRE(until([&] { return collector.frames.size() == 5; }, [&] { pump(*b, collector); }));
  for (std::size_t i = 0; i < sent.size(); ++i) {
    BOOST_TEST(packet_of(collector.frames[i]) == packet_of(sent[i]));
    BOOST_TEST(collector.trusted[i]);
  }
  BOOST_TEST(!collector.trusted[4]);
  BOOST_TEST(!is_intact(collector.frames[4]));
}

BOOST_AUTO_TEST_CASE(each_process_of_a_node_gets_the_frames_of_its_slot) {
  const auto first = open_raw(kA, 0);
  const auto second = open_raw(kA, 1);
  const auto b = open_raw(kB);
  const std::uint32_t qpns[] = {0x000011, 0x010011, 0x020011, 0x000001, 0x010001, 0xffffff, 0x000000};
  std::uint32_t psn = 0;
  for (const std::uint32_t qpn : qpns) {
    const FrameRequest request{.source = kB, .destination = kA, .qpn = wire::Qpn(qpn), .psn = psn++};
    send_frame(*b, kA, request.qpn, addressed(build(request), first->mac(), b->mac()));
  }
  leave(*b);
  Collector at_first;
  Collector at_second;
  BOOST_TEST(until([&] { return at_first.frames.size() >= 4 && at_second.frames.size() >= 5; },
                   [&] {
                     pump(*first, at_first);
                     pump(*second, at_second);
                   }));
  const auto psns = [](const Collector& collector) {
    std::vector<std::uint32_t> result;
    for (const auto& frame : collector.frames) result.push_back(psn_of(frame));
    return result;
  };
  BOOST_TEST(psns(at_first) == (std::vector<std::uint32_t>{0, 3, 5, 6}));
  BOOST_TEST(psns(at_second) == (std::vector<std::uint32_t>{1, 3, 4, 5, 6}));
}

BOOST_AUTO_TEST_CASE(frames_to_the_own_node_stay_inside) {
  const auto first = open_raw(kA, 0);
  const auto second = open_raw(kA, 1);
  const auto b = open_raw(kB);
  Collector nothing;
  for (int pass = 0; pass < 100; ++pass) pump(*first, nothing);  // hears the second one's greeting
  BOOST_TEST(nothing.frames.empty());
  std::uint32_t psn = 0;
  for (const std::uint32_t qpn : {0x000011u, 0x010011u, 0x000001u}) {
    const FrameRequest request{
        .source = kA, .destination = kA, .qpn = wire::Qpn(qpn), .psn = psn++, .payload_bytes = 50};
    send_frame(*first, kA, request.qpn, build(request));
  }
  leave(*first);
  Collector at_first;
  Collector at_second;
  BOOST_REQUIRE(until([&] { return at_first.frames.size() >= 2 && at_second.frames.size() >= 2; },
                      [&] {
                        pump(*first, at_first);
                        pump(*second, at_second);
                      }));
  BOOST_TEST(psn_of(at_first.frames[0]) == 0);
  BOOST_TEST(psn_of(at_first.frames[1]) == 2);
  BOOST_TEST(psn_of(at_second.frames[0]) == 1);
  BOOST_TEST(psn_of(at_second.frames[1]) == 2);
  for (const auto& frame : at_first.frames) BOOST_TEST(is_intact(frame));
  Collector at_b;
  BOOST_TEST(pump(*b, at_b) == 0);
}

BOOST_AUTO_TEST_CASE(frames_to_groups_reach_every_other_process_once) {
  for (const bool ipv4 : {true, false}) {
    const wire::Gid& address = ipv4 ? kA : kA6;
    wire::Gid group = wire::Gid::from_ipv4(0xef010203);
    if (!ipv4) group = wire::Gid{{0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x47, 0x91}};
    const auto first = open_raw(address, 0);
    const auto second = open_raw(address, 1);
    const auto b = open_raw(ipv4 ? kB : kB6);
    Collector at_first;
    Collector at_second;
    Collector at_b;
    for (int pass = 0; pass < 100; ++pass) pump(*first, at_first);  // hears the second one's greeting
    constexpr std::uint32_t kFrames = 5;
    for (std::uint32_t psn = 0; psn < kFrames; ++psn) {
      const FrameRequest request{.source = address, .destination = group, .qpn = wire::kMulticastQpn, .psn = psn};
      send_frame(*first, group, request.qpn, addressed(build(request), first->resolve(group)->mac(), first->mac()));
    }
    // What comes behind on both ways shows that nothing came twice.
    const FrameRequest last{.source = address, .destination = address, .qpn = wire::Qpn(0x010011), .psn = kFrames};
    send_frame(*first, address, last.qpn, build(last));
    const FrameRequest away{.source = address, .destination = ipv4 ? kB : kB6, .qpn = wire::Qpn(0x11), .psn = kFrames};
    send_frame(*first, away.destination, away.qpn, addressed(build(away), b->mac(), first->mac()));
    leave(*first);
    BOOST_TEST(until([&] { return at_second.frames.size() > kFrames && at_b.frames.size() > kFrames; },
                     [&] {
                       pump(*second, at_second);
                       pump(*b, at_b);
                     }));
    pump(*first, at_first);
    BOOST_TEST(at_first.frames.empty());
    for (const Collector* collector : {&at_second, &at_b}) {
      BOOST_REQUIRE(collector->frames.size() == kFrames + 1);
      for (std::uint32_t psn = 0; psn <= kFrames; ++psn) BOOST_TEST(psn_of(collector->frames[psn]) == psn);
    }
  }
}

BOOST_AUTO_TEST_CASE(the_wait_descriptor_tells_of_frames) {
  const auto a = open_raw(kA);
  const auto b = open_raw(kB);
  pollfd wait{a->wait_descriptors().frames, POLLIN, 0};
  Collector collector;
  until([&] { return ::poll(&wait, 1, 0) == 0; }, [&] { pump(*a, collector); });
  BOOST_TEST(a->arm());
  a->flush();
  const FrameRequest request{.source = kB, .destination = kA, .psn = 1};
  send_frame(*b, kA, request.qpn, addressed(build(request), a->mac(), b->mac()));
  leave(*b);
  BOOST_TEST(::poll(&wait, 1, 5000) == 1);
  BOOST_TEST(a->fetch(Link::kAll));
  BOOST_TEST(!a->arm());
}

BOOST_AUTO_TEST_CASE(other_frames_of_the_interface_do_not_come_up) {
  const auto a = open_raw(kA);
  namespaces().enter_b();
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const SocketAddress other_port = socket_address(kA, 4790, 0);
  const std::vector<std::byte> datagram(60);
  BOOST_REQUIRE(::sendto(socket, datagram.data(), datagram.size(), 0, &other_port.any, sizeof other_port.ipv4) == 60);
  const SocketAddress right_port = socket_address(kA, wire::kRoceUdpPort, 0);
  BOOST_REQUIRE(::sendto(socket, datagram.data(), datagram.size(), 0, &right_port.any, sizeof right_port.ipv4) == 60);
  ::close(socket);
  Collector collector;
  BOOST_REQUIRE(until([&] { return !collector.frames.empty(); }, [&] { pump(*a, collector); }));
  BOOST_REQUIRE(collector.frames.size() == 1);
  BOOST_TEST(std::to_integer<int>(collector.frames[0][14 + 20 + 3]) == (wire::kRoceUdpPort & 0xff));
}

BOOST_AUTO_TEST_CASE(wrong_interfaces_and_addresses_are_refused_in_one_line) {
  namespaces().enter_a();
  const auto error_of = [](const char* interface, const wire::Gid& address) {
    const auto link = RawLink::open({.interface = interface, .address = address, .slot = 0});
    return link.ok() ? std::string() : link.error();
  };
  BOOST_TEST(error_of("nosuch0", kA) == "there is no interface nosuch0");
  BOOST_TEST(error_of("lo", wire::Gid::from_ipv4(0x7f000001)).find("lo is not Ethernet") != std::string::npos);
  BOOST_TEST(error_of("va", node(1)) == "node 127.47.91.1 is not an address of interface va: use --node 10.47.0.1");
}

BOOST_AUTO_TEST_CASE(a_smaller_interface_gives_a_smaller_path_mtu) {
  namespaces().enter_a();
  BOOST_REQUIRE(std::system("ip link set va mtu 1500") == 0);
  BOOST_TEST(open_raw(kA)->mtu_bytes() == 1024);
  BOOST_TEST(open_udp(kA)->limits().mtu_bytes == 1024);
  BOOST_REQUIRE(std::system("ip link set va mtu 9000") == 0);
  BOOST_TEST(open_raw(kA)->mtu_bytes() == 4096);
}

BOOST_AUTO_TEST_SUITE_END()
