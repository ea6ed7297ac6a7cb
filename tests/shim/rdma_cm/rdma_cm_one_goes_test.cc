// One of a node's two devices goes: who has it is told, and a wildcard listener goes on with the other one, until that
// goes as well. Each device goes a second after it was opened (VERBENA_NIC), so the second one, which is opened half a
// second before, goes first. Each trial is a process of its own; one that was too slow to judge is tried again.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <string>

#include "tests/shim/rdma_cm/rdma_cm_fixture.h"
#include "tests/support/waiting.h"

using namespace rdma_cm_test;
using std::chrono::steady_clock;

namespace {

constexpr std::uint16_t kPort = 7361;
constexpr auto kLife = std::chrono::seconds(1);
constexpr unsigned kTrials = 20;
constexpr int kTooSlow = 1;
constexpr int kWrong = 100;  // and the line

void require(bool holds, int line = __builtin_LINE()) {
  if (holds) return;
  std::fprintf(stderr, "line %d: errno %d\n", line, errno);
  _exit(kWrong + line % 100);
}

/// 127.47.91.K, 127.47.92.K.
std::string address_of(unsigned device) {
  return "127.47." + std::to_string(91 + device) + "." + std::getenv("VERBENA_NODE");
}

/// Whether others find a listener at the address (service_directory.h).
bool is_served(const std::string& where) {
  std::ifstream sockets("/proc/net/unix");
  char name[128];
  std::snprintf(name, sizeof name, "/%s/%s/%x/", std::getenv("VERBENA_FABRIC"), where.c_str(),
                unsigned{RDMA_PS_TCP} << 16 | kPort);
  for (std::string line; std::getline(sockets, line);)
    if (line.find("@verbena-cm/") != line.npos && line.find(name) != line.npos) return true;
  return false;
}

rdma_cm_id* removed(Channel& channel) {
  rdma_cm_event* event = nullptr;
  require(rdma_get_cm_event(channel.channel, &event) == 0 && event->event == RDMA_CM_EVENT_DEVICE_REMOVAL);
  rdma_cm_id* const id = event->id;
  require(rdma_ack_cm_event(event) == 0);
  return id;
}

/// The exit status of a trial.
int try_removal() {
  Channel owner;
  Channel passive;
  Channel active;
  Id second(owner);
  Id listener(passive);
  Id client(active);
  const auto opened_second = steady_clock::now();
  require(second.bind(address_of(1), 0) == 0);
  verbena::waiting::let_time_pass(verbena::milliseconds(500));
  const auto opened_first = steady_clock::now();
  require(listener.listen(kPort) == 0 && client.bind(address_of(0), 0) == 0);
  const bool heard_on_both = is_served(address_of(0)) && is_served(address_of(1));
  if (steady_clock::now() > opened_second + kLife) return kTooSlow;
  require(heard_on_both);

  require(removed(owner) == second.id);
  const bool told = is_readable(passive.descriptor()) || is_readable(active.descriptor());
  const bool served[] = {is_served(address_of(0)), is_served(address_of(1))};
  Id late(owner);
  const int binding = late.bind(address_of(1), 0);  // librdmacm has the one that has gone
  const int resolving = client.resolve(address_of(0), kPort);
  if (steady_clock::now() > opened_first + kLife) return kTooSlow;
  require(!told && served[0] && !served[1]);
  require(binding == ENODEV && resolving == 0);

  rdma_cm_event* event = nullptr;
  require(rdma_get_cm_event(active.channel, &event) == 0 && event->event == RDMA_CM_EVENT_ADDR_RESOLVED);
  require(rdma_ack_cm_event(event) == 0);
  require(removed(passive) == listener.id);
  require(removed(active) == client.id);
  require(!is_readable(owner.descriptor()));
  return 0;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_device_takes_its_own_ids_along_and_no_wildcard) {
  int status = kTooSlow;
  for (unsigned trial = 0; trial < kTrials && status == kTooSlow; ++trial) {
    const pid_t child = fork();
    BOOST_REQUIRE(child >= 0);
    if (child == 0) _exit(try_removal());
    int ended = 0;
    BOOST_REQUIRE_EQUAL(waitpid(child, &ended, 0), child);
    BOOST_REQUIRE(WIFEXITED(ended));
    status = WEXITSTATUS(ended);
  }
  BOOST_CHECK_EQUAL(status, 0);
}
