// Faults of single messages of the connection manager, on the messages that Linux kernels have sent.
#include <boost/test/unit_test.hpp>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/fabric/fault_plan.h"
#include "emulator/fabric/fault_rule.h"
#include "tests/wire/wire_support.h"
#include "wire/management.h"

using namespace verbena;
using namespace verbena::fabric;

namespace {

/// rping between two kernels: REQ, REP, RTU, then data, then DREQ and DREP.
struct KernelCapture {
  KernelCapture() : file(wire::test::read_file("06-rping_cm.pcap")) {
    auto reader = wire::CaptureReader::open(file);
    BOOST_REQUIRE(reader.ok());
    for (auto record = reader->next(); record.ok() && *record; record = reader->next())
      if (const auto packet = wire::parse_captured(**record); packet.ok()) packets.push_back(*packet);
    BOOST_REQUIRE(packets.size() > 5u);
  }
  wire::test::Bytes file;
  std::vector<wire::PacketView> packets;
};

/// Which packets of the capture the rule drops, from 1 as tshark numbers them.
std::vector<std::size_t> dropped(const KernelCapture& capture, std::string_view text) {
  const auto rule = parse_fault(text);
  BOOST_REQUIRE_MESSAGE(rule.ok(), text);
  FaultPlan plan({*rule}, 1, "a");
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < capture.packets.size(); ++i)
    if (plan.judge(capture.packets[i]).drop) numbers.push_back(i + 1);
  return numbers;
}

constexpr std::size_t kDreq = 64;  // in the capture
constexpr std::size_t kDrep = 65;

}  // namespace

BOOST_AUTO_TEST_CASE(each_word_is_one_message_of_the_kernels) {
  const KernelCapture capture;
  using Numbers = std::vector<std::size_t>;
  const std::map<std::string, Numbers> wanted{{"cm", {1, 2, 3, kDreq, kDrep}},
                                              {"cm-req", {1}},
                                              {"cm-rep", {2}},
                                              {"cm-rtu", {3}},
                                              {"cm-dreq", {kDreq}},
                                              {"cm-drep", {kDrep}},
                                              {"cm-mra", {}},
                                              {"cm-rej", {}},
                                              {"cm-sidr-req", {}},
                                              {"cm-sidr-rep", {}},
                                              {"cm-lap", {}},
                                              {"cm-apr", {}}};
  for (const auto& [word, numbers] : wanted) {
    BOOST_TEST_CONTEXT(word)
    BOOST_TEST(dropped(capture, "drop opcode=" + word) == numbers, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(messages_that_the_capture_lacks_are_known_by_number) {
  // IBTA vol 1, table of the attributes of the communication class: 16.7.1.
  const std::map<std::string, std::uint8_t> numbers{{"cm-mra", 0x11},      {"cm-rej", 0x12}, {"cm-sidr-req", 0x17},
                                                    {"cm-sidr-rep", 0x18}, {"cm-lap", 0x19}, {"cm-apr", 0x1a}};
  for (const auto& [word, number] : numbers) {
    KernelCapture capture;
    constexpr std::size_t kAttributeAt = 17;  // its lower octet
    const auto payload = capture.packets.front().payload();
    const auto at = static_cast<std::size_t>(payload.data() - reinterpret_cast<const std::byte*>(capture.file.data()));
    capture.file[at + kAttributeAt] = static_cast<std::byte>(number);
    BOOST_TEST(dropped(capture, "drop opcode=" + word) == std::vector<std::size_t>{1},
               boost::test_tools::per_element());
    BOOST_TEST(dropped(capture, "drop opcode=cm-req").empty());
    // The same octets of another class are no message of the connection manager.
    constexpr std::size_t kClassAt = 1;
    capture.file[at + kClassAt] = std::byte{0x03};
    BOOST_TEST(dropped(capture, "drop opcode=" + word).empty());
  }
}

BOOST_AUTO_TEST_CASE(the_first_ones_are_let_through) {
  const KernelCapture capture;
  using Numbers = std::vector<std::size_t>;
  BOOST_TEST(dropped(capture, "drop opcode=cm skip=1") == (Numbers{2, 3, kDreq, kDrep}),
             boost::test_tools::per_element());
  BOOST_TEST(dropped(capture, "drop opcode=cm skip=1 every=2") == (Numbers{3, kDrep}),
             boost::test_tools::per_element());
  BOOST_TEST(dropped(capture, "drop opcode=cm skip=2 count=1") == Numbers{3}, boost::test_tools::per_element());
  BOOST_TEST(dropped(capture, "drop opcode=cm skip=5").empty());
}
