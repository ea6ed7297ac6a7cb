// The real `verbena` with wrong and right command lines.
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "emulator/fabric/rails.h"
#include "emulator/fabric/topology.h"
#include "tests/cli/run_command.h"
#include "tests/host/fabric_process/served.h"
#include "tests/support/places.h"

using verbena::test::Finished;
using verbena::test::run_command;

namespace {

using Words = std::vector<std::string>;

Finished verbena_command(Words words) {
  words.insert(words.begin(), VERBENA_COMMAND);
  return run_command(words);
}

void check_refused(const Words& words, std::string_view names) {
  const Finished finished = verbena_command(words);
  std::string line;
  for (const auto& word : words) line += " " + word;
  BOOST_TEST_CONTEXT("verbena" << line << " -> " << finished.err) {
    BOOST_TEST(finished.status == 2);
    BOOST_TEST(finished.out == "");
    BOOST_TEST(std::count(finished.err.begin(), finished.err.end(), '\n') == 1);
    BOOST_TEST(finished.err.starts_with("verbena"));
    BOOST_TEST((finished.err.find(names) != std::string::npos));
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(wrong_command_line_gets_one_line_and_status_2) {
  check_refused({}, "command");
  check_refused({"dance"}, "dance");
  check_refused({"--bogus"}, "--bogus");
  check_refused({"exec"}, "program");
  check_refused({"exec", "--"}, "program");
  check_refused({"exec", "--bogus", "--", "true"}, "--bogus");
  check_refused({"exec", "--node"}, "--node");
  for (const char* node : {"0", "255", "-1", "x", "", "1.2.3", "127.47.91.300"})
    check_refused({"exec", "--node", node, "true"}, "--node");
  check_refused({"exec", "--node", "1", "--node=2", "true"}, "more than once");
  check_refused({"exec", "--fabric", "a/b", "true"}, "--fabric");
  for (const std::string& name : {std::string(41, 'f'), std::string(".."), std::string("f g")})
    check_refused({"exec", "--fabric", name, "true"}, "a name has 1 to 40");
  for (const char* ecn : {"x", "100..50,1%", "5KB..200KB", "5KB..200KB,2", "0..0,1%"})
    check_refused({"fabric", "--topology", "star", "--ecn", ecn}, "not a number of bytes");
  check_refused({"fabric", "--topology", "star", "--ecn", "2000000"}, "nothing would ever be marked");
  check_refused({"exec", "--link", "tcp", "true"}, "shm, fabric, udp or raw:");
  check_refused({"exec", "--link", "raw:", "true"}, "interface");
  check_refused({"exec", "--link", "raw:no-such-if", "true"}, "no-such-if");
  check_refused({"exec", "--seed", "abc", "true"}, "--seed");
  check_refused({"exec", "--fault", "explode 1%", "true"}, "explode");
  check_refused({"exec", "--fault", "drop 1%", "--fault", "drop 200%", "true"}, "--fault");
  check_refused({"exec", "--fault", "drop 1%\ndrop 2%", "true"}, "--fault");
  check_refused({"exec", "--pcap", "/nonexistent/file.pcapng", "true"}, "/nonexistent/file.pcapng");
  check_refused({"exec", "--pcap-snap", "64", "true"}, "--pcap");
  check_refused({"exec", "--device-name", "../x", "true"}, "--device-name");
  check_refused({"exec", "--fabric", "", "true"}, "--fabric has an empty value");
  check_refused({"stat", "--fabric", "no-such-fabric"}, "no fabric 'no-such-fabric' is running");
  check_refused({"fault", "--fabric", "no-such-fabric", "list"}, "no fabric 'no-such-fabric' is running");
  check_refused({"exec", "--nic", "mtu=1500", "true"}, "want 256, 512, 1024, 2048 or 4096");
  check_refused({"exec", "--nic", "spead=1Gbps", "true"}, "unknown setting");
  check_refused({"exec", "--link", "smh", "true"}, "did you mean 'shm'?");
  check_refused({"exec", "--icrc", "of", "true"}, "did you mean 'offload'?");
  check_refused({"exec", "--wildcard", "nodes", "true"}, "did you mean 'node'?");
  check_refused({"fabric", "--topology", "sta"}, "did you mean 'star'?");
  check_refused({"fabric", "--topology", "star", "--rails", "17"}, "--rails 17: not a number from 1 to 16");
  check_refused({"fabric", "--topology", "star", "--planes", "shared"}, "give --rails 2 as well");
  check_refused({"fabric", "--topology", "star", "--rails", "2", "--planes", "share"}, "did you mean 'shared'?");
  check_refused({"fabric", "--rails", "2", verbena::test::source_file("scenarios/rail-dies.yaml")},
                "FILE says the topology: write it there");
  check_refused({"fabric", "--topology", "star", "--spread", "flows"}, "did you mean 'flow'?");
  check_refused({"fabric", "--topology", "star", "--sockets", "uncutt"}, "did you mean 'uncut'?");
  check_refused({"fabric", "--topology", "star", "--qos", "lossless=3,trust=dcsp"}, "did you mean 'dscp'?");
  check_refused({"init", "--ci", "gitub"}, "did you mean 'github'?");
  check_refused({"completion", "bsh"}, "did you mean 'bash'?");
  check_refused({"explain"}, "FILE");
  check_refused({"explain", "/nonexistent/file.pcap"}, "/nonexistent/file.pcap");
  check_refused({"explain", VERBENA_COMMAND}, VERBENA_COMMAND);
  check_refused({"explain", "--width", "wide", "x"}, "--width");
  check_refused({"explain", "--qp", "0x1000000", "x"}, "--qp");
}

BOOST_AUTO_TEST_CASE(help_and_version_go_to_stdout) {
  for (const Words& words : {Words{"--help"}, Words{"exec", "--help"}, Words{"explain", "--help"},
                             Words{"check", "--help"}, Words{"--version"}}) {
    const Finished finished = verbena_command(words);
    BOOST_TEST(finished.status == 0);
    BOOST_TEST(finished.err == "");
    BOOST_TEST((finished.out.find("verbena ") != std::string::npos));
    BOOST_TEST((finished.out.find("::\n") == std::string::npos));
    BOOST_TEST(std::count(finished.out.begin(), finished.out.end(), '\n') <= 30);
  }
}

BOOST_AUTO_TEST_CASE(explain_tells_a_capture_and_ends_well) {
  const Finished finished = verbena_command({"explain", verbena::test::data_file("07-loss2_write_bw.pcap")});
  BOOST_TEST(finished.status == 0);
  BOOST_TEST(finished.err == "");
  BOOST_TEST((finished.out.find("820 packets in the file: 778 RoCE v2, 42 ") != std::string::npos));
  const Finished none =
      verbena_command({"explain", "--qp", "0x77", verbena::test::data_file("07-loss2_write_bw.pcap")});
  BOOST_TEST((none.out.find("No conversation of queue pair 0x77") != std::string::npos));
}

#ifdef VERBENA_HAS_LIBRARIES
BOOST_AUTO_TEST_CASE(exec_joins_a_fabric_of_every_name_that_can_be_served) {
  BOOST_TEST(verbena_command({"exec", "--fabric", std::string(40, 'f'), "true"}).status == 0);
}

BOOST_AUTO_TEST_CASE(exec_port_speed_is_its_cables_unless_given) {
  using verbena::fabric::CableParameters;
  const CableParameters fast{.rate_bits_per_second = 25'000'000'000};
  verbena::fabric::Topology topology = verbena::fabric::star(3, {fast, fast});
  topology.cables[1].parameters.rate_bits_per_second = 10'000'000'000;  // of the second node
  topology.cables[2].parameters.rate_bits_per_second = 0;
  const verbena::host::test::Served fabric(topology);
  const auto rate = [&fabric](Words options) {
    options.insert(options.begin(), {"exec", "--fabric", fabric.name});
    options.insert(options.end(), {"--", "cat", "/sys/class/infiniband/verbena0/ports/1/rate"});
    return verbena_command(options).out;
  };
  BOOST_TEST(rate({"--node", "1"}) == "25 Gb/sec (1X EDR)\n");
  BOOST_TEST(rate({"--node", "2"}) == "10 Gb/sec (1X FDR10)\n");
  BOOST_TEST(rate({"--node", "3"}) == "100 Gb/sec (4X EDR)\n");
  BOOST_TEST(rate({"--node", "1", "--nic", "speed=40Gbps"}) == "40 Gb/sec (4X FDR10)\n");
  BOOST_TEST(rate({"--node", "1", "--link", "shm"}) == "100 Gb/sec (4X EDR)\n");
}

BOOST_AUTO_TEST_CASE(exec_has_a_device_for_each_rail_of_the_fabric) {
  const auto rails = verbena::fabric::with_rails(verbena::fabric::star(2, {}), {.rails = 3});
  const verbena::host::test::Served fabric(*rails);
  const auto devices = [&fabric](Words options) {
    options.insert(options.begin(), {"exec", "--fabric", fabric.name});
    options.insert(options.end(), {"--", "ls", "/sys/class/infiniband"});
    return verbena_command(options).out;
  };
  BOOST_TEST(devices({}) == "verbena0\nverbena1\nverbena2\n");
  BOOST_TEST(devices({"--node", "2", "--devices", "2"}) == "verbena0\nverbena1\n");
  BOOST_TEST(devices({"--link", "shm"}) == "verbena0\n");
  check_refused({"exec", "--fabric", fabric.name, "--devices", "4", "true"}, "has 3 rails: not more than these");
  check_refused({"exec", "--fabric", fabric.name, "--node", "1,2", "true"}, "device 1 has 127.47.92.1 in fabric");
  const Finished wrong = verbena_command({"fault", "--fabric", fabric.name, "port-error", "n1.4"});
  BOOST_TEST(wrong.status == 2);
  BOOST_TEST(wrong.err.find("n1 has the rails n1.1 to n1.3") != std::string::npos, wrong.err);
}

BOOST_AUTO_TEST_CASE(exec_passes_the_status_on) {
  for (const Words& stats : {Words{}, Words{"--stats"}}) {
    const auto run = [&](const Words& program) {
      Words words{"exec"};
      words.insert(words.end(), stats.begin(), stats.end());
      words.push_back("--");
      words.insert(words.end(), program.begin(), program.end());
      return verbena_command(words);
    };
    BOOST_TEST(run({"true"}).status == 0);
    BOOST_TEST(run({"sh", "-c", "exit 42"}).status == 42);
    BOOST_TEST(run({"sh", "-c", "kill -9 $$"}).status == 128 + 9);
    const Finished missing = run({"no-such-program-anywhere"});
    BOOST_TEST(missing.status == 127);
    BOOST_TEST((missing.err.find("no-such-program-anywhere") != std::string::npos));
    BOOST_TEST(run({"/etc/passwd"}).status == 126);
  }
}

BOOST_AUTO_TEST_CASE(exec_sets_the_environment_and_nesting_does_not_pile_it_up) {
  const Finished finished =
      verbena_command({"exec", "--node=127.47.91.9", "--fabric", "f", "--fault", "drop 1%", "--fault", "duplicate 2%",
                       "--seed", "5", VERBENA_COMMAND, "exec", "--node", "3", "--", "env"});
  BOOST_TEST(finished.status == 0);
  const auto has = [&](std::string_view line) { return finished.out.find(line) != std::string::npos; };
  BOOST_TEST(has("VERBENA_NODE=3\n"));
  BOOST_TEST(has("VERBENA_FABRIC=default\n"));
  BOOST_TEST(!has("VERBENA_SEED"));
  BOOST_TEST(!has("VERBENA_FAULTS"));
  const std::size_t preload = finished.out.find("LD_PRELOAD=");
  BOOST_REQUIRE(preload != std::string::npos);
  const std::string line = finished.out.substr(preload, finished.out.find('\n', preload) - preload);
  BOOST_TEST((line.find("libverbena-path.so") == line.rfind("libverbena-path.so")));
  BOOST_TEST((line.find("libibverbs.so.1") != std::string::npos));
}

BOOST_AUTO_TEST_CASE(exec_leaves_the_node_to_the_rank_where_there_are_several) {
  const auto node_of = [](const Words& options, const char* rank) {
    Words words{"exec", "--fabric", "ranks"};
    words.insert(words.end(), options.begin(), options.end());
    for (const char* word : {"--", "env", rank, "cat", "/sys/class/infiniband/verbena0/node_guid"})
      words.emplace_back(word);
    return verbena_command(words).out;
  };
  BOOST_TEST(node_of({"--nodes", "3"}, "PMI_RANK=4") == "0056:7fff:fe2f:5b02\n");
  BOOST_TEST(node_of({"--nodes", "3", "--node", "auto"}, "OMPI_COMM_WORLD_RANK=2") == "0056:7fff:fe2f:5b03\n");
  BOOST_TEST(node_of({"--node", "auto"}, "SLURM_PROCID=9") == "0056:7fff:fe2f:5b0a\n");
  BOOST_TEST(node_of({"--nodes", "3"}, "NO_RANK=1") == "");
  const auto error_of = [](const Words& options) {
    Words words{"exec"};
    words.insert(words.end(), options.begin(), options.end());
    words.emplace_back("true");
    const Finished finished = verbena_command(words);
    BOOST_TEST(finished.status == 2);
    return finished.err;
  };
  for (const char* nodes : {"0", "255", "x"})
    BOOST_TEST(error_of({"--nodes", nodes}).starts_with("verbena exec: --nodes"));
  BOOST_TEST((error_of({"--nodes", "3", "--node", "2"}).find("not with --node 2") != std::string::npos));
  BOOST_TEST((error_of({"--nodes", "3", "--pcap", "x.pcapng"}).find("one file is of one node") != std::string::npos));
}

BOOST_AUTO_TEST_CASE(exec_tells_ucx_its_device_unless_the_user_has) {
  const auto ucx_of = [](const Words& before, const Words& options) {
    Words words{"env", "-u", "UCX_TLS", "-u", "UCX_NET_DEVICES"};
    words.insert(words.end(), before.begin(), before.end());
    words.insert(words.end(), {VERBENA_COMMAND, "exec"});
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", "sh", "-c", "echo \"$UCX_NET_DEVICES $UCX_TLS\""});
    return verbena::test::run_command(words, {}).out;
  };
  BOOST_TEST(ucx_of({}, {}) == "verbena0:1 ^shm\n");
  BOOST_TEST(ucx_of({}, {"--device-name", "mlx5_0"}) == "mlx5_0:1 ^shm\n");
  BOOST_TEST(ucx_of({"UCX_TLS=tcp"}, {}) == " tcp\n");
  BOOST_TEST(ucx_of({"UCX_NET_DEVICES=lo"}, {}) == "lo \n");
  // Nested: the outer one's is not the user's.
  BOOST_TEST(ucx_of({}, {"--device-name", "mlx5_0", "--", VERBENA_COMMAND, "exec"}) == "verbena0:1 ^shm\n");
}

BOOST_AUTO_TEST_CASE(exec_waits_for_a_listener_on_the_node_that_is_named) {
  const std::string fabric = "waits-" + std::to_string(getpid());
  // The server stands on node 1 and listens once a line comes; the client prints what it finds then.
  const std::string server =
      R"(import socket, subprocess, sys
client = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE)
try:
    client.wait(0.5)
except subprocess.TimeoutExpired:
    print("it waits", flush=True)
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen()
print(client.communicate(timeout=60)[0].decode(), client.returncode)
)";
  const Finished finished = run_command({VERBENA_COMMAND,
                                         "exec",
                                         "--fabric",
                                         fabric,
                                         "--node",
                                         "1",
                                         "--",
                                         "/usr/bin/python3",
                                         "-c",
                                         server,
                                         VERBENA_COMMAND,
                                         "exec",
                                         "--fabric",
                                         fabric,
                                         "--node",
                                         "2",
                                         "--wait-for-listener",
                                         "1",
                                         "--",
                                         "echo",
                                         "it runs"},
                                        {}, std::chrono::seconds(90));
  BOOST_TEST(finished.out == "it waits\nit runs\n 0\n");
  BOOST_TEST(finished.err == "");
}

BOOST_AUTO_TEST_CASE(exec_with_stats_passes_signals_and_prints_counters_to_stderr) {
  const Finished finished = verbena_command(
      {"exec", "--stats", "--", "sh", "-c", "trap 'exit 7' TERM; kill -TERM $PPID; while :; do :; done"});
  BOOST_TEST(finished.status == 7);
  BOOST_TEST(finished.out == "");
  BOOST_TEST((finished.err.find("verbena: counters of node 1") != std::string::npos));
}

BOOST_AUTO_TEST_CASE(exec_does_not_swallow_the_programs_own_options) {
  const Finished finished = verbena_command({"exec", "--node", "2", "echo", "--node", "9", "--", "--help"});
  BOOST_TEST(finished.status == 0);
  BOOST_TEST(finished.out == "--node 9 -- --help\n");
}
#endif
