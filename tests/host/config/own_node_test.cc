// The node that a process finds for itself: by number, address, or its rank under any launcher.
#include "emulator/host/config/own_node.h"

#include <boost/test/unit_test.hpp>
#include <map>
#include <string>

#include "emulator/host/node/node_directory.h"

namespace {
using namespace verbena::host;
using Kind = OwnNode::Kind;
using Variables = std::map<std::string, std::string>;

OwnNode found(const Variables& variables) {
  return own_node_by([&](const char* name) {
    const auto at = variables.find(name);
    return at == variables.end() || at->second.empty() ? nullptr : at->second.c_str();
  });
}

/// The node's number, or 1000 and the kind of what is wrong.
unsigned number_in(const Variables& variables) {
  const OwnNode node = found(variables);
  return node.kind == Kind::known ? node_number(node.address).value_or(0) : 1000 + static_cast<unsigned>(node.kind);
}

constexpr unsigned wrong(Kind kind) {
  return 1000 + static_cast<unsigned>(kind);
}
}  // namespace

BOOST_AUTO_TEST_CASE(a_number_and_an_address_are_a_node_whatever_the_rank) {
  BOOST_TEST(number_in({}) == 1u);
  BOOST_TEST(number_in({{"VERBENA_NODE", "7"}, {"PMI_RANK", "3"}}) == 7u);
  BOOST_TEST(address_text(found({{"VERBENA_NODE", "10.1.2.3"}, {"PMI_RANK", "3"}}).address) == "10.1.2.3");
}

BOOST_AUTO_TEST_CASE(ranks_take_the_nodes_in_turn) {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    BOOST_TEST(number_in({{"VERBENA_NODE", "auto:3"}, {name, "0"}}) == 1u);
    BOOST_TEST(number_in({{"VERBENA_NODE", "auto:3"}, {name, "2"}}) == 3u);
    BOOST_TEST(number_in({{"VERBENA_NODE", "auto:3"}, {name, "3"}}) == 1u);
    BOOST_TEST(number_in({{"VERBENA_NODE", "auto"}, {name, "253"}}) == 254u);
    BOOST_TEST(number_in({{"VERBENA_NODE", "auto"}, {name, "254"}}) == 1u);
  }
}

BOOST_AUTO_TEST_CASE(a_launcher_has_no_rank_and_so_no_node) {
  BOOST_TEST(number_in({{"VERBENA_NODE", "auto:3"}}) == wrong(Kind::no_rank));
  BOOST_TEST(number_in({{"VERBENA_NODE", "auto:3"}, {"PMI_RANK", ""}}) == wrong(Kind::no_rank));
}

BOOST_AUTO_TEST_CASE(slurm_task_counts_only_if_no_library_was_told_a_rank) {
  BOOST_TEST(number_in({{"VERBENA_NODE", "auto:4"}, {"SLURM_PROCID", "0"}, {"OMPI_COMM_WORLD_RANK", "2"}}) == 3u);
}

BOOST_AUTO_TEST_CASE(ranks_that_differ_or_are_none_are_told_and_not_guessed) {
  const Variables same{{"VERBENA_NODE", "auto:4"}, {"PMIX_RANK", "2"}, {"OMPI_COMM_WORLD_RANK", "2"}};
  BOOST_TEST(number_in(same) == 3u);
  Variables other = same;
  other["PMI_RANK"] = "6";  // modulo 4 it is the same node, but whose rank it is is not known
  BOOST_TEST(number_in(other) == wrong(Kind::ranks_differ));
  for (const char* rank : {"x", "-1", "1 ", "0x1", "4294967296", "2147483648"})
    BOOST_TEST(number_in({{"VERBENA_NODE", "auto:4"}, {"PMI_RANK", rank}}) == wrong(Kind::wrong_rank), rank);
}

BOOST_AUTO_TEST_CASE(what_is_neither_a_node_nor_a_number_of_nodes_is_wrong) {
  for (const char* text : {"0", "255", "auto:", "auto:0", "auto:255", "auto4", "auto:4x", "Auto", "224.0.0.1"})
    BOOST_TEST(number_in({{"VERBENA_NODE", text}, {"PMI_RANK", "1"}}) == wrong(Kind::wrong_value), text);
}
