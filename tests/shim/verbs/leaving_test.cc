// A process that ends: what it has received by then has been acknowledged, as by hardware.
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <cstdlib>

#include "tests/shim/verbs_fixture.h"

using namespace verbs_test;

namespace {

constexpr int kTurns = 300;  // after which answers are known to come at once

/// One end of a ping-pong between two processes.
class Player {
 public:
  /// The numbers of the QPs go through the descriptors. False: no QP.
  bool meet(int from_peer, int to_peer) {
    const std::uint32_t own = end_.qp->qp_num;
    std::uint32_t peer = 0;
    char is_there = 0;
    const bool is_ready = to_init(end_) == 0 && end_.post_receive(0, 0, 8) == 0;
    return is_ready && write(to_peer, &own, sizeof own) == sizeof own &&
           read(from_peer, &peer, sizeof peer) == sizeof peer && to_rtr(end_, peer, address_of(end_)) == 0 &&
           to_rts(end_) == 0 && write(to_peer, "r", 1) == 1 && read(from_peer, &is_there, 1) == 1;
  }
  bool send() {
    ibv_sge sge = end_.sge(64, 8);
    ibv_send_wr request = end_.request(IBV_WR_SEND, &sge);
    sends_under_way_ += 1;
    return end_.post(request) == 0;
  }
  /// Polls until the peer has sent, with no turn for anybody else meanwhile.
  bool await_turn() {
    while (!has_received_)
      if (!poll()) return false;
    has_received_ = false;
    return true;
  }
  bool answer() { return end_.post_receive(0, 0, 8) == 0 && send(); }
  bool await_own_sends() {
    while (sends_under_way_ != 0)
      if (!poll()) return false;
    return true;
  }
  ibv_wc_status status() const { return status_; }

 private:
  bool poll() {
    ibv_wc completion{};
    const int polled = ibv_poll_cq(end_.cq, 1, &completion);
    if (polled == 0) return true;
    status_ = completion.status;
    if (polled < 0 || completion.status != IBV_WC_SUCCESS) return false;
    if (completion.opcode == IBV_WC_SEND)
      --sends_under_way_;
    else
      has_received_ = true;
    return true;
  }

  Endpoint end_;
  int sends_under_way_ = 0;
  bool has_received_ = false;
  ibv_wc_status status_ = IBV_WC_SUCCESS;
};

using Leave = void (*)(int status);

/// The last that it does is to receive.
[[noreturn]] void answer_and_leave(int from_peer, int to_peer, Leave leave) {
  Player player;
  if (!player.meet(from_peer, to_peer)) _exit(1);
  for (int turn = 0; turn < kTurns; ++turn) {
    if (!player.await_turn()) _exit(2);
    if (turn + 1 == kTurns) leave(0);
    if (!player.answer()) _exit(3);
  }
  _exit(4);
}

void plays_until_the_other_leaves(Leave leave) {
  for (int round = 0; round < 5; ++round) {
    int to_child[2];
    int to_parent[2];
    BOOST_REQUIRE(pipe(to_child) == 0 && pipe(to_parent) == 0);
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) answer_and_leave(to_child[0], to_parent[1], leave);
    {
      Player player;
      BOOST_REQUIRE(player.meet(to_parent[0], to_child[1]));
      for (int turn = 0; turn < kTurns; ++turn) {
        BOOST_REQUIRE(turn == 0 ? player.send() : player.await_turn() && player.answer());
      }
      player.await_own_sends();
      BOOST_TEST(player.status() == IBV_WC_SUCCESS);
    }
    int status = 0;
    BOOST_REQUIRE_EQUAL(waitpid(child, &status, 0), child);
    BOOST_TEST(status == 0);
    for (const int end : {to_child[0], to_child[1], to_parent[0], to_parent[1]}) close(end);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(last_message_of_a_leaving_process_is_acknowledged) {
  plays_until_the_other_leaves([](int status) { std::exit(status); });
}

BOOST_AUTO_TEST_CASE(also_if_it_leaves_without_the_handlers_of_exit) {
  plays_until_the_other_leaves([](int status) { _exit(status); });
  plays_until_the_other_leaves([](int status) { std::_Exit(status); });
}

BOOST_AUTO_TEST_CASE(a_child_of_vfork_takes_nothing_along) {
  Endpoint end;
  BOOST_REQUIRE(to_init(end) == 0);
  const pid_t child = vfork();
  if (child == 0) _exit(3);
  int status = 0;
  BOOST_REQUIRE_EQUAL(waitpid(child, &status, 0), child);
  BOOST_TEST(WEXITSTATUS(status) == 3);
  BOOST_TEST(end.post_receive(0, 0, 8) == 0);
}
