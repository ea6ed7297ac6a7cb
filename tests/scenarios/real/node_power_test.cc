// A node that crashes or freezes under the real clock: what its peers' own TCP connections see of it.
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "scenarios/language/read_scenario.h"
#include "scenarios/real/run_real.h"

using namespace verbena;
using namespace verbena::scenarios;

namespace {

constexpr const char* kServer = R"(
import signal, socket
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(('127.47.91.1', 28731))
listener.listen()
stream, _ = listener.accept()
stream.settimeout(0.05)
try:
    while True:
        stream.send(b'.')
        try:
            stream.recv(1)  # the client says something now and then, or nothing
        except TimeoutError:
            pass
except OSError:
    signal.pause()  # the client has gone; whoever runs us ends us, later where the machine has much to do
)";

// Says what ends the ticks, and how long after the last of them.
constexpr const char* kBegin = R"(
import os, socket, time
def connect(seconds):
    stream = socket.socket()
    stream.settimeout(seconds)
    stream.connect(('127.47.91.1', 28731))
    stream.settimeout(0.5)
    return stream
stream = connect(10)
ticks, last = 0, time.monotonic()
def tick():
    global ticks, last
    got = stream.recv(1)
    if not got:
        print('it said goodbye')
        exit(1)
    ticks, last = ticks + 1, time.monotonic()
while True:
    try:
        tick()
    except TimeoutError:
        if ticks > 0: break
)";

struct Folder {
  std::string path;
  Folder() {
    char name[] = "/tmp/verbena-node-power-XXXXXX";
    BOOST_REQUIRE(mkdtemp(name) != nullptr);
    path = name;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path + "/" + name) << text;
    return "/usr/bin/python3 -B " + path + "/" + name;
  }
};

/// The client's output has `said`.
void run(const std::string& fault, const std::string& client, const std::string& said) {
  const Folder folder;
  const std::string text =
      "name: node-power\nclock: real\ntimeout: 60s\ntopology: {shape: star, hosts: 2}\nworkloads:\n" +
      ("  - {name: server, node: n1, background: true, exec: " + folder.write("server", kServer)) +
      "}\n  - {name: client, node: n2, after: server, exec: " + folder.write("client", kBegin + client) +
      "}\nfaults:\n  - {" + fault + "}\nexpect:\n  - {program: client, output: '" + said + "'}\n";
  const auto scenario = read_scenario(text, "node-power.yaml");
  BOOST_REQUIRE_MESSAGE(scenario.ok(), (scenario.ok() ? "" : scenario.error().line()));
  RunOptions options;
  options.out_directory = folder.path;
  const Outcome outcome = run_real(*scenario, options);
  BOOST_TEST(outcome.error == "");
  for (const ExpectationOutcome& expectation : outcome.expectations)
    BOOST_TEST(expectation.held, expectation.text + ": " + expectation.observed);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_node_that_crashes_says_nothing_and_resets_when_it_is_back) {
  run("node-crash: n1, at: 2s, for: 2s", R"(
try:
    while True:
        stream.send(b'x')
        try:
            tick()
        except TimeoutError:
            pass
except ConnectionResetError:
    print('reset', 'after silence' if time.monotonic() - last > 1.5 else 'at once')
while True:
    try:
        stream = connect(10)
        break
    except ConnectionRefusedError:
        os.sched_yield()  # the machine is up, its program is not yet
tick()
print('again')
)",
      "reset after silence\\nagain");
}

BOOST_AUTO_TEST_CASE(a_node_that_freezes_accepts_nothing_until_it_goes_on) {
  run("node-freeze: n1, at: 2s, for: 3s", R"(
try:
    connect(0.5)
    print('accepted')
except TimeoutError:
    print('silent')
ticks = 0
while ticks == 0:
    try:
        tick()
    except TimeoutError:
        pass
connect(10)
print('goes on')
)",
      "silent\\ngoes on");
}
