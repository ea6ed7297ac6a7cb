// The header of management datagrams, and how they are called.
#include "wire/mad.h"

#include "tests/wire/wire_support.h"
#include "wire/management.h"

using namespace verbena::wire;
using namespace verbena::wire::test;

namespace {

std::string name(std::uint8_t management_class, std::uint8_t method, std::uint16_t attribute) {
  return mad_name({.management_class = management_class, .method = method, .attribute = attribute});
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_header_has_its_fields_where_the_specification_has_them) {
  const Bytes octets = bytes_of({1, 0x81, 1, 2, 0x80, 0x1c, 3, 4, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0x15, 0, 0, 0, 0, 0, 9});
  const auto header = AnyMadHeaderLayout::parse(std::span(octets).first<AnyMadHeaderLayout::bytes>());
  BOOST_TEST(header.management_class == kClassSubnetDirected);
  BOOST_TEST(header.method == kMethodSet);
  BOOST_TEST(header.status == 0x801c);
  BOOST_TEST(header.class_specific == 0x0304);
  BOOST_TEST(header.transaction_id == 0x0102030405060708u);
  BOOST_TEST(header.attribute == 0x15);
  BOOST_TEST(header.attribute_modifier == 9u);
  BOOST_TEST(std::ranges::equal(AnyMadHeaderLayout::emit(header), octets));
}

BOOST_AUTO_TEST_CASE(a_connections_message_has_the_same_header) {
  const MadHeader header{.management_class = kClassCommunication,
                         .class_version = kCmClassVersion,
                         .method = kMethodSend,
                         .attribute = CmAttribute::reply};
  const auto read = AnyMadHeaderLayout::parse(MadHeaderLayout::emit(header));
  BOOST_TEST(read.attribute == 0x13);
  BOOST_TEST(read.class_version == 2);
}

BOOST_AUTO_TEST_CASE(names_are_those_of_the_specification) {
  BOOST_TEST(name(kClassSubnetDirected, kMethodGet, 0x11) == "SubnGet(NodeInfo)");
  BOOST_TEST(name(kClassSubnetLid, kMethodTrapRepress, 0x02) == "SubnTrapRepress(Notice)");
  BOOST_TEST(name(kClassSubnetAdministration, 0x92, 0x35) == "SubnAdmGetTableResp(PathRecord)");
  BOOST_TEST(name(kClassPerformance, 0x81, 0x01) == "PerfGetResp(ClassPortInfo)");
  BOOST_TEST(name(kClassCommunication, kMethodSend, 0x10) == "ComMgtSend(ConnectRequest)");
}

BOOST_AUTO_TEST_CASE(what_has_no_name_has_its_number) {
  BOOST_TEST(name(kClassPerformance, kMethodGet, 0xff) == "PerfGet(attribute 0xff)");
  BOOST_TEST(name(kClassSubnetLid, 0x44, 0x15) == "SubnMethod 0x44(PortInfo)");
  BOOST_TEST(name(0x30, 1, 0x10) == "MAD class 0x30 method 0x1 attribute 0x10");
}
