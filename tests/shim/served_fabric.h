// ServedFabric: the fabric process of the test's own node, as a thread of the test, so that a test can take the device
// or the cable away from itself as `verbena fault` does. The one part of the shim's tests that knows Verbena from
// inside.
#pragma once

#include <infiniband/verbs.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <thread>

#include "emulator/fabric/rails.h"
#include "emulator/host/fabric_client/fabric_client.h"
#include "emulator/host/fabric_process/fabric_process.h"

namespace verbs_test {

class ServedFabric {
 public:
  /// Each node has so many devices, or ports of them, all in one network.
  explicit ServedFabric(std::uint32_t rails = 1) {
    verbena::host::FabricOptions options;
    options.fabric = std::getenv("VERBENA_FABRIC");
    auto topology = verbena::fabric::with_rails(verbena::fabric::star(2, {}),
                                                {.rails = rails, .planes = verbena::fabric::Planes::shared});
    BOOST_REQUIRE(topology.ok());
    options.topology = std::move(*topology);
    auto opened = verbena::host::FabricProcess::open(options);
    BOOST_REQUIRE(opened.ok());
    process_ = std::move(*opened);
    thread_ = std::thread([this] { process_->run(stop_.get()); });
  }
  ~ServedFabric() {
    const std::uint64_t one = 1;
    BOOST_CHECK(write(stop_.get(), &one, sizeof one) == sizeof one);
    thread_.join();
  }
  /// Empty: it is done.
  std::string ask(const verbena::host::FabricWords& words) const {
    const auto reply = verbena::host::ask_fabric(std::getenv("VERBENA_FABRIC"), verbena::host::SayWords{words});
    return reply ? "" : "refused: " + reply.error().text;
  }
  // Of this node.
  void remove_device(const char* which = "n1") const { BOOST_REQUIRE_EQUAL(ask({"device-removal", which}), ""); }
  void set_port(bool up, const char* which = "n1") const {
    BOOST_REQUIRE_EQUAL(ask({up ? "port-active" : "port-error", which}), "");
  }

 private:
  verbena::host::Descriptor stop_{eventfd(0, EFD_CLOEXEC)};
  std::unique_ptr<verbena::host::FabricProcess> process_;
  std::thread thread_;
};

/// The asynchronous event that the context has or gets; the test fails when none comes.
inline ibv_async_event asynchronous_event_of(ibv_context* context) {
  constexpr int kHangMs = 60'000;
  pollfd wait{.fd = context->async_fd, .events = POLLIN, .revents = 0};
  BOOST_REQUIRE_EQUAL(::poll(&wait, 1, kHangMs), 1);
  ibv_async_event event{};
  BOOST_REQUIRE_EQUAL(ibv_get_async_event(context, &event), 0);
  ibv_ack_async_event(&event);
  return event;
}
inline ibv_event_type event_of(ibv_context* context) {
  return asynchronous_event_of(context).event_type;
}

}  // namespace verbs_test
