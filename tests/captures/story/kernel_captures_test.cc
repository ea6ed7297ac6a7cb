// explain on captures of the Linux kernel's rxe. The expected numbers were taken with tshark and awk: PSNs that are not
// above the highest before them, breaks in the sequence of PSNs, AETH syndromes of 96 (0x60), and silences before a
// step back.
#include <boost/test/unit_test.hpp>

#include "captures/conversations/conversations.h"
#include "captures/read/capture.h"
#include "captures/render/text/ladder.h"
#include "captures/render/words/packet_words.h"
#include "captures/story/flow_tracker.h"
#include "tests/support/places.h"
#include "wire/packet_text.h"

using namespace verbena;
using namespace verbena::captures;

namespace {

struct Story {
  Conversation conversation;
  std::array<Totals, 2> totals;
  std::string ladder;
};

std::vector<Story> explain_file(const std::string& name, LadderOptions options = {}) {
  const auto capture = Capture::open(test::data_file(name));
  BOOST_REQUIRE(capture.ok());
  std::vector<Story> stories;
  for (auto& conversation : find_conversations(*capture)) {
    Story& story = stories.emplace_back();
    story.conversation = conversation;
    FlowTracker tracker(*capture, story.conversation);
    Ladder ladder(options, story.ladder);
    for (const auto index : conversation.packets) {
      const Packet& packet = capture->packets()[index];
      const wire::PacketView view = packet.view();
      ladder.add(packet, view, tracker.step(packet, view));
    }
    ladder.finish();
    story.totals = tracker.totals();
  }
  return stories;
}

std::uint64_t troubles(const Totals& totals) {
  return totals.retransmitted_packets + totals.repeated_responses + totals.go_backs + totals.gaps +
         totals.late_packets + totals.duplicates + totals.nak_sequence_errors + totals.other_naks + totals.rnr_naks +
         totals.bad_icrc + totals.ecn_marked + totals.cnps + totals.dropped_by_fault;
}

std::size_t occurrences(const std::string& text, std::string_view what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++count;
  return count;
}

}  // namespace

BOOST_AUTO_TEST_CASE(lossy_write_tells_its_losses_naks_and_its_timeout) {
  const auto stories = explain_file("07-loss2_write_bw.pcap");
  BOOST_REQUIRE_EQUAL(stories.size(), 1u);
  const Totals& client = stories[0].totals[0];
  const Totals& server = stories[0].totals[1];
  BOOST_TEST(wire::to_text(stories[0].conversation.ends[0].address) == "10.77.0.3");
  BOOST_TEST(client.packets == 752u);
  BOOST_TEST(server.packets == 26u);
  BOOST_TEST(client.retransmitted_packets == 440u);
  BOOST_TEST(client.go_backs == 6u);
  BOOST_TEST(client.timeouts == 1u);  // packet 705, after 66.4 ms of silence (4.096 us x 2^14 is 67.1 ms)
  BOOST_TEST(client.gaps == 17u);
  BOOST_TEST(client.missing_packets == 17u);
  BOOST_TEST(client.late_packets + client.duplicates + client.bad_icrc == 0u);
  BOOST_TEST(server.nak_sequence_errors == 6u);
  BOOST_TEST(server.gaps == 0u);
  const std::string& ladder = stories[0].ladder;
  BOOST_TEST(occurrences(ladder, "go-back-N after the NAK") == 5u);
  BOOST_TEST(occurrences(ladder, "timeout: retransmission from psn 16192133 (+232)") == 1u);
  BOOST_TEST(occurrences(ladder, "after the last progress") == 1u);
  BOOST_TEST(occurrences(ladder, "gap: psn 16191950 (+49) missing, 1 packet") == 1u);
}

BOOST_AUTO_TEST_CASE(clean_captures_have_no_trouble_and_both_ends) {
  struct Expected {
    const char* file;
    wire::Transport transport;
    std::uint64_t forward, backward;
    std::uint32_t qpn;
  };
  const Expected all[] = {
      {"01-rc_pingpong.pcap", wire::Transport::rc, 100, 100, 0x19},
      {"02-write_bw.pcap", wire::Transport::rc, 320, 5, 0x12},
      {"03-read_bw.pcap", wire::Transport::rc, 5, 320, 0x13},
      {"04-atomic_fadd.pcap", wire::Transport::rc, 5, 5, 0x14},
      {"05-ud_pingpong.pcap", wire::Transport::ud, 20, 20, 0x16},
      {"08-uc_pingpong.pcap", wire::Transport::uc, 40, 40, 0x18},
      {"09-send_bw.pcap", wire::Transport::rc, 320, 5, 0x19},
  };
  for (const auto& expected : all) {
    BOOST_TEST_CONTEXT(expected.file) {
      const auto stories = explain_file(expected.file);
      BOOST_REQUIRE_EQUAL(stories.size(), 1u);
      BOOST_TEST((stories[0].conversation.transport == expected.transport));
      BOOST_TEST(stories[0].totals[0].packets == expected.forward);
      BOOST_TEST(stories[0].totals[1].packets == expected.backward);
      for (unsigned end = 0; end < 2; ++end) {
        BOOST_TEST((stories[0].conversation.ends[end].qpn == wire::Qpn(expected.qpn)));
        BOOST_TEST(troubles(stories[0].totals[end]) == 0u);
      }
      BOOST_TEST(occurrences(stories[0].ladder, "!") == 0u);
    }
  }
}

BOOST_AUTO_TEST_CASE(connection_management_is_named) {
  const auto stories = explain_file("06-rping_cm.pcap");
  BOOST_REQUIRE_EQUAL(stories.size(), 2u);
  BOOST_TEST((stories[0].conversation.ends[0].qpn == wire::kGsiQpn));
  for (const char* name : {"CM REQ", "CM REP", "CM RTU", "CM DREQ", "CM DREP"})
    BOOST_TEST(occurrences(stories[0].ladder, std::string(name) + " (SEND Only)") == 1u, name);
  BOOST_TEST((stories[1].conversation.transport == wire::Transport::rc));
  BOOST_TEST(stories[1].totals[0].packets == 30u);
  BOOST_TEST(stories[1].totals[1].packets == 30u);
}

BOOST_AUTO_TEST_CASE(runs_fold_unless_all_is_asked_for) {
  const auto folded = explain_file("02-write_bw.pcap");
  const auto unfolded = explain_file("02-write_bw.pcap", {.width = 110, .fold = false});
  // 62 packets, with 820 us between the first 19 and the others.
  BOOST_TEST(occurrences(folded[0].ladder, "RDMA WRITE Middle x 19  psn 2344244..2344262 (+1..+19)  19456 B") == 1u);
  BOOST_TEST(occurrences(folded[0].ladder, "RDMA WRITE Middle x 43  psn 2344263..2344305 (+20..+62)  44032 B") == 1u);
  BOOST_TEST(occurrences(folded[0].ladder, "\n") < 60u);
  BOOST_TEST(occurrences(unfolded[0].ladder, "\n") == 325u);
}

BOOST_AUTO_TEST_CASE(only_problems_leaves_out_the_rest_and_says_how_much) {
  const auto all = explain_file("07-loss2_write_bw.pcap");
  const auto problems = explain_file("07-loss2_write_bw.pcap", {.width = 110, .only_problems = true});
  BOOST_TEST(occurrences(problems[0].ladder, " ! ") == occurrences(all[0].ladder, " ! "));
  BOOST_TEST(problems[0].ladder.size() < all[0].ladder.size());
  BOOST_TEST(occurrences(problems[0].ladder, "packets without trouble") > 0u);
}

BOOST_AUTO_TEST_CASE(pause_frames_left_out_are_counted_apart_from_packets) {
  std::string out;
  Ladder ladder({.only_problems = true}, out);
  ladder.pause({.number = 1});
  ladder.finish();
  BOOST_TEST(occurrences(out, "... 1 pause frame\n") == 1u, out);
  BOOST_TEST(occurrences(out, "without trouble") == 0u, out);
}

BOOST_AUTO_TEST_CASE(every_rung_of_a_ladder_has_the_same_width) {
  const auto stories = explain_file("02-write_bw.pcap", {.width = 120});
  std::size_t begin = 0;
  for (std::size_t end; (end = stories[0].ladder.find('\n', begin)) != std::string::npos; begin = end + 1)
    BOOST_TEST(end - begin == 120u);
}
