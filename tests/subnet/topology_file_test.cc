// Topology files: both forms that there are, and lines that are wrong.
#include "emulator/subnet/topology_file.h"

#include <fmt/format.h>

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

// What ibnetdiscover has written of a fabric of two switches, that opensm has brought up.
constexpr std::string_view kWritten = R"(#
# Topology file: generated on Sat Nov 28 11:41:01 2026
#
# Initiated from node 00567ffffe2f5b01 port 00567ffffe2f5b01

vendid=0x2c9
devid=0x0
sysimgguid=0x256420000000200
switchguid=0x256420000000200(256420000000200)
Switch	8 "S-0256420000000200"		# "S2" base port 0 lid 3 lmc 0
[1]	"H-00567ffffe2f5b03"[1](567ffffe2f5b03) 		# "H3 verbena0" lid 8 4xEDR
[3]	"S-0256420000000100"[3]		# "first switch" lid 2 4xHDR

vendid=0x2c9
devid=0x0
sysimgguid=0x256420000000100
switchguid=0x256420000000100(256420000000100)
Switch	8 "S-0256420000000100"		# "first switch" base port 0 lid 2 lmc 0
[1]	"H-00567ffffe2f5b01"[1](567ffffe2f5b01) 		# "H1 verbena0" lid 6 4xEDR
[2]	"H-00567ffffe2f5b02"[1](567ffffe2f5b02) 		# "H2 verbena0" lid 7 4xFDR
[3]	"S-0256420000000200"[3]		# "S2" lid 3 4xHDR

vendid=0x25642
devid=0x0
sysimgguid=0x567ffffe2f5b03
caguid=0x567ffffe2f5b03
Ca	1 "H-00567ffffe2f5b03"		# "H3 verbena0"
[1](567ffffe2f5b03) 	"S-0256420000000200"[1]		# lid 8 lmc 0 "S2" lid 3 4xEDR

vendid=0x25642
devid=0x0
sysimgguid=0x567ffffe2f5b02
caguid=0x567ffffe2f5b02
Ca	1 "H-00567ffffe2f5b02"		# "H2 verbena0"
[1](567ffffe2f5b02) 	"S-0256420000000100"[2]		# lid 7 lmc 0 "first switch" lid 2 4xFDR

vendid=0x25642
devid=0x0
sysimgguid=0x567ffffe2f5b01
caguid=0x567ffffe2f5b01
Ca	1 "H-00567ffffe2f5b01"		# "H1 verbena0"
[1](567ffffe2f5b01) 	"S-0256420000000100"[1]		# lid 6 lmc 0 "first switch" lid 2 4xEDR
)";

// As ibsim's description of such files has it: ids are free, one line behind a node for each port.
constexpr std::string_view kOfIbsim = R"(# a comment
Switch	8 "S1"	# "Switch 1"
[1]	"H1"[1]
[2]	"H2"[2]		# from here to there

Hca	2 "H1"
[1]	"S1"[1]
# [2]	"S1"[3]

Hca	2	"H2" # "Host 2"
[2]	"S1"[2]
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

BOOST_AUTO_TEST_CASE(what_ibnetdiscover_has_written_here_is_read) {
  const auto read = read_topology(kWritten, "net");
  BOOST_REQUIRE_MESSAGE(read.ok(), (read ? "" : read.error()));
  BOOST_REQUIRE(read->nodes.size() == 5u);
  const NodePlan& first = read->nodes[1];
  BOOST_TEST((first.description == "first switch" && first.guid == 0x256420000000100u));
  BOOST_TEST((first.ports[2].peer == PortEnd{3, 1} && first.ports[3].peer == PortEnd{0, 3}));
  BOOST_TEST((first.ports[2].speed_extended == 1 && first.ports[3].speed_extended == 4));
  BOOST_TEST((read->nodes[4].vendor == 0x25642u && read->nodes[4].port_guid(1) == 0x567ffffe2f5b01u));
}

BOOST_AUTO_TEST_CASE(what_ibsim_reads_is_read) {
  const auto read = read_topology(kOfIbsim, "net");
  BOOST_REQUIRE_MESSAGE(read.ok(), (read ? "" : read.error()));
  BOOST_REQUIRE(read->nodes.size() == 3u);
  BOOST_TEST((read->nodes[0].ports[2].peer == PortEnd{2, 2} && read->nodes[0].description == "Switch 1"));
  BOOST_TEST(!read->nodes[0].ports[1].is_rate_told);
}

BOOST_AUTO_TEST_CASE(options_of_a_port_are_read) {
  const auto read = read_topology(
      "Switch 3 \"s\"\n[1] \"a\"[1]\tw=12 s=3 # w=1\n[2] \"b\"[1] mtu=2048\n[3]\"c\"[1] w=4 # 1xEDR\nHca 1 \"a\"\nHca "
      "1 \"b\"\n[1] \"s\"[2]\nHca 1 "
      "\"c\"\n",
      "x");
  BOOST_REQUIRE_MESSAGE(read.ok(), (read ? "" : read.error()));
  const auto& ports = read->nodes[0].ports;
  BOOST_TEST((ports[1].width == 8 && ports[1].speed == 2 && ports[1].speed_extended == 0 && ports[1].mtu == 5));
  BOOST_TEST((read->nodes[1].ports[1].width == 8 && read->nodes[1].ports[1].speed == 2));  // the cable's other end
  BOOST_TEST((ports[2].mtu == 4 && read->nodes[2].ports[1].mtu == 5));
  BOOST_TEST((ports[3].width == 1 && ports[3].speed_extended == 2));  // what ibnetdiscover writes comes last
}

BOOST_AUTO_TEST_CASE(a_wrong_option_of_a_port_is_named) {
  const auto error = [](std::string_view option) {
    return error_of(fmt::format("Hca 2 \"a\"\n[1] \"a\"[2] {}\n", option));
  };
  for (const std::string_view wrong : {"w=3", "w=", "w=4x", "w=99999999999"})
    BOOST_TEST(error(wrong) == fmt::format("two.net:2:12: '{}': write a width as w=1, w=2, w=4, w=8 or w=12", wrong));
  for (const std::string_view wrong : {"mtu=0", "mtu=1500", "mtu=4k", "mtu="})
    BOOST_TEST(
        error(wrong) ==
        fmt::format("two.net:2:12: '{}': write an MTU as mtu=256, mtu=512, mtu=1024, mtu=2048 or mtu=4096", wrong));
  for (const std::string_view wrong : {"s=0", "s=8", "s=QDR"})
    BOOST_TEST(error(wrong).starts_with(fmt::format("two.net:2:12: '{}': write a speed as s=1 (SDR)", wrong)));
  BOOST_TEST(error("mtu 2048").starts_with("two.net:2:12: 'mtu 2048': nothing follows"));
  BOOST_TEST(error_of("do Unlink \"a\"\n") ==
             "two.net:1:1: do: commands of ibsim's console are not read; `verbena fault` changes a fabric");
}

namespace {

Result<std::string, std::string> load(const std::string& name) {
  if (name == "rack.net") return std::string("Switch 4 \"leaf\"\n@[4] \"up\"\n[1] \"h\"[1]\nHca 1 \"h\"\n");
  if (name == "wrong.net") return std::string("\nSwitch 0 \"s\"\n");
  if (name == "nowhere.net") return std::string("Hca 1 \"a\"\n[1] \"b\"[1]\n");
  if (name == "itself.net") return std::string("include \"itself.net\"\n");
  return Failure{name + ": not there"};
}
std::string error_with_files(std::string_view text) {
  const auto read = read_topology(text, "two.net", load);
  return read ? "" : read.error();
}

}  // namespace

// Two racks of the same file, each a module; the spine leads to their aliases.
BOOST_AUTO_TEST_CASE(a_file_is_included_once_for_each_module) {
  const auto read = read_topology(
      "module=\"m1\"\ninclude \"rack.net\"\nmodule=\"m2\"  # the other one\ninclude \"rack.net\" # again\n"
      "module=\"\"\nSwitch 4 \"spine\"\n[1] \"m1@up\"\n[2] \"m2@up\" w=12\n[3] \"m1#leaf\"[3]\n",
      "two.net", load);
  BOOST_REQUIRE_MESSAGE(read.ok(), (read ? "" : read.error()));
  BOOST_REQUIRE(read->nodes.size() == 5u);
  BOOST_TEST((read->nodes[0].id == "m1#leaf" && read->nodes[2].id == "m2#leaf" && read->nodes[4].id == "spine"));
  const auto& spine = read->nodes[4].ports;
  BOOST_TEST((spine[1].peer == PortEnd{0, 4} && spine[2].peer == PortEnd{2, 4} && spine[3].peer == PortEnd{0, 3}));
  BOOST_TEST((read->nodes[0].ports[1].peer == PortEnd{1, 1} && read->nodes[2].ports[1].peer == PortEnd{3, 1}));
  BOOST_TEST((spine[2].width == 8 && read->nodes[2].ports[4].width == 8 && !spine[1].is_rate_told));
}

BOOST_AUTO_TEST_CASE(errors_in_a_file_that_is_included_are_placed_there) {
  BOOST_TEST(error_with_files("include \"wrong.net\"\n").starts_with("wrong.net:2:8: '0': not a number of ports"));
  BOOST_TEST(error_with_files("\ninclude \"nowhere.net\"\nHca 1 \"c\"\n").starts_with("nowhere.net:2:6: there is no"));
  BOOST_TEST(error_with_files("include \"rack.net\"\nHub\n").starts_with("two.net:2:1: 'Hub': write Switch"));
  BOOST_TEST(error_with_files("include \"none.net\"\n") == "two.net:1:9: include: none.net: not there");
  BOOST_TEST(error_with_files("include \"itself.net\"\n") ==
             "itself.net:1:9: include: files are included up to 8 deep: is this one in itself?");
  BOOST_TEST(error_with_files("include rack.net\n") ==
             "two.net:1:9: include: write a file's name in quotes, such as include \"rack.net\"");
  BOOST_TEST(error_with_files("include \"rack.net\" x\n") ==
             "two.net:1:20: 'x': nothing follows a file's name but a "
             "comment");
  BOOST_TEST(error_of("include \"rack.net\"\n") == "two.net:1:9: include: no file is included here");
}

BOOST_AUTO_TEST_CASE(wrong_modules_and_aliases_are_named) {
  BOOST_TEST(error_of("module=m\n") == "two.net:1:8: module: write its name in quotes, such as module=\"M1\"");
  BOOST_TEST(error_of("Hca 1 \"a\"\n[1] \"@b\"\n") ==
             "two.net:2:6: there is no alias \"@b\": write that of a port, as @[1] \"up\" makes it");
  BOOST_TEST(error_of("@[1] \"b\"\n").starts_with("two.net:1:2: a port stands before any node"));
  BOOST_TEST(error_of("Hca 2 \"a\"\n@[1] \"b\"\n@[2] \"b\"\n") ==
             "two.net:3:6: \"b\" is the alias of an earlier port: write another one");
  BOOST_TEST(error_of("Hca 1 \"a\"\n@[2] \"b\"\n") == "two.net:2:3: '2': no such port: write one from 1 to 1");
  BOOST_TEST(error_of("Hca 1 \"a\"\n@[1] b\n") ==
             "two.net:2:6: the alias is missing: write it in quotes, such as @[1] \"up\"");
  BOOST_TEST(error_of("Hca 1 \"a\"\n@[1] \"b\"\n[1] \"@b\"\n")
                 .starts_with("two.net:3:6: the port is connected with "
                              "itself"));
}

BOOST_AUTO_TEST_CASE(width_and_speed_of_all_ports_are_read) {
  const auto read = read_topology(
      "Switch 2 \"s\"\n[1] \"a\"[1]\nwidth=12\nspeed=2\nHca 2 \"a\"\nHca 2 \"b\"\n[1] \"a\"[2]\n[2] \"s\"[2] w=1\n",
      "x");
  BOOST_REQUIRE_MESSAGE(read.ok(), (read ? "" : read.error()));
  const auto is = [&](std::size_t node, std::size_t port, std::uint8_t width, std::uint8_t speed) {
    const PortPlan& plan = read->nodes[node].ports[port];
    return plan.width == width && plan.speed == speed && plan.is_rate_told;
  };
  BOOST_TEST((is(1, 2, 8, 2) && is(2, 1, 8, 2)));  // both as all are
  BOOST_TEST((is(2, 2, 1, 2) && is(0, 2, 1, 2)));  // by its own line, and at the cable's other end
  BOOST_TEST(!read->nodes[0].ports[1].is_rate_told);
  BOOST_TEST(error_of("width=3\n") == "two.net:1:7: '3': write a width as w=1, w=2, w=4, w=8 or w=12");
  BOOST_TEST(error_of("speed=QDR\n").starts_with("two.net:1:7: 'QDR': write a speed as s=1 (SDR)"));
}

BOOST_AUTO_TEST_CASE(prose_behind_a_port_is_never_an_error) {
  for (const std::string_view comment : {"",
                                         "#",
                                         "# 4x",
                                         "# 2xHost",
                                         "# lid 4 4xEDR",
                                         "# \"H1 mlx5_0\" lid 4 4xEDR",
                                         "# \"4xFOO\"",
                                         "# \"a 4xFOO\"",
                                         "# 4xFOO was here",
                                         "# it is 4xFOO.",
                                         "# \"4xFOO",
                                         "# 4xfoo",
                                         "# 3xFOO",
                                         "# 4xF00",
                                         "# xFOO",
                                         "# 4x FOO",
                                         "# \"host 4xFOO\" lid 7 4xSDR",
                                         "# (4xFOO)",
                                         "# 4xFDR10",
                                         "## 12xNDR",
                                         "#4xHDR",
                                         "# a \" b 4xFOO \" c"})
    BOOST_TEST(error_of(fmt::format("Hca 2 \"a\"\n[1] \"a\"[2] {}\n", comment)) == "", comment);
  BOOST_TEST(error_of("# 4xFOO\nHca 1 \"a\" # 4xFOO\n") == "");
}

BOOST_AUTO_TEST_CASE(only_a_word_that_is_a_rate_is_one) {
  const auto speed_of = [](std::string_view comment) -> int {
    const auto read = read_topology(fmt::format("Hca 2 \"a\"\n[1] \"a\"[2] {}\n", comment), "x");
    return read && read->nodes[0].ports[1].is_rate_told ? read->nodes[0].ports[1].speed_extended : -1;
  };
  BOOST_TEST(speed_of("# lid 4 4xHDR") == 4);
  BOOST_TEST(speed_of("# \"4xHDR\" lid 4 4xEDR") == 2);
  BOOST_TEST(speed_of("# 4xHDR to the core") == 4);
  BOOST_TEST(speed_of("# \"4xHDR\"") == -1);
  BOOST_TEST(speed_of("# 4xHDRs") == -1);
  BOOST_TEST(speed_of("# 14xHDR") == -1);
}

BOOST_AUTO_TEST_CASE(a_rate_that_does_not_exist_is_an_error) {
  const std::string tail =
      "': an unknown rate: write 1x, 2x, 4x, 8x or 12x with one of SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR, such as "
      "4xEDR";
  BOOST_TEST(error_of("Hca 2 \"a\"\n[1] \"a\"[2] # 4xFOO\n") == "two.net:2:14: '4xFOO" + tail);
  BOOST_TEST(error_of("Hca 2 \"a\"\n[1]\t\"a\"[2]\t#  lid 4 4xEDR 12xEDRS \r\n") == "two.net:2:27: '12xEDRS" + tail);
  BOOST_TEST(error_of("Hca 2 \"a\"\n[1] \"a\"[2] # \"host\" lid 4 2xA") == "two.net:2:27: '2xA" + tail);
  BOOST_TEST(error_of("Hca 2 \"a\"\n[1] \"a\"[2] # lid 4 4xFOO s=4 w=2 v=4") == "two.net:2:20: '4xFOO" + tail);
}

BOOST_AUTO_TEST_CASE(a_wrong_line_is_named_with_what_to_write) {
  BOOST_TEST(error_of("Switch 8\n") == "two.net:1:9: the node has no id: write one in quotes, such as Switch 8 \"S1\"");
  BOOST_TEST(error_of("Hca 1 \"a\" \"b\"\n") == "two.net:1:11: '\"b\"': nothing follows a node's id but a comment");
  BOOST_TEST(error_of("[1] \"a\"[1]\n") ==
             "two.net:1:1: a port stands before any node: write one first, such as Switch 8 \"S1\"");
  BOOST_TEST(error_of("Hca 1 \"a\"\n[1] \"b\"[1]\n") ==
             "two.net:2:6: there is no node \"b\": write the id of one of this file");
  BOOST_TEST(error_of("Hca 1 \"a\"\n[1]\n") ==
             "two.net:2:4: the other end is missing: write its node's id and its port, such as [1] \"S1\"[1]");
  BOOST_TEST(error_of("Hca 1 \"a\"\n[1] \"a\"[1]\n") ==
             "two.net:2:6: the port is connected with itself: write the port at the cable's other end");
  BOOST_TEST(error_of("Hca 1 \"a\"\nHca 1 \"a\"\n") ==
             "two.net:2:8: \"a\" is the id of an earlier node: write another one");
  BOOST_TEST(error_of("Hca 2 \"a\"\n[1] \"a\"[2] b # c\n") ==
             "two.net:2:12: 'b # c': nothing follows the other end of a cable but w=4, s=2, mtu=2048 and a comment");
  BOOST_TEST(
      error_of("colour=blue\n") ==
      "two.net:1:1: colour=: write vendid, devid, sysimgguid, switchguid, caguid, rtguid, width, speed or module");
  BOOST_TEST(error_of("\n \tHub 1 \"a\"\n") ==
             "two.net:2:3: 'Hub': write Switch, Hca, Ca or Rt, a value such as vendid=0x2c9, or a port such as [1]");
  BOOST_TEST(error_of("Hca 1 \"a\"\n[1] \"s\"[1]\nHca 1 \"b\"\n[1] \"s\"[1]\nSwitch 1 \"s\"\n") ==
             "two.net:4:6: port 1 of \"s\" is connected with port 1 of \"a\" already: a port has one cable");
}

BOOST_AUTO_TEST_CASE(a_file_without_a_node_says_so_without_a_line) {
  const std::string none =
      "two.net: no node: write lines such as Switch 8 \"S1\", each with lines of its ports, such as "
      "[1] \"H1\"[1]";
  BOOST_TEST(error_of("") == none);
  BOOST_TEST(error_of("# nothing\n\n") == none);
  BOOST_TEST(error_of("vendid=0x2c9\n") == none);
}

BOOST_AUTO_TEST_CASE(numbers_of_ports_are_checked) {
  for (const std::string_view count : {"many", "0", "255", "-1", "8x", "99999999999999999999"})
    BOOST_TEST(error_of(fmt::format("\nSwitch {} \"s\"\n", count)) ==
               fmt::format("two.net:2:8: '{}': not a number of ports: write one from 1 to 254", count));
  BOOST_TEST(error_of("Switch 254 \"s\"\n[254] \"s\"[1]\n") == "");
  for (const std::string_view port : {"0", "3", "256", "257", "x", "", " 1"}) {
    BOOST_TEST(error_of(fmt::format("Hca 2 \"a\"\n [{}] \"a\"[1]\n", port)) ==
               fmt::format("two.net:2:3: '{}': no such port: write one from 1 to 2", port));
  }
  BOOST_TEST(error_of("Hca 2 \"a\"\n[1] \"a\"[3]\n") == "two.net:2:9: '3': no such port: write one from 1 to 2");
  BOOST_TEST(error_of("Hca 2 \"a\"\n[1] \"a\"[0]\n") == "two.net:2:9: '0': no such port: write one from 1 to 254");
  BOOST_TEST(error_of("Hca 2 \"a\"\n[1] \"a\"\n") ==
             "two.net:2:8: a port is missing: write one from 1 to 254 in brackets, such as [1]");
  BOOST_TEST(error_of("Hca 2 \"a\"\n[1 \"a\"\n") ==
             "two.net:2:1: a port is missing: write one from 1 to 2 in brackets, such as [1]");
}

BOOST_AUTO_TEST_CASE(numbers_of_vendors_and_guids_are_checked) {
  const auto wrong = [](std::string_view text, std::string_view name, std::string_view most) {
    return fmt::format("two.net:1:{}: '{}': write {} as a hexadecimal number up to {}", name.size() + 2, text, name,
                       most);
  };
  BOOST_TEST(error_of("vendid=0x1000000\n") == wrong("0x1000000", "vendid", "0xffffff"));
  BOOST_TEST(error_of("vendid=zz\n") == wrong("zz", "vendid", "0xffffff"));
  BOOST_TEST(error_of("devid=0x10000\n") == wrong("0x10000", "devid", "0xffff"));
  BOOST_TEST(error_of("devid=\n") == wrong("", "devid", "0xffff"));
  BOOST_TEST(error_of("caguid=0x10000000000000000\n") == wrong("0x10000000000000000", "caguid", "0xffffffffffffffff"));
  BOOST_TEST(error_of("sysimgguid=-1\n") == wrong("-1", "sysimgguid", "0xffffffffffffffff"));
  const auto read = read_topology("vendid=0xffffff\ndevid=ffff\ncaguid=0xffffffffffffffff\nHca 1 \"a\"\n", "x");
  BOOST_REQUIRE(read.ok());
  BOOST_TEST((read->nodes[0].vendor == 0xffffffu && read->nodes[0].device == 0xffff));
  BOOST_TEST(read->nodes[0].guid == UINT64_MAX);
}

BOOST_AUTO_TEST_CASE(guids_in_parentheses_are_checked) {
  const std::string tail = "': not a GUID: write up to 16 hexadecimal digits, such as 2c9020040a0e1";
  BOOST_TEST(error_of("switchguid=0x12(1g)\n") == "two.net:1:17: '1g" + tail);
  BOOST_TEST(error_of("Hca 2 \"a\"\n[1](zz) \"a\"[2]\n") == "two.net:2:5: 'zz" + tail);
  BOOST_TEST(error_of("Hca 2 \"a\"\n[1](1) \"a\"[2](10000000000000000)\n") ==
             "two.net:2:15: '10000000000000000" + tail);
  BOOST_TEST(error_of("caguid=0x12 0x13\n") == "two.net:1:13: '0x13': nothing follows a value but a comment");
  BOOST_TEST(error_of("caguid=0x12\nHca 1 \"a\"\ncaguid=0x12\nHca 1 \"b\"\n") ==
             "two.net:3:8: 0x12 is the GUID of \"a\" already: write another one");
  BOOST_TEST(error_of("caguid=0x12\nHca 1 \"a\"\nHca 1 \"H-12\"\n") ==
             "two.net:3:8: 0x12 is the GUID of \"a\" already: write another one");
}
