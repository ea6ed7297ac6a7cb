// The opcode table against the facts of IBTA table 38 and of the tables of headers per operation.
#include "wire/opcode.h"

#include <boost/test/unit_test.hpp>
#include <set>
#include <string>

namespace verbena::wire::test {
namespace {

const OpcodeInfo& info_of(unsigned octet) {
  return opcode_info(static_cast<Opcode>(octet));
}

}  // namespace

BOOST_AUTO_TEST_CASE(exactly_the_opcodes_of_rc_uc_ud_xrc_and_cnp_are_defined) {
  std::set<unsigned> expected{0x1d, 0x64, 0x65, 0x81};
  for (unsigned octet = 0x00; octet <= 0x17; ++octet) {
    if (octet != 0x15) expected.insert({octet, octet + 0xa0});
  }
  for (unsigned octet = 0x20; octet <= 0x2b; ++octet) expected.insert(octet);
  std::set<unsigned> defined;
  for (unsigned octet = 0; octet < 256; ++octet) {
    if (info_of(octet).defined) defined.insert(octet);
  }
  BOOST_TEST(defined == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(names_are_the_specifications_and_unique) {
  BOOST_TEST(info_of(0x00).name == "RC SEND First");
  BOOST_TEST(info_of(0x0b).name == "RC RDMA WRITE Only with Immediate");
  BOOST_TEST(info_of(0x10).name == "RC RDMA READ response Only");
  BOOST_TEST(info_of(0x13).name == "RC CmpSwap");
  BOOST_TEST(info_of(0x1d).name == "RC ATOMIC WRITE");
  BOOST_TEST(info_of(0x27).name == "UC RDMA WRITE Middle");
  BOOST_TEST(info_of(0x64).name == "UD SEND Only");
  BOOST_TEST(info_of(0x81).name == "CNP");
  BOOST_TEST(info_of(0xb7).name == "XRC SEND Only with Invalidate");
  std::set<std::string_view> names;
  std::size_t defined = 0;
  for (unsigned octet = 0; octet < 256; ++octet) {
    if (!info_of(octet).defined) continue;
    ++defined;
    names.insert(info_of(octet).name);
  }
  BOOST_TEST(names.size() == defined);
}

BOOST_AUTO_TEST_CASE(extension_headers_add_up) {
  BOOST_TEST(info_of(0x00).extension_bytes == 0);   // SEND First
  BOOST_TEST(info_of(0x03).extension_bytes == 4);   // ImmDt
  BOOST_TEST(info_of(0x06).extension_bytes == 16);  // RETH
  BOOST_TEST(info_of(0x0b).extension_bytes == 20);  // RETH, ImmDt
  BOOST_TEST(info_of(0x0d).extension_bytes == 4);   // AETH
  BOOST_TEST(info_of(0x0e).extension_bytes == 0);   // READ response Middle has none
  BOOST_TEST(info_of(0x12).extension_bytes == 12);  // AETH, AtomicAckETH
  BOOST_TEST(info_of(0x14).extension_bytes == 28);  // AtomicETH
  BOOST_TEST(info_of(0x1d).extension_bytes == 16);  // RETH
  BOOST_TEST(info_of(0x16).extension_bytes == 4);   // IETH
  BOOST_TEST(info_of(0x64).extension_bytes == 8);   // DETH
  BOOST_TEST(info_of(0x65).extension_bytes == 12);  // DETH, ImmDt
  BOOST_TEST(info_of(0xa0).extension_bytes == 4);   // XRCETH
  BOOST_TEST(info_of(0xab).extension_bytes == 24);  // XRCETH, RETH, ImmDt
  BOOST_TEST(info_of(0xb1).extension_bytes == 4);   // an XRC acknowledge has AETH but no XRCETH
  BOOST_TEST(info_of(0xb3).extension_bytes == 32);  // XRCETH, AtomicETH
}

BOOST_AUTO_TEST_CASE(requests_and_responses_are_told_apart) {
  const std::set<unsigned> responses{0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x12};
  for (unsigned code = 0; code <= 0x17; ++code) {
    if (code == 0x15) continue;
    BOOST_TEST(info_of(code).is_request == !responses.contains(code), "RC code " << code);
    BOOST_TEST(info_of(0xa0 + code).is_request == !responses.contains(code), "XRC code " << code);
  }
  BOOST_TEST(!info_of(0x81).is_request);
}

BOOST_AUTO_TEST_CASE(receives_are_consumed_by_send_ends_and_immediate_writes) {
  const std::set<unsigned> consuming{0x02, 0x03, 0x04, 0x05, 0x09, 0x0b, 0x16, 0x17};
  for (unsigned code = 0; code <= 0x17; ++code) {
    if (code == 0x15) continue;
    BOOST_TEST(info_of(code).consumes_receive == consuming.contains(code), "code " << code);
  }
  BOOST_TEST(info_of(0x64).consumes_receive);
  BOOST_TEST(info_of(0x2b).consumes_receive);
}

BOOST_AUTO_TEST_CASE(positions_in_the_message) {
  const std::set<unsigned> starting{0x00, 0x04, 0x05, 0x06, 0x0a, 0x0b, 0x0c, 0x0d, 0x10, 0x11, 0x12, 0x13, 0x14, 0x17};
  const std::set<unsigned> ending{0x02, 0x03, 0x04, 0x05, 0x08, 0x09, 0x0a, 0x0b, 0x0c,
                                  0x0f, 0x10, 0x11, 0x12, 0x13, 0x14, 0x16, 0x17};
  for (unsigned code = 0; code <= 0x17; ++code) {
    if (code == 0x15) continue;
    BOOST_TEST(info_of(code).starts_message() == starting.contains(code), "code " << code);
    BOOST_TEST(info_of(code).ends_message() == ending.contains(code), "code " << code);
  }
}

}  // namespace verbena::wire::test
