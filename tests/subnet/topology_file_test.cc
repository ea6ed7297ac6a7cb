// Topology files: both forms that there are, and lines that are wrong.
#include "emulator/subnet/topology_file.h"

#include <boost/test/unit_test.hpp>

using namespace verbena;
using namespace verbena::subnet;

namespace {

// As ibnetdiscover writes it.
constexpr std::string_view kDiscovered = R"(#
# Topology file: generated on Mon Jan  1 00:00:00 2024
#
vendid=0x2c9
devid=0xbd36
sysimgguid=0x2c90200423e40
switchguid=0x2c90200423e41(2c90200423e41)
Switch	8 "S-0002c90200423e41"		# "MF0;switch:IS5030/U1" enhanced port 0 lid 3 lmc 0
[1]	"H-0002c9020040a0e0"[1](2c9020040a0e1) 		# "host a" lid 4 4xQDR
[2]	"H-0002c9020040a0f0"[2](2c9020040a0f2) 		# "host b" lid 5 4xFDR

vendid=0x2c9
devid=0x673c
sysimgguid=0x2c9020040a0e3
caguid=0x2c9020040a0e0
Ca	2 "H-0002c9020040a0e0"		# "host a"
[1](2c9020040a0e1) 	"S-0002c90200423e41"[1]		# lid 4 lmc 0 "MF0;switch:IS5030/U1" lid 3 4xQDR

Ca	2 "H-0002c9020040a0f0"		# "host b"
[2](2c9020040a0f2) 	"S-0002c90200423e41"[2]		# lid 5 lmc 0 "MF0;switch:IS5030/U1" lid 3 4xFDR
)";

std::string error_of(std::string_view text) {
  const auto read = read_topology(text, "two.net");
  return read ? "" : read.error();
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_ibnetdiscover_writes_is_read) {
  const auto read = read_topology(kDiscovered, "two.net");
  BOOST_REQUIRE_MESSAGE(read.ok(), (read ? "" : read.error()));
  BOOST_REQUIRE(read->nodes.size() == 3u);
  const NodePlan& first = read->nodes[0];
  BOOST_TEST((first.type == wire::NodeType::switch_ && first.port_count() == 8));
  BOOST_TEST((first.guid == 0x2c90200423e41u && first.system_image_guid == 0x2c90200423e40u));
  BOOST_TEST((first.vendor == 0x2c9u && first.device == 0xbd36));
  BOOST_TEST(first.description == "MF0;switch:IS5030/U1");
  BOOST_TEST((first.ports[1].peer == PortEnd{1, 1} && first.ports[2].peer == PortEnd{2, 2}));
  BOOST_TEST(!first.ports[3].peer.has_value());
  BOOST_TEST((first.ports[2].width == 2 && first.ports[2].speed_extended == 1));
  const NodePlan& adapter = read->nodes[1];
  BOOST_TEST((adapter.type == wire::NodeType::channel_adapter && adapter.guid == 0x2c9020040a0e0u));
  BOOST_TEST(adapter.port_guid(1) == 0x2c9020040a0e1u);
  BOOST_TEST((adapter.ports[1].speed == 4 && adapter.ports[1].speed_extended == 0));
  BOOST_TEST(read->nodes[2].guid == 0x0002c9020040a0f0u);  // by its id
  BOOST_TEST((read->first_adapter() == 1u && read->find("host b") == 2u && !read->find("host c")));
}

BOOST_AUTO_TEST_CASE(one_end_of_a_cable_is_enough) {
  const auto read = read_topology("Switch 2 \"s\"\n[1] \"a\"[1]\n\nHca 1 \"a\"\n", "x");
  BOOST_REQUIRE(read.ok());
  BOOST_TEST((read->nodes[1].ports[1].peer == PortEnd{0, 1}));
  BOOST_TEST(read->nodes[0].guid != read->nodes[1].guid);
}

BOOST_AUTO_TEST_CASE(a_rate_told_at_one_end_is_that_of_both) {
  const auto read = read_topology("Switch 2 \"s\"\n[1] \"a\"[1]\n\nHca 1 \"a\"\n[1] \"s\"[1] # 4xHDR\n", "x");
  BOOST_REQUIRE(read.ok());
  BOOST_TEST((read->nodes[0].ports[1].speed_extended == 4 && read->nodes[1].ports[1].speed_extended == 4));
  BOOST_TEST(!read->nodes[0].ports[2].is_rate_told);
}

BOOST_AUTO_TEST_CASE(a_wrong_line_is_named_with_what_is_wrong) {
  BOOST_TEST(error_of("Switch 8\n") == "two.net:1: the node has no id in quotes behind its number of ports");
  BOOST_TEST(error_of("\nSwitch many \"s\"\n") == "two.net:2: 'many': not a number of ports from 1 to 254");
  BOOST_TEST(error_of("Hca 0 \"a\"\n") == "two.net:1: '0': not a number of ports from 1 to 254");
  BOOST_TEST(error_of("[1] \"a\"[1]\n") == "two.net:1: a port stands before any node");
  BOOST_TEST(error_of("Hca 1 \"a\"\n[2] \"a\"[1]\n") == "two.net:2: [2]: \"a\" has ports from 1 to 1");
  BOOST_TEST(error_of("Hca 1 \"a\"\n[1] \"b\"[1]\n") == "two.net:2: there is no node \"b\"");
  BOOST_TEST(error_of("Hca 1 \"a\"\n[x] \"b\"[1]\n") == "two.net:2: [x]: not a port");
  BOOST_TEST(error_of("Hca 1 \"a\"\n[1]\n") ==
             "two.net:2: [1]: the id of the node at the other end is missing, in quotes");
  BOOST_TEST(error_of("Hca 1 \"a\"\n[1] \"a\"[1]\n") == "two.net:2: the port is connected with itself");
  BOOST_TEST(error_of("Hca 1 \"a\"\nHca 1 \"a\"\n") == "two.net:2: \"a\" is the id of an earlier node");
  BOOST_TEST(error_of("caguid=0x12\nHca 1 \"a\"\ncaguid=0x12\nHca 1 \"b\"\n") ==
             "two.net:4: 0x12 is the GUID of \"a\" already");
  BOOST_TEST(error_of("vendid=zz\n") == "two.net:1: vendid=zz: not a number");
  BOOST_TEST(error_of("colour=1\n") ==
             "two.net:1: colour=: not vendid, devid, sysimgguid, switchguid, caguid or rtguid");
  BOOST_TEST(error_of("Hub 1 \"a\"\n") ==
             "two.net:1: 'Hub': not Switch, Hca, Ca, Rt, a value such as vendid=0x2c9, or a port such as [1]");
  BOOST_TEST(error_of("# nothing\n") == "two.net:1: there is no node: lines such as Switch 8 \"S1\" describe them");
  BOOST_TEST(error_of("Hca 1 \"a\"\n[1] \"s\"[1]\nHca 1 \"b\"\n[1] \"s\"[1]\nSwitch 1 \"s\"\n") ==
             "two.net:4: port 1 of \"s\" is connected with port 1 of \"a\" already");
}
