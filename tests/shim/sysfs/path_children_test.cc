// What a program leads its children to: they stay on the node whatever they are preloaded with, and a working directory
// in the emulated tree is theirs as well.
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tests/cli/run_command.h"

using verbena::test::Environment;
using verbena::test::Finished;
using verbena::test::run_command;

namespace {

const std::string kLibrary = VERBENA_PATH_LIBRARY;
const std::string kOther = VERBENA_OTHER_LIBRARY;  // any
const Environment kOnNode = {
    {"LD_PRELOAD", kLibrary}, {"VERBENA_NODE", "7"}, {"VERBENA_DEVICE_NAME", "mlx5_7"}, {"LC_ALL", "C"}};

std::string said(const std::vector<std::string>& words, const Environment& environment = kOnNode) {
  const Finished finished = run_command(words, environment);
  BOOST_TEST(finished.err == "");
  return finished.out;
}
std::string sh(const std::string& script) {
  return said({"/bin/sh", "-c", script});
}
/// The distribution's, not one behind a wrapper script.
std::string python(const std::string& script) {
  return said({"/usr/bin/python3", "-c", script});
}

/// A child lists its devices, which only one that is on the node can.
const std::string kList = "ls /sys/class/infiniband";
const std::string kListed = "mlx5_7\n";

}  // namespace

BOOST_AUTO_TEST_CASE(a_child_with_a_preload_of_its_own_stays_on_the_node) {
  BOOST_TEST(said({"env", "LD_PRELOAD=" + kOther, "ls", "/sys/class/infiniband"}) == kListed);
  BOOST_TEST(sh("LD_PRELOAD=" + kOther + " " + kList) == kListed);
  BOOST_TEST(said({"/bin/bash", "-c", "LD_PRELOAD=" + kOther + " " + kList}) == kListed);
  // Theirs comes first, ours once.
  const std::string preload =
      sh("LD_PRELOAD=" + kOther + " sh -c 'LD_PRELOAD=" + kOther + ":$LD_PRELOAD env' | grep PRELOAD");
  BOOST_TEST(preload.starts_with("LD_PRELOAD=" + kOther + ":" + kOther + ":" + kLibrary));
  BOOST_TEST(preload.find(kLibrary) == preload.rfind(kLibrary));
}

BOOST_AUTO_TEST_CASE(every_way_to_run_a_program_keeps_it) {
  const std::string environment = "dict(os.environ, LD_PRELOAD='" + kOther + "')";
  const std::string words = "['ls', '/sys/class/infiniband']";
  const std::string calls[] = {
      "import os\nos.execve('/bin/ls', " + words + ", " + environment + ")",
      "import os\nos.execvpe('ls', " + words + ", " + environment + ")",
      "import os\nos.environ['LD_PRELOAD'] = '" + kOther + "'\nos.execv('/bin/ls', " + words + ")",
      "import os\nos.environ['LD_PRELOAD'] = '" + kOther + "'\nos.execlp('ls', *" + words + ")",
      "import os\nos.execve(os.open('/bin/ls', os.O_RDONLY), " + words + ", " + environment + ")",
      "import os\nos.waitpid(os.posix_spawn('/bin/ls', " + words + ", " + environment + "), 0)",
      "import os\nos.waitpid(os.posix_spawnp('ls', " + words + ", " + environment + "), 0)",
      "import os, subprocess\nsubprocess.run(" + words + ", env=" + environment + ")",
      "import os\nos.environ['LD_PRELOAD'] = '" + kOther + "'\nos.system('" + kList + "')",
      "import ctypes, os\nos.environ['LD_PRELOAD'] = '" + kOther +
          "'\nc = ctypes.CDLL(None)\nc.popen.restype = ctypes.c_void_p\nc.pclose(ctypes.c_void_p(c.popen(b'" + kList +
          " >&2', b'w')))",
      "import ctypes, os\nos.environ['LD_PRELOAD'] = '" + kOther +
          "'\nctypes.CDLL(None).execlp(b'ls', b'ls', b'/sys/class/infiniband', None)",
      "import ctypes, os\nctypes.CDLL(None).execle(b'/bin/ls', b'ls', b'/sys/class/infiniband', None, "
      "(ctypes.c_char_p * 4)(b'LD_PRELOAD=" +
          kOther + "', b'VERBENA_DEVICE_NAME=mlx5_7', b'VERBENA_NODE=7', None))"};
  for (const std::string& call : calls) {
    const Finished finished = run_command({"/usr/bin/python3", "-c", call}, kOnNode);
    BOOST_TEST(finished.out + finished.err == kListed, call << ": " << finished.out << finished.err);
  }
}

BOOST_AUTO_TEST_CASE(what_is_taken_away_on_purpose_stays_away) {
  const auto preload = [](const std::vector<std::string>& words) { return run_command(words, kOnNode).out; };
  const std::string print = "echo \"$LD_PRELOAD.\"";
  BOOST_TEST(preload({"env", "LD_PRELOAD=", "sh", "-c", print}) == ".\n");
  BOOST_TEST(preload({"env", "-u", "LD_PRELOAD", "sh", "-c", print}) == ".\n");
  BOOST_TEST(preload({"env", "-u", "VERBENA_NODE", "LD_PRELOAD=" + kOther, "sh", "-c", print}) == kOther + ".\n");
}

BOOST_AUTO_TEST_CASE(a_shell_goes_into_the_tree_and_its_children_with_it) {
  BOOST_TEST(sh("cd /sys/class/infiniband && pwd && echo * && ls && ls -d *") ==
             "/sys/class/infiniband\nmlx5_7\nmlx5_7\nmlx5_7\n");
  BOOST_TEST(sh("cd /sys/class/infiniband/mlx5_7/ports/1 && cat state && cat < link_layer && cd gids && cat ./0 && "
                "[ -r 0 ] && cd ../pkeys && /bin/pwd && cat 0") ==
             "4: ACTIVE\nEthernet\n0000:0000:0000:0000:0000:ffff:7f2f:5b07\n"
             "/sys/devices/pci5642:00/5642:00:00.0/infiniband/mlx5_7/ports/1/pkeys\n0xffff\n");
  BOOST_TEST(
      said({"/bin/bash", "-c", "cd /sys/class/infiniband; shopt -s nullglob; echo */ports/*; (cd /; /bin/pwd)"}) ==
      "mlx5_7/ports/1\n/\n");
  BOOST_TEST(run_command({"/bin/sh", "-c", "cd /sys/class/infiniband/mlx5_7/node_guid"}, kOnNode).status == 2);
  BOOST_TEST(run_command({"/bin/sh", "-c", "cd /sys/class/infiniband/other"}, kOnNode).status == 2);
}

BOOST_AUTO_TEST_CASE(who_leaves_the_tree_is_where_the_kernel_says) {
  const std::string classes = run_command({"ls", "/sys/class"}).out;
  BOOST_TEST(sh("cd /sys/class/infiniband; cd /sys/class; ls") == classes);
  BOOST_TEST(sh("cd /sys/class/infiniband; cd ..; ls") == classes);
  BOOST_TEST(sh("cd /sys/class/infiniband; cd /; /bin/pwd; cd /sys/class; /bin/pwd") == "/\n/sys/class\n");
  BOOST_TEST(
      python("import os, subprocess\n"
             "os.chdir('/sys/class/infiniband')\n"
             "subprocess.run(['pwd'], cwd='/', check=True)\n"
             "print(os.getcwd(), os.listdir())\n"
             "d = os.open('.', os.O_RDONLY); os.chdir('/'); print(os.getcwd()); os.fchdir(d); print(os.getcwd())") ==
      "/\n/sys/class/infiniband ['mlx5_7']\n/\n/sys/class/infiniband\n");
}
