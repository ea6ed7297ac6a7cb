// AETH syndromes and their tables against the values of IBTA 9.7.5.
#include "wire/aeth.h"

#include <boost/test/unit_test.hpp>

namespace verbena::wire::test {

BOOST_AUTO_TEST_CASE(syndromes_decode_to_what_they_were_made_of) {
  for (unsigned value = 0; value < 32; ++value) {
    const auto code = static_cast<std::uint8_t>(value);
    BOOST_TEST((Syndrome::decode(ack_syndrome(code)) == Syndrome{Syndrome::Kind::ack, code}));
    BOOST_TEST((Syndrome::decode(rnr_syndrome(code)) == Syndrome{Syndrome::Kind::rnr_nak, code}));
  }
  BOOST_TEST(nak_syndrome(NakCode::psn_sequence_error) == 0x60);
  BOOST_TEST(nak_syndrome(NakCode::remote_operational_error) == 0x63);
  BOOST_TEST((Syndrome::decode(0x62).nak_code() == NakCode::remote_access_error));
}

BOOST_AUTO_TEST_CASE(reserved_syndromes_are_named_so) {
  for (unsigned octet = 0; octet < 256; ++octet) {
    const bool reserved = (octet & 0x80) != 0 || (octet & 0x60) == 0x40;
    BOOST_TEST((Syndrome::decode(static_cast<std::uint8_t>(octet)).kind == Syndrome::Kind::reserved) == reserved);
  }
}

BOOST_AUTO_TEST_CASE(credits_follow_the_table) {
  BOOST_TEST(credit_count_of(0) == 0u);
  BOOST_TEST(credit_count_of(5) == 6u);
  BOOST_TEST(credit_count_of(10) == 32u);
  BOOST_TEST(credit_count_of(15) == 192u);
  BOOST_TEST(credit_count_of(20) == 1024u);
  BOOST_TEST(credit_count_of(30) == 32768u);
  BOOST_TEST(credit_count_of(31) == UINT32_MAX);
}

BOOST_AUTO_TEST_CASE(a_credit_code_promises_as_much_as_there_is_and_never_more) {
  for (std::uint32_t count = 0; count < 40000; ++count) {
    const std::uint8_t code = credit_code_of(count);
    BOOST_REQUIRE(code <= 30);
    BOOST_REQUIRE(credit_count_of(code) <= count);
    BOOST_REQUIRE(code == 30 || credit_count_of(static_cast<std::uint8_t>(code + 1)) > count);
  }
}

BOOST_AUTO_TEST_CASE(rnr_timers_follow_the_table) {
  BOOST_TEST(rnr_timer(0).ns == 655'360'000);
  BOOST_TEST(rnr_timer(1).ns == 10'000);
  BOOST_TEST(rnr_timer(5).ns == 60'000);
  BOOST_TEST(rnr_timer(12).ns == 640'000);
  BOOST_TEST(rnr_timer(14).ns == 1'280'000);
  BOOST_TEST(rnr_timer(20).ns == 10'240'000);
  BOOST_TEST(rnr_timer(31).ns == 491'520'000);
  for (unsigned code = 2; code < 32; ++code) {
    BOOST_TEST(rnr_timer(static_cast<std::uint8_t>(code)).ns > rnr_timer(static_cast<std::uint8_t>(code - 1)).ns);
  }
}

}  // namespace verbena::wire::test
