// What a device says that it is, and what it refuses: the words, and the words of one device among several.
#include "emulator/host/config/look_words.h"

#include <boost/test/unit_test.hpp>
#include <cerrno>

#include "emulator/host/config/device_words.h"
#include "emulator/host/config/nic_tuning.h"
#include "emulator/host/node/identity.h"

using namespace verbena;
using namespace verbena::host;

BOOST_AUTO_TEST_CASE(each_word_is_written_as_it_is_read) {
  const std::string words =
      "vendor-id=0x2c9 part-id=4129 hw-ver=0x0 firmware=28.42.1000 board=MT_0000000838 driver=mlx5_core "
      "hca-type=MT4129 pci-id=15b3:1021 atomic-cap=hca cap-flags=0xed721c36 max-msg-size=1073741824 "
      "gids=link-local-v1+empty+v1+v2 pkeys=0x0+0xffff refuse=uc:EINVAL+srq";
  const auto tuning = parse_nic_tuning(words);
  BOOST_REQUIRE(tuning.ok());
  BOOST_TEST(text_of(*tuning) == words);
  BOOST_TEST(*tuning->look.vendor_id == 0x2c9u);
  BOOST_TEST(tuning->look.pkeys.size() == 2u);
  BOOST_TEST(tuning->look.refusal(Refusable::uc) == EINVAL);
  BOOST_TEST(tuning->look.refusal(Refusable::srq) == EOPNOTSUPP);
  BOOST_TEST(tuning->look.refusal(Refusable::rc) == 0);
}

BOOST_AUTO_TEST_CASE(what_a_word_cannot_be_is_refused) {
  for (const char* wrong : {"vendor-id=",   "vendor-id=x",      "vendor-id=0x",     "part-id=4294967296",
                            "firmware=a/b", "pci-id=15b3",      "pci-id=15B3:1021", "atomic-cap=some",
                            "gids=",        "gids=empty",       "gids=v3",          "gids=v1+v1+v1+v1+v1",
                            "gids=v2+",     "pkeys=",           "pkeys=0x10000",    "pkeys=1+1+1+1+1+1+1+1+1",
                            "refuse=",      "refuse=uc:EFAULT", "refuse=xx",        "refuse=uc+"}) {
    const auto tuning = parse_nic_tuning(wrong);
    BOOST_TEST(!tuning.ok(), wrong);
    if (!tuning.ok()) BOOST_TEST(tuning.error().find("want ") != std::string::npos, tuning.error());
  }
}

BOOST_AUTO_TEST_CASE(a_device_has_the_words_of_its_place) {
  static_assert(words_of_device("mtu=1024", 3) == "mtu=1024");
  static_assert(words_of_device("a=1|b=2", 0) == "a=1");
  static_assert(words_of_device("a=1|b=2", 1) == "b=2");
  static_assert(words_of_device("a=1|b=2", 2).empty());
  static_assert(nic_word("a=1 bb=2", "bb") == "2");
  static_assert(nic_word("abb=1", "bb").empty());
}

BOOST_AUTO_TEST_CASE(a_layout_says_the_entries_of_a_gid_table) {
  const wire::Gid own = node_address(7);
  const auto table = [&](std::string_view gids, const wire::WireKind& wire) {
    return device_at(own, {}, {.wire = wire, .gids = gids});
  };
  const wire::WireKind both = *wire::find_wire_kind("roce");
  const DeviceIdentity mellanox = table("link-local-v1+link-local-v2+v1+v2", both);
  BOOST_TEST(mellanox.gid_count() == 4u);
  BOOST_TEST((mellanox.gids == device_at(own, {}, {.wire = both}).gids));
  const DeviceIdentity alone = table("link-local-v2", wire::kWireKindDefault);
  BOOST_TEST(alone.gid_count() == 1u);
  BOOST_TEST(alone.gids[0].gid.is_link_local());
  BOOST_TEST(!alone.gid_index({own, wire::RoceVersion::v2}));
  const DeviceIdentity late = table("empty+empty+empty+v2", wire::kWireKindDefault);
  BOOST_TEST(late.gid_count() == 4u);
  BOOST_TEST((late.gids[0].gid == wire::Gid{}));
  BOOST_TEST((late.gid_index({own, wire::RoceVersion::v2}) == std::optional<std::size_t>(3)));
  // The wire has no v1: these entries stay empty.
  BOOST_TEST((table("v1+v2", wire::kWireKindDefault).gid_index({own, wire::RoceVersion::v2}) == 1u));
}

BOOST_AUTO_TEST_CASE(names_by_commas_are_one_of_each_device) {
  BOOST_TEST((device_at(node_address(1), {1}, {.name = "mlx5_0,mana_0"}).name.view() == "mana_0"));
  BOOST_TEST((device_at(node_address(1), {0}, {.name = "mlx5_0,mana_0"}).name.view() == "mlx5_0"));
  BOOST_TEST(device_names_fit("mlx5_0,mana_0", 2));
  BOOST_TEST(!device_names_fit("mlx5_0,mana_0", 3));
  BOOST_TEST(!device_names_fit("mlx5_0,", 2));
}
