// The line that says how far a run is: what it estimates, and who gets to see it.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <regex>
#include <string>
#include <vector>

#include "cli/progress_line.h"
#include "tests/support/waiting.h"

using namespace verbena;
using namespace verbena::cli;

namespace {

/// What a process prints to a terminal that is its `stream` (a descriptor).
template <class Body>
std::string on_a_terminal(int stream, Body body) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  BOOST_REQUIRE(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
  const std::string name = ptsname(terminal);
  const pid_t child = fork();
  if (child == 0) {
    const int end = open(name.c_str(), O_RDWR | O_NOCTTY);
    dup2(end, stream);
    body();
    _exit(127);
  }
  std::string said;
  // EIO once the child has closed its end; before it has opened it, the terminal hangs up as well.
  const auto read_what_is_there = [&] {
    char text[4096];
    for (pollfd readable{terminal, POLLIN, 0}; poll(&readable, 1, 20) == 1 && (readable.revents & POLLIN) != 0;) {
      const ssize_t got = read(terminal, text, sizeof text);
      if (got <= 0) return;
      said.append(text, static_cast<std::size_t>(got));
    }
  };
  verbena::waiting::wait_until(
      [&] {
        read_what_is_there();
        return waitpid(child, nullptr, WNOHANG) == child;
      },
      seconds(60), milliseconds(10));
  read_what_is_there();
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(terminal);
  return said;
}

std::string command_on_a_terminal(std::vector<std::string> words) {
  words.insert(words.begin(), VERBENA_COMMAND);
  return on_a_terminal(STDOUT_FILENO, [&words] {
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    execv(arguments[0], arguments.data());
  });
}

/// What work says that takes so long before the first of its packets and is then a quarter done.
std::string work_on_a_terminal(Duration first, bool quiet) {
  return on_a_terminal(STDERR_FILENO, [first, quiet] {
    LongWork work(quiet, "reading lost.pcapng");
    work.reached(0, 4096);
    verbena::waiting::let_time_pass(first);
    for (std::uint64_t done = 1; done <= 1024; ++done) work.reached(done, 4096);  // looks at the clock once more
  });
}

}  // namespace

BOOST_AUTO_TEST_CASE(time_left_is_the_lesser_of_rate_and_limit) {
  const TimeLeft by_rate(1000, std::nullopt);
  BOOST_TEST(!by_rate.seconds(0, 5).has_value());
  BOOST_TEST(!by_rate.seconds(100, 0.5).has_value());  // too early to tell
  BOOST_TEST(*by_rate.seconds(100, 10) == 90);
  BOOST_TEST(by_rate.text(100, 10) == "10 s, about 1 min 30 s left");
  BOOST_TEST(by_rate.text(0, 10) == "10 s");
  BOOST_TEST(*by_rate.seconds(1000, 10) == 0);
  const TimeLeft by_limit(1'000'000, 60);
  BOOST_TEST(by_limit.text(0, 0.2) == "0 s, 1 min 0 s left");
  BOOST_TEST(by_limit.text(100, 20) == "20 s, 40 s left");
  BOOST_TEST(by_limit.text(100, 70) == "1 min 10 s, 0 s left");
  const TimeLeft both(200, 3600);
  BOOST_TEST(both.text(100, 20) == "20 s, about 20 s left");
}

BOOST_AUTO_TEST_CASE(spans_are_said_as_people_say_them) {
  BOOST_TEST(seconds_text(0.4) == "0 s");
  BOOST_TEST(seconds_text(59.6) == "1 min 0 s");
  BOOST_TEST(seconds_text(200) == "3 min 20 s");
  BOOST_TEST(seconds_text(7500) == "2 h 5 min");
}

BOOST_AUTO_TEST_CASE(a_terminal_sees_the_time_that_is_left_and_quiet_nothing) {
  const std::vector<std::string> soak{"run", "--random", "--seeds", "1..1000000", "--for", "2", "--jobs", "1"};
  const std::string said = command_on_a_terminal(soak);
  BOOST_TEST(
      std::regex_search(said, std::regex("random scenarios held, seeds [0-9]+ to [0-9]+ run, [0-9]+ s, [0-9]+ s left")),
      said);
  BOOST_TEST(said.find("\r\x1b[Krandom: ") != std::string::npos, said);  // the line has gone when the result comes
  std::vector<std::string> quiet = soak;
  quiet.push_back("--quiet");
  BOOST_TEST(command_on_a_terminal(quiet) == "");
}

BOOST_AUTO_TEST_CASE(work_longer_than_a_second_tells_its_progress_on_stderr) {
  const std::string said = work_on_a_terminal(milliseconds(1100), false);
  BOOST_TEST(std::regex_search(said, std::regex("reading lost.pcapng: 25 %  1 s, about [3-9] s left")), said);
  BOOST_TEST(said.ends_with("\r\x1b[K"), said);  // gone when the result comes
  BOOST_TEST(work_on_a_terminal(milliseconds(1100), true) == "");
  BOOST_TEST(work_on_a_terminal({}, false) == "");
}
