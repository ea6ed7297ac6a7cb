// rdma_cm through librdmacm: ports and listeners by address family, with and without RDMA_OPTION_ID_AFONLY, as the
// kernel's cma_check_port and cma_match_private_data have them. The node's one address is also named in IPv6.
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "tests/shim/rdma_cm/rdma_cm_fixture.h"

using namespace rdma_cm_test;

namespace {

std::string own_address6() {
  return "::ffff:" + own_address();
}

struct FamilyId : Id {
  FamilyId(Channel& channel, int only) : Id(channel) {
    if (only >= 0) BOOST_REQUIRE_EQUAL(set_option(RDMA_OPTION_ID_AFONLY, only), 0);
  }
  int bind_and_listen(const std::string& to, std::uint16_t port) {
    if (const int error = bind(to, port); error != 0) return error;
    return rdma_listen(id, 4) == 0 ? 0 : errno;
  }
};

/// The listener that a request to `to` comes to.
rdma_cm_id* listener_of_request(Channel& listeners, std::uint16_t port, const std::string& to) {
  Channel channel;
  Id client(channel);
  prepare(channel, client, port, to);
  client.make_qp();
  BOOST_REQUIRE_EQUAL(connect(client), 0);
  rdma_cm_event* const request = listeners.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
  rdma_cm_id* const listener = request->listen_id;
  const Id server(request->id);
  BOOST_CHECK_EQUAL(rdma_get_local_addr(server.id)->sa_family, to.find(':') == to.npos ? AF_INET : AF_INET6);
  BOOST_CHECK_EQUAL(rdma_reject(server.id, nullptr, 0), 0);
  BOOST_CHECK_EQUAL(rdma_ack_cm_event(request), 0);
  channel.take(RDMA_CM_EVENT_REJECTED);
  return listener;
}

}  // namespace

BOOST_AUTO_TEST_CASE(wildcards_of_both_families_share_a_port_with_own_requests) {
  for (const bool six_first : {false, true}) {
    Channel channel;
    FamilyId four(channel, -1);  // IPv4 is for itself unless it says otherwise
    FamilyId six(channel, 1);
    const auto listen_six = [&] { BOOST_REQUIRE_EQUAL(six.bind_and_listen("::", 7120), 0); };
    if (six_first) listen_six();
    BOOST_REQUIRE_EQUAL(four.bind_and_listen("0.0.0.0", 7120), 0);
    if (!six_first) listen_six();
    BOOST_CHECK(listener_of_request(channel, 7120, own_address()) == four.id);
    BOOST_CHECK(listener_of_request(channel, 7120, own_address6()) == six.id);
    four.destroy();  // and one goes without the other
    BOOST_CHECK(listener_of_request(channel, 7120, own_address6()) == six.id);
    Channel asking;
    Id client(asking);
    prepare(asking, client, 7120);
    client.make_qp();
    BOOST_REQUIRE_EQUAL(connect(client), 0);
    BOOST_CHECK_EQUAL(asking.take(RDMA_CM_EVENT_REJECTED), 28);  // somebody listens, but not for this family
  }
}

BOOST_AUTO_TEST_CASE(an_IPv6_wildcard_is_for_both_families_unless_told_otherwise) {
  Channel channel;
  FamilyId both(channel, -1);
  FamilyId four(channel, -1);
  FamilyId six(channel, 1);
  BOOST_REQUIRE_EQUAL(both.bind_and_listen("::", 7121), 0);
  BOOST_CHECK_EQUAL(four.bind("0.0.0.0", 7121), EADDRNOTAVAIL);
  BOOST_CHECK_EQUAL(four.bind(own_address(), 7121), EADDRNOTAVAIL);
  BOOST_CHECK_EQUAL(six.bind("::", 7121), EADDRNOTAVAIL);
  BOOST_CHECK(listener_of_request(channel, 7121, own_address()) == both.id);
  BOOST_CHECK(listener_of_request(channel, 7121, own_address6()) == both.id);
}

BOOST_AUTO_TEST_CASE(IPv6_wildcard_needs_v6only_beside_an_IPv4_one) {
  Channel channel;
  FamilyId four(channel, -1);
  FamilyId both(channel, 0);
  FamilyId open_four(channel, 0);  // IPv4, and for all
  FamilyId six(channel, 1);
  BOOST_REQUIRE_EQUAL(four.bind("0.0.0.0", 7122), 0);
  BOOST_CHECK_EQUAL(both.bind("::", 7122), EADDRNOTAVAIL);
  four.destroy();
  BOOST_REQUIRE_EQUAL(open_four.bind_and_listen("0.0.0.0", 7122), 0);
  BOOST_CHECK_EQUAL(six.bind("::", 7122), EADDRNOTAVAIL);
  BOOST_CHECK(listener_of_request(channel, 7122, own_address6()) == open_four.id);
}

BOOST_AUTO_TEST_CASE(address_is_in_use_twice_but_distinct_in_the_other_family) {
  Channel channel;
  FamilyId one(channel, -1);
  FamilyId two(channel, -1);
  FamilyId six(channel, -1);
  BOOST_REQUIRE_EQUAL(one.bind_and_listen(own_address(), 7123), 0);
  BOOST_CHECK_EQUAL(two.bind(own_address(), 7123), EADDRINUSE);
  BOOST_REQUIRE_EQUAL(six.bind_and_listen(own_address6(), 7123), 0);
  BOOST_CHECK(listener_of_request(channel, 7123, own_address()) == one.id);
  BOOST_CHECK(listener_of_request(channel, 7123, own_address6()) == six.id);
}

BOOST_AUTO_TEST_CASE(an_id_resolves_within_its_family) {
  Channel channel;
  FamilyId four(channel, -1);
  BOOST_REQUIRE_EQUAL(four.bind("0.0.0.0", 7124), 0);
  BOOST_CHECK_EQUAL(four.resolve(own_address6(), 7125), EINVAL);
  BOOST_CHECK_EQUAL(four.resolve(own_address(), 7125), 0);
  channel.take(RDMA_CM_EVENT_ADDR_RESOLVED);
}

BOOST_AUTO_TEST_CASE(another_process_of_the_node_is_in_the_way_just_as_well) {
  using Answers = std::array<int, 4>;
  for (const bool is_specific : {false, true}) {
    Channel channel;
    FamilyId held(channel, -1);
    BOOST_REQUIRE_EQUAL(held.bind(is_specific ? own_address() : "0.0.0.0", 7127), 0);
    int told[2];
    BOOST_REQUIRE_EQUAL(pipe(told), 0);
    const pid_t child = fork();
    if (child == 0) {
      // None of these gets a device: that of before the fork is the parent's.
      Channel own;
      const Answers answers{FamilyId(own, -1).bind("0.0.0.0", 7127), FamilyId(own, -1).bind(own_address(), 7127),
                            FamilyId(own, 1).bind("::", 7127), FamilyId(own, -1).bind("::", 7127)};
      _exit(write(told[1], &answers, sizeof answers) == sizeof answers ? 0 : 1);
    }
    close(told[1]);
    Answers answers{};
    BOOST_CHECK_EQUAL(read(told[0], &answers, sizeof answers), static_cast<ssize_t>(sizeof answers));
    BOOST_CHECK_EQUAL(answers[0], EADDRNOTAVAIL);
    BOOST_CHECK_EQUAL(answers[1], is_specific ? EADDRINUSE : EADDRNOTAVAIL);
    BOOST_CHECK_EQUAL(answers[2], 0);  // the other family, for itself
    BOOST_CHECK_EQUAL(answers[3], EADDRNOTAVAIL);
    waitpid(child, nullptr, 0);
    close(told[0]);
  }
}
