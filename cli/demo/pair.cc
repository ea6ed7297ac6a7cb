#include "cli/demo/pair.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <optional>

#include "cli/exec/stats_report.h"
#include "cli/run/interrupt.h"
#include "emulator/host/config/own_files.h"
#include "emulator/host/config/variables.h"
#include "emulator/host/node/node_directory.h"
#include "emulator/host/os/clock.h"
#include "scenarios/real/program_child.h"

namespace verbena::cli::demo {
namespace {

constexpr Duration kPairPatience = seconds(120);
constexpr long kStepNs = 5'000'000;

/// A port that was free a moment ago on the server's address.
std::optional<std::uint16_t> free_port() {
  const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  socklen_t bytes = sizeof at;
  const bool bound = probe >= 0 &&
                     inet_pton(AF_INET, host::address_text(host::node_address(1)).c_str(), &at.sin_addr) == 1 &&
                     bind(probe, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0 &&
                     getsockname(probe, reinterpret_cast<sockaddr*>(&at), &bytes) == 0;
  if (probe >= 0) close(probe);
  return bound ? std::optional<std::uint16_t>(ntohs(at.sin_port)) : std::nullopt;
}

class Pair {
 public:
  explicit Pair(const PairOptions& options) : options_(options), deadline_(host::clock_now() + kPairPatience) {}

  Result<PairResult, std::string> run() {
    const auto libraries = host::find_library_directory();
    if (!libraries) return Failure{libraries.error()};
    const auto port = free_port();
    if (!port) return Failure{fmt::format("no TCP port on {}: {}", address(1), std::strerror(errno))};
    if (!report_.open(fabric_)) return Failure{fmt::format("counters: {}", std::strerror(errno))};
    program_ = options_.program;
    for (std::string& word : program_)
      if (word == "{port}") word = std::to_string(*port);
    auto server = start(1, program_, options_.capture_of_server, *libraries);
    if (!server) return Failure{server.error()};
    const auto up = wait([&] { return server->ended() || server->is_ready(host::clock_now()); }, "the server");
    if (!up) return Failure{up.error() + "\n" + server->output()};
    std::vector<std::string> words = program_;
    words.push_back(address(1));
    auto client = start(2, words, options_.capture_of_client, *libraries);
    if (!client) return Failure{client.error()};
    for (auto* const one : {&*client, &*server}) {
      const auto done = wait([one] { return one->ended(); }, "a program");
      if (!done) return Failure{done.error() + "\n" + one->output()};
      if (one->status() != 0)
        return Failure{fmt::format("{} ended with status {}:\n{}", program_.front(), one->status(), one->output())};
    }
    PairResult result{client->output(), {}};
    for (const auto& [name, sum] : report_.sums()) result.counters[std::string(name)] = sum;
    return result;
  }

 private:
  static std::string address(std::uint8_t node) { return host::address_text(host::node_address(node)); }

  Result<scenarios::ProgramChild, std::string> start(int node, const std::vector<std::string>& words,
                                                     const std::string& capture, const std::string& libraries) const {
    scenarios::ProgramChild::Options child;
    child.arguments = words;
    child.library_directory = libraries;
    child.environment.fabric = fabric_;
    child.environment.node = std::to_string(node);
    child.environment.link = "shm";
    child.environment.faults = options_.faults;
    child.environment.seed = kSeed;
    child.environment.capture_path = capture;
    child.environment.stats_path = report_.path();
    child.environment.device_name = host::kDeviceNameDefault;
    return scenarios::ProgramChild::start(child, host::clock_now());
  }

  Result<void, std::string> wait(const std::function<bool()>& done, const char* whom) const {
    const timespec step{0, kStepNs};
    while (!done()) {
      if (run::interrupted()) return Failure{std::string("interrupted")};
      if (host::clock_now() > deadline_)
        return Failure{
            fmt::format("{} ({}) is not done after {} s: is the machine busy? Try again, or look at `verbena "
                        "doctor`",
                        whom, program_.front(), kPairPatience.ns / 1'000'000'000)};
      if (options_.waiting) options_.waiting();
      nanosleep(&step, nullptr);
    }
    return {};
  }

  const PairOptions& options_;
  const Time deadline_;
  const std::string fabric_ = fmt::format("demo-{}", getpid());
  std::vector<std::string> program_;
  StatsReport report_;
};

}  // namespace

Result<PairResult, std::string> run_pair(const PairOptions& options) {
  return Pair(options).run();
}

}  // namespace verbena::cli::demo
