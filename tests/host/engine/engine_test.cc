// The engine: two nodes in one process, with and without polling; events; fork; sleep; the end.
#include "emulator/host/engine/engine.h"

#include <sys/mman.h>
#include <sys/wait.h>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "emulator/fabric/fault_plan.h"
#include "emulator/host/link/shm/shm_link.h"
#include "tests/host/engine/engine_node.h"
#include "tests/support/unmapped.h"
#include "tests/support/waiting.h"

namespace {
using namespace verbena;
using namespace verbena::host;
using namespace verbena::host::test;
using nic::CompletionStatus;
using nic::SendOpcode;
using verbena::waiting::let_time_pass;
using verbena::waiting::wait_until;

#if defined(VERBENA_THREAD_SANITIZER)
constexpr bool kThreadSanitizer = true;
#else
constexpr bool kThreadSanitizer = false;
#endif

// 1.07 s: for tests that want no timer to run out, however late a busy machine runs the other side.
constexpr std::uint8_t kPatientTimeout = 18;

std::string fabric_name() {
  return "engine." + std::to_string(getpid());
}

/// How often the kernel has put this process's progress threads to sleep (proc(5)).
std::uint64_t sleeps_of_progress_threads() {
  std::uint64_t total = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    if (name != "verbena") continue;
    std::ifstream status(task.path() / "status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("voluntary_ctxt_switches:")) total += std::strtoull(line.c_str() + 24, nullptr, 10);
  }
  return total;
}
}  // namespace

BOOST_AUTO_TEST_SUITE(engine)

BOOST_AUTO_TEST_CASE(writes_reads_and_atomics_cross_two_nodes_if_both_may_poll) {
  EngineNode a(1, fabric_name());
  EngineNode b(2, fabric_name());
  connect(a, b, kPatientTimeout);
  for (const std::uint32_t bytes : {0u, 1u, 8u, 4096u, 4097u, 1u << 20}) {
    for (std::size_t i = 0; i < a.buffer.size(); ++i) a.buffer[i] = i * 0x9e3779b97f4a7c15u + bytes;
    BOOST_TEST(a.post(SendOpcode::rdma_write, bytes));
    const auto done = a.poll(1);
    BOOST_REQUIRE(done.size() == 1U);
    BOOST_TEST((done[0].status == CompletionStatus::success));
    BOOST_TEST(std::memcmp(a.bytes(), b.bytes(), bytes) == 0);
    std::fill(a.buffer.begin(), a.buffer.end(), 0);
    BOOST_TEST(a.post(SendOpcode::rdma_read, bytes));
    BOOST_REQUIRE(a.poll(1).size() == 1U);
    BOOST_TEST(std::memcmp(a.bytes(), b.bytes(), bytes) == 0);
  }
  std::atomic_ref(b.buffer[0]).store(41);
  BOOST_TEST(a.post(SendOpcode::fetch_and_add, 8));
  BOOST_REQUIRE(a.poll(1).size() == 1U);
  BOOST_TEST(std::atomic_ref(b.buffer[0]).load() == 42U);
  BOOST_TEST(a.buffer[0] == 41U);
  BOOST_TEST(a.engine->counters().get(nic::Counter::local_ack_timeout_err) == 0U);
}

BOOST_AUTO_TEST_CASE(two_threads_play_ping_pong_with_sends) {
  EngineNode a(1, fabric_name());
  EngineNode b(2, fabric_name());
  connect(a, b);
  constexpr int kRounds = 2000;
  const auto play = [](EngineNode& me, bool first) {
    int received = 0;
    me.post_receive(64);
    if (first) me.post(SendOpcode::send, 32);
    while (received < kRounds) {
      const auto got = me.poll(1);
      if (got.empty() || got[0].status != CompletionStatus::success) return received;
      if (got[0].opcode != nic::CompletionOpcode::receive) continue;
      if (++received < kRounds) me.post_receive(64);
      if (received < kRounds || !first) me.post(SendOpcode::send, 32);
    }
    return received;
  };
  // Receives are posted before the first send can arrive.
  BOOST_TEST(b.post_receive(64));
  int rounds_b = 0;
  std::thread other([&] { rounds_b = play(b, false); });
  const int rounds_a = play(a, true);
  other.join();
  BOOST_TEST(rounds_a == kRounds);
  BOOST_TEST(rounds_b == kRounds);
}

BOOST_AUTO_TEST_CASE(a_passive_target_is_served_while_its_application_sleeps) {
  EngineNode a(1, fabric_name());
  EngineNode b(2, fabric_name());
  connect(a, b);
  for (int i = 0; i < 50; ++i) {
    a.buffer[0] = static_cast<std::uint64_t>(i) + 1;
    BOOST_TEST(a.post(SendOpcode::rdma_write, 8));
    BOOST_REQUIRE(a.poll(1).size() == 1U);
    BOOST_TEST(std::atomic_ref(b.buffer[0]).load() == static_cast<std::uint64_t>(i) + 1);
    if (i % 10 == 0) let_time_pass(milliseconds(3));  // both threads fall asleep
  }
}

BOOST_AUTO_TEST_CASE(application_that_has_polled_for_all_is_woken_by_a_frame) {
  // Without threads: one that happens to be awake takes what it is to be rung for.
  EngineNode a(1, fabric_name(), false);
  EngineNode b(2, fabric_name(), false);
  connect(a, b);
  const auto rings = [&] {
    return a.engine->run([&](nic::Nic&, Time) { return dynamic_cast<ShmLink&>(a.engine->link()).statistics().wakes; });
  };
  for (int i = 0; i < 20; ++i) {
    BOOST_TEST(b.post(SendOpcode::rdma_write, 8, 64));
    while (!a.engine->progress()) continue;
    BOOST_REQUIRE(b.poll(1).size() == 1U);
    const std::uint64_t before = rings();
    BOOST_TEST(a.post(SendOpcode::rdma_write, 8));  // to one that polls, the bell would be rung later or not at all
    BOOST_TEST(rings() == before + 1);
    while (!b.engine->progress()) continue;
    BOOST_REQUIRE(a.poll(1).size() == 1U);
  }
}

BOOST_AUTO_TEST_CASE(who_polls_in_vain_and_goes_away_is_served_all_the_same) {
  const auto over = [](const char* link, std::uint8_t number) {
    EngineConfig config = engine_config(number, fabric_name());
    config.link = link;
    return config;
  };
  for (const char* link : {"shm", "udp"}) {
    EngineNode a(232, over(link, 232));
    EngineNode b(233, over(link, 233));
    connect(a, b, kPatientTimeout);
    for (int i = 0; i < 3; ++i) {
      let_time_pass(milliseconds(50));  // the thread waits for nothing but frames
      BOOST_TEST(b.poll(1, microseconds(100)).empty());
      BOOST_TEST(a.post(SendOpcode::rdma_write, 8));
      BOOST_TEST(a.poll(1, seconds(5)).size() == 1U, "over " << link);
    }
  }
}

BOOST_AUTO_TEST_CASE(nobody_polls_and_everything_still_happens_and_is_told) {
  EngineNode a(1, fabric_name());
  EngineNode b(2, fabric_name());
  connect(a, b, kPatientTimeout);
  for (int i = 1; i <= 50; ++i) {
    BOOST_TEST(b.post_receive(64));
    b.ask_for_event();
    b.engine->expect_sleep();
    BOOST_TEST(a.post(SendOpcode::send, 64));
    BOOST_REQUIRE(wait_until([&] { return b.completion_events.load() == i; }));
    BOOST_REQUIRE(b.poll(1).size() == 1U);
  }
  BOOST_TEST(b.last_context.load() == 0xc0U);
  BOOST_TEST(a.poll(50).size() == 50U);
  BOOST_TEST(a.engine->counters().get(nic::Counter::local_ack_timeout_err) == 0U);
}

BOOST_AUTO_TEST_CASE(an_idle_engine_never_wakes) {
  EngineNode a(1, fabric_name());
  EngineNode b(2, fabric_name());
  connect(a, b);
  BOOST_TEST(a.post(SendOpcode::rdma_write, 100000));
  BOOST_REQUIRE(a.poll(1).size() == 1U);
  // The timers of that write run out first: 67 ms for an ACK that has come long ago, and the watch after the last call.
  std::uint64_t sleeps = UINT64_MAX;
  const auto is_at_rest = [&] {
    const std::uint64_t before = std::exchange(sleeps, sleeps_of_progress_threads());
    return sleeps == before;
  };
  BOOST_TEST(wait_until(is_at_rest, seconds(20), milliseconds(300)));
  const std::uint64_t wakes = a.engine->thread_wakes() + b.engine->thread_wakes();
  let_time_pass(milliseconds(500));
  BOOST_TEST(a.engine->thread_wakes() + b.engine->thread_wakes() == wakes);
  BOOST_TEST(sleeps_of_progress_threads() == sleeps);
  BOOST_TEST(a.post(SendOpcode::rdma_write, 8));  // and is there when it is needed
  BOOST_TEST(a.poll(1).size() == 1U);
}

BOOST_AUTO_TEST_CASE(timers_run_while_nobody_polls) {
  EngineNode a(1, fabric_name());
  Contact nobody{0x110011, 1, 0, 77};
  a.connect(nobody, 8);  // 1 ms, eight tries
  BOOST_TEST(a.post(SendOpcode::send, 64));
  a.ask_for_event();
  BOOST_REQUIRE(wait_until([&] { return a.completion_events.load() == 1; }));
  const auto done = a.poll(1);
  BOOST_REQUIRE(done.size() == 1U);
  BOOST_TEST((done[0].status == CompletionStatus::retry_exceeded));
}

BOOST_AUTO_TEST_CASE(no_timer_runs_out_over_an_answer_that_waits_behind_others) {
  constexpr std::uint8_t kTimeout = 8;  // 1 ms
  EngineNode a(1, fabric_name(), false);
  EngineNode b(2, fabric_name(), false);
  const auto write = [&] {
    BOOST_TEST(a.post(SendOpcode::rdma_write, 8));
    b.engine->progress();
  };
  connect(a, b, kTimeout);
  BOOST_TEST(a.post(SendOpcode::rdma_write, 8));
  BOOST_TEST(wait_until([&] {  // the link is up
    b.engine->progress();
    nic::Completion done;
    return a.engine->poll_cq(a.cq, {&done, 1}) == 1;
  }));
  const std::uint64_t before = a.engine->counters().get(nic::Counter::local_ack_timeout_err);
  for (int i = 0; i < 100; ++i) write();  // more answers than one pass takes
  a.build();
  b.build();
  connect(a, b, kTimeout);
  write();
  let_time_pass(milliseconds(5));
  for (int i = 0; i < 4; ++i) a.engine->progress();
  BOOST_TEST(a.poll(1).size() == 1U);
  BOOST_TEST(a.engine->counters().get(nic::Counter::local_ack_timeout_err) == before);
}

BOOST_AUTO_TEST_CASE(without_a_thread_the_caller_drives) {
  EngineNode a(1, fabric_name(), false);
  EngineNode b(2, fabric_name(), false);
  connect(a, b);
  BOOST_TEST(a.post(SendOpcode::rdma_write, 5000));
  nic::Completion done;
  BOOST_TEST(wait_until([&] {
    b.engine->progress();
    a.engine->progress();
    return a.engine->poll_cq(a.cq, {&done, 1}) == 1;
  }));
  BOOST_TEST((done.status == CompletionStatus::success));
}

BOOST_AUTO_TEST_CASE(poll_that_gives_the_last_completion_takes_waiting_frames) {
  EngineNode a(1, fabric_name(), false);
  EngineNode b(2, fabric_name(), false);
  connect(a, b, kPatientTimeout);
  const auto received = [](EngineNode& node) { return node.engine->counters().get(nic::Counter::rx_packets); };
  // The way to the peer is made with the first message.
  BOOST_TEST(a.post(SendOpcode::rdma_write, 8));
  BOOST_REQUIRE(wait_until([&] {
    b.engine->progress();
    return received(b) != 0;
  }));
  constexpr std::uint64_t kWrites = 150;  // more than one pass takes
  for (std::uint64_t i = 0; i < kWrites; ++i) BOOST_REQUIRE(b.post(SendOpcode::rdma_write, 8));
  const std::uint64_t before = received(a);
  BOOST_REQUIRE(a.poll(1).size() == 1U);
  // Its application looks at nothing but its memory from now on.
  BOOST_TEST(received(a) >= before + kWrites);
}

BOOST_AUTO_TEST_CASE(queue_pair_can_talk_to_its_own_process_and_to_itself) {
  EngineNode a(1, fabric_name());
  a.connect(a.contact());
  BOOST_TEST(a.post_receive(64));
  BOOST_TEST(a.post(SendOpcode::send, 64));
  BOOST_TEST(a.poll(2).size() == 2U);
  BOOST_TEST(a.post(SendOpcode::fetch_and_add, 8, 4096));
  BOOST_TEST(a.poll(1).size() == 1U);
  BOOST_TEST(a.buffer[512] == 0U);  // the old value came back over the new one
}

BOOST_AUTO_TEST_CASE(memory_that_was_unmapped_fails_the_work_and_not_the_process) {
  EngineNode a(1, fabric_name());
  EngineNode b(2, fabric_name());
  connect(a, b);
  const verbena::test::PagesThatGo pages(16);
  const auto gone = b.make([&](nic::Nic& nic) {
    return nic.register_memory({.pd = b.pd,
                                .address = pages.address(),
                                .length = pages.length(),
                                .iova = pages.address(),
                                .access = nic::kLocalWrite | nic::kRemoteWrite});
  });
  pages.unmap_from(0);
  a.remote.address = pages.address();
  a.remote.rkey = gone.rkey;
  BOOST_TEST(a.post(SendOpcode::rdma_write, 4096));
  const auto done = a.poll(1);
  BOOST_REQUIRE(done.size() == 1U);
  BOOST_TEST((done[0].status != CompletionStatus::success));
}

BOOST_AUTO_TEST_CASE(faults_are_applied) {
  EngineConfig config = engine_config(1, fabric_name());
  config.faults = {*fabric::parse_fault("drop 5%"), *fabric::parse_fault("duplicate 5%")};
  EngineNode a(1, config);
  EngineNode b(2, fabric_name());
  connect(a, b, 14);  // a loaded machine may not run the other engine for the 33 ms that eight timeouts of code 10 are
  for (int i = 0; i < 20; ++i) {
    for (std::size_t k = 0; k < 8192; ++k) a.buffer[k] = k * 31 + static_cast<std::uint64_t>(i);
    BOOST_TEST(a.post(SendOpcode::rdma_write, 65536));
    const auto done = a.poll(1);
    BOOST_REQUIRE(done.size() == 1U);
    BOOST_TEST((done[0].status == CompletionStatus::success), static_cast<int>(done[0].status));
    BOOST_TEST(std::memcmp(a.bytes(), b.bytes(), 65536) == 0);
  }
  BOOST_TEST(a.engine->counters().get(nic::Counter::tx_retransmitted_packets) > 0U);
}

BOOST_AUTO_TEST_CASE(forked_child_leaves_its_parents_engine_and_opens_its_own) {
  EngineNode a(1, fabric_name());
  EngineNode b(2, fabric_name());
  connect(a, b);
  BOOST_TEST(a.post(SendOpcode::rdma_write, 8));
  BOOST_REQUIRE(a.poll(1).size() == 1U);
  const std::string name = fabric_name();
  const pid_t child = fork();
  BOOST_REQUIRE(child >= 0);
  if (child == 0) {
    // Frames of the parent's QP vanish, nothing crashes, objects can be destroyed, and a new engine works.
    a.post(SendOpcode::rdma_write, 100000);
    nic::Completion one;
    for (int i = 0; i < 1000; ++i) a.engine->poll_cq(a.cq, {&one, 1});
    a.engine.reset();
    // The thread sanitizer cannot start threads after a fork.
    EngineNode own(3, name, !kThreadSanitizer);
    own.connect(own.contact());
    own.post(SendOpcode::rdma_write, 100);
    _exit(own.poll(1).size() == 1 ? 0 : 1);
  }
  for (int i = 0; i < 100; ++i) {
    BOOST_TEST(a.post(SendOpcode::rdma_write, 8192));
    BOOST_REQUIRE(a.poll(1).size() == 1U);
  }
  int status = -1;
  BOOST_TEST(waitpid(child, &status, 0) == child);
  BOOST_TEST(status == 0);
}

BOOST_AUTO_TEST_CASE(forked_child_keeps_no_descriptor_of_a_device) {
  const auto open_ones = [] {
    std::set<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
      found.insert(entry.path().filename());
    return found;
  };
  for (const std::uint32_t ports : {1u, 2u}) {
    EngineConfig config = engine_config(1, fabric_name());
    if (ports == 2) config.further_ports = {{.address = device_address(config.address, {0, 2}), .link = "shm"}};
    const std::set<std::string> before = open_ones();
    EngineNode a(1, config);
    BOOST_TEST((open_ones().size() > before.size() + 1));
    const pid_t child = fork();
    BOOST_REQUIRE(child >= 0);
    if (child == 0) {
      int kept = 0;
      for (const std::string& name : open_ones()) kept += before.contains(name) ? 0 : 1;
      _exit(kept);
    }
    int status = -1;
    BOOST_TEST(waitpid(child, &status, 0) == child);
    BOOST_TEST((WIFEXITED(status) && WEXITSTATUS(status) == 0), "it keeps " << WEXITSTATUS(status));
  }
}

BOOST_AUTO_TEST_CASE(killed_peer_ends_work_with_retry_exceeded_and_others_go_on) {
  const std::string name = fabric_name();
  int pipe_out[2];
  BOOST_REQUIRE(pipe(pipe_out) == 0);
  int pipe_in[2];
  BOOST_REQUIRE(pipe(pipe_in) == 0);
  const pid_t child = fork();
  BOOST_REQUIRE(child >= 0);
  if (child == 0) {
    EngineNode peer(2, name);
    Contact mine = peer.contact();
    [[maybe_unused]] ssize_t done = write(pipe_out[1], &mine, sizeof mine);
    Contact other;
    done = read(pipe_in[0], &other, sizeof other);
    peer.connect(other);
    done = write(pipe_out[1], &mine, 1);
    pause();
    _exit(0);
  }
  EngineNode a(1, name);
  EngineNode c(3, name);
  EngineNode d(4, name);
  connect(c, d);
  Contact peer;
  BOOST_REQUIRE(read(pipe_out[0], &peer, sizeof peer) == sizeof peer);
  const Contact mine = a.contact();
  BOOST_REQUIRE(write(pipe_in[1], &mine, sizeof mine) == sizeof mine);
  a.connect(peer, 14);  // a retry budget of half a second: none while the peer lives, on a busy machine either
  char ready = 0;
  BOOST_REQUIRE(read(pipe_out[0], &ready, 1) == 1);
  std::uint64_t succeeded = 0;
  std::vector<nic::Completion> done;
  const Time end = clock_now() + seconds(20);
  for (;;) {
    BOOST_REQUIRE(a.post(SendOpcode::rdma_write, 65536));
    done = a.poll(1);
    BOOST_REQUIRE(done.size() == 1U);
    if (done[0].status != CompletionStatus::success || clock_now() > end) break;
    if (++succeeded == 20) kill(child, SIGKILL);
  }
  BOOST_TEST(succeeded >= 20U);
  kill(child, SIGKILL);
  BOOST_TEST((done[0].status == CompletionStatus::retry_exceeded));
  BOOST_TEST(waitpid(child, nullptr, 0) == child);
  BOOST_TEST(c.post(SendOpcode::rdma_write, 65536));
  BOOST_TEST(c.poll(1).size() == 1U);
  const auto seat = NodeDirectory::join(name, wire::Gid::from_ipv4(0x7f2f5b02));
  BOOST_REQUIRE(seat.ok());
  BOOST_TEST(seat->slot() == 0);
  for (const int fd : {pipe_out[0], pipe_out[1], pipe_in[0], pipe_in[1]}) close(fd);
}

BOOST_AUTO_TEST_CASE(what_was_posted_before_the_end_leaves) {
  EngineNode b(2, fabric_name());
  {
    EngineNode a(1, fabric_name());
    connect(a, b);
    a.buffer[0] = 0x1234;
    BOOST_TEST(a.post(SendOpcode::rdma_write, 8));
  }
  BOOST_TEST(wait_until([&] { return std::atomic_ref(b.buffer[0]).load() == 0x1234; }));
}

BOOST_AUTO_TEST_CASE(several_threads_post_and_poll_one_engine) {
  EngineNode a(1, fabric_name());
  EngineNode b(2, fabric_name());
  connect(a, b);
  std::atomic<int> completed{0};
  constexpr int kThreads = 4;
  constexpr int kEach = 300;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        while (!a.post(SendOpcode::rdma_write, 2000, static_cast<std::uint64_t>(t) * 4096)) std::this_thread::yield();
        nic::Completion one;
        const Time end = clock_now() + seconds(20);
        while (a.engine->poll_cq(a.cq, {&one, 1}) == 0 && clock_now() < end) std::this_thread::yield();
        completed += one.status == CompletionStatus::success && one.wr_id == 1;
      }
    });
  for (auto& thread : threads) thread.join();
  BOOST_TEST(completed.load() == kThreads * kEach);
}

BOOST_AUTO_TEST_SUITE_END()
