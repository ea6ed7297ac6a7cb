// A device goes and is there again: a wildcard listener is not told, and hears there again (cma_add_one of Linux).
#include <fstream>
#include <sstream>
#include <string>

#include "tests/shim/rdma_cm/rdma_cm_fixture.h"
#include "tests/shim/served_fabric.h"
#include "tests/support/waiting.h"

using namespace rdma_cm_test;

namespace {

constexpr std::uint16_t kPort = 7371;

/// What tells others of a listener at the node's address (service_directory.h), by its inode. Empty: there is none.
std::string served() {
  std::ifstream sockets("/proc/net/unix");
  char name[128];
  std::snprintf(name, sizeof name, "/%s/%s/%x/", std::getenv("VERBENA_FABRIC"), own_address().c_str(),
                unsigned{RDMA_PS_TCP} << 16 | kPort);
  for (std::string line; std::getline(sockets, line);) {
    if (line.find("@verbena-cm/") == line.npos || line.find(name) == line.npos) continue;
    std::istringstream words(line);
    std::string inode;
    for (int i = 0; i < 7; ++i) words >> inode;
    return inode;
  }
  return {};
}

/// Without a command to rdma_cm, which would look by itself.
void expect_served_anew(const std::string& before) {
  BOOST_TEST(verbena::waiting::wait_until([&] {
    const std::string now = served();
    return !now.empty() && now != before;
  }));
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_wildcard_listener_hears_on_a_device_that_came_back) {
  const verbs_test::ServedFabric fabric;
  Channel active;
  Channel passive;
  Id listener(passive);
  BOOST_REQUIRE_EQUAL(listener.listen(kPort), 0);
  for (int times = 0; times < 2; ++times) {
    const std::string before = served();
    BOOST_REQUIRE(!before.empty());
    fabric.remove_device();
    expect_served_anew(before);
  }

  // The application has the device as well: it is there again once that lets go of it.
  ibv_device** const devices = ibv_get_device_list(nullptr);
  ibv_context* const context = ibv_open_device(devices[0]);
  ibv_free_device_list(devices);
  BOOST_REQUIRE(context != nullptr);
  const std::string before = served();
  fabric.remove_device();
  BOOST_CHECK_EQUAL(verbs_test::event_of(context), IBV_EVENT_DEVICE_FATAL);
  BOOST_TEST(verbena::waiting::wait_until([] { return served().empty(); }));
  BOOST_CHECK_EQUAL(ibv_close_device(context), 0);
  expect_served_anew(before);

  BOOST_TEST(!is_readable(passive.descriptor()));
  const Request one(active, passive, own_address(), kPort);
  BOOST_CHECK(one.listener == listener.id);
}
