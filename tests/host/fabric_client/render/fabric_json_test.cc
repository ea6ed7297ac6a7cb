// What a snapshot of a fabric is as JSON and as text, octet for octet.
#include "emulator/host/fabric_client/render/fabric_json.h"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "emulator/host/fabric_client/render/fabric_text.h"

using namespace verbena;
using namespace verbena::host;

namespace {

FabricSnapshot snapshot() {
  FabricSnapshot seen;
  seen.fabric = "f";
  seen.uptime = nanoseconds(7);
  seen.network.arrivals = 1;
  seen.network.lost = 2;
  seen.network.overflowed = 3;
  seen.network.vanished = 4;
  seen.network.marked = 5;
  seen.network.pause_frames = 6;
  seen.network.pause_storms = 7;
  seen.network.lossless_lost = 8;
  seen.strays = 9;
  seen.names = {"n1", "s1"};
  seen.cables = {{0, 1}};
  seen.links.resize(2);
  seen.links[0].seen = {1, 2, 3, 4, 5, 6, 7, nanoseconds(8), nanoseconds(9)};
  seen.links[1].is_up = false;
  seen.nodes = {{.is_up = false,
                 .processes = 1,
                 .frames_in = 2,
                 .octets_in = 3,
                 .frames_out = 4,
                 .octets_out = 5,
                 .nobody = 6,
                 .overflowed = 7,
                 .pauses = 8,
                 .not_run = nanoseconds(9),
                 .not_run_from = nanoseconds(10)}};
  seen.counter_names = {"b", "none", "a"};
  return seen;
}

const std::string kBeginning =
    R"({"fabric":"f","uptime_ns":7,"arrivals":1,"lost":2,"overflowed":3,"vanished":4,"marked":5,"strays":9,)"
    R"("pauses":{"frames":6,"storms":7,"lossless_lost":8,"deadlock":)";
const std::string kLink =
    R"({"name":"n1->s1","up":true,"frames":1,"octets":2,"lost":3,"overflowed":4,"queue_octets":5,"queue_octets_max":6,)"
    R"("rate_bits_per_second":7,"delay_ns":8,"jitter_ns":9)";
const std::string kDeadLink =
    R"({"name":"s1->n1","up":false,"frames":0,"octets":0,"lost":0,"overflowed":0,"queue_octets":0,)"
    R"("queue_octets_max":0,"rate_bits_per_second":0,"delay_ns":0,"jitter_ns":0)";
const std::string kNode =
    R"({"name":"n1","address":"127.47.91.1","up":false,"processes":1,"frames_in":2,"octets_in":3,"frames_out":4,)"
    R"("octets_out":5,"nobody":6,"overflowed":7,"pauses":8,"not_run_ns":9,"not_run_from_ns":10)";
const std::string kNames = R"("counter_names":["b","none","a"],)";

}  // namespace

BOOST_AUTO_TEST_CASE(snapshot_without_classes_or_counters_has_no_keys_for_them) {
  BOOST_TEST(json_of(snapshot()).dump() ==
             kBeginning + "null},\"links\":[" + kLink + "}," + kDeadLink + "}],\"nodes\":[" + kNode +
                 R"(}],"faults":[],"crashed":[],"cut_off":[],"loops":[],)" + kNames + R"("counters_complete":false})");
}

BOOST_AUTO_TEST_CASE(ports_of_infiniband_have_lids_and_a_state) {
  FabricSnapshot seen = snapshot();
  seen.subnet = FabricSubnet{false, {{.base_lid = 8, .sm_lid = 3, .lmc = 2, .state = 4}}};
  const auto node_of = [&] { return json_of(seen).at("nodes").at(0).dump(); };
  BOOST_TEST(node_of() == kNode + R"(,"lid":8,"lmc":2,"state":"ACTIVE"})");
  BOOST_TEST(json_of(seen).at("managed") == false);
  BOOST_TEST(!json_of(seen).contains("switches"));
  seen.subnet->is_managed = true;
  seen.subnet->switches = {{.lid = 5, .sm_lid = 3}};
  BOOST_TEST(json_of(seen).at("switches").dump() ==
             R"([{"name":")" + seen.names[seen.nodes.size()] + R"(","lid":5,"sm_lid":3}])");
  seen.nodes[0].counters = {3, 0, 1};
  BOOST_TEST(node_of() == kNode + R"(,"lid":8,"lmc":2,"state":"ACTIVE","sm_lid":3,"counters":{"b":3,"a":1}})");
  BOOST_TEST(json_of(seen).at("managed") == true);
}

BOOST_AUTO_TEST_CASE(lids_and_managers_are_told_as_text) {
  BOOST_TEST(lids_text({.base_lid = 0}) == "0");
  BOOST_TEST(lids_text({.base_lid = 8, .lmc = 0}) == "8");
  BOOST_TEST(lids_text({.base_lid = 8, .lmc = 2}) == "8-11");
  BOOST_TEST(lids_text({.base_lid = 0xbf80, .lmc = 7}) == "49024-49151");
  BOOST_TEST(port_state_name(1) == "DOWN");
  BOOST_TEST(port_state_name(2) == "INIT");
  BOOST_TEST(port_state_name(3) == "ARMED");
  BOOST_TEST(port_state_name(4) == "ACTIVE");
  BOOST_TEST(subnet_text({false, {{.sm_lid = 1}}}) == "InfiniBand, not managed: LIDs follow from addresses");
  BOOST_TEST(subnet_text({true, {{}, {}}}) == "InfiniBand, managed: no port knows a subnet manager yet");
  BOOST_TEST(subnet_text({true, {{}, {.sm_lid = 7}, {.sm_lid = 7}}}) ==
             "InfiniBand, managed: 2 of 3 ports know a subnet manager, at LID 7");
  BOOST_TEST(subnet_text({true, {{.sm_lid = 9}, {.sm_lid = 7}}}) ==
             "InfiniBand, managed: 2 of 2 ports know a subnet manager, at LID 7, 9");
}

BOOST_AUTO_TEST_CASE(snapshot_with_everything_has_every_key) {
  FabricSnapshot seen = snapshot();
  seen.has_classes = true;
  seen.links[0].pauses.sent[3] = 1;
  seen.links[0].pauses.received[5] = 2;
  seen.links[0].pauses.paused[5] = nanoseconds(3);
  seen.links[0].pauses.paused_now = 1 << 5;
  seen.deadlock = fabric::PauseDeadlock{Time{}, 3, {{0, false}, {0, true}}};
  seen.nodes[0].counters = {3, 0, 1};
  seen.counters_complete = true;
  seen.faults = {{1, "n1-s1", "drop \"1%\"", 17}};
  seen.crashed = {1};
  seen.cut_off = {{0, 1}};
  seen.capture = FabricCaptureCounts{1, std::nullopt, 2};
  const std::string faults = R"("faults":[{"number":1,"link":"n1-s1","rule":"drop \"1%\"","hits":17,"unheard":0}],)";
  const std::string ends = R"("crashed":["s1"],"cut_off":["n1->s1"])";
  seen.loops = {{8, 3, {{0, false}, {0, true}}}};
  const std::string loops = R"("loops":[{"lid":8,"lids":3,"links":["n1->s1","s1->n1"]}],)";
  const std::string pauses = R"(,"pauses":{"3":{"sent":1,"received":0,"paused_ns":0,"paused":false},)"
                             R"("5":{"sent":0,"received":2,"paused_ns":3,"paused":true}}},)";
  BOOST_TEST(json_of(seen).dump() ==
             kBeginning + R"("class 3: n1->s1 waits for s1->n1 waits for n1->s1"},"links":[)" + kLink + pauses +
                 kDeadLink + R"(,"pauses":{}}],"nodes":[)" + kNode + R"(,"counters":{"b":3,"a":1}}],)" + faults + ends +
                 "," + loops + kNames +
                 R"("counters_complete":true,"capture":{"frames_missing":1,"missing_from_ns":null,"frames_cut":2}})");
  BOOST_TEST(faults_json(seen).dump() == "{" + faults + R"("down":["s1->n1"],)" + ends + "}");
  BOOST_TEST(faults_text(seen) ==
             "1  n1-s1  drop \"1%\"  (17 hits)\n-  s1->n1  down\n-  s1  crashed\n-  n1->s1  cut off\n");
  BOOST_TEST(loop_text(seen, seen.loops[0]) == "LID 8 and 2 more go round: n1->s1 s1->n1");
}
