// What goes over the socket of a fabric process comes out as it went in, and nothing else is taken for it.
#include "emulator/host/fabric_client/fabric_codec.h"

#include <boost/test/unit_test.hpp>
#include <random>

#include "emulator/host/fabric_client/render/fabric_json.h"
#include "nlohmann/json.hpp"

using namespace verbena;
using namespace verbena::host;

namespace {

FabricSnapshot snapshot(bool has_classes) {
  FabricSnapshot seen;
  seen.fabric = "default";
  seen.uptime = seconds(3);
  seen.network.arrivals = UINT64_MAX;
  seen.network.lost = 128;
  seen.strays = 1;
  seen.names = {"n1", "n2", "a switch of another name", "s2"};
  seen.cables = {{0, 2}, {1, 2}, {2, 3}};
  seen.links.resize(6);
  seen.links[3].is_up = false;
  seen.links[3].seen = {1, 2, 3, 4, 5, UINT32_MAX, 100'000'000'000, nanoseconds(500), nanoseconds(-1)};
  seen.has_classes = has_classes;
  if (has_classes) {
    seen.links[4].pauses.sent[3] = 300;
    seen.links[4].pauses.paused[7] = seconds(1);
    seen.links[4].pauses.paused_now = 0x88;
    seen.deadlock = fabric::PauseDeadlock{Time{5}, 3, {{2, false}, {2, true}}};
    seen.loops = {{8, 300, {{2, false}, {1, true}}}, {UINT16_MAX, 1, {{2, true}}}};
  }
  seen.nodes.resize(2);
  seen.nodes[0].counters = {0, 1, UINT64_MAX};
  seen.nodes[1].not_run_from = microseconds(7);
  if (has_classes)
    seen.subnet = FabricSubnet{true, {{.base_lid = 0xbffe, .sm_lid = 0xbfff, .lmc = 7, .state = 4}, {}}, {}};
  if (has_classes) seen.subnet->switches.assign(seen.names.size() - 2, {.lid = 0xbffd, .sm_lid = 9});
  seen.counter_names = {"a", "b", "c"};
  seen.counters_complete = true;
  seen.faults = {{1, "n1-s1", "drop 1%", 17}, {UINT32_MAX, "", "", 0}};
  seen.crashed = {3};
  seen.cut_off = {{0, 1}, {1, 0}};
  if (!has_classes) seen.capture = FabricCaptureCounts{5, seconds(1), 6};
  return seen;
}

std::vector<FabricReply> replies() {
  FabricSnapshot no_capture_time = snapshot(true);
  no_capture_time.capture = FabricCaptureCounts{0, std::nullopt, 1};
  return {FabricDone{},
          FaultAdded{1024},
          FaultRemoved{UINT64_MAX},
          FabricHello{2, 1, {100'000'000'000, 0}, "/proc/1/fd/a path with blanks"},
          FabricHello{2, 2, {1, 2, 3, 4}, ""},
          FabricHello{},
          snapshot(true),
          snapshot(false),
          FabricSnapshot{},
          no_capture_time};
}

std::vector<FabricRequest> requests() {
  std::vector<FabricRequest> all = {AskHello{},
                                    AskSnapshot{},
                                    SayWords{{"add", "n1-s1", "", "drop 1%"}},
                                    SayWords{},
                                    AddPrepared{7, {{1, false}, {1, true}}, "n1-s1"},
                                    RemoveFault{UINT32_MAX},
                                    RemoveDevices{{0, 1}},
                                    SetNodePower{{3}, NodePower::crashing},
                                    SetNodePower{{}, NodePower::on}};
  for (const auto kind : {fabric::ElementChange::Kind::link_down, fabric::ElementChange::Kind::pause_calm}) {
    all.push_back(ChangeElements{{.kind = kind,
                                  .links = {{0, true}, {300, false}},
                                  .hosts = {1},
                                  .peers = {2, 200},
                                  .switches = {5},
                                  .rate_bits_per_second = UINT64_MAX,
                                  .delay = seconds(60),
                                  .jitter = nanoseconds(1),
                                  .classes = 0x81}});
  }
  return all;
}

/// Messages are equal when they are encoded alike: each field has one form.
template <class T, class Decode>
void check_round_trip(const std::vector<T>& all, Decode decode) {
  for (const T& sent : all) {
    const std::string message = encode(sent);
    const auto got = decode(message);
    BOOST_REQUIRE_MESSAGE(got.ok(), (got.ok() ? "" : got.error().text));
    BOOST_TEST(got->index() == sent.index());
    BOOST_TEST((encode(*got) == message));
  }
}

template <class T, class Decode>
void check_hostile(const std::vector<T>& all, Decode decode) {
  std::mt19937 chance(1);
  for (const T& sent : all) {
    const std::string message = encode(sent);
    for (std::size_t size = 0; size < message.size(); ++size) BOOST_TEST(!decode(message.substr(0, size)).ok());
    BOOST_TEST(!decode(message + '\0').ok());
    const std::size_t body = kFabricProtocol.size() + 5;
    // The same with a length that fits, and with each octet as it must not be.
    for (std::size_t size = body; size < message.size(); ++size) {
      std::string cut = message.substr(0, size);
      cut[kFabricProtocol.size() + 1] = static_cast<char>((size - body) & 0xff);
      cut[kFabricProtocol.size() + 2] = static_cast<char>((size - body) >> 8);
      BOOST_TEST(!decode(cut).ok());
    }
    for (std::size_t at = 0; at < message.size(); ++at)
      for (const char octet : {'\x00', '\x01', '\x7f', '\x80', '\xff', static_cast<char>(chance())}) {
        std::string damaged = message;
        damaged[at] = octet;
        const auto got = decode(damaged);
        if (got) BOOST_TEST(got->index() < std::variant_size_v<T>);
      }
  }
}

std::string with_body(const std::string& body) {
  std::string message(kFabricProtocol);
  message += '\0';
  for (unsigned i = 0; i < 4; ++i) message += static_cast<char>(body.size() >> (8 * i) & 0xff);
  return message + body;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_message_is_read_as_it_was_written) {
  check_round_trip(requests(), decode_request);
  check_round_trip(replies(), decode_reply);
}

BOOST_AUTO_TEST_CASE(values_come_out_as_they_went_in) {
  const auto said = decode_request(encode(FabricRequest(SayWords{{"add", "", "x y"}})));
  BOOST_REQUIRE(said.ok());
  BOOST_CHECK((std::get<SayWords>(*said).words == FabricWords{"add", "", "x y"}));
  const auto change = std::get<ChangeElements>(requests().back()).change;
  const auto changed = decode_request(encode(requests().back()));
  BOOST_REQUIRE(changed.ok());
  BOOST_TEST((std::get<ChangeElements>(*changed).change == change));
  for (const bool has_classes : {false, true}) {
    const auto seen = decode_reply(encode(FabricReply(snapshot(has_classes))));
    BOOST_REQUIRE(seen.ok());
    BOOST_TEST(json_of(std::get<FabricSnapshot>(*seen)).dump() == json_of(snapshot(has_classes)).dump());
  }
}

BOOST_AUTO_TEST_CASE(hostile_octets_are_refused_without_harm) {
  check_hostile(requests(), decode_request);
  check_hostile(replies(), decode_reply);
}

BOOST_AUTO_TEST_CASE(lengths_beyond_the_message_are_refused) {
  const std::string huge = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";   // 2^64 - 1
  for (const std::string& body : {std::string("\x02") + huge,            // so many words
                                  std::string("\x02\x01") + huge + "a",  // a word of such a length
                                  std::string("\x02\x02\x01"
                                              "a"),                         // one word too few
                                  std::string("\x63"),                      // no such request
                                  std::string("\x05\xff\xff\xff\xff\x1f"),  // more than 32 bits
                                  huge + "\x02", std::string(11, '\x80')}) {
    const auto got = decode_request(with_body(body));
    BOOST_REQUIRE(!got.ok());
    BOOST_TEST(!got.error().is_of_another_version);
    BOOST_TEST(got.error().text == "its fields do not fit");
  }
}

BOOST_AUTO_TEST_CASE(snapshot_that_names_what_it_lacks_is_refused) {
  const auto is_refused = [](auto spoil) {
    FabricSnapshot seen = snapshot(true);
    spoil(seen);
    return !decode_reply(encode(FabricReply(seen))).ok();
  };
  BOOST_TEST(is_refused([](FabricSnapshot& seen) { seen.cables[0].b = 4; }));
  BOOST_TEST(is_refused([](FabricSnapshot& seen) { seen.links.pop_back(); }));
  BOOST_TEST(is_refused([](FabricSnapshot& seen) { seen.nodes.resize(5); }));
  BOOST_TEST(is_refused([](FabricSnapshot& seen) { seen.nodes[0].counters.pop_back(); }));
  BOOST_TEST(is_refused([](FabricSnapshot& seen) { seen.subnet->ports.pop_back(); }));
  BOOST_TEST(is_refused([](FabricSnapshot& seen) { seen.subnet->ports.resize(3); }));
  BOOST_TEST(is_refused([](FabricSnapshot& seen) { seen.crashed[0] = 4; }));
  BOOST_TEST(is_refused([](FabricSnapshot& seen) { seen.cut_off[0].second = 4; }));
  BOOST_TEST(is_refused([](FabricSnapshot& seen) { seen.deadlock->links[0].cable = 3; }));
  BOOST_TEST(is_refused([](FabricSnapshot& seen) { seen.deadlock->links.clear(); }));
  BOOST_TEST(is_refused([](FabricSnapshot& seen) { seen.loops[1].links[0].cable = 3; }));
  BOOST_TEST(is_refused([](FabricSnapshot& seen) { seen.loops[0].links.clear(); }));
  BOOST_TEST(is_refused([](FabricSnapshot& seen) { seen.rails = 0; }));
  for (const FabricHello& hello :
       {FabricHello{2, 1, {1}, ""}, FabricHello{1, 2, {1}, ""}, FabricHello{1, 0, {}, ""}, FabricHello{0, 17, {}, ""}})
    BOOST_TEST(!decode_reply(encode(FabricReply(hello))).ok());
}

BOOST_AUTO_TEST_CASE(message_of_another_version_is_told_apart) {
  std::string other = encode(FabricRequest(AskHello{}));
  other[kFabricProtocol.size() - 1] = '2';
  const auto words_of_the_first_version = std::string("link-down\0n1-s1\0", 16);
  for (const std::string& message : {other, words_of_the_first_version, std::string("stat\0", 5), std::string()}) {
    const auto request = decode_request(message);
    const auto reply = decode_reply(message);
    BOOST_TEST((!request && request.error().is_of_another_version));
    BOOST_TEST((!reply && reply.error().is_of_another_version));
  }
}
