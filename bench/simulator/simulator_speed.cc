// How fast the simulator is: 1 MiB writes, payload-free, with full NICs at the ends. Permutation traffic; incast is a
// star in which three hosts of four write to the fourth.
//
// One run per call, so that its peak memory is its own: simulator_speed SHAPE SIZE MESSAGES WINDOW [POLICY]. Prints one
// "name value" a line. bench/measurements.py runs it; rows.py says what is wanted.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstring>
#include <span>

#include "emulator/fabric/congestion_words.h"
#include "emulator/host/os/huge_pages.h"
#include "tests/support/traffic.h"

namespace verbena::bench {
namespace {

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds_of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

enum class Shape : std::uint8_t { star, fat_tree, incast };
constexpr std::array<std::string_view, 3> kShapes{"star", "fat-tree", "incast"};  // in the order of Shape

struct Run {
  Shape shape{};
  std::uint32_t size = 0;
  std::uint32_t messages = 0;
  std::uint32_t window_kib = 0;
  nic::CongestionConfig congestion;
};

fabric::Topology topology_of(const Run& run) {
  fabric::ShapeParameters parameters;
  fabric::CableParameters& cable = parameters.host_cable;
  if (run.congestion.wants().marks) cable.ecn = {.kmin_bytes = 5'000, .kmax_bytes = 200'000, .pmax_ppb = 10'000'000};
  cable.telemetry = run.congestion.wants().telemetry;
  parameters.trunk = cable;
  return run.shape == Shape::fat_tree ? fabric::fat_tree(run.size, parameters) : fabric::star(run.size, parameters);
}

test::TrafficOptions traffic_of(const Run& run) {
  return {.messages = run.messages,
          .depth = 2,
          .window_bytes = run.window_kib << 10,
          .congestion = run.congestion,
          .cnp_interval = run.congestion.wants().notifications ? fabric::kCnpIntervalDefault : Duration{}};
}

int measure(const Run& run) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const fabric::Topology topology = topology_of(run);
  test::TrafficWorld traffic(topology, traffic_of(run), {.payload = false});
  if (run.shape == Shape::incast)
    traffic.connect_incasts(4);
  else
    traffic.connect_permutation(1);
  const auto built = Clock::now();
  const double cpu_before = cpu_seconds();
  sim::World& world = traffic.world;
  while (world.step(Time{} + seconds(100))) {
  }
  const std::chrono::duration<double> wall = Clock::now() - built;
  const double cpu_s = cpu_seconds() - cpu_before;
  const std::chrono::duration<double> set_up = built - begin;
  if (!traffic.is_done()) {
    fmt::print(stderr, "simulator_speed: only {} writes completed\n", traffic.done());
    return 1;
  }
  Time last{};
  std::uint64_t packets = 0;
  std::uint64_t again = 0;
  for (sim::HostId host = 0; host < topology.hosts; ++host) {
    last = std::max(last, traffic.hosts[host].last_completion);
    packets += world.counters(host).get(nic::Counter::tx_packets);
    again += world.counters(host).get(nic::Counter::tx_retransmitted_packets);
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto statistics = world.statistics();
  const double wall_s = wall.count();
  fmt::print("hosts {}\n", topology.hosts);
  fmt::print("seconds {:.3f}\n", wall_s);
  fmt::print("total_seconds {:.3f}\n", wall_s + set_up.count());
  fmt::print("cpu_seconds {:.3f}\n", cpu_s);
  fmt::print("set_up_seconds {:.3f}\n", set_up.count());
  fmt::print("virtual_milliseconds {:.3f}\n", static_cast<double>(last.ns) / 1e6);
  fmt::print("packets {}\n", packets);
  fmt::print("sent_again {}\n", again);
  fmt::print("arrivals {}\n", statistics.arrivals);
  fmt::print("host_arrivals {}\n", statistics.host_arrivals);
  fmt::print("events {}\n", statistics.events);
  fmt::print("overflowed {}\n", statistics.overflowed);
  fmt::print("millions_of_arrivals {:.3f}\n", static_cast<double>(statistics.arrivals) / wall_s / 1e6);
  fmt::print("millions_of_host_arrivals {:.3f}\n", static_cast<double>(statistics.host_arrivals) / wall_s / 1e6);
  fmt::print("cpu_ns_per_packet {:.1f}\n", cpu_s * 1e9 / static_cast<double>(packets));
  fmt::print("peak_gib {:.3f}\n", static_cast<double>(usage.ru_maxrss) / (1 << 20));
  return 0;
}

bool take_policy(std::string_view name, nic::CongestionConfig& into) {
  const auto* const word = fabric::find_setting(fabric::congestion_words(), "congestion-control");
  return word != nullptr && word->take(name, into);
}

bool parse(std::span<char*> words, Run& run) {
  const auto number = [](const char* text, std::uint32_t& value) {
    return std::from_chars(text, text + std::strlen(text), value).ec == std::errc{} && value != 0;
  };
  if (words.size() != 4 && words.size() != 5) return false;
  const auto* const shape = std::find(kShapes.begin(), kShapes.end(), words[0]);
  run.shape = static_cast<Shape>(shape - kShapes.begin());
  if (shape == kShapes.end() || !number(words[1], run.size) || !number(words[2], run.messages) ||
      !number(words[3], run.window_kib) || (run.shape == Shape::fat_tree && run.size % 2 != 0))
    return false;
  return words.size() == 4 || take_policy(words[4], run.congestion);
}

}  // namespace
}  // namespace verbena::bench

int main(int argc, char** argv) {
  using namespace verbena;
  bench::Run run;
  if (!bench::parse(std::span(argv, static_cast<std::size_t>(argc)).subspan(1), run)) {
    fmt::print(stderr,
               "usage: simulator_speed star|fat-tree|incast SIZE MESSAGES WINDOW [POLICY] (hosts, or the k of the "
               "tree; KiB; a word of congestion-control)\n");
    return 2;
  }
  host::prefer_huge_pages(host::kSimulationHeapBytes);  // as `verbena run` does
  return bench::measure(run);
}
