// A SEND for which no receive is posted, as two packet scripts: the responder answers with an RNR NAK, and when it has
// a receive, the requester's next try goes through.
#include <verbena/verbena.h>

#include <cstdio>

using namespace libverbena;

int main() {
  World world = World::make({.nics = {"a", "b"}}).value();
  const Nic a = world.nic("a").value();
  const Nic b = world.nic("b").value();
  const Qp from = a.create_qp().value();
  const Qp to = b.create_qp().value();
  world.connect(from, to, {.min_rnr_timer = 14}).value();  // 1.28 ms
  const Mr message = a.register_memory(64).value();
  const Mr room = b.register_memory(64).value();
  from.post_send({.wr_id = 2, .local = {message.slice()}}).value();

  Result<void> played = world.play(from, R"(
    expect a > b  send-only    psn=0 len=64
    expect b > a  acknowledge  psn=0 msn=0 syndrome=0x2e within=10us   # RNR NAK with timer code 14
    silence 1.27ms)");
  if (played) {
    to.post_receive(1, room.slice()).value();
    played = world.play(from, R"(
      expect a > b  send-only    psn=0 len=64          within=100us
      expect b > a  acknowledge  psn=0 msn=1 syndrome=ack)");
  }
  if (!played) {
    std::printf("%s\n", played.error().text.c_str());
    return 1;
  }
  const Completion received = b.cq().next().value();
  std::printf("%u octets after %lld us\n", received.byte_count, static_cast<long long>(received.time.count() / 1000));
  return received.status == Status::success && b.counter("rnr_nak_sent") == 1 ? 0 : 1;
}
