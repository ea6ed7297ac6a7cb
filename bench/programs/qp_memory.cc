// What one idle RC queue pair costs in resident memory: many are created and connected to each other on one node, and
// the growth of the process is divided by their number.
//
// Solely responsible for `rss_bytes_per_qp` and `private_bytes_per_qp`. The first few queue pairs do not count: they
// bring in what all share (code, tables, the way to the node). Usage: qp_memory QUEUE_PAIRS WORK_REQUESTS
#include <fstream>
#include <string>

#include "bench/limits/measure.h"
#include "bench/programs/verbs.h"

namespace verbena::bench {
namespace {

constexpr int kUncounted = 16;
constexpr int kCqEntries = 256;

struct Resident {
  double rss = 0;
  double private_dirty = 0;
};

Resident resident_bytes() {
  Resident found;
  std::ifstream file("/proc/self/smaps_rollup");
  for (std::string line; std::getline(file, line);) {
    double kib = 0;
    if (std::sscanf(line.c_str(), "Rss: %lf kB", &kib) == 1) found.rss = kib * 1024;
    if (std::sscanf(line.c_str(), "Private_Dirty: %lf kB", &kib) == 1) found.private_dirty = kib * 1024;
  }
  if (found.rss <= 0) die("/proc/self/smaps_rollup");
  return found;
}

void create_pairs(const Device& device, int queue_pairs, std::uint32_t work_requests) {
  for (int made = 0; made < queue_pairs; made += 2) {
    ibv_qp* const one = device.create_qp(work_requests, work_requests);
    ibv_qp* const other = device.create_qp(work_requests, work_requests);
    connect(one, {.gid = device.gid, .qpn = other->qp_num, .rkey = 0, .address = 0});
    connect(other, {.gid = device.gid, .qpn = one->qp_num, .rkey = 0, .address = 0});
  }
}

}  // namespace
}  // namespace verbena::bench

int main(int argc, char** argv) {
  using namespace verbena::bench;
  const int queue_pairs = argc == 3 ? std::atoi(argv[1]) : 0;
  const int work_requests = argc == 3 ? std::atoi(argv[2]) : 0;
  if (queue_pairs < 2 || work_requests < 1) {
    std::fprintf(stderr, "usage: qp_memory QUEUE_PAIRS WORK_REQUESTS\n");
    return 2;
  }
  const Device device(kCqEntries);
  create_pairs(device, kUncounted, static_cast<std::uint32_t>(work_requests));
  const Resident before = resident_bytes();
  create_pairs(device, queue_pairs, static_cast<std::uint32_t>(work_requests));
  const Resident after = resident_bytes();
  report("rss_bytes_per_qp", (after.rss - before.rss) / queue_pairs);
  report("private_bytes_per_qp", (after.private_dirty - before.private_dirty) / queue_pairs);
}
