// Colours: where there is a terminal, or where they are asked for, and never where NO_COLOR is set; --quiet and --json.
#include "cli/style.h"

#include <fcntl.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "cli/subcommands.h"
#include "tests/cli/run_command.h"
#include "tests/support/places.h"

using namespace verbena;
using test::run_command;

namespace {

bool has_colours(const std::string& text) {
  return text.find("\033[") != std::string::npos;
}

/// What `verbena --help` writes to a terminal.
std::string on_a_terminal(const test::Environment& environment) {
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, nullptr);
  BOOST_REQUIRE(child >= 0);
  if (child == 0) {
    setenv("TERM", "xterm", 1);
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    execl(VERBENA_COMMAND, VERBENA_COMMAND, "--help", nullptr);
    _exit(127);
  }
  std::string text;
  char bytes[4096];
  for (ssize_t size; (size = read(terminal, bytes, sizeof bytes)) > 0;)
    text.append(bytes, static_cast<std::size_t>(size));
  int status = 0;
  waitpid(child, &status, 0);
  close(terminal);
  BOOST_TEST(status == 0);
  return text;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_terminal_has_colours_unless_they_are_not_wanted) {
  BOOST_TEST(has_colours(on_a_terminal({})));
  BOOST_TEST(!has_colours(on_a_terminal({{"NO_COLOR", "1"}})));
  BOOST_TEST(has_colours(on_a_terminal({{"NO_COLOR", ""}})));
  BOOST_TEST(!has_colours(on_a_terminal({{"TERM", "dumb"}})));
}

BOOST_AUTO_TEST_CASE(a_pipe_has_none_unless_they_are_forced) {
  BOOST_TEST(!has_colours(run_command({VERBENA_COMMAND, "--help"}).out));
  BOOST_TEST(has_colours(run_command({VERBENA_COMMAND, "--help"}, {{"CLICOLOR_FORCE", "1"}}).out));
  BOOST_TEST(!has_colours(run_command({VERBENA_COMMAND, "--help"}, {{"CLICOLOR_FORCE", "0"}}).out));
  BOOST_TEST(!has_colours(run_command({VERBENA_COMMAND, "--help"}, {{"CLICOLOR_FORCE", "1"}, {"NO_COLOR", "1"}}).out));
  BOOST_TEST(has_colours(run_command({VERBENA_COMMAND, "dance"}, {{"CLICOLOR_FORCE", "1"}}).err));
}

BOOST_AUTO_TEST_CASE(colours_change_no_word) {
  const cli::Style plain(false);
  const cli::Style coloured(true);
  const std::string report = "held      a\nNOT HELD  b\n    ! c\nNo violations.\nd";
  BOOST_TEST(plain.report(report) == report);
  std::string text = coloured.report(report);
  BOOST_TEST(has_colours(text));
  for (std::size_t at; (at = text.find("\033[")) != text.npos;) text.erase(at, text.find('m', at) - at + 1);
  BOOST_TEST(text == report);
}

BOOST_AUTO_TEST_CASE(every_command_that_reports_has_json_and_quiet) {
  for (const cli::Subcommand& subcommand : cli::subcommands()) {
    if (subcommand.name == "completion" || subcommand.name == "subnet" || subcommand.name == "personality")
      continue;  // a script, a program's own words, a file
    std::string options;
    for (const cli::help::OptionText& option : cli::describe(subcommand.run).options) options += option.name + " ";
    BOOST_TEST((options.find("--quiet ") != options.npos), subcommand.name);
    BOOST_TEST((options.find("json ") != options.npos), subcommand.name);  // exec has --stats-json
  }
}

BOOST_AUTO_TEST_CASE(quiet_success_prints_nothing_and_json_can_be_read) {
  const std::string capture = test::data_file("02-write_bw.pcap");
  for (const char* command : {"check", "explain"}) {
    const test::Finished quiet = run_command({VERBENA_COMMAND, command, "--quiet", capture});
    BOOST_TEST(quiet.status == 0);
    BOOST_TEST(quiet.out == "");
    const test::Finished both = run_command({VERBENA_COMMAND, command, "--quiet", "--json", capture});
    BOOST_TEST(both.status == 2);
    BOOST_TEST((both.err.find("exclude each other") != both.err.npos));
  }
  BOOST_TEST(nlohmann::json::accept(run_command({VERBENA_COMMAND, "check", "--json", capture}).out));
}
