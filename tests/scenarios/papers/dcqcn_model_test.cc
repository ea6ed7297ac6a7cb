// The model of DCQCN: its two ways are near each other and near the approximation that is known of the first.
#include "scenarios/papers/dcqcn_model.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

using namespace verbena::scenarios;

namespace {

/// Zhu et al., "ECN or Delay", CoNEXT 2016: the fixed point to the lowest order, for shares that are small.
double approximation(const DcqcnModel& model) {
  const double bits = 8 * model.packet_octets;
  const double line = model.line_rate / bits;
  const double events = model.packet_octets / model.byte_counter + model.senders / (model.timer * line);
  return std::cbrt(model.additive_increase / bits * model.senders * model.senders / (model.alpha_timer * line * line) *
                   events * events);
}

}  // namespace

BOOST_AUTO_TEST_CASE(fluid_model_is_near_its_approximation_at_few_marks) {
  // By the byte counter, 9242 packets, as well.
  for (const double senders : {1.0, 2.0, 8.0}) {
    const DcqcnModel model{.senders = senders, .additive_increase = 100};
    BOOST_TEST(marked_share_of_fluid(model) < 1e-4, senders);
    BOOST_TEST(std::abs(marked_share_of_fluid(model) / approximation(model) - 1) < 0.1, senders);
  }
  BOOST_TEST(marked_share_of_fluid({.senders = 20}) < approximation({.senders = 20}));
}

BOOST_AUTO_TEST_CASE(more_senders_and_larger_increases_need_more_marks) {
  for (const auto way : {marked_share_of_fluid, marked_share_of_rules}) {
    BOOST_TEST(way({.senders = 8}) < way({.senders = 20}));
    BOOST_TEST(way({.additive_increase = 5e6}) < way({.additive_increase = 40e6}));
  }
}

BOOST_AUTO_TEST_CASE(the_rules_step_by_step_are_within_a_half_of_the_fluid_model) {
  for (const double senders : {8.0, 20.0}) {
    const double ratio = marked_share_of_rules({.senders = senders}) / marked_share_of_fluid({.senders = senders});
    BOOST_TEST(ratio > 1, senders);
    BOOST_TEST(ratio < 1.5, senders);
  }
}

BOOST_AUTO_TEST_CASE(a_queue_is_on_red_s_slope) {
  BOOST_TEST(queue_for(0, 0.01) == 5e3);
  BOOST_TEST(queue_for(0.05, 0.1) == 102.5e3);
  BOOST_TEST(queue_for(0.02, 0.01) == 200e3);
}
