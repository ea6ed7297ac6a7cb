// Personalities: the files that come with Verbena, a user's own, and one that is made from `ibv_devinfo -v`.
#include "emulator/host/config/personality.h"

#include <boost/test/unit_test.hpp>

#include "emulator/host/config/device_words.h"
#include "emulator/host/config/nic_tuning.h"
#include "tests/support/places.h"

using namespace verbena;
using namespace verbena::host;

namespace {

std::string library() {
  return test::source_file("scenarios");
}

std::string error_of(const std::string& text) {
  const auto read = parse_personality(text, "my.yaml", library());
  return read.ok() ? "" : read.error();
}

// What ibv_devinfo -v prints of an E810 (deepseek-ai/3FS issue 192), in part.
constexpr const char* kDevinfo =
    "hca_id:\tirdma0\n"
    "\ttransport:\t\t\tInfiniBand (0)\n"
    "\tfw_ver:\t\t\t\t1.74\n"
    "\tnode_guid:\t\t\t6efe:54ff:fe40:c0d0\n"
    "\tvendor_id:\t\t\t0x8086\n"
    "\tvendor_part_id:\t\t\t5522\n"
    "\thw_ver:\t\t\t\t0x2\n"
    "\tmax_mr_size:\t\t\t0x200000000000\n"
    "\tmax_qp:\t\t\t\t4092\n"
    "\tdevice_cap_flags:\t\t0x01221000\n"
    "\t\t\t\t\tRC_RNR_NAK_GEN\n"
    "\tmax_sge:\t\t\t6\n"
    "\tmax_mr:\t\t\t\t4194301\n"
    "\tmax_qp_rd_atom:\t\t\t8\n"
    "\tatomic_cap:\t\t\tATOMIC_NONE (0)\n"
    "\tmax_mw:\t\t\t\t0\n"
    "\tmax_srq:\t\t\t0\n"
    "\t\tport:\t1\n"
    "\t\t\tactive_mtu:\t\t1024 (3)\n"
    "\t\t\tGID[  0]:\t\tfe80:0000:0000:0000:6efe:54ff:fe40:c0d0, RoCE v2\n"
    "\t\t\tGID[  1]:\t\t::ffff:10.0.0.1, RoCE v2\n"
    "hca_id:\tmlx5_0\n"
    "\tfw_ver:\t28.42.1000\n";

}  // namespace

BOOST_AUTO_TEST_CASE(each_value_of_ours_has_a_source) {
  const auto names = personality_names(library());
  BOOST_TEST(names.size() >= 13u);
  for (const std::string& name : names) {
    const auto one = read_personality(name, library());
    BOOST_REQUIRE(one.ok());
    BOOST_TEST(one->name == name);
    BOOST_TEST(!one->description.empty(), name);
    BOOST_TEST(!one->device_name.empty(), name);
    for (const Personality::Value& value : one->values)
      BOOST_TEST(!value.source.empty(), name + ".yaml: " + value.key + " has no source");
  }
}

BOOST_AUTO_TEST_CASE(a_value_without_a_source_is_seen) {
  const auto read = parse_personality("max-qp: 8\nmax-cq: 9  # the vendor says so\n", "my.yaml", library());
  BOOST_REQUIRE(read.ok());
  BOOST_TEST(read->values[0].source.empty());
  BOOST_TEST(read->values[1].source == "the vendor says so");
}

BOOST_AUTO_TEST_CASE(limits_above_ours_become_ours) {
  const auto read = parse_personality("max-qp: 131072  # x\nmax-sge: 4  # x\n", "my.yaml", library());
  BOOST_REQUIRE(read.ok());
  BOOST_TEST(read->words == "max-qp=16384 max-sge=4");
  BOOST_TEST(read->values[0].value == "131072");
}

BOOST_AUTO_TEST_CASE(a_profile_gives_the_micro_behaviour) {
  const auto read = parse_personality("profile: e810  # x\nnak-latency: 3us  # x\n", "my.yaml", library());
  BOOST_REQUIRE(read.ok());
  BOOST_TEST(nic_word(read->words, "implied-nak-latency") == "83ms");
  BOOST_TEST(nic_word(read->words, "nak-latency") == "3us");
}

BOOST_AUTO_TEST_CASE(own_words_go_before) {
  const auto read = parse_personality("max-qp: 8  # x\nmax-cq: 9  # x\n", "my.yaml", library());
  BOOST_REQUIRE(read.ok());
  BOOST_TEST(with_own_words(*read, "max-qp=3 mtu=1024") == "max-cq=9 max-qp=3 mtu=1024");
  BOOST_TEST(with_own_words(*read, "") == "max-qp=8 max-cq=9");
  std::string words = "mtu=1024 personality=mana,rxe max-qp=3";
  BOOST_TEST(take_personality_word(words) == "mana,rxe");
  BOOST_TEST(words == "mtu=1024 max-qp=3");
  BOOST_TEST(take_personality_word(words).empty());
}

BOOST_AUTO_TEST_CASE(what_is_wrong_is_named_by_line_and_column) {
  BOOST_TEST(error_of("max-qp: 8\nfoo\n").starts_with("my.yaml:2:1: want a line"));
  BOOST_TEST(error_of("max-qp:\n").starts_with("my.yaml:1:8: max-qp has no value"));
  BOOST_TEST(error_of("# x\n  max-qp: 8\n  max-qp: 9\n").starts_with("my.yaml:3:3: max-qp is written twice"));
  BOOST_TEST(error_of("max-qpp: 8\n").starts_with("my.yaml:1:1: 'max-qpp=8': unknown setting"));
  BOOST_TEST(error_of("device-name: a/b\n").starts_with("my.yaml:1:14: 'a/b': want "));
  BOOST_TEST(error_of("profile: cx55\n").find("did you mean 'cx5'") != std::string::npos);
  const auto none = read_personality("manaa", library());
  BOOST_REQUIRE(!none.ok());
  BOOST_TEST(none.error().find("did you mean 'mana'") != std::string::npos);
  BOOST_TEST(!read_personality("./not-there.yaml", library()).ok());
}

BOOST_AUTO_TEST_CASE(devinfo_makes_a_personality_that_is_read) {
  const auto made = personality_from_devinfo(kDevinfo, "devinfo.txt");
  BOOST_REQUIRE(made.ok());
  const auto read = parse_personality(*made, "made.yaml", library());
  BOOST_REQUIRE(read.ok());
  BOOST_TEST(read->device_name == "irdma%d");
  for (const auto& [word, value] :
       {std::pair("firmware", "1.74"), std::pair("vendor-id", "0x8086"), std::pair("part-id", "5522"),
        std::pair("max-qp", "4092"), std::pair("max-mr", "262144"), std::pair("read-depth", "8"),
        std::pair("mtu", "1024"), std::pair("atomic-cap", "none"), std::pair("gids", "link-local-v2+v2"),
        std::pair("refuse", "mw+srq+dm"), std::pair("wire", "roce-v2")})
    BOOST_TEST(nic_word(read->words, word) == value, word);
  for (const Personality::Value& value : read->values) BOOST_TEST(value.source == "ibv_devinfo -v");
}

BOOST_AUTO_TEST_CASE(devinfo_that_is_none_is_named) {
  BOOST_TEST(personality_from_devinfo("", "f").error() == "f:1:1: no hca_id in it: want the text of `ibv_devinfo -v`");
  BOOST_TEST(personality_from_devinfo("hca_id: a0\n\tmax_qp:\t\tmany\n", "f").error() ==
             "f:2:11: 'many' is no number: want the text of `ibv_devinfo -v`");
}
