// How fast the simulator is: permutation traffic of 1 MiB writes, payload-free, with full NICs at the ends.
//
// One run per call, so that its peak memory is its own: simulator_speed star|fat-tree SIZE MESSAGES WINDOW. Prints one
// "name value" a line. bench/measurements.py runs it; rows.py says what is wanted.
#include <fmt/format.h>
#include <sys/resource.h>

#include <charconv>
#include <chrono>
#include <cstring>

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

int run(const fabric::Topology& topology, std::uint32_t messages, std::uint32_t window_kib) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  test::TrafficWorld traffic(topology, {.messages = messages, .depth = 2, .window_bytes = window_kib << 10},
                             {.payload = false});
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
    fmt::print(stderr, "simulator_speed: {} of {} writes completed\n", traffic.done(), topology.hosts * messages);
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

}  // namespace
}  // namespace verbena::bench

int main(int argc, char** argv) {
  std::uint32_t size = 0;
  std::uint32_t messages = 0;
  std::uint32_t window_kib = 0;
  const auto number = [](const char* text, std::uint32_t& value) {
    return std::from_chars(text, text + std::strlen(text), value).ec == std::errc{} && value != 0;
  };
  const std::string_view shape = argc == 5 ? argv[1] : "";
  const bool is_tree = shape == "fat-tree";
  if ((!is_tree && shape != "star") || !number(argv[2], size) || !number(argv[3], messages) ||
      !number(argv[4], window_kib) || (is_tree && size % 2 != 0)) {
    fmt::print(stderr,
               "usage: simulator_speed star|fat-tree SIZE MESSAGES WINDOW (hosts, or the k of the tree; KiB)\n");
    return 2;
  }
  using namespace verbena;
  host::prefer_huge_pages(host::kSimulationHeapBytes);  // as `verbena run` does
  return bench::run(is_tree ? fabric::fat_tree(size, {}) : fabric::star(size, {}), messages, window_kib);
}
