// UdpLink: several processes on one node, one of them killed at a bad moment.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <memory>
#include <string>

#include "emulator/host/link/udp/udp_link.h"
#include "tests/host/link/link_frames.h"
#include "tests/support/waiting.h"

using namespace verbena;
using namespace verbena::host;
using namespace verbena::host::test;

namespace {

const wire::Gid kNode = node(211);    // several processes
const wire::Gid kSender = node(212);  // this one
constexpr std::uint32_t kWindow = 40;
constexpr Duration kFirstPatience = milliseconds(20);
constexpr Duration kLastPatience = milliseconds(640);

EngineConfig config_of(const wire::Gid& address) {
  EngineConfig config;
  config.fabric = "udp-processes-test";
  config.address = address;
  config.link = "udp";
  return config;
}

/// A process of the node: says its slot, then acknowledges the frames of its slot by their number.
struct Process {
  pid_t id = -1;
  int reports = -1;  // frames received so far, as 32-bit numbers
  std::uint8_t slot = 0;
  std::uint32_t sent = 0;
  std::uint32_t received = 0;
  std::uint32_t resent = 0;  // times that we went back
  Time last_progress;
  Duration patience =
      kFirstPatience;  // doubles for good: one shorter than the way there and back makes the queues longer

  void read_report() {
    std::array<std::uint32_t, 64> reports_read{};
    const ssize_t bytes = ::read(reports, reports_read.data(), sizeof reports_read);
    const Time now = clock_now();
    if (bytes >= 4) {
      received = reports_read[static_cast<std::size_t>(bytes) / 4 - 1];
      last_progress = now;
    } else if (sent == received) {
      last_progress = now;
    } else if (now - last_progress > patience) {
      sent = received;  // go back: frames may be lost while processes come and go
      last_progress = now;
      patience = std::min(patience * 2, kLastPatience);
      ++resent;
    }
  }
};

/// Counts frames in order, as a responder does: what is not the expected one does not count.
class Counter : public FrameSink {
 public:
  explicit Counter(std::uint8_t slot) : slot_(slot) {}
  void frame(std::span<const std::byte> frame, wire::IcrcState) override {
    const auto view = wire::parse_frame(frame);
    if (!view || !is_intact(frame) || slot_of(view->bth().dest_qp) != slot_ || view->bth().psn.value() != count) return;
    ++count;
  }
  std::uint32_t count = 0;

 private:
  std::uint8_t slot_;
};

[[noreturn]] void serve(int report) {
  auto opened = open_udp_link(config_of(kNode));
  if (!opened) ::_exit(1);
  const std::uint32_t slot = opened->slot;
  if (::write(report, &slot, sizeof slot) != sizeof slot) ::_exit(2);
  Counter counter(opened->slot);
  std::uint32_t reported = 0;
  while (true) {
    const auto takes = [&] {
      opened->link->fetch(Link::kAll);
      return opened->link->receive(clock_now(), counter, 64) != 0;
    };
    verbena::waiting::wait_until(takes, seconds(60), microseconds(50));
    if (counter.count == reported) continue;
    reported = counter.count;
    if (::write(report, &reported, sizeof reported) != sizeof reported) ::_exit(3);
  }
}

Process start_process() {
  int pipe_ends[2];
  BOOST_REQUIRE(::pipe2(pipe_ends, O_CLOEXEC) == 0);
  Process process;
  process.id = ::fork();
  if (process.id == 0) {
    ::close(pipe_ends[0]);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // ends with the test, however that ends
    serve(pipe_ends[1]);
  }
  ::close(pipe_ends[1]);
  process.reports = pipe_ends[0];
  std::uint32_t slot = 255;
  BOOST_REQUIRE(::read(process.reports, &slot, sizeof slot) == sizeof slot);
  process.slot = static_cast<std::uint8_t>(slot);
  BOOST_REQUIRE(::fcntl(process.reports, F_SETFL, O_NONBLOCK) == 0);
  return process;
}

void kill_process(Process& process) {
  if (process.id <= 0) return;
  ::kill(process.id, SIGKILL);
  ::waitpid(process.id, nullptr, 0);
  ::close(process.reports);
  process.id = -1;
}

struct Node {
  ~Node() {
    for (Process& process : processes) kill_process(process);
  }
  /// Sends to everyone in turn, within a window, until all have `frames`. Returns whether they got there.
  bool exchange(std::uint32_t frames, std::size_t payload_bytes) {
    const auto all_done = [&] {
      for (const Process& process : processes)
        if (process.id > 0 && process.received < frames) return false;
      return true;
    };
    const auto sends_some = [&] {
      bool sent = false;
      for (Process& process : processes) {
        if (process.id <= 0) continue;
        process.read_report();
        if (process.sent >= frames || process.sent - process.received >= kWindow) continue;
        const wire::Qpn qpn(std::uint32_t{process.slot} << 16 | 0x11);
        const FrameRequest request{
            .source = kSender, .destination = kNode, .qpn = qpn, .psn = process.sent, .payload_bytes = payload_bytes};
        if (!commit(*sender, request)) continue;
        ++process.sent;
        sent = true;
      }
      sender->publish();
      sender->flush();
      return sent;
    };
    // It rests when it can send no more: the processes need the cores.
    const auto sends_all = [&] {
      while (sends_some()) continue;
      return all_done();
    };
    return verbena::waiting::wait_until(sends_all, seconds(60), microseconds(50));
  }
  std::unique_ptr<UdpLink> sender = std::move(*UdpLink::open({.address = kSender, .slot = 0}));
  std::vector<Process> processes;
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(process_gets_its_frames_in_order_and_survives_anothers_death, Node) {
  for (std::uint8_t slot = 0; slot < 3; ++slot) {
    processes.push_back(start_process());
    BOOST_TEST(processes.back().slot == slot);
  }
  BOOST_TEST(exchange(400, 1024));

  // Whoever had the sender's flow, its frames must find their way after the death of any process.
  kill_process(processes[0]);
  BOOST_TEST(exchange(800, 64));

  // The slot is free at once, and the newcomer is a full member.
  processes[0] = start_process();
  BOOST_TEST(processes[0].slot == 0);
  kill_process(processes[2]);
  for (Process& process : processes) process.sent = process.received = 0;
  BOOST_TEST(processes[0].id > 0);
  processes[1].sent = processes[1].received = 800;
  BOOST_TEST(exchange(1200, 200));
  BOOST_TEST(processes[0].received == 1200);
  BOOST_TEST(processes[1].received == 1200);
}

BOOST_FIXTURE_TEST_CASE(frames_in_flight_to_a_killed_process_hurt_nobody_else, Node) {
  for (int i = 0; i < 3; ++i) processes.push_back(start_process());
  BOOST_TEST(exchange(200, 1024));
  ::kill(processes[1].id, SIGKILL);  // not reaped, and still sent to below
  for (std::uint32_t psn = 0; psn < 30; ++psn) {
    const FrameRequest request{
        .source = kSender, .destination = kNode, .qpn = wire::Qpn(0x010011), .psn = psn, .payload_bytes = 4096};
    BOOST_REQUIRE(commit(*sender, request));
  }
  sender->publish();
  sender->flush();
  kill_process(processes[1]);
  BOOST_TEST(exchange(600, 1024));
}
