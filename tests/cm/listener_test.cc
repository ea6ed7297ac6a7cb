// Listeners of one service: who of those that ask comes to whom, by the IP version that a request names.
#include <boost/test/unit_test.hpp>

#include "tests/cm/manager_pair.h"

using namespace verbena;
using namespace verbena::cm;
using namespace verbena::cm::test;

namespace {

constexpr std::uint8_t kNoAddresses = 0;
constexpr wire::IpVersions kIpv4{.ipv4 = true};
constexpr wire::IpVersions kIpv6{.ipv6 = true};

PrivateData named_by(std::uint8_t ip_version) {
  wire::IpAddressingHeader header;
  header.ip_version = ip_version;
  return PrivateData::of(wire::IpAddressingHeaderLayout::emit(header));
}

/// Asks, and tells who was asked; 0: nobody. `status` is then what the asker was told.
std::uint64_t asked(Pair& pair, std::uint8_t ip_version, bool by_datagram, std::uint16_t& status) {
  RequestInit init = pair.request_init();
  init.private_data = named_by(ip_version);
  const ConnectionId id =
      by_datagram ? pair.active.request_service(pair.now, init) : pair.active.request(pair.now, init);
  pair.carry(pair.active, pair.passive);
  std::uint64_t context = 0;
  if (const auto event = pair.passive.events().poll()) {
    context = event->context;
    pair.passive.destroy(pair.now, event->connection);
  }
  pair.carry(pair.passive, pair.active);
  const auto answer = pair.active.events().poll();
  BOOST_REQUIRE(answer.has_value());
  status = answer->status;
  pair.active.destroy(pair.now, id);
  return context;
}

}  // namespace

BOOST_AUTO_TEST_CASE(requests_go_to_the_listener_for_their_ip_version) {
  for (const bool by_datagram : {false, true}) {
    Pair pair;
    pair.passive.listeners().remove(kService, kListener);
    BOOST_TEST(pair.passive.listeners().add(kService, 4, kIpv4));
    BOOST_TEST(pair.passive.listeners().add(kService, 6, kIpv6));
    std::uint16_t status = 0;
    BOOST_TEST(asked(pair, 4, by_datagram, status) == 4u);
    BOOST_TEST(asked(pair, 6, by_datagram, status) == 6u);
    // Neither takes who says nothing of addresses, nor does one for both; they are there, though.
    BOOST_TEST(asked(pair, kNoAddresses, by_datagram, status) == 0u);
    BOOST_TEST(status == (by_datagram ? 2u : 28u));
    pair.passive.listeners().remove(kService, 4);
    pair.passive.listeners().remove(kService, 6);
    BOOST_TEST(pair.passive.listeners().add(kService, 46, wire::kBothIpVersions));
    BOOST_TEST(asked(pair, kNoAddresses, by_datagram, status) == 0u);
    BOOST_TEST(status == (by_datagram ? 2u : 28u));
    BOOST_TEST(pair.passive.listeners().add(kService, 1, {.none = true}));
    BOOST_TEST(asked(pair, kNoAddresses, by_datagram, status) == 1u);
    BOOST_TEST(asked(pair, 6, by_datagram, status) == 46u);
    pair.passive.listeners().remove(kService, 1);
    pair.passive.listeners().remove(kService, 46);
    BOOST_TEST(pair.passive.listeners().add(kService, 4, kIpv4));
    BOOST_TEST(pair.passive.listeners().add(kService, 6, kIpv6));
    pair.passive.listeners().remove(kService, 6);
    BOOST_TEST(asked(pair, 4, by_datagram, status) == 4u);
    BOOST_TEST(asked(pair, 6, by_datagram, status) == 0u);
    BOOST_TEST(status == (by_datagram ? 2u : 28u));
    pair.passive.listeners().remove(kService, 4);
    BOOST_TEST(asked(pair, 6, by_datagram, status) == 0u);
    BOOST_TEST(status == (by_datagram ? 1u : 8u));  // nobody listens at all
  }
}

BOOST_AUTO_TEST_CASE(one_that_is_for_all_takes_everybody_and_leaves_no_room) {
  Pair pair;  // it listens so
  std::uint16_t status = 0;
  for (const std::uint8_t version : {std::uint8_t{4}, std::uint8_t{6}, kNoAddresses})
    BOOST_TEST(asked(pair, version, false, status) == kListener);
  BOOST_TEST(!pair.passive.listeners().add(kService, 4, kIpv4));
  BOOST_TEST(!pair.passive.listeners().add(kService, 6, kIpv6));
  pair.passive.listeners().remove(kService, 4);  // not its own
  BOOST_TEST(pair.passive.listeners().has(kService));
  pair.passive.listeners().remove(kService, kListener);
  BOOST_TEST(pair.passive.listeners().add(kService, 6, kIpv6));
  BOOST_TEST(!pair.passive.listeners().add(kService, 7));
}
