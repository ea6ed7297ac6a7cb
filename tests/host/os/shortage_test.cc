// What the machine has run out of is told from a user's mistake, and a limit on memory is named.
#include "emulator/host/os/shortage.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <string>

using namespace verbena::host;

BOOST_AUTO_TEST_CASE(a_full_disk_is_a_shortage_and_a_wrong_path_is_none) {
  for (const int reason : {ENOSPC, EDQUOT, EIO, EMFILE, ENOMEM}) BOOST_TEST(file_error("file", reason).is_shortage);
  for (const int reason : {ENOENT, EACCES, EISDIR, EROFS}) BOOST_TEST(!file_error("file", reason).is_shortage);
  BOOST_TEST(file_error("file", ENOSPC).text == "file: No space left on device");
}

BOOST_AUTO_TEST_CASE(a_limit_on_addresses_is_named_where_there_is_one) {
  const pid_t child = fork();
  BOOST_REQUIRE(child >= 0);
  if (child == 0) {
    const rlimit none{RLIM_INFINITY, RLIM_INFINITY};
    const bool lifted = setrlimit(RLIMIT_AS, &none) == 0;  // refused to a user who has a limit already
    const bool plain = !lifted || no_memory_text() == "no memory is left";
    const rlimit some{std::size_t{8192} << 20, std::size_t{8192} << 20};
    if (setrlimit(RLIMIT_AS, &some) != 0) _exit(0);  // less is allowed than that
    _exit(plain && no_memory_text() == "no memory is left (`ulimit -v` allows this process 8192 MiB)" ? 0 : 1);
  }
  int status = -1;
  BOOST_TEST(waitpid(child, &status, 0) == child);
  BOOST_TEST(status == 0);
}
