// libverbena's settings: the words of scenarios, what is wrong with them, and that they do what they say.
#include <algorithm>
#include <vector>

#include "tests/libverbena/pair.h"

using namespace verbena::test;

namespace {

std::string text_of(const Result<void>& result) {
  return result.ok() ? "no error" : result.error().text;
}

/// a and b write to c, whose port is a tenth as fast as theirs.
struct Incast {
  explicit Incast(const Settings& settings) : world(World::make(options(), settings).value()) {
    for (const char* name : {"a", "b"}) {
      const Nic nic = world.nic(name).value();
      const Nic far = world.nic("c").value();
      qps.push_back(nic.create_qp().value());
      const Qp there = far.create_qp().value();
      world.connect(qps.back(), there, {.traffic_class = 3 << 5 | 2}).value();
      const Mr from = nic.register_memory(kOctets).value();
      const Mr into = far.register_memory(kOctets).value();
      for (int i = 0; i < kWrites; ++i)
        qps.back()
            .post_send({.opcode = SendOpcode::rdma_write, .local = {from.slice()}, .remote = into.remote()})
            .value();
    }
    world.observe([this](const Sighting& seen) {
      lost += seen.event == Event::lost || seen.event == Event::overflowed;
      if (seen.event != Event::sent) return;
      pauses += seen.frame.size() == kPauseBytes;
      notifications += seen.frame[kOpcodeAt] == static_cast<std::byte>(Opcode::cnp);
    });
    for (const char* name : {"a", "b"})
      for (int i = 0; i < kWrites; ++i)
        BOOST_REQUIRE(world.nic(name).value().cq().next().value().status == Status::success);
    took = world.now();
    world.run_until_idle().value();
    BOOST_TEST(world.check_report().clean());
  }
  static WorldOptions options() {
    WorldOptions options{.nics = {"a", "b", "c"}, .switches = {"s"}};
    for (const char* name : {"a", "b", "c"})
      options.cables.push_back({.a = name,
                                .b = "s",
                                .rate_bits_per_second = *name == 'c' ? 1'000'000'000u : 10'000'000'000u,
                                .queue_bytes = 100'000,
                                .ecn = {.kmin_bytes = 5'000, .kmax_bytes = 50'000, .pmax_ppb = 100'000'000}});
    return options;
  }
  static constexpr std::size_t kPauseBytes = 60;
  static constexpr std::size_t kOpcodeAt = 14 + 20 + 8;  // behind Ethernet, IPv4 and UDP
  static constexpr std::size_t kOctets = 65536;
  static constexpr int kWrites = 20;

  World world;
  std::vector<Qp> qps;
  int lost = 0;
  int pauses = 0;
  int notifications = 0;
  Time took{};
};

}  // namespace

BOOST_AUTO_TEST_CASE(wrong_words_are_answered_with_what_would_be_right) {
  Settings settings;
  BOOST_TEST(text_of(settings.set_nics("congestion-control", "reno")) ==
             "congestion-control 'reno': want none, dcqcn, timely, swift, dctcp or hpcc");
  BOOST_TEST(text_of(settings.set_nics("congestion", "dcqcn")).find("'congestion' is none of congestion-control, ") ==
             0);
  BOOST_TEST(text_of(settings.set_nics("congestion", "dcqcn")).find("loss-recovery") != std::string::npos);
  BOOST_TEST(text_of(settings.set_nics("timeout", "32")) == "timeout '32': want a code from 0 to 31: 4.096us x 2^code");
  BOOST_TEST(text_of(settings.set_nics("removed-after", "1s")).find("'removed-after' is none of ") == 0);
  BOOST_TEST(text_of(settings.set_nic("", "loss-recovery", "go-back-n")) == "there is no NIC ''");
  BOOST_TEST(text_of(settings.set_qos("lossless", "9")).find("lossless '9': want") == 0);
  BOOST_TEST(text_of(settings.set_qos("loss", "3")).find("'loss' is none of ") == 0);
  BOOST_TEST(text_of(settings.set_cables("telemetry", "maybe")) == "telemetry 'maybe': want true or false");
  BOOST_TEST(text_of(settings.set_cables("rate", "1Gbps")) == "'rate' is not telemetry");
  BOOST_TEST(text_of(settings.set_nodes("rails", "17")) == "rails '17': want a number from 1 to 16");
  BOOST_TEST(text_of(settings.set_nodes("planes", "apart")) == "planes 'apart': want separate or shared");
  BOOST_TEST(text_of(settings.set_nodes("ports", "2")) == "'ports' is neither rails nor planes");
  // What was refused has changed nothing.
  BOOST_TEST(World::make({.nics = {"a", "b"}}, settings).ok());
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_together_is_said_when_the_world_is_made) {
  const auto wrong = [](auto&& set) {
    Settings settings;
    set(settings);
    const auto made = World::make({.nics = {"a", "b"}}, settings);
    return made.ok() ? "no error" : made.error().text;
  };
  BOOST_TEST(wrong([](Settings& s) { s.set_nic("x", "loss-recovery", "selective-repeat").value(); }) ==
             "there is no NIC 'x'");
  BOOST_TEST(wrong([](Settings& s) { s.set_nic("b", "timely-t-low", "600us").value(); }) ==
             "NIC b: timely-t-low is above timely-t-high");
  BOOST_TEST(wrong([](Settings& s) { s.set_nics("wire", "infiniband").value(); }).find("is an Ethernet") !=
             std::string::npos);
  BOOST_TEST(wrong([](Settings& s) { s.set_nics("congestion-control", "hpcc").value(); }).find("telemetry") !=
             std::string::npos);
  BOOST_TEST(wrong([](Settings& s) {
               s.set_nics("congestion-control", "hpcc").value();
               s.set_cables("telemetry", "true").value();
             }) == "no error");
  BOOST_TEST(wrong([](Settings& s) { s.set_nodes("planes", "shared").value(); }) ==
             "planes are for several rails: set_nodes(\"rails\", \"2\")");
  BOOST_TEST(wrong([](Settings& s) {
               s.set_nodes("rails", "2").value();
               s.set_nic("b.3", "loss-recovery", "selective-repeat").value();
             }) == "there is no NIC 'b.3'; b has the rails b.1 and b.2");
  BOOST_TEST(wrong([](Settings& s) { s.set_qos("pause", "global").value(); }).find("lossless: all") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(congestion_control_and_lossless_classes_each_avoid_loss) {
  const Incast nothing{Settings()};
  BOOST_TEST(nothing.lost > 0);
  BOOST_TEST(nothing.pauses + nothing.notifications == 0);

  Settings lossless;
  lossless.set_qos("lossless", "3").value();
  lossless.set_qos("buffer", "400KB").value();
  lossless.set_qos("xoff", "30KB").value();
  const Incast paused(lossless);
  BOOST_TEST(paused.lost == 0);
  BOOST_TEST(paused.pauses > 0);

  Settings dcqcn;
  dcqcn.set_nics("congestion-control", "dcqcn").value();
  const Incast slowed(dcqcn);
  BOOST_TEST(slowed.notifications > 0);
}

BOOST_AUTO_TEST_CASE(a_setting_of_one_nic_goes_before_that_of_all) {
  Settings settings;
  settings.set_nic("a", "congestion-control", "none").value();
  settings.set_nic("b", "congestion-control", "none").value();
  settings.set_nics("congestion-control", "dcqcn").value();
  // c, the receiver, notifies, and its packets alone would be marked: nobody is slowed down.
  BOOST_TEST(Incast(settings).lost > 0);
}

BOOST_AUTO_TEST_CASE(selective_repeat_sends_again_only_what_was_lost) {
  const auto sent = [](std::string_view recovery) {
    Settings settings;
    settings.set_nics("loss-recovery", recovery).value();
    World world = World::make({.nics = {"a", "b"}}, settings).value();
    const Nic a = world.nic("a").value(), b = world.nic("b").value();
    const Qp from = a.create_qp().value(), to = b.create_qp().value();
    world.connect(from, to).value();
    const Mr source = a.register_memory(65536).value(), target = b.register_memory(65536).value();
    world.add_fault({"a", "b"}, "drop psn=80 count=1").value();
    int packets = 0;
    world.observe([&](const Sighting& seen) {
      packets += (seen.event == Event::sent || seen.event == Event::lost) && seen.link.from == "a";
    });
    for (int i = 0; i < 2; ++i) {  // they agree on it with the first, of 64 packets
      from.post_send({.opcode = SendOpcode::rdma_write, .local = {source.slice()}, .remote = target.remote()}).value();
      BOOST_TEST((a.cq().next().value().status == Status::success));
    }
    world.run_until_idle().value();
    BOOST_TEST(world.check_report().clean());
    return packets;
  };
  BOOST_TEST(sent("selective-repeat") < sent("go-back-n"));
}

BOOST_AUTO_TEST_CASE(a_nic_takes_the_words_that_scenarios_have_for_it) {
  const auto took = [](const Settings& settings, bool is_up) {
    World world = World::make({.nics = {"a", "b"}}, settings).value();
    const Nic a = world.nic("a").value(), b = world.nic("b").value();
    const Qp from = a.create_qp().value(), to = b.create_qp().value();
    world.connect(from, to).value();
    const Mr source = a.register_memory(65536).value(), target = b.register_memory(65536).value();
    world.set_cable_up({"a", "b"}, is_up).value();
    from.post_send({.opcode = SendOpcode::rdma_write, .local = {source.slice()}, .remote = target.remote()}).value();
    BOOST_TEST((a.cq().next().value().status == (is_up ? Status::success : Status::retry_exceeded)));
    BOOST_TEST(world.check_report().clean());
    return world.now();
  };
  Settings slow;
  slow.set_nic("b", "speed", "1Gbps").value();
  BOOST_TEST((took(slow, true) - took(Settings(), true) > std::chrono::microseconds(400)));
  Settings late;
  late.set_nic("b", "acknowledge-latency", "1ms").value();
  BOOST_TEST((took(late, true) - took(Settings(), true) >= std::chrono::milliseconds(1)));
  // They go before what the program asks for.
  Settings hasty;
  hasty.set_nics("timeout", "8").value();
  hasty.set_nics("retry-count", "1").value();
  BOOST_TEST((took(Settings(), false) > 8 * took(hasty, false)));
}

BOOST_AUTO_TEST_CASE(nodes_with_rails_have_a_nic_on_each) {
  Settings settings;
  settings.set_nodes("rails", "2").value();
  settings.set_nic("a", "mtu", "1024").value();
  World world =
      World::make(
          {.nics = {"a", "b"},
           .switches = {"s", "t"},
           .cables = {{.a = "a.1", .b = "s"}, {.a = "b.1", .b = "s"}, {.a = "a.2", .b = "t"}, {.a = "b.2", .b = "t"}}},
          settings)
          .value();
  for (const char* name : {"a.1", "a.2", "b.1", "b.2"}) BOOST_TEST(world.nic(name).ok());
  for (const char* name : {"a", "a.3", "s"}) BOOST_TEST(!world.nic(name).ok());
  const Qp qp = world.nic("a.2").value().create_qp().value();
  const Qp far = world.nic("b.2").value().create_qp().value();
  world.connect(qp, far, {}).value();
  const Mr from = world.nic("a.2").value().register_memory(64).value();
  const Mr into = world.nic("b.2").value().register_memory(64).value();
  qp.post_send({.opcode = SendOpcode::rdma_write, .local = {from.slice()}, .remote = into.remote()}).value();
  BOOST_TEST((world.nic("a.2").value().cq().next().value().status == Status::success));
  const auto refused = World::make({.nics = {"a.b", "c"}}, settings);
  BOOST_TEST(refused.error().text == "'a.b': with rails a name has no '.', for a.2 is the second NIC of a");

  Settings shared;
  shared.set_nodes("rails", "2").value();
  shared.set_nodes("planes", "shared").value();
  const WorldOptions options{
      .nics = {"a", "b"}, .switches = {"s"}, .cables = {{.a = "a", .b = "s"}, {.a = "b", .b = "s"}}};
  BOOST_TEST(World::make(options, shared).ok());
  // Without switches, rails of one number are joined to each other by themselves.
  BOOST_TEST(World::make({.nics = {"a", "b", "c"}}, settings).ok());
}
