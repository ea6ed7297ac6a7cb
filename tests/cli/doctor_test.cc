// verbena doctor: what it says is what the machine does, also where something is taken away from it.
#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/run_command.h"

using namespace verbena;
using test::run_command;
using Json = nlohmann::json;

namespace {

Json finding(const Json& report, std::string_view begin) {
  for (const Json& one : report.at("findings"))
    if (one.value("what", "").starts_with(begin)) return one;
  BOOST_FAIL("there is no finding " << begin);
  return {};
}

Json report_of(const std::vector<std::string>& before, int status = 0) {
  std::vector<std::string> command = before;
  command.insert(command.end(), {VERBENA_COMMAND, "doctor", "--json"});
  const test::Finished finished = run_command(command);
  BOOST_TEST(finished.status == status, finished.err);
  return Json::parse(finished.out);
}

}  // namespace

BOOST_AUTO_TEST_CASE(doctor_finds_programs_can_run_and_every_trouble_has_advice) {
  const Json report = report_of({});
  BOOST_TEST(report.at("programs_can_run").get<bool>());
  for (const Json& one : report.at("findings")) {
    BOOST_TEST(!one.value("found", "").empty(), one.dump());
    const bool is_ok = one.at("state") == "ok";
    BOOST_TEST(one.value("follows", "").empty() == is_ok, one.dump());
    BOOST_TEST(one.value("remedy", "").empty() == is_ok, one.dump());
  }
  BOOST_TEST(finding(report, "shm").at("state") == "ok");
}

BOOST_AUTO_TEST_CASE(limits_are_found_as_they_are) {
  const Json report = report_of({"prlimit", "--nofile=200", "--memlock=65536"});
  BOOST_TEST(finding(report, "open files").at("state") == "limited");
  BOOST_TEST(finding(report, "open files").at("found") == "limit 200");
  BOOST_TEST((finding(report, "locked memory").value("found", "").find("limit 64 KiB") == 0u));
  const Json one = report_of({"taskset", "-c", "0"});
  BOOST_TEST(finding(one, "processors").at("state") == "limited");
}

BOOST_AUTO_TEST_CASE(network_without_loopback_lacks_udp_but_runs_programs) {
  const Json report = report_of({"unshare", "--user", "--map-root-user", "--net"});
  BOOST_TEST(finding(report, "udp").at("state") == "missing");
  BOOST_TEST((finding(report, "udp").value("remedy", "").find("ip link set lo up") != std::string::npos));
}

BOOST_AUTO_TEST_CASE(somebody_who_holds_the_port_is_named) {
  const Json report = report_of({"unshare", "--user", "--map-root-user", "--net", "sh", "-c",
                                 "ip link set lo up; python3 -c 'import socket, sys, os, subprocess\n"
                                 "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind((\"0.0.0.0\", 4791))\n"
                                 "sys.exit(subprocess.call(sys.argv[1:]))' \"$@\"",
                                 "sh"});
  BOOST_TEST(finding(report, "udp").at("state") == "missing");
  BOOST_TEST((finding(report, "udp").value("remedy", "").find("held on 0.0.0.0") != std::string::npos));
}

BOOST_AUTO_TEST_CASE(without_memory_files_nothing_runs_and_the_status_says_so) {
  // No descriptor is left for any.
  const Json report = report_of({"prlimit", "--nofile=5"}, 1);
  BOOST_TEST(!report.at("programs_can_run").get<bool>());
  BOOST_TEST(finding(report, "shm").at("state") == "missing");
  const test::Finished quiet = run_command({"prlimit", "--nofile=5", VERBENA_COMMAND, "doctor", "--quiet"});
  BOOST_TEST(quiet.status == 1);
  BOOST_TEST((quiet.out.find("missing  shm") != std::string::npos));
  BOOST_TEST((quiet.out.find("  ok  ") == std::string::npos));
}

BOOST_AUTO_TEST_CASE(quiet_is_silent_where_programs_can_run) {
  const test::Finished quiet = run_command({VERBENA_COMMAND, "doctor", "--quiet"});
  BOOST_TEST(quiet.status == 0);
  BOOST_TEST(quiet.out == "");
}
