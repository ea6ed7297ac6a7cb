#include "cli/init/texts.h"

#include <fmt/format.h>

namespace verbena::cli::init {
namespace {

// Only data are lost: of the last acknowledgement nobody would be left to ask for.
constexpr const char* kScenario =
    R"(# Two programs on two nodes, and one packet in a hundred that carries data is lost on the way.
#   verbena run verbena/first.yaml
#   verbena run verbena/first.yaml --seed 7 --out out     another course of chance, with captures of every link
# Put your own server and client into the two `exec:` lines; ${{n1}} is the address of node n1. `after: server` waits
# until the server listens. All that can be made to go wrong: verbena help faults.
name: first
clock: real
timeout: 60s
topology: {{shape: star, hosts: 2}}
workloads:
  - {{name: server, node: n1, exec: {0}}}
  - {{name: client, node: n2, exec: '{0} ${{n1}}', after: server}}
faults:
  - {{packet: drop 1% opcode=data, link: all}}
# Besides what is said here: both programs end with status 0, and no rule of the transport is broken.
expect:
{1}  - {{counter: tx_retransmitted_packets, min: 1}}     # the loss was there, and was made good
)";

constexpr const char* kInstall =
    "apt-get install -y --no-install-recommends ./verbena/verbena_*_amd64.deb perftest ibverbs-utils";

}  // namespace

std::string first_scenario(bool has_pingpong) {
  if (has_pingpong)
    return fmt::format(kScenario, "ibv_rc_pingpong -g 0 -c -n 500 -p 28821",
                       "  - {program: client, output: 500 iters in}\n");
  return fmt::format(kScenario, "ib_write_bw -F -n 500 -p 28821", "");
}

std::string github_workflow() {
  return fmt::format(
      R"(# The scenarios of verbena/ on every push. No RDMA device, no kernel module and no privileges are needed.
name: verbena
on: [push, pull_request]
jobs:
  scenarios:
    runs-on: ubuntu-latest
    container: debian:12  # what the package is made for; the steps run as root there
    timeout-minutes: 10
    steps:
      - uses: actions/checkout@v4
      # The package that `make package` makes of Verbena's sources: put it into verbena/, or fetch it in a step before.
      - run: apt-get update && {}
      - run: verbena doctor
      # Build your own programs here.
      - run: verbena run verbena/*.yaml --out verbena-out
      - if: failure()
        uses: actions/upload-artifact@v4
        with: {{name: verbena-out, path: verbena-out}}
)",
      kInstall);
}

std::string gitlab_job() {
  return fmt::format(
      R"(# The scenarios of verbena/ as a job. No RDMA device, no kernel module and no privileges are needed.
verbena:
  image: debian:12
  timeout: 10 minutes
  before_script:
    # The package that `make package` makes of Verbena's sources: put it into verbena/, or fetch it in a line before.
    - apt-get update && {}
  script:
    - verbena doctor
    # Build your own programs here.
    - verbena run verbena/*.yaml --out verbena-out
  artifacts:
    when: on_failure
    paths: [verbena-out]
)",
      kInstall);
}

std::string gitlab_includes() {
  return "include:\n  - local: verbena/ci/gitlab.yml\n";
}

}  // namespace verbena::cli::init
