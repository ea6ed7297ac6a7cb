// Faults of software that are rules for verbs: which ones.
#include "emulator/fabric/short_forms.h"

#include <boost/test/unit_test.hpp>

using namespace verbena;
using namespace verbena::fabric;
using Kind = SoftwareFault::Kind;

BOOST_AUTO_TEST_CASE(failures_of_the_software_are_rules_for_its_verbs) {
  const auto registration =
      host_verb_rule_of(SoftwareFault{.kind = Kind::registration_failure, .hosts = {1}, .times = 2});
  BOOST_REQUIRE(registration.has_value());
  BOOST_TEST((registration->rule.action == VerbAction::fail && registration->rule.verb == Verb::reg_mr));
  BOOST_TEST((registration->rule.count_max == 2 && registration->hosts == std::vector<std::uint32_t>{1}));
  const auto post = verb_rule_of({.kind = Kind::post_failure});
  BOOST_REQUIRE(post.has_value());
  BOOST_TEST((post->verb == Verb::post_send && post->count_max == 1));
  BOOST_TEST(post->text == "fail verb=post_send count=1");  // as a running fabric is told
}

BOOST_AUTO_TEST_CASE(a_status_is_reported_and_the_QP_goes_on) {
  const auto rule = verb_rule_of({.kind = Kind::completion_status,
                                  .workload = "w",
                                  .times = 3,
                                  .status = static_cast<std::uint8_t>(nic::CompletionStatus::retry_exceeded)});
  BOOST_REQUIRE(rule.has_value());
  BOOST_TEST((rule->action == VerbAction::completion && rule->only_report && rule->of == CompletionOf::send));
  BOOST_TEST((rule->status == nic::CompletionStatus::retry_exceeded && rule->count_max == 3));
}

BOOST_AUTO_TEST_CASE(what_is_more_than_a_rule_is_none) {
  BOOST_TEST(!verb_rule_of({.kind = Kind::device_removal}).has_value());
  BOOST_TEST(!verb_rule_of({.kind = Kind::rnr_storm}).has_value());
  BOOST_TEST(!host_verb_rule_of(NodeChange{}).has_value());
  BOOST_TEST(!host_verb_rule_of(PacketRule{}).has_value());
}
