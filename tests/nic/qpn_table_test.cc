// QPs are found by their numbers, those made last and those before them, and no longer once they are gone.
#include "emulator/nic/state/qpn_table.h"

#include <boost/test/unit_test.hpp>
#include <deque>

using namespace verbena;
using namespace verbena::nic;

namespace {

constexpr wire::Qpn kBase{0x30000};
constexpr std::uint8_t kBits = 9;  // two pages

}  // namespace

BOOST_AUTO_TEST_CASE(every_qp_is_found_by_its_number_and_by_no_other) {
  QpnTable table(kBase, kBits, 1);
  std::deque<Qp> qps((1u << kBits) - QpnTable::kFirstIndex);
  for (Qp& qp : qps) {
    const auto number = table.insert(qp);
    BOOST_TEST_REQUIRE(number.has_value());
    qp.qpn = *number;
    BOOST_TEST(table.find(qp.qpn) == &qp);
  }
  for (Qp& qp : qps) BOOST_TEST(table.find(qp.qpn) == &qp);
  Qp one_more;
  BOOST_TEST(!table.insert(one_more).has_value());
  for (const std::uint32_t number : {0x30000u, 0x30001u, 0x2ffffu, 0x30200u, 0u, wire::Qpn::kMask})
    BOOST_TEST(table.find(wire::Qpn(number)) == nullptr);
}

BOOST_AUTO_TEST_CASE(returned_number_names_nobody_whether_its_qp_was_new_or_old) {
  QpnTable table(kBase, kBits, 1);
  std::deque<Qp> qps(8);
  for (Qp& qp : qps) qp.qpn = *table.insert(qp);
  for (const std::size_t gone : {std::size_t{7}, std::size_t{0}, std::size_t{6}}) {
    table.remove(qps[gone].qpn);
    BOOST_TEST(table.find(qps[gone].qpn) == nullptr);
  }
  for (std::size_t left = 1; left < 6; ++left) BOOST_TEST(table.find(qps[left].qpn) == &qps[left]);
}
