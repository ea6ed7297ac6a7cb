// Where the progress thread runs when the application keeps its core to itself.
#include "emulator/host/engine/thread_affinity.h"

#include <sched.h>

#include <boost/test/unit_test.hpp>
#include <functional>
#include <thread>

using namespace verbena::host;

namespace {

cpu_set_t cores_of_this_thread() {
  cpu_set_t cores;
  BOOST_REQUIRE(sched_getaffinity(0, sizeof cores, &cores) == 0);
  return cores;
}

/// In a thread of its own that may run on one core only, as under taskset.
void pinned(const std::function<void(ThreadAffinity&, int)>& test) {
  std::thread([&] {
    const int core = sched_getcpu();
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    BOOST_REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
    ThreadAffinity place;
    test(place, core);
  }).join();
}

/// Of an application that does something between the frames.
void serve(ThreadAffinity& place, std::uint32_t frames, int app_core) {
  static std::uint64_t actions = 0;
  for (std::uint32_t i = 0; i < frames; ++i) place.served(++actions, app_core);
}

bool has_other_cores() {
  return std::thread::hardware_concurrency() > 1;
}

}  // namespace

BOOST_AUTO_TEST_CASE(it_leaves_the_core_of_an_application_that_never_sleeps) {
  pinned([](ThreadAffinity& place, int core) {
    serve(place, ThreadAffinity::kWakesToMove - 1, core);
    cpu_set_t cores = cores_of_this_thread();
    BOOST_TEST(CPU_COUNT(&cores) == 1);
    BOOST_TEST(CPU_ISSET(core, &cores));
    serve(place, 1, core);
    cores = cores_of_this_thread();
    BOOST_TEST(!CPU_ISSET(core, &cores) == has_other_cores());
    BOOST_TEST(place.is_guest() == (has_other_cores() && CPU_COUNT(&cores) == 1));
  });
}

BOOST_AUTO_TEST_CASE(it_comes_back_when_the_application_sleeps) {
  pinned([](ThreadAffinity& place, int core) {
    serve(place, ThreadAffinity::kWakesToMove, core);
    serve(place, ThreadAffinity::kWakesToMove, -1);
    cpu_set_t cores = cores_of_this_thread();
    BOOST_TEST(CPU_COUNT(&cores) == 1);
    BOOST_TEST(CPU_ISSET(core, &cores));
    BOOST_TEST(!place.is_guest());
  });
}

BOOST_AUTO_TEST_CASE(idle_or_distant_application_moves_no_thread) {
  pinned([](ThreadAffinity& place, int core) {
    for (std::uint32_t i = 0; i < 3 * ThreadAffinity::kWakesToMove; ++i) place.served(7, core);
    serve(place, 3 * ThreadAffinity::kWakesToMove, core + 1);
    cpu_set_t cores = cores_of_this_thread();
    BOOST_TEST(CPU_COUNT(&cores) == 1);
    BOOST_TEST(CPU_ISSET(core, &cores));
  });
}
