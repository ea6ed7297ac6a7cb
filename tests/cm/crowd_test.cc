// Thousands of connections between two managers over a cable that loses, doubles and delays their messages: none is
// lost, doubled or leaked. Delays stay below the packet lifetime that the path promises; repetitions do not.
#include <boost/test/unit_test.hpp>
#include <map>
#include <random>
#include <set>

#include "tests/cm/manager_pair.h"

using namespace verbena;
using namespace verbena::cm;
using namespace verbena::cm::test;

namespace {

constexpr Duration kDelayMax = milliseconds(250);  // below the packet lifetime of 16: 268 ms
constexpr std::uint32_t kPassiveQpn = 0x100000;

struct Luck {
  unsigned lost_percent = 0;
  unsigned doubled_percent = 0;
  unsigned refused_percent = 0;  // by the application
};

/// What became of one attempt, as the two applications see it.
struct Life {
  unsigned requests = 0;  // seen by the passive application
  unsigned refusals = 0;
  unsigned replies = 0;
  unsigned ends = 0;  // rejected or unreachable: there is nothing after it
  unsigned readies = 0;
  unsigned disconnects[2] = {0, 0};
  bool refused = false;
};

class Crowd {
 public:
  Crowd(std::uint32_t seed, const Luck& luck)
      : ends_{ConnectionManager(config_of(1)), ConnectionManager(config_of(2))}, luck_(luck), random_(seed) {
    ends_[1].listeners().add(kService, kListener);
  }

  void connect(std::uint32_t number) {
    RequestInit init;
    init.context = number;
    init.service_id = kService;
    init.path.address = config_of(2).address;
    init.path.packet_lifetime = 16;
    init.path.mtu = 5;
    init.offer.qpn = wire::Qpn(number);
    lives[number] = {};
    BOOST_REQUIRE(ends_[0].request(now_, init) != 0);
    react();
  }

  void run(Time end) {
    for (;;) {
      Time next = std::min({end, ends_[0].next_deadline(), ends_[1].next_deadline()});
      if (!flying_.empty()) next = std::min(next, flying_.begin()->first);
      if (!tasks_.empty()) next = std::min(next, tasks_.begin()->first);
      now_ = next;
      if (now_ == end) return;
      for (ConnectionManager& manager : ends_) manager.on_deadline(now_);
      while (!flying_.empty() && flying_.begin()->first <= now_) {
        const auto flight = flying_.extract(flying_.begin());
        ends_[flight.mapped().to].receive(now_, *wire::parse_frame(flight.mapped().frame));
        react();
      }
      while (!tasks_.empty() && tasks_.begin()->first <= now_) {
        const auto task = tasks_.extract(tasks_.begin()).mapped();
        ends_[task.end].disconnect(now_, task.connection);
      }
      react();
    }
  }

  bool is_empty() const {
    return flying_.empty() && ends_[0].connections() + ends_[1].connections() == 0 && ends_[0].peers().all().empty() &&
           ends_[1].peers().all().empty() && ends_[0].events().empty() && ends_[1].events().empty();
  }
  Time now() const { return now_; }

  std::map<std::uint32_t, Life> lives;
  std::size_t lost = 0;
  std::size_t doubled = 0;

 private:
  struct Flight {
    unsigned to = 0;
    wire::test::Bytes frame;
  };
  struct Task {
    unsigned end = 0;
    ConnectionId connection = 0;
  };

  bool happens(unsigned percent) { return random_() % 100 < percent; }
  Time later(Duration at_most) { return now_ + nanoseconds(static_cast<std::int64_t>(random_()) % at_most.ns + 1); }

  void send() {
    for (unsigned from = 0; from < 2; ++from) {
      Port port;
      while (ends_[from].outbox().transmit(port, 100) != 0) {
      }
      for (const auto& frame : port.frames) {
        const unsigned copies = happens(luck_.lost_percent) ? 0 : happens(luck_.doubled_percent) ? 2 : 1;
        lost += copies == 0 ? 1 : 0;
        doubled += copies == 2 ? 1 : 0;
        for (unsigned copy = 0; copy < copies; ++copy) flying_.emplace(later(kDelayMax), Flight{1 - from, frame});
      }
    }
  }

  void react() {
    for (unsigned end = 0; end < 2; ++end)
      while (const auto event = ends_[end].events().poll()) take(end, *event);
    send();
  }

  void take(unsigned end, const Event& event) {
    ConnectionManager& manager = ends_[end];
    if (event.type == EventType::request) return take_request(event);
    Life& life = lives.at(static_cast<std::uint32_t>(event.context));
    switch (event.type) {
      case EventType::reply:
        ++life.replies;
        BOOST_TEST(manager.ready(now_, event.connection, {}));
        tasks_.emplace(later(seconds(60)), Task{0, event.connection});
        break;
      case EventType::ready:
        ++life.readies;
        if (happens(30)) tasks_.emplace(later(seconds(60)), Task{1, event.connection});
        break;
      case EventType::rejected:
      case EventType::unreachable:
        if (end == 0) ++life.ends;
        break;
      case EventType::disconnected:
        ++life.disconnects[end];
        manager.disconnect(now_, event.connection);
        if (happens(50)) manager.destroy(now_, event.connection);
        break;
      case EventType::timewait_over:
        break;
      case EventType::request:
      case EventType::service_request:
      case EventType::service_reply:
      case EventType::device_removed:
        BOOST_ERROR("an event of another kind");
        break;
    }
  }

  void take_request(const Event& event) {
    ConnectionManager& manager = ends_[1];
    const std::uint32_t number = event.offer.qpn.value();
    Life& life = lives.at(number);
    ++life.requests;
    BOOST_TEST(manager.adopt(event.connection, number, wire::Psn(7)));
    if (life.refused || happens(luck_.refused_percent)) {
      life.refused = true;
      ++life.refusals;
      BOOST_TEST(manager.reject(now_, event.connection, RejectReason::consumer_defined, {}));
      return;
    }
    BOOST_TEST(manager.reply(now_, event.connection, {.qpn = wire::Qpn(kPassiveQpn + number)}, {}));
  }

  ConnectionManager ends_[2];
  Luck luck_;
  std::minstd_rand random_;
  Time now_{};
  std::multimap<Time, Flight> flying_;
  std::multimap<Time, Task> tasks_;
};

void check(const Crowd& crowd) {
  for (const auto& [number, life] : crowd.lives) {
    BOOST_TEST_CONTEXT("connection " << number) {
      // One outcome on the active side; a refusal may be asked for again when it was lost on its way.
      BOOST_TEST(life.replies + life.ends == 1u);
      BOOST_TEST((life.refused ? life.requests == life.refusals : life.requests == 1u));
      BOOST_TEST(life.replies == (life.refused ? 0u : 1u));
      BOOST_TEST(life.readies <= 1u);
      // What stood ends once for each side, and what did not stand does not.
      BOOST_TEST(life.disconnects[0] == life.replies);
      BOOST_TEST(life.disconnects[1] == life.replies);
    }
  }
}

constexpr std::uint32_t kConnections = 3000;

void run_crowd(std::uint32_t seed, const Luck& luck) {
  Crowd crowd(seed, luck);
  for (std::uint32_t number = 1; number <= kConnections; ++number) {
    crowd.connect(number);
    if (number % 10 == 0) crowd.run(crowd.now() + milliseconds(10));
  }
  crowd.run(crowd.now() + seconds(400));
  BOOST_TEST_CONTEXT("seed " << seed) {
    BOOST_TEST((luck.lost_percent == 0) == (crowd.lost == 0));
    BOOST_TEST((luck.doubled_percent == 0) == (crowd.doubled == 0));
    check(crowd);
    BOOST_TEST(crowd.is_empty());
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(messages_that_overtake_each_other_lose_no_connection) {
  run_crowd(1, {});
}

BOOST_AUTO_TEST_CASE(messages_that_come_twice_double_no_connection) {
  run_crowd(2, {.doubled_percent = 50});
}

BOOST_AUTO_TEST_CASE(messages_that_are_lost_lose_no_connection) {
  run_crowd(3, {.lost_percent = 10});
}

BOOST_AUTO_TEST_CASE(all_bad_luck_at_once_gives_each_connection_one_outcome) {
  for (std::uint32_t seed = 4; seed < 8; ++seed)
    run_crowd(seed, {.lost_percent = 15, .doubled_percent = 15, .refused_percent = 20});
}

BOOST_AUTO_TEST_CASE(service_requests_under_bad_luck_get_one_answer_each) {
  constexpr std::uint32_t kRequests = 2000;
  ConnectionManager asks(config_of(1));
  ConnectionManager answers(config_of(2));
  answers.listeners().add(kService, kListener);
  std::minstd_rand random(9);
  Time now{};
  std::multimap<Time, std::pair<ConnectionManager*, wire::test::Bytes>> flying;
  std::map<std::uint64_t, unsigned> replies;
  const auto turn = [&] {
    while (const auto event = answers.events().poll())
      BOOST_TEST(answers.reply_service(now, event->connection, {.qpn = wire::Qpn(9), .qkey = 11}, {}));
    while (const auto event = asks.events().poll()) {
      BOOST_CHECK(event->type == EventType::service_reply);
      ++replies[event->context];
    }
    for (auto [from, to] : {std::pair{&asks, &answers}, std::pair{&answers, &asks}}) {
      Port port;
      while (from->outbox().transmit(port, 100) != 0) {
      }
      for (const auto& frame : port.frames)
        for (unsigned copies = random() % 100 < 20 ? 0 : random() % 100 < 20 ? 2 : 1; copies != 0; --copies)
          flying.emplace(now + nanoseconds(static_cast<std::int64_t>(random()) % kDelayMax.ns), std::pair{to, frame});
    }
  };
  for (std::uint32_t number = 1; number <= kRequests; ++number) {
    RequestInit init;
    init.context = number;
    init.service_id = kService;
    init.path.address = config_of(2).address;
    init.path.packet_lifetime = 16;
    BOOST_REQUIRE(asks.request_service(now, init) != 0);
    turn();
  }
  while (!flying.empty() || asks.next_deadline() != kNever) {
    now = std::min(asks.next_deadline(), flying.empty() ? kNever : flying.begin()->first);
    asks.on_deadline(now);
    while (!flying.empty() && flying.begin()->first <= now) {
      const auto flight = flying.extract(flying.begin()).mapped();
      flight.first->receive(now, *wire::parse_frame(flight.second));
    }
    turn();
  }
  BOOST_TEST(replies.size() == kRequests);
  for (const auto& [number, count] : replies) BOOST_TEST(count == 1u);
  BOOST_TEST(asks.connections() + answers.connections() == 0u);
}
