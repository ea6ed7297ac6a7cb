// A lost packet between two NICs, as a packet script: the third of a SEND is lost, the responder answers with a NAK,
// and the requester goes back.
#include <verbena/verbena.h>

#include <cstdio>
#include <cstring>

using namespace libverbena;

int main() {
  World world = World::make({.seed = 1, .nics = {"a", "b"}}).value();
  const Nic a = world.nic("a").value(), b = world.nic("b").value();
  const Qp from = a.create_qp().value(), to = b.create_qp().value();
  world.connect(from, to, {.path_mtu = 1024}).value();
  const Mr message = a.register_memory(4096).value(), room = b.register_memory(4096).value();
  std::memset(message.bytes().data(), 7, message.bytes().size());
  to.post_receive(1, room.slice()).value();
  from.post_send({.wr_id = 2, .local = {message.slice()}}).value();

  const Result<void> played = world.play(from, R"(
    expect a > b  send-first   psn=0  len=1024  no-ack-request
    expect a > b  send-middle  psn=1
    expect a > b  send-middle  psn=2            then drop
    expect a > b  send-last    psn=3  ack-request
    expect b > a  acknowledge  psn=2  msn=0  syndrome=nak-psn-sequence-error  within=10us
    expect a > b  send-middle  psn=2            within=10us
    expect a > b  send-last    psn=3
    expect b > a  acknowledge  psn=3  msn=1  syndrome=ack
    silence 10ms)");
  if (!played) {
    std::printf("%s\n", played.error().text.c_str());
    return 1;
  }
  const Completion received = b.cq().next().value(), sent = a.cq().next().value();
  const bool is_intact = std::memcmp(room.bytes().data(), message.bytes().data(), 4096) == 0;
  std::printf("%u octets, %s; %u packets again\n", received.byte_count, is_intact ? "intact" : "damaged",
              static_cast<unsigned>(a.counter("tx_retransmitted_packets").value()));
  return received.status == Status::success && sent.status == Status::success && is_intact ? 0 : 1;
}
