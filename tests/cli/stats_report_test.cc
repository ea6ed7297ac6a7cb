// What `verbena exec --stats` prints of the counters of its processes.
#include "cli/exec/stats_report.h"

#include <array>
#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "emulator/host/node/identity.h"
#include "emulator/host/node/stats_file.h"

using namespace verbena;

BOOST_AUTO_TEST_CASE(posts_that_were_refused_for_want_of_polling_are_explained) {
  cli::StatsReport report;
  BOOST_REQUIRE(report.open("stats-report-test"));
  const auto block = host::StatsBlock::open(report.path(), "stats-report-test", {}, 0);
  BOOST_REQUIRE(block->shared());
  constexpr std::string_view kHint = "completions, not polled, hold the queue's slots";
  BOOST_TEST(report.text("node 1").find(kHint) == std::string::npos);
  block->counters().add(nic::Counter::posts_refused_unpolled, 3);
  const std::string text = report.text("node 1");
  BOOST_TEST(text.find("posts_refused_unpolled") != std::string::npos);
  BOOST_TEST(text.find(kHint) != std::string::npos);
}

BOOST_AUTO_TEST_CASE(counters_are_summed_and_told_for_each_device) {
  cli::StatsReport report;
  BOOST_REQUIRE(report.open("stats-report-test"));
  const host::DeviceNumber second{1, 1};
  const auto open = [&](const wire::Gid& address) {
    return host::StatsBlock::open(report.path(), "stats-report-test", address, 0);
  };
  const auto one = open(host::node_address(7)), other = open(host::device_address(host::node_address(7), second));
  one->counters().add(nic::Counter::tx_packets, 3);
  other->counters().add(nic::Counter::tx_packets, 40);
  BOOST_TEST(report.text("node 7") ==
             "verbena: counters of node 7, 1 process\n  tx_packets                               43\n");
  const std::string text = report.text("node 7", true);
  BOOST_TEST(text.ends_with(" of the device 127.47.91.7\n  tx_packets                                3\n"
                            " of the device 127.47.92.7\n  tx_packets                               40\n"),
             text);
  const auto json = nlohmann::json::parse(report.json());
  BOOST_TEST(json.at("processes") == 1);
  BOOST_TEST(json.at("counters").at("tx_packets") == 43);
  BOOST_TEST(json.at("devices").at(1).at("address") == "127.47.92.7");
  BOOST_TEST(json.at("devices").at(1).at("counters").at("tx_packets") == 40);
}

BOOST_AUTO_TEST_CASE(counters_are_told_for_each_port_of_a_device) {
  cli::StatsReport report;
  BOOST_REQUIRE(report.open("stats-report-test"));
  const wire::Gid node = host::node_address(7);
  const std::array<wire::Gid, 1> further{host::device_address(node, {0, 2})};
  const auto block = host::StatsBlock::open(report.path(), "stats-report-test", node, 0, further);
  block->counters(1).add(nic::Counter::tx_packets, 3);
  block->counters(2).add(nic::Counter::tx_packets, 40);
  // Each port has gone down once, as another process has seen as well.
  block->counters(1).add(nic::Counter::link_downed);
  block->counters(2).add(nic::Counter::link_downed);
  const auto other = host::StatsBlock::open(report.path(), "stats-report-test", node, 1, further);
  other->counters(2).add(nic::Counter::link_downed);
  BOOST_TEST(report.text("node 7", true) ==
             "verbena: counters of node 7, 1 process\n"
             "  tx_packets                               43\n"
             "  link_downed                               2\n"
             " of the device 127.47.91.7\n"
             "  tx_packets                               43\n"
             "  link_downed                               2\n"
             " of port 1 of the device 127.47.91.7\n"
             "  tx_packets                                3\n"
             "  link_downed                               1\n"
             " of port 2 of the device 127.47.91.7\n"
             "  tx_packets                               40\n"
             "  link_downed                               1\n");
  const auto json = nlohmann::json::parse(report.json());
  BOOST_TEST(json.at("counters").at("tx_packets") == 43);
  BOOST_REQUIRE(json.at("devices").size() == 1u);
  const auto& device = json.at("devices").at(0);
  BOOST_TEST(device.at("counters").at("tx_packets") == 43);
  BOOST_REQUIRE(device.at("ports").size() == 2u);
  const auto& second = device.at("ports").at(1);
  BOOST_TEST(second.at("port") == 2);
  BOOST_TEST(second.at("address") == "127.48.91.7");
  BOOST_TEST(second.at("counters").at("tx_packets") == 40);
  BOOST_TEST(device.at("ports").at(0).at("counters").at("tx_packets") == 3);
}

BOOST_AUTO_TEST_CASE(faults_are_told_with_how_often_they_have_hit) {
  cli::StatsReport report;
  BOOST_REQUIRE(report.open("stats-report-test"));
  const host::FaultHits* const hits = host::FaultHits::in(report.path());
  BOOST_REQUIRE(hits != nullptr);
  hits->add(2);
  hits->add(2);
  hits->add(0);
  hits->add(host::StatsFile::kFaults + 1);
  const std::array<std::string, 2> faults{"drop 1%", "fail verb=reg_mr"};
  BOOST_TEST(report.text("node 1", false, faults) ==
             "verbena: counters of node 1, 0 processes\n faults, and how often they have hit\n     never  drop 1%\n"
             "         2  fail verb=reg_mr\n");
  const auto json = nlohmann::json::parse(report.json(faults));
  BOOST_TEST(json.at("faults").at(1).at("hits") == 2);
  BOOST_TEST(json.at("faults").at(0).at("fault") == "drop 1%");
  BOOST_CHECK(host::FaultHits::in("/nonexistent/file") == nullptr);
  BOOST_CHECK(host::FaultHits::in("") == nullptr);
}
