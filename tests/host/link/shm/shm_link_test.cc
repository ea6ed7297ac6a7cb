// The shared-memory link: between two links of one process, across fork(), with peers that die, sleep, stop or come
// back.
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <optional>

#include "emulator/host/fabric_process/shm_ports.h"
#include "emulator/host/link/shm/shm_cable.h"
#include "emulator/host/link/shm/shm_uplink.h"
#include "tests/host/link/shm/shm_end.h"

namespace {
using namespace verbena;
using namespace verbena::host;
using namespace verbena::host::test;
}  // namespace

BOOST_AUTO_TEST_SUITE(shm_link)

BOOST_AUTO_TEST_CASE(two_links_exchange_frames_both_ways) {
  End a(1);
  End b(2);
  BOOST_TEST(a.link->slot() == 0);
  BOOST_TEST(b.link->slot() == 0);
  a.send(b, "hello");
  BOOST_TEST(b.wait_for(1));
  BOOST_TEST(b.received[0] == "hello");
  b.send(a, "answer");
  BOOST_TEST(a.wait_for(1));
  BOOST_TEST(a.received[0] == "answer");
  BOOST_TEST(a.link->statistics().vanished_unreachable == 0U);
}

BOOST_AUTO_TEST_CASE(processes_of_one_node_take_the_lowest_free_slot) {
  auto first = std::make_unique<End>(std::uint8_t{3});
  End second(3);
  BOOST_TEST(first->link->slot() == 0);
  BOOST_TEST(second.link->slot() == 1);
  first->send(second, "to my neighbour");
  BOOST_TEST(second.wait_for(1));
  first.reset();
  End third(3);
  BOOST_TEST(third.link->slot() == 0);
  third.send(second, "from the new one");
  BOOST_TEST(second.wait_for(2));
}

BOOST_AUTO_TEST_CASE(a_node_has_255_slots_and_then_says_so) {
  std::vector<NodeDirectory> seats;
  for (std::uint32_t i = 0; i < kSlots; ++i) {
    auto seat = NodeDirectory::join(fabric_name(), node(9));
    BOOST_REQUIRE(seat.ok());
    BOOST_REQUIRE(seat->slot() == i);
    seats.push_back(std::move(*seat));
  }
  const auto none = NodeDirectory::join(fabric_name(), node(9));
  BOOST_REQUIRE(!none.ok());
  BOOST_TEST(none.error().find("already has 255 processes") != std::string::npos);
  seats.erase(seats.begin() + 7);
  const auto again = NodeDirectory::join(fabric_name(), node(9));
  BOOST_REQUIRE(again.ok());
  BOOST_TEST(again->slot() == 7);
}

BOOST_AUTO_TEST_CASE(frames_to_the_own_process_loop_back) {
  End a(1);
  a.send(a, "to myself");
  BOOST_TEST(a.wait_for(1));
  BOOST_TEST(a.received[0] == "to myself");
}

BOOST_AUTO_TEST_CASE(frames_to_nobody_vanish_and_do_not_block) {
  End a(1);
  const Time start = clock_now();
  for (int i = 0; i < 100; ++i) a.send(node(77), wire::Qpn(17), "is there anybody");
  BOOST_TEST((clock_now() - start < seconds(1)));
  BOOST_TEST(a.link->statistics().vanished_unreachable == 100U);
}

BOOST_AUTO_TEST_CASE(group_frames_reach_every_process_but_the_sender) {
  const wire::Gid group = wire::Gid::from_ipv4(0xefc00101);
  End a(1);
  a.send(group, wire::kMulticastQpn, "alone");
  BOOST_TEST(a.link->statistics().vanished_multicast == 1U);
  End b(2);
  End sibling(1);
  End c(3);
  // Who comes later is found as well, though not by the first frame.
  BOOST_TEST(a.wait([&] {
    a.send(group, wire::kMulticastQpn, "to all");
    for (End* end : {&b, &sibling, &c}) end->pass();
    return !b.received.empty() && !sibling.received.empty() && !c.received.empty();
  }));
  for (End* end : {&b, &sibling, &c}) BOOST_TEST(end->received[0] == "to all");
  BOOST_TEST(a.received.empty());
}

BOOST_AUTO_TEST_CASE(a_peer_that_comes_later_is_found) {
  End a(1);
  a.send(node(2), wire::Qpn(17), "too early");
  BOOST_TEST(a.link->statistics().vanished_unreachable == 1U);
  End b(2);
  BOOST_TEST(a.wait([&] {
    a.send(b, "now");
    b.pass();
    return !b.received.empty();
  }));
  BOOST_TEST(b.received[0] == "now");
}

BOOST_AUTO_TEST_CASE(both_sides_calling_at_once_keep_each_direction_in_order) {
  End a(1);
  End b(2);
  // Both have called before either has answered: neither services before the frames are in.
  constexpr int kFrames = 200;
  int sent_a = 0;
  int sent_b = 0;
  for (int i = 0; i < 1000 && (sent_a < kFrames || sent_b < kFrames); ++i) {
    if (sent_a < kFrames) sent_a += a.try_send(b.address, b.qpn(), std::to_string(sent_a));
    if (sent_b < kFrames) sent_b += b.try_send(a.address, a.qpn(), std::to_string(sent_b));
    if (i % 50 == 49) {
      a.pass();
      b.pass();
    }
  }
  BOOST_TEST(b.wait_for(kFrames));
  BOOST_TEST(a.wait_for(kFrames));
  for (int i = 0; i < kFrames; ++i) {
    BOOST_REQUIRE(a.received[static_cast<std::size_t>(i)] == std::to_string(i));
    BOOST_REQUIRE(b.received[static_cast<std::size_t>(i)] == std::to_string(i));
  }
}

BOOST_AUTO_TEST_CASE(full_ring_is_back_pressure_and_a_stopped_peer_loses_frames) {
  End a(1);
  End b(2);
  const std::string text(4000, 'x');
  a.send(b, text);
  std::size_t sent = 1;
  while (a.try_send(b.address, b.qpn(), text)) ++sent;
  BOOST_TEST(sent < kRingBytes / text.size() + 1);
  BOOST_TEST(b.wait_for(sent));
  BOOST_TEST(a.try_send(b.address, b.qpn(), text));
  while (a.try_send(b.address, b.qpn(), text)) ++sent;
  // b does nothing from here on: after a while its frames vanish instead of holding up everybody else's.
  BOOST_TEST(a.wait([&] { return a.try_send(b.address, b.qpn(), text); }));
  BOOST_TEST(a.link->statistics().vanished_stalled == 1U);
  BOOST_TEST(b.wait_for(sent + 1));
  a.send(b, "back again");
  BOOST_TEST(b.wait([&] { return b.received.back() == "back again"; }));
}

BOOST_AUTO_TEST_CASE(burst_after_a_long_silence_meets_back_pressure_not_loss) {
  End a(1);
  End b(2);
  a.send(b, "hello");
  BOOST_TEST(b.wait_for(1));
  a.link->receive(clock_now() - seconds(10), a, 1);  // the last pass was long ago
  const std::string frame(4000, 'x');
  while (a.try_send(b.address, b.qpn(), frame)) {
  }
  a.pass();
  BOOST_TEST(!a.try_send(b.address, b.qpn(), frame));
  BOOST_TEST(a.link->statistics().vanished_stalled == 0U);
}

BOOST_AUTO_TEST_CASE(what_a_peer_sent_before_it_left_still_arrives) {
  End b(2);
  {
    End a(1);
    a.send(b, "last words");
  }
  BOOST_TEST(b.wait_for(1));
  BOOST_TEST(b.received[0] == "last words");
  // ... and the way back is gone.
  b.send(node(1), wire::Qpn(17), "too late");
  BOOST_TEST(b.link->statistics().vanished_unreachable == 1U);
}

BOOST_AUTO_TEST_CASE(a_killed_peer_is_noticed_and_its_successor_is_reached) {
  End a(1);
  const std::string fabric = fabric_name();  // of this process, not the child's
  const auto stream = [&fabric] {
    End peer(2, fabric);
    Child::tell();
    for (;;) {
      peer.pass();
      if (!peer.received.empty()) peer.try_send(node(1), wire::Qpn(17), "alive");
    }
    return 0;
  };
  char told = 0;
  for (int life = 0; life < 3; ++life) {
    Child child(stream);
    BOOST_REQUIRE(child.wait_told(told));
    a.received.clear();
    BOOST_TEST(a.wait([&] {
      a.try_send(node(2), wire::Qpn(17), "who is there");
      return a.received.size() > 100;
    }));
    child.kill_now();  // in the middle of its stream
    const std::uint64_t before = a.link->statistics().vanished_unreachable;
    BOOST_TEST(a.wait([&] {
      a.try_send(node(2), wire::Qpn(17), "and now");
      return a.link->statistics().vanished_unreachable > before;
    }));
    // Nothing is left behind: the slot is free at once.
    const auto seat = NodeDirectory::join(fabric, node(2));
    BOOST_REQUIRE(seat.ok());
    BOOST_TEST(seat->slot() == 0);
  }
}

BOOST_AUTO_TEST_CASE(eight_processes_talk_to_each_other_while_some_are_killed) {
  const std::string fabric = fabric_name();
  constexpr std::uint8_t kProcesses = 8;
  const auto talker = [&fabric](std::uint8_t own) {
    return [&fabric, own] {
      End me(own, fabric);
      Child::tell();
      // Everybody sends to everybody and is done when it has heard 100 frames of each of those that live.
      std::array<std::size_t, kProcesses + 1> heard{};
      for (std::uint64_t turn = 0;; ++turn) {
        const auto to = static_cast<std::uint8_t>(1 + turn % kProcesses);
        if (to != own) me.try_send(node(to), wire::Qpn(17), std::string(1, static_cast<char>('0' + own)));
        me.pass();
        for (const std::string& text : me.received) ++heard[static_cast<std::size_t>(text[0] - '0')];
        me.received.clear();
        bool done = own > 2;  // 1 and 2 are the ones to be killed
        for (std::uint8_t other = 3; other <= kProcesses; ++other) done = done && (other == own || heard[other] >= 100);
        if (done) {
          Child::tell('d');
          done = false;
          heard.fill(1000);
          if (own > 2)
            for (const Time end = clock_now() + seconds(1); clock_now() < end;) {  // let the slower ones hear us
              for (std::uint8_t other = 3; other <= kProcesses; ++other)
                if (other != own) me.try_send(node(other), wire::Qpn(17), std::string(1, static_cast<char>('0' + own)));
              me.pass();
              me.received.clear();
            }
          return 0;
        }
        if (turn % 64 == 0) std::this_thread::yield();
      }
      return 1;
    };
  };
  std::vector<std::unique_ptr<Child>> children;
  char told = 0;
  for (std::uint8_t own = 1; own <= kProcesses; ++own) {
    children.push_back(std::make_unique<Child>(talker(own)));
    BOOST_REQUIRE(children.back()->wait_told(told));
  }
  children[0]->kill_now();
  children[1]->kill_now();
  for (std::size_t i = 2; i < kProcesses; ++i) {
    BOOST_TEST(children[i]->wait_told(told));
    BOOST_TEST(told == 'd');
    BOOST_TEST(children[i]->join() == 0);
  }
}

BOOST_AUTO_TEST_CASE(a_sleeper_is_rung_once_and_a_poller_is_not) {
  End a(1);
  End b(2);
  a.send(b, "meet");
  BOOST_TEST(b.wait_for(1));
  BOOST_TEST(a.wait([&] { return !a.link->next_deadline().has_value(); }));  // answered and settled
  const auto bell_is_rung = [&] {
    pollfd descriptor{b.link->wait_descriptors().frames, POLLIN, 0};
    return poll(&descriptor, 1, 0) == 1;
  };
  b.link->service();  // empties the doorbell
  BOOST_TEST(b.link->arm());
  BOOST_TEST(!bell_is_rung());
  const auto wakes = a.link->statistics().wakes;
  a.send(b, "wake up");
  BOOST_TEST(bell_is_rung());
  a.try_send(b.address, b.qpn(), "and more");
  BOOST_TEST(a.link->statistics().wakes == wakes + 1);
  BOOST_TEST(b.wait_for(3));
  BOOST_TEST(b.link->arm());
  b.link->disarm();  // polls: not to be rung
  const auto rung = a.link->statistics().wakes;
  a.try_send(b.address, b.qpn(), "no need to ring");
  BOOST_TEST(a.link->statistics().wakes == rung);
}

BOOST_AUTO_TEST_CASE(arming_fails_while_frames_wait) {
  End a(1);
  End b(2);
  a.send(b, "meet");
  BOOST_TEST(b.wait_for(1));
  a.send(b, "waiting");
  BOOST_TEST(!b.link->arm());
  BOOST_TEST(b.wait_for(2));
  BOOST_TEST(b.link->arm());
}

BOOST_AUTO_TEST_CASE(a_peer_that_neither_polls_nor_sleeps_is_rung_after_a_while) {
  Met met;
  met.b.link->disarm();  // the last poll of an application that then sleeps on something else
  const auto kicks = met.a.link->statistics().kicks;
  met.a.send(met.b, "are you there");
  BOOST_TEST(met.a.link->next_deadline().has_value());
  BOOST_TEST(met.a.wait([&] { return met.a.link->statistics().kicks > kicks; }));
  BOOST_TEST(met.b_is_rung());
}

BOOST_AUTO_TEST_CASE(what_is_sent_before_the_called_one_has_answered_wakes_it) {
  // A fabric process that falls asleep between its answer and the caller's look at it. Nobody looks again later.
  EngineConfig config;
  config.fabric = fabric_name();
  auto port = ShmPorts::open(config.fabric);
  BOOST_REQUIRE(port.ok());
  config.address = node(1);
  auto uplink = ShmUplink::open(config);
  BOOST_REQUIRE(uplink.ok());
  (*port)->take_calls();
  (*port)->acknowledge_doorbell();
  struct Taker final : PeerSink {
    std::size_t turn(const PeerName&) override { return SIZE_MAX; }
    void frame(std::span<const std::byte>, wire::IcrcState) override {}
  } taker;
  BOOST_TEST((*port)->arm(taker));
  std::uint32_t hint = 0;
  const std::span<std::byte> room = (*uplink)->reserve({node(2), wire::Qpn(17), hint}, 64);
  BOOST_REQUIRE(room.size() == 64u);
  (*uplink)->commit(room.size(), wire::IcrcState::present);
  (*uplink)->publish();
  (*uplink)->flush();
  (*uplink)->service();  // the answer
  pollfd descriptor{(*port)->wait_descriptors().frames, POLLIN, 0};
  BOOST_TEST(poll(&descriptor, 1, 0) == 1);
}

BOOST_AUTO_TEST_CASE(fork_holds_and_releases_and_the_child_lets_go_of_the_name) {
  const std::string fabric = fabric_name();
  auto a = std::make_unique<End>(std::uint8_t{1}, fabric);
  End b(2, fabric);
  a->send(b, "meet");
  BOOST_TEST(b.wait_for(1));
  b.send(*a, "you");
  BOOST_TEST(a->wait_for(1));
  a->link->parts().fork_guard->hold_for_fork();
  Child child([&] {
    a->link->parts().fork_guard->release_after_fork();
    a->link->parts().fork_guard->abandon_after_fork();
    Child::tell();
    pause();
    return 0;
  });
  a->link->parts().fork_guard->release_after_fork();
  char told = 0;
  BOOST_REQUIRE(child.wait_told(told));
  a->send(b, "after the fork");
  BOOST_TEST(b.wait_for(2));
  // The parent goes, its child stays: the peer notices all the same, and the seat is free.
  a.reset();
  BOOST_TEST(b.wait([&] {
    b.try_send(node(1), wire::Qpn(17), "gone?");
    return b.link->statistics().vanished_unreachable > 0;
  }));
  const auto seat = NodeDirectory::join(fabric, node(1));
  BOOST_REQUIRE(seat.ok());
  BOOST_TEST(seat->slot() == 0);
}

BOOST_AUTO_TEST_CASE(childs_mapping_in_a_rings_place_survives_the_rings_release) {
  const Descriptor memfd = make_sealed_memory("verbena-test", kProcessPageBytes);
  auto page = std::make_optional(SharedMapping::map(memfd.get(), kProcessPageBytes));
  BOOST_REQUIRE(bool(*page));
  Child child([&] {
    void* const place = page->base();
    if (mmap(place, kProcessPageBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != place)
      return 1;
    page.reset();
    unsigned char resident[kProcessPageBytes / 4096];
    return mincore(place, kProcessPageBytes, resident) == 0 ? 0 : 2;  // ENOMEM: nothing is mapped there
  });
  BOOST_TEST(child.join() == 0);
  unsigned char resident[kProcessPageBytes / 4096];
  void* const place = page->base();
  page.reset();
  BOOST_TEST(mincore(place, kProcessPageBytes, resident) == -1);  // the parent's own goes
}

BOOST_AUTO_TEST_SUITE_END()
