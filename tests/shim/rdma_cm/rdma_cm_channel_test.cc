// Event channels are descriptors like others: O_NONBLOCK, poll, epoll, dup, fork, close.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "tests/shim/rdma_cm/rdma_cm_fixture.h"

using namespace rdma_cm_test;

BOOST_AUTO_TEST_CASE(a_channel_is_readable_exactly_while_an_event_waits) {
  Channel channel;
  Id id(channel);
  BOOST_CHECK(!is_readable(channel.descriptor()));
  BOOST_REQUIRE_EQUAL(id.resolve(own_address(), 1), 0);
  BOOST_CHECK(is_readable(channel.descriptor(), kPatienceMs));
  BOOST_CHECK(is_readable(channel.descriptor()));  // it stays so until the event is taken
  rdma_cm_event* const event = channel.expect(RDMA_CM_EVENT_ADDR_RESOLVED);
  BOOST_CHECK(event->id == id.id);
  BOOST_CHECK_EQUAL(event->status, 0);
  BOOST_CHECK_EQUAL(rdma_ack_cm_event(event), 0);
  BOOST_CHECK(!is_readable(channel.descriptor()));
}

BOOST_AUTO_TEST_CASE(without_blocking_no_event_is_EAGAIN) {
  Channel channel;
  Id id(channel);
  const int flags = fcntl(channel.descriptor(), F_GETFL);
  BOOST_CHECK_EQUAL(flags & O_NONBLOCK, 0);
  BOOST_REQUIRE_EQUAL(fcntl(channel.descriptor(), F_SETFL, flags | O_NONBLOCK), 0);
  rdma_cm_event* event = nullptr;
  errno = 0;
  BOOST_CHECK_EQUAL(rdma_get_cm_event(channel.channel, &event), -1);
  BOOST_CHECK_EQUAL(errno, EAGAIN);
  BOOST_REQUIRE_EQUAL(id.resolve(own_address(), 1), 0);
  channel.take(RDMA_CM_EVENT_ADDR_RESOLVED);
  BOOST_CHECK_EQUAL(rdma_get_cm_event(channel.channel, &event), -1);
  BOOST_CHECK_EQUAL(errno, EAGAIN);
}

BOOST_AUTO_TEST_CASE(who_blocks_is_woken_by_the_event) {
  Channel channel;
  Id id(channel);
  std::thread waiting([&] {
    rdma_cm_event* event = nullptr;
    if (rdma_get_cm_event(channel.channel, &event) != 0) std::abort();
    rdma_ack_cm_event(event);
  });
  BOOST_CHECK_EQUAL(id.resolve(own_address(), 1), 0);
  waiting.join();
  BOOST_CHECK(!is_readable(channel.descriptor()));
}

BOOST_AUTO_TEST_CASE(epoll_tells_an_edge_for_each_event) {
  Channel channel;
  Id id(channel);
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  epoll_event wish{.events = EPOLLIN | EPOLLET, .data = {.fd = channel.descriptor()}};
  BOOST_REQUIRE_EQUAL(epoll_ctl(epoll, EPOLL_CTL_ADD, channel.descriptor(), &wish), 0);
  epoll_event got{};
  BOOST_CHECK_EQUAL(epoll_wait(epoll, &got, 1, 0), 0);
  BOOST_REQUIRE_EQUAL(id.resolve(own_address(), 1), 0);
  BOOST_REQUIRE_EQUAL(epoll_wait(epoll, &got, 1, kPatienceMs), 1);
  BOOST_CHECK_EQUAL(got.data.fd, channel.descriptor());
  channel.take(RDMA_CM_EVENT_ADDR_RESOLVED);
  BOOST_REQUIRE_EQUAL(rdma_resolve_route(id.id, 2000), 0);
  BOOST_REQUIRE_EQUAL(epoll_wait(epoll, &got, 1, kPatienceMs), 1);
  channel.take(RDMA_CM_EVENT_ROUTE_RESOLVED);
  BOOST_CHECK_EQUAL(epoll_wait(epoll, &got, 1, 0), 0);
  close(epoll);
}

BOOST_AUTO_TEST_CASE(a_duplicate_is_the_same_channel) {
  Channel channel;
  Id id(channel);
  const int own = channel.descriptor();
  const int copy = dup(own);
  BOOST_REQUIRE_EQUAL(id.resolve(own_address(), 1), 0);
  BOOST_CHECK(is_readable(copy, kPatienceMs));
  channel.channel->fd = copy;  // as a program that moves its descriptors out of the way
  close(own);
  channel.take(RDMA_CM_EVENT_ADDR_RESOLVED);
  BOOST_CHECK(!is_readable(copy));
  BOOST_REQUIRE_EQUAL(rdma_resolve_route(id.id, 2000), 0);
  channel.take(RDMA_CM_EVENT_ROUTE_RESOLVED);
}

BOOST_AUTO_TEST_CASE(what_a_channel_held_ends_with_its_last_descriptor) {
  constexpr std::uint16_t kPort = 7001;
  auto* const id = new rdma_cm_id*;  // left behind, as by a program that forgets it
  Channel channel;
  BOOST_REQUIRE_EQUAL(rdma_create_id(channel.channel, id, nullptr, RDMA_PS_TCP), 0);
  sockaddr_in name = address("0.0.0.0", kPort);
  BOOST_REQUIRE_EQUAL(rdma_bind_addr(*id, reinterpret_cast<sockaddr*>(&name)), 0);
  const int copy = dup(channel.descriptor());
  channel.close();
  Channel another;
  Id late(another);
  BOOST_CHECK_EQUAL(late.bind("0.0.0.0", kPort), EADDRNOTAVAIL);
  close(copy);
  Id later(another);
  BOOST_CHECK_EQUAL(later.bind("0.0.0.0", kPort), 0);
}

BOOST_AUTO_TEST_CASE(an_id_takes_its_waiting_events_along_when_it_migrates) {
  Channel from;
  Channel to;
  Id id(from);
  BOOST_REQUIRE_EQUAL(id.resolve(own_address(), 1), 0);
  BOOST_REQUIRE(is_readable(from.descriptor(), kPatienceMs));
  BOOST_REQUIRE_EQUAL(rdma_migrate_id(id.id, to.channel), 0);
  BOOST_CHECK(!is_readable(from.descriptor()));
  to.take(RDMA_CM_EVENT_ADDR_RESOLVED);
  BOOST_REQUIRE_EQUAL(rdma_resolve_route(id.id, 2000), 0);
  to.take(RDMA_CM_EVENT_ROUTE_RESOLVED);
  BOOST_CHECK(!is_readable(from.descriptor()));
}

BOOST_AUTO_TEST_CASE(a_child_has_channels_of_its_own_and_the_parents_go_on) {
  Channel channel;
  Id id(channel);
  BOOST_REQUIRE_EQUAL(id.bind("0.0.0.0", 7002), 0);
  const pid_t child = fork();
  if (child == 0) {
    // No test macro may be used in the child.
    rdma_cm_event* event = nullptr;
    sockaddr_in name = address("0.0.0.0", 7003);
    rdma_event_channel* const own = rdma_create_event_channel();
    rdma_cm_id* fresh = nullptr;
    if (fcntl(channel.descriptor(), F_SETFL, O_NONBLOCK) != 0) _exit(1);
    if (rdma_get_cm_event(channel.channel, &event) == 0) _exit(2);
    if (own == nullptr || rdma_create_id(own, &fresh, nullptr, RDMA_PS_TCP) != 0) _exit(3);
    if (rdma_bind_addr(fresh, reinterpret_cast<sockaddr*>(&name)) != 0) _exit(4);
    if (rdma_listen(fresh, 1) != 0) _exit(5);
    if (rdma_destroy_id(fresh) != 0) _exit(6);
    rdma_destroy_event_channel(own);
    _exit(0);
  }
  int status = 0;
  BOOST_REQUIRE_EQUAL(waitpid(child, &status, 0), child);
  BOOST_CHECK_EQUAL(WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), 0);
  fcntl(channel.descriptor(), F_SETFL, 0);
  BOOST_REQUIRE_EQUAL(id.resolve(own_address(), 1), 0);
  channel.take(RDMA_CM_EVENT_ADDR_RESOLVED);
}
