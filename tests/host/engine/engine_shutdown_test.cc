// What the NIC has sent leaves before its process does, whichever thread has it in hand.
#include <atomic>
#include <boost/test/unit_test.hpp>

#include "emulator/host/engine/engine_fork.h"
#include "emulator/host/link/udp/udp_link.h"
#include "tests/host/engine/engine_node.h"
#include "tests/host/link/link_frames.h"

using namespace verbena;
using namespace verbena::host;
using namespace verbena::host::test;

namespace {

/// Like a link whose frames another thread, or the kernel, has in hand until it has been flushed that often.
class SlowLink final : public NullLink {
 public:
  explicit SlowLink(std::atomic<int>& flushes_left) : flushes_left_(flushes_left) {}
  bool flush() override {
    if (flushes_left_ > 0) --flushes_left_;
    return false;
  }
  bool has_unsent() const override { return flushes_left_ != 0; }

 private:
  std::atomic<int>& flushes_left_;
};

struct SlowEngine : EventSink {
  SlowEngine() {
    OpenedLink opened;
    opened.link = std::make_unique<SlowLink>(flushes_left);
    auto made = Engine::open_on(std::move(opened), engine_config(1, "leaving-test", false), *this);
    BOOST_REQUIRE_MESSAGE(made.ok(), (made.ok() ? "" : made.error()));
    engine = std::move(*made);
  }
  void async_event(const nic::AsyncEvent&) override {}
  void completion_event(const nic::CompletionEvent&) override {}

  std::atomic<int> flushes_left{0};
  std::unique_ptr<Engine> engine;
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(before_the_process_ends_what_was_sent_has_left, SlowEngine) {
  flushes_left = 7;
  engine->before_exit();
  BOOST_TEST(flushes_left == 0);
}

BOOST_FIXTURE_TEST_CASE(an_engine_that_is_closed_has_sent_all, SlowEngine) {
  flushes_left = 7;
  engine.reset();
  BOOST_TEST(flushes_left == 0);
}

BOOST_FIXTURE_TEST_CASE(a_process_ends_although_the_kernel_takes_no_more, SlowEngine) {
  constexpr int kUnending = -1;
  flushes_left = kUnending;
  const Time start = clock_now();
  engine->before_exit();
  BOOST_TEST((clock_now() - start).ns < seconds(20).ns);
}

BOOST_AUTO_TEST_CASE(a_udp_link_knows_what_has_not_reached_the_kernel) {
  const wire::Gid address = node(203);
  auto link = UdpLink::open({.address = address, .slot = 0});
  BOOST_REQUIRE_MESSAGE(link.ok(), (link.ok() ? "" : link.error()));
  BOOST_TEST(!(*link)->has_unsent());
  const wire::Gid group = wire::Gid::from_ipv4(0xe0010203);  // the network's, and those of the node itself
  for (const wire::Gid& destination : {address, group}) {
    BOOST_REQUIRE(commit(**link, {.source = address, .destination = destination}));
    (*link)->publish();
    BOOST_TEST((*link)->has_unsent());
    (*link)->flush();
    BOOST_TEST(!(*link)->has_unsent());
  }
}
