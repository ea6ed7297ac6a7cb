// Packet scripts: what each word does, and what is said when a script is wrong or does not come true.
#include "tests/libverbena/pair.h"

using namespace verbena::test;

namespace {

std::string error_of(const Result<void>& result) {
  return result.ok() ? "no error" : result.error().text;
}
bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_script_that_cannot_be_read_names_the_line_and_the_word) {
  Pair pair;
  const std::vector<std::pair<const char*, const char*>> wrong{
      {"expec a > b send-only", "'expec' is none of expect, inject, silence"},
      {"expect a b send-only", "'FROM > TO' stands behind expect"},
      {"expect a > b send-onyl", "'send-onyl' is no opcode"},
      {"expect a > b send-only psn=x", "'psn=x' wants a number up to 16777215"},
      {"expect a > b send-only psn=16777216", "wants a number up to"},
      {"expect a > b send-only len=5000", "'len=5000' wants a number up to 4096"},
      {"expect a > b write-only rkey=-1", "'rkey=-1' wants a number"},
      {"expect a > b send-only colour=1", "'colour=1' is no field"},
      {"expect a > b send-only urgent", "'urgent' is no field"},
      {"expect a > b acknowledge syndrome=nack", "'nack' is no syndrome"},
      {"expect a > b send-only then vanish", "'vanish' is none of drop"},
      {"expect a > b send-only then drop psn=1", "one action stands at the end"},
      {"expect a > b send-only after=1us", "'after=1us' is no field"},
      {"inject a > b send-only then drop", "'then' is for a packet that is expected"},
      {"inject a > b send-only within=1us", "'within=1us' is no field"},
      {"expect a > b send-only va=1", "send-only carries no va"},
      {"expect a > b send-only syndrome=ack", "send-only carries no syndrome"},
      {"inject a > b acknowledge swap=1", "acknowledge carries no swap"},
      {"inject a > b acknowledge len=4", "acknowledge carries no payload"},
      {"expect a > b send-only psn=1 len=4 psn=2", "psn stands there twice"},
      {"expect a > b send-only solicited no-solicited", "solicited stands there twice"},
      {"silence soon", "'soon' is no time for silence"},
      {"silence 1ms 2ms", "nothing stands behind"},
      {"expect a > c send-only", "the connection is between 'a' and 'b'"}};
  for (const auto& [script, message] : wrong) {
    const std::string text = error_of(pair.world.play(pair.from, "\n# a remark\n" + std::string(script)));
    BOOST_TEST(contains(text, "script line 3: "), text);
    BOOST_TEST(contains(text, message), text);
  }
  BOOST_TEST(pair.world.now().count() == 0);
  BOOST_TEST(error_of(pair.world.play(pair.a.create_qp().value(), "")) ==
             "play: the QP is not connected, or of another world");
}

BOOST_AUTO_TEST_CASE(a_failure_says_which_line_what_was_expected_and_what_came) {
  const std::vector<std::pair<const char*, const char*>> wrong{
      {"expect a > b send-only psn=1", "psn is 0, not 1"},
      {"expect a > b send-only len=32", "len is 64, not 32"},
      {"expect a > b send-only no-ack-request", "ack-request is set"},
      {"expect a > b send-only solicited", "solicited is not set"},
      {"expect a > b write-only", "it is send-only, not write-only"},
      {"expect a > b send-only pkey=1", "pkey is 65535, not 1"},
      {"expect b > a acknowledge", "it comes from a"},
      {"silence 1ms", "it sent: a > b  send-only psn=0 len=64 ack-request"}};
  for (const auto& [script, message] : wrong) {
    Pair pair;
    pair.send();
    const Result<void> played = pair.world.play(pair.from, script);
    BOOST_REQUIRE(!played);
    BOOST_CHECK(played.error().kind == ErrorKind::mismatch);
    BOOST_TEST(contains(played.error().text, "script line 1 at 0.000 us"), played.error().text);
    BOOST_TEST(contains(played.error().text, script), played.error().text);
    BOOST_TEST(contains(played.error().text, message), played.error().text);
  }
  Pair pair;
  pair.send();
  const std::string text = error_of(pair.world.play(pair.from, R"(
    expect a > b send-only
    expect b > a acknowledge syndrome=rnr-nak)"));
  BOOST_TEST(contains(text, "script line 3"), text);
  BOOST_TEST(contains(text, "came: b > a  acknowledge psn=0 syndrome=ack msn=1"), text);
  BOOST_TEST(contains(text, "syndrome is ack, not rnr-nak"), text);
  BOOST_TEST(contains(text, "0.000 us  a > b  send-only psn=0 len=64 ack-request"), text);
}

BOOST_AUTO_TEST_CASE(silence_instead_of_an_expected_packet_fails_after_its_time) {
  Pair pair;
  BOOST_TEST(contains(error_of(pair.world.play(pair.from, "expect a > b send-only within=50us")),
                      "nothing came within 50 us"));
  BOOST_TEST(pair.world.now().count() == 50'000);
}

BOOST_AUTO_TEST_CASE(what_a_line_says_is_done_to_the_packet) {
  Pair pair({.timeout = 8, .psn = 0xfffffe});  // over the end of the PSNs
  pair.send(4096);
  const Result<void> played = pair.world.play(pair.to, R"(
    expect a > b  send-first   psn=0            then duplicate
    expect a > b  send-middle  psn=1            then corrupt
    expect a > b  send-middle  psn=2
    expect a > b  send-last    psn=3
    expect b > a  acknowledge  psn=0  syndrome=ack msn=0       # what came twice is answered at once
    expect b > a  acknowledge  psn=1  syndrome=nak-psn-sequence-error
    expect a > b  send-middle  psn=1            then delay=100us
    expect a > b  send-middle  psn=2
    expect a > b  send-last    psn=3
    expect a > b  send-middle  psn=1            within=3ms     # the NAK is not said twice
    expect a > b  send-middle  psn=2
    expect a > b  send-last    psn=3
    expect b > a  acknowledge  psn=1  syndrome=ack msn=0       # it had come late, and comes again
    expect b > a  acknowledge  psn=3  msn=1)");
  BOOST_TEST(played.ok(), error_of(played));
  BOOST_TEST(pair.b.counter("rx_dropped_icrc").value() == 1);
  BOOST_TEST(pair.b.counter("duplicate_request").value() >= 1);
  BOOST_TEST(pair.b.cq().next().value().byte_count == 4096);
}

BOOST_AUTO_TEST_CASE(a_second_script_goes_on_where_the_first_one_ended) {
  Pair pair;
  pair.to.post_receive(1, pair.target.slice()).value();  // so that there is a credit for the second message
  pair.send(3072);
  const auto play = [&](std::string_view script) { return error_of(pair.world.play(pair.from, script)); };
  BOOST_TEST(play("expect a > b send-first psn=0") == "no error");
  // The NIC has handed over the rest in the same instant.
  BOOST_TEST(play("expect a > b send-middle psn=1\nexpect a > b send-last psn=2\nexpect b > a acknowledge psn=2") ==
             "no error");
  BOOST_TEST(play("silence 1ms") == "no error");
  pair.send(3072);
  BOOST_TEST(play("expect a > b send-first psn=3") == "no error");
  const std::string text = play("expect a > b send-middle psn=4 then drop");
  BOOST_TEST(contains(text, "had left when the script began"), text);
}

BOOST_AUTO_TEST_CASE(a_peer_is_played_by_inject) {
  Lone lone;
  lone.qp.post_receive(7, lone.memory.slice()).value();
  const std::string rkey = std::to_string(lone.memory.rkey());
  const std::string address = std::to_string(lone.memory.remote(8).address);
  const Result<void> played = lone.world.play(lone.qp,
                                              "inject p > a send-only psn=0 len=5 ack-request after=3us\n"
                                              "expect a > p acknowledge psn=0 msn=1 syndrome=ack within=5us\n"
                                              "inject p > a write-only psn=1 len=4 length=4 rkey=" +
                                                  rkey + " va=" + address +
                                                  " ack-request\n"
                                                  "expect a > p acknowledge psn=1 msn=2\n"
                                                  "inject p > a fetchadd psn=2 swap=1 rkey=" +
                                                  rkey + " va=" + address +
                                                  "\n"
                                                  "expect a > p atomic-acknowledge psn=2 original=0x03020100\n"
                                                  "inject p > a send-only psn=5 len=1\n"
                                                  "expect a > p acknowledge psn=3 syndrome=0x60\n"
                                                  "inject p > a read-request psn=3 length=4 rkey=1\n"
                                                  "expect a > p acknowledge psn=3 "
                                                  "syndrome=nak-remote-access-error");
  BOOST_TEST(played.ok(), error_of(played));
  const std::vector<Completion> completions = lone.a.cq().poll();
  BOOST_REQUIRE(!completions.empty());
  BOOST_TEST(completions.front().byte_count == 5);
  BOOST_CHECK(lone.memory.bytes()[4] == std::byte{4});
  BOOST_CHECK(lone.peer.next().value().opcode == Opcode::rc_acknowledge);  // it has arrived there, too
}

BOOST_AUTO_TEST_CASE(an_injected_packet_that_nothing_follows_leaves_all_the_same) {
  Lone lone;
  lone.qp.post_receive(7, lone.memory.slice()).value();
  lone.world.play(lone.qp, "inject p > a send-only psn=0 len=5 after=1ms").value();
  BOOST_TEST(lone.world.now().count() == 1'000'000);
  BOOST_TEST(lone.a.cq().next(10us).value().byte_count == 5);
}
