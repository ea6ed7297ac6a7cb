// VERBENA_ASSERT: what holds does nothing, what does not ends the process and names the place and the condition.
#include "wire/assert.h"

#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <string>

BOOST_AUTO_TEST_CASE(broken_assertion_aborts_and_names_condition_and_place) {
  int ends[2];
  BOOST_REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  BOOST_REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);
    dup2(ends[1], STDERR_FILENO);
    const int two = 2;
    VERBENA_ASSERT(two == 2);
    VERBENA_ASSERT(two == 3);
    _exit(0);
  }
  close(ends[1]);
  std::string said;
  char text[256];
  for (ssize_t got = 0; (got = read(ends[0], text, sizeof text)) > 0;) said.append(text, static_cast<std::size_t>(got));
  close(ends[0]);
  int status = 0;
  BOOST_REQUIRE(waitpid(child, &status, 0) == child);
  BOOST_TEST((WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT));
  BOOST_TEST(said.find("assertion failed: two == 3 (") != std::string::npos, said);
  BOOST_TEST(said.find("assert_test.cc:") != std::string::npos, said);
}
