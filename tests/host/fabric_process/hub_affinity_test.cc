// Where the fabric process runs beside applications that poll.
#include "emulator/host/fabric_process/hub_affinity.h"

#include <boost/test/unit_test.hpp>
#include <initializer_list>
#include <vector>

using namespace verbena;
using namespace verbena::host;

namespace {

cpu_set_t set_of(std::initializer_list<std::size_t> cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const std::size_t core : cores) CPU_SET(core, &set);
  return set;
}

std::vector<std::size_t> list_of(const cpu_set_t& set) {
  std::vector<std::size_t> cores;
  for (std::size_t core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  return cores;
}

using Cores = std::vector<std::size_t>;

}  // namespace

BOOST_AUTO_TEST_CASE(off_the_cores_of_those_who_poll) {
  const HubAffinity choice(set_of({0, 1, 2, 5}));
  CoreLoads loads;
  BOOST_TEST(list_of(choice.choose(loads, 0)) == (Cores{0, 1, 2, 5}));
  loads.polled_on = set_of({1, 4, 5});
  loads.octets[0] = loads.octets[1] = 1'000'000;
  BOOST_TEST(list_of(choice.choose(loads, 1)) == (Cores{0, 2}));
}

BOOST_AUTO_TEST_CASE(beside_those_who_send_most_where_all_poll) {
  const HubAffinity choice(set_of({0, 1, 2}));
  CoreLoads loads;
  loads.polled_on = set_of({0, 1, 2, 3});
  loads.octets[0] = 1000;
  loads.octets[1] = 5000;
  loads.octets[2] = 8000;
  loads.octets[3] = 1'000'000;  // not ours
  BOOST_TEST(list_of(choice.choose(loads, 0)) == (Cores{2}));
  BOOST_TEST(list_of(choice.choose(loads, 2)) == (Cores{2}));
}

BOOST_AUTO_TEST_CASE(nobody_moves_for_a_little_more) {
  const HubAffinity choice(set_of({0, 1}));
  CoreLoads loads;
  loads.polled_on = set_of({0, 1});
  BOOST_TEST(list_of(choice.choose(loads, 1)) == (Cores{1}));
  loads.octets[0] = 2000;
  loads.octets[1] = 1000;
  BOOST_TEST(list_of(choice.choose(loads, 1)) == (Cores{1}));
  loads.octets[0] = 2001;
  BOOST_TEST(list_of(choice.choose(loads, 1)) == (Cores{0}));
}

BOOST_AUTO_TEST_CASE(who_is_where_nobody_put_it_may_be_anywhere) {
  const HubAffinity choice(set_of({0, 1}));
  CoreLoads loads;
  loads.polled_on = set_of({0, 1});
  BOOST_TEST(list_of(choice.choose(loads, -1)) == (Cores{0, 1}));
  BOOST_TEST(list_of(choice.choose(loads, CPU_SETSIZE)) == (Cores{0, 1}));
  BOOST_TEST(list_of(choice.choose(loads, 2)) == (Cores{0, 1}));
}
