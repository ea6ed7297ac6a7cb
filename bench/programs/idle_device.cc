// A program that opens a device and leaves it alone: PD, CQ, and one long sleep in the kernel.
//
// Solely responsible for doing nothing: bench.py looks from outside at how often its threads run. Says `ready` when it
// starts to sleep. Usage: idle_device SECONDS
#include <unistd.h>

#include "bench/programs/verbs.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: idle_device SECONDS\n");
    return 2;
  }
  const verbena::bench::Device device(16);
  std::puts("ready");
  std::fflush(stdout);
  ::sleep(static_cast<unsigned>(std::atoi(argv[1])));
}
