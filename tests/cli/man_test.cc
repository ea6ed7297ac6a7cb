// Man pages: each that there is, judged by groff, and made from the tables that the help is made from.
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cli/help/man_page.h"
#include "cli/help/roff.h"
#include "cli/subcommands.h"
#include "tests/cli/run_command.h"

using namespace verbena;
using test::run_command;

namespace {

std::string what_groff_says(const std::string& page) {
  char path[] = "/tmp/verbena-man.XXXXXX";
  const int file = mkstemp(path);
  BOOST_REQUIRE(file >= 0);
  close(file);
  std::ofstream(path) << page;
  const test::Finished finished = run_command({"groff", "-man", "-ww", "-z", "-Tutf8", "-K", "utf8", path});
  std::filesystem::remove(path);
  BOOST_TEST(finished.status == 0);
  return finished.err;
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// As it is in roff.
std::string with_hyphens(const std::string& text) {
  std::string all;
  for (const char c : text) all += c == '-' ? std::string("\\-") : std::string(1, c);
  return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(groff_has_nothing_to_say_of_any_page) {
  const test::Finished listed = run_command({VERBENA_COMMAND, "help", "--man"});
  BOOST_TEST(listed.status == 0);
  std::size_t pages = 0;
  for (const cli::help::ManPage& page : cli::help::man_pages()) {
    const std::string file = page.name + "." + page.section;
    BOOST_TEST(contains(listed.out, file + "\n"), file);
    const test::Finished printed = run_command({VERBENA_COMMAND, "help", "--man", page.name});
    BOOST_TEST(printed.status == 0);
    BOOST_TEST(printed.out.starts_with(".TH "), page.name);
    BOOST_TEST(what_groff_says(printed.out) == "", page.name);
    ++pages;
  }
  BOOST_TEST(pages == cli::subcommands().size() + 2);
}

BOOST_AUTO_TEST_CASE(groff_is_asked_and_does_complain_where_a_page_is_wrong) {
  BOOST_TEST(what_groff_says(".TH X 1\n.SH NAME\n.no-such-request\n") != "");
}

BOOST_AUTO_TEST_CASE(page_and_help_have_every_option_status_and_example) {
  for (const cli::Subcommand& subcommand : cli::subcommands()) {
    const cli::help::Description description = cli::describe(subcommand.run);
    const auto page = cli::help::man_page(subcommand.name, "1");
    BOOST_REQUIRE(page.has_value());
    const std::string help = run_command({VERBENA_COMMAND, std::string(subcommand.name), "--help"}).out;
    for (const cli::help::OptionText& option : description.options) {
      BOOST_TEST(contains(*page, "\\fB" + with_hyphens(option.name) + "\\fR"), option.name);
      BOOST_TEST(contains(help, option.name), option.name);
    }
    BOOST_TEST(!description.examples.empty(), subcommand.name);
    BOOST_TEST(!description.statuses.empty(), subcommand.name);
    for (const cli::help::ExampleText& example : description.examples) BOOST_TEST(contains(help, example.command));
    for (const cli::help::StatusText& status : description.statuses)
      BOOST_TEST(contains(*page, with_hyphens(status.text)));
  }
}

BOOST_AUTO_TEST_CASE(what_troff_would_take_for_its_own_is_escaped) {
  cli::help::Roff roff("x", '1', "1");
  roff.paragraph(".not a request, a\\b 'c'");
  roff.lines("'first\n.second");
  BOOST_TEST(contains(roff.text(), "\n\\&.not a request, a\\eb \\(aqc\\(aq\n"));
  BOOST_TEST(contains(roff.text(), "\n\\&\\(aqfirst\n\\&.second\n"));
}

BOOST_AUTO_TEST_CASE(a_page_that_is_not_there_is_refused_in_one_line) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"help", "--man", "dance"}, {"help", "--man", "exec", "run"}}) {
    std::vector<std::string> command{VERBENA_COMMAND};
    command.insert(command.end(), words.begin(), words.end());
    const test::Finished refused = run_command(command);
    BOOST_TEST(refused.status == 2);
    BOOST_TEST(refused.out == "");
    BOOST_TEST(std::count(refused.err.begin(), refused.err.end(), '\n') == 1);
  }
}
