// Peers that a kind of link can never reach are named once, with what would mend it; those that may come later are not.
#include "emulator/host/link/reach_hint.h"

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "emulator/host/config/environment.h"
#include "emulator/host/node/node_directory.h"
#include "tests/host/engine/engine_node.h"
#include "tests/host/fabric_process/served.h"

using namespace verbena;
using namespace verbena::host;

namespace {

EngineConfig on_link(const std::string& link, const char* node, const std::string& fabric = "reach") {
  EngineConfig config;
  config.link = link;
  config.fabric = fabric + "." + std::to_string(getpid());
  config.address = *parse_node(node);
  return config;
}

std::string hint(const EngineConfig& config, const char* peer) {
  const auto address = parse_node(peer);
  BOOST_REQUIRE(address.has_value());
  return why_never_reached(config, *address).value_or("");
}

/// What is said on stderr meanwhile.
template <class Call>
std::string said(Call call) {
  std::FILE* const into = std::tmpfile();
  BOOST_REQUIRE(into != nullptr);
  std::fflush(stderr);
  const int kept = dup(STDERR_FILENO);
  dup2(fileno(into), STDERR_FILENO);
  call();
  std::fflush(stderr);
  dup2(kept, STDERR_FILENO);
  close(kept);
  std::rewind(into);
  std::string text;
  for (int octet = std::fgetc(into); octet != EOF; octet = std::fgetc(into)) text.push_back(static_cast<char>(octet));
  std::fclose(into);
  return text;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_loopback_address_reaches_no_other_network_by_udp) {
  BOOST_TEST(hint(on_link("udp", "150"), "10.77.0.2") ==
             "127.47.91.150 cannot reach 10.77.0.2: use --node with an address of this machine on the peer's network");
  BOOST_TEST(
      hint(on_link("udp", "10.0.0.1"), "fd00::2") ==
      "10.0.0.1 cannot reach fd00::2: one is IPv4, the other IPv6: use --node with an address of the peer's family");
  BOOST_TEST(hint(on_link("udp", "150"), "151") == "");
  BOOST_TEST(hint(on_link("udp", "10.0.0.1"), "10.77.0.2") == "");
  BOOST_TEST(hint(on_link("udp", "10.0.0.1"), "127.0.0.1") == "");  // the same machine: the kernel delivers it
  const wire::Gid group = wire::Gid::from_ipv4(0xef010203);
  BOOST_TEST(!why_never_reached(on_link("udp", "150"), group).has_value());
}

BOOST_AUTO_TEST_CASE(link_local_addresses_of_nodes_are_reached_as_the_nodes_are) {
  const auto peer = link_local_of(*parse_node("151"));
  BOOST_REQUIRE(peer.has_value());
  for (const char* link : {"udp", "shm"}) BOOST_TEST(!why_never_reached(on_link(link, "150"), *peer).has_value());
}

BOOST_AUTO_TEST_CASE(unknown_shm_peer_is_a_late_node_or_of_another_network) {
  const EngineConfig config = on_link("shm", "150");
  BOOST_TEST(hint(config, "151") == "");
  BOOST_TEST(hint(config, "10.77.0.2") ==
             "nobody has the address 10.77.0.2 on shm, fabric '" + config.fabric + "': use --link udp");
  const auto seat = NodeDirectory::join(config.fabric, *parse_node("10.77.0.2"));
  BOOST_REQUIRE(seat.ok());
  BOOST_TEST(hint(config, "10.77.0.2") == "");
}

BOOST_AUTO_TEST_CASE(a_fabric_process_knows_which_nodes_there_are) {
  const test::Served fabric(fabric::star(3, test::kFast));
  EngineConfig config = on_link("fabric", "1");
  config.fabric = fabric.name;
  BOOST_TEST(hint(config, "3") == "");
  for (const char* peer : {"127.47.91.4", "10.77.0.2"})
    BOOST_TEST(hint(config, peer) ==
               "fabric '" + fabric.name + "' has no node " + peer + ": its nodes are 127.47.91.1 to 127.47.91.3");
}

BOOST_AUTO_TEST_CASE(peer_is_named_once_on_stderr_unless_quiet) {
  test::EngineNode node(150, "reach." + std::to_string(getpid()));
  const auto resolve = [&] { (void)node.engine->resolve(*parse_node("10.77.0.2")); };
  const std::string first = said(resolve);
  BOOST_TEST(first.starts_with("verbena: nobody has the address 10.77.0.2 on shm"), first);
  BOOST_TEST(first.ends_with("use --link udp\n"), first);
  BOOST_TEST(said(resolve) == "");
  setenv(kQuietVariable, "1", 1);
  BOOST_TEST(said([&] { (void)node.engine->resolve(*parse_node("10.77.0.3")); }) == "");
  unsetenv(kQuietVariable);
}
