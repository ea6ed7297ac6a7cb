// NETLINK_RDMA under the path shim: `rdma` of iproute2 tells of the node's device, and of nothing that is not there.
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tests/cli/run_command.h"

using verbena::test::Finished;
using verbena::test::run_command;

namespace {

Finished rdma(std::vector<std::string> words, const char* node = "7") {
  words.insert(words.begin(), "rdma");
  return run_command(words, {{"LD_PRELOAD", VERBENA_PATH_LIBRARY},
                             {"VERBENA_NODE", node},
                             {"VERBENA_FABRIC", "path-netlink"},
                             {"VERBENA_DEVICE_NAME", "mlx5_7"}});
}

void check(const std::vector<std::string>& words, const std::string& beginning) {
  const Finished finished = rdma(words);
  BOOST_TEST(finished.status == 0);
  BOOST_TEST(finished.err == "");
  BOOST_TEST(finished.out.substr(0, beginning.size()) == beginning);
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_device_and_its_port_are_those_of_sysfs) {
  check({"dev"}, "0: mlx5_7: node_type ca fw verbena-");
  const std::string guids = rdma({"dev", "show", "mlx5_7"}).out;
  BOOST_TEST(guids.find("node_guid 0056:7fff:fe2f:5b07 sys_image_guid 0056:7fff:fe2f:5b07") != guids.npos);
  check({"link"}, "link mlx5_7/1 state ACTIVE physical_state LINK_UP netdev verbena0 ");
  check({"link", "show", "mlx5_7/1"}, "link mlx5_7/1 state ACTIVE");
  check({"statistic", "show", "link", "mlx5_7/1"}, "link mlx5_7/1 tx_packets 0 tx_bytes 0");
}

BOOST_AUTO_TEST_CASE(a_process_without_a_node_has_none) {
  BOOST_TEST(rdma({"dev"}, "auto:3").out == "");
  BOOST_TEST(rdma({"link"}, "auto:3").out == "");
  BOOST_TEST(rdma({"dev", "show", "mlx5_7"}, "auto:3").status != 0);
}

BOOST_AUTO_TEST_CASE(the_kernel_keeps_no_objects_of_it) {
  check({"resource"}, "0: mlx5_7: ");
  for (const char* kind : {"qp", "cq", "mr", "pd", "cm_id"}) BOOST_TEST(rdma({"resource", "show", kind}).out == "");
}

BOOST_AUTO_TEST_CASE(what_would_change_it_is_refused) {
  const Finished finished = rdma({"dev", "set", "mlx5_7", "name", "other"});
  BOOST_TEST(finished.status != 0);
  BOOST_TEST(finished.err.find("Operation not supported") != finished.err.npos);
}
