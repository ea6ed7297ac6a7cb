// `verbena subnet`: programs of InfiniBand's management on an emulated subnet (emulator/host/subnet_process).
// Tested by: tests/programs/subnet.py
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "cli/command.h"
#include "cli/exec/launch.h"
#include "cli/exec/program.h"
#include "emulator/fabric/nearest_word.h"
#include "emulator/host/config/own_files.h"
#include "emulator/host/fabric_process/subnet_topology.h"
#include "emulator/host/subnet_process/subnet_process.h"
#include "wire/printable.h"

namespace verbena::cli {

namespace {

struct SubnetOptions {
  std::string file;
  std::string host;
};

void declare(CommandLine& line, SubnetOptions& options) {
  line.required_argument("FILE", options.file,
                         "the topology, as ibnetdiscover writes it and ibsim reads it: Switch, Hca and their ports");
  line.option("--host", options.host, "ID", "the adapter on which the program runs; the first one of the file");
  line.footer(
      "The program is on the subnet, and so is what it starts: opensm and the tools of infiniband-diags find umad "
      "devices and what /sys has of them. Another shell joins with the same VERBENA_SUBNET and LD_PRELOAD. "
      "Management only: no data passes.\n");
  line.exit_status("the program's", "it ran; 128 + N: signal N ended it");
  line.exit_status("125", "the subnet could not be set up");
  line.exit_status("126", "the program cannot be run");
  line.exit_status("127", "there is no such program");
  line.example("verbena subnet two.net -- sh -c 'opensm -o -f - && ibnetdiscover'",
               "a subnet manager that makes one sweep, then what it has found");
}

Result<std::size_t, std::string> find_host(const subnet::Topology& topology, const std::string& name) {
  const auto found = name.empty() ? topology.first_adapter() : topology.find(name);
  if (!found)
    return Failure{name.empty() ? std::string("the topology has no adapter (Hca) on which a program could run")
                                : fmt::format("--host {}: no node of the file has this id", wire::printable(name))};
  if (topology.nodes[*found].type != wire::NodeType::channel_adapter)
    return Failure{fmt::format("--host {}: not an adapter (Hca)", wire::printable(name))};
  return *found;
}

void set_subnet_environment(const std::string& folder, const std::string& libraries) {
  setenv(host::kSubnetVariable, folder.c_str(), 1);
  const char* const before = getenv("LD_PRELOAD");
  const std::string own = libraries + "/libverbena-path.so";
  setenv("LD_PRELOAD", (before != nullptr && *before != 0 ? own + ":" + before : own).c_str(), 1);
}

}  // namespace

int run_subnet(const Arguments& arguments) {
  CommandLine line("verbena subnet", "verbena subnet [OPTIONS] FILE -- PROGRAM [ARGUMENTS ...]",
                   "Runs programs of InfiniBand's management on an emulated subnet.\n");
  SubnetOptions options;
  declare(line, options);
  const auto separator = std::ranges::find(arguments, std::string("--"));
  const Arguments own(arguments.begin(), separator);
  const std::vector<std::string> program(separator == arguments.end() ? separator : separator + 1, arguments.end());
  if (const auto status = line.parse(own)) return *status;
  if (program.empty()) return line.fail(kExitUsage, "the program to run is missing, behind --");
  const auto topology = host::read_subnet_file(options.file);
  if (!topology) return line.fail(kExitUsage, topology.error());
  const auto host_node = find_host(*topology, options.host);
  if (!host_node) return line.fail(kExitUsage, host_node.error());
  const auto libraries = host::find_library_directory();
  if (!libraries) return line.fail(kExitInternal, libraries.error());
  const auto path = find_program(program[0]);
  if (!path) return line.fail(kExitNotFound, fmt::format("program not found: {}", wire::printable(program[0])));

  const auto served = host::SubnetProcess::start(*topology);
  if (!served) return line.fail(kExitInternal, served.error());
  int end[2];
  if (pipe2(end, O_CLOEXEC) != 0) return line.fail(kExitInternal, std::strerror(errno));
  set_subnet_environment((*served)->folder_of(*host_node), *libraries);
  std::thread server([&] { (*served)->serve(end[0]); });
  std::string error;
  const int status = run_and_wait(program, error);
  close(end[1]);  // which ends the server
  server.join();
  close(end[0]);
  return error.empty() ? status : line.fail(status, error);
}

}  // namespace verbena::cli
