// The list of faults that a fabric has for the verbs of a node's programs: read as a whole, counted where it lies.
#include "emulator/host/node/verb_fault_list.h"

#include <boost/test/unit_test.hpp>
#include <cstring>

#include "emulator/host/node/host_file.h"

using namespace verbena::host;

namespace {

struct List {
  explicit List(const char* fabric = "verb-fault-list-test") {
    auto made = HostFile::make(verb_fault_list_path(fabric), kVerbFaultLists, 1, 1,
                               [](void* record) { new (record) VerbFaultList; });
    BOOST_REQUIRE(made.ok());
    file = std::move(*made);
  }
  VerbFaultList& operator*() const { return *static_cast<VerbFaultList*>(file->records()); }
  void put(std::size_t place, std::uint32_t number, std::uint32_t node, const char* text) const {
    VerbFaultList::Entry& entry = (**this).entries[place];
    entry.node = node;
    std::strcpy(entry.text.data(), text);
    entry.number = number;
    (**this).sequence += 2;
  }
  std::unique_ptr<HostFile> file;
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_node_reads_its_own_faults_and_counts_their_hits) {
  VerbFaultReader reader("verb-fault-list-test", 1);
  errno = EXDEV;
  BOOST_TEST(reader.look().sequence == 0u);
  BOOST_TEST(errno == EXDEV);
  const List list;
  BOOST_TEST(reader.look().sequence == 0u);  // nothing has been written
  list.put(0, 7, 1, "fail verb=reg_mr");
  list.put(1, 8, 2, "fail verb=create_qp");
  const auto seen = reader.look();
  BOOST_TEST(seen.sequence == 4u);
  BOOST_REQUIRE(seen.faults.size() == 1u);
  BOOST_TEST(seen.faults[0].number == 7u);
  BOOST_TEST(seen.faults[0].text == "fail verb=reg_mr");
  reader.add_hit(7, 0);
  reader.add_hit(7, 1);  // another's
  reader.add_hit(7, VerbFaultList::kEntries);
  BOOST_TEST((*list).entries[0].hits == 1u);
  BOOST_TEST((*list).entries[1].hits == 0u);
}

BOOST_AUTO_TEST_CASE(a_list_that_is_being_written_is_none) {
  const List list;
  list.put(0, 1, 1, "fail verb=reg_mr");
  VerbFaultReader reader("verb-fault-list-test", 1);
  (*list).sequence += 1;
  BOOST_TEST(reader.look().sequence == 0u);
  (*list).sequence += 1;
  BOOST_TEST(reader.look().sequence == 4u);
}

BOOST_AUTO_TEST_CASE(another_fabric_process_has_another_list) {
  VerbFaultReader reader("verb-fault-list-test", 1);
  ino_t first = 0;
  {
    const List list;
    list.put(0, 1, 1, "fail verb=reg_mr");
    first = reader.look().file;
  }
  BOOST_TEST(reader.look().sequence == 0u);
  const List list;
  list.put(0, 1, 1, "fail verb=create_qp");
  const auto seen = reader.look();
  BOOST_TEST(seen.file != first);
  BOOST_TEST(seen.faults.at(0).text == "fail verb=create_qp");
}
