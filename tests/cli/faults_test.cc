// Faults of `verbena exec`: the file of --fault-plan, and what is wrong with it.
#include "cli/exec/faults.h"

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <string>

using namespace verbena;

namespace {

/// A file that goes with the test.
class PlanFile {
 public:
  explicit PlanFile(std::string_view text)
      : path_(std::filesystem::temp_directory_path() / ("verbena-faults." + std::to_string(getpid()))) {
    std::ofstream(path_) << text;
  }
  ~PlanFile() { std::filesystem::remove(path_); }
  std::string text() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

std::string error_of(std::string_view text) {
  const PlanFile file(text);
  const auto faults = cli::read_fault_plan(file.text());
  return faults ? "" : faults.error().substr(file.text().size());
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_plan_has_one_fault_a_line) {
  const PlanFile file(
      "# what goes wrong\n\n  drop 1%\t\ncompletion nth=3 status=REM_OP_ERR\n\t# more\nfail verb=reg_mr");
  const auto faults = cli::read_fault_plan(file.text());
  BOOST_REQUIRE(faults.ok());
  BOOST_REQUIRE(faults->size() == 3U);
  BOOST_TEST((*faults)[0] == "drop 1%");
  BOOST_TEST((*faults)[1] == "completion nth=3 status=REM_OP_ERR");
  BOOST_TEST((*faults)[2] == "fail verb=reg_mr");
}

BOOST_AUTO_TEST_CASE(a_wrong_plan_is_told_with_its_line) {
  BOOST_TEST(error_of("drop 1%\n\nfail verb=reg_mr nth=0\n")
                 .starts_with(":3: fault 'fail verb=reg_mr nth=0', column 18: 'nth=0'"));
  BOOST_TEST(error_of("drop 101%\n").starts_with(":1: "));
  BOOST_TEST(error_of("# nothing\n").starts_with(": no fault is in it"));
  BOOST_TEST(error_of("").starts_with(": no fault is in it"));
  const auto missing = cli::read_fault_plan("/nonexistent/plan");
  BOOST_REQUIRE(!missing.ok());
  BOOST_TEST(missing.error() == "/nonexistent/plan: No such file or directory");
  const auto folder = cli::read_fault_plan("/");
  BOOST_REQUIRE(!folder.ok());
  BOOST_TEST(folder.error() == "/: Is a directory");
}
