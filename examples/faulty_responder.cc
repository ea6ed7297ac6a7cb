// A NIC with nothing at the other end but this program: a responder that refuses, and one that says nothing. Each has
// to end the request with the error that the verbs name.
#include <verbena/verbena.h>

#include <cstdio>

using namespace libverbena;

namespace {

/// The status of one WRITE of 100 octets to a peer that does what the script says.
Status status_of_write(std::string_view script) {
  World world = World::make({.nics = {"a"}, .peers = {"p"}}).value();
  const Nic a = world.nic("a").value();
  const Qp qp = a.create_qp().value();
  world.connect(qp, "p", {.timeout = 8, .retry_count = 2}).value();  // 1 ms
  const Mr data = a.register_memory(100).value();
  const Remote nowhere{.address = 0x1000, .rkey = 0x1234};
  qp.post_send({.opcode = SendOpcode::rdma_write, .local = {data.slice()}, .remote = nowhere}).value();
  if (const Result<void> played = world.play(qp, script); !played) {
    std::printf("%s\n", played.error().text.c_str());
    return Status::success;
  }
  return a.cq().next().value().status;
}

}  // namespace

int main() {
  const Status refused = status_of_write(R"(
    expect a > p  write-only   psn=0 len=100 va=0x1000 rkey=0x1234 length=100 ack-request
    inject p > a  acknowledge  psn=0 syndrome=nak-remote-access-error after=5us)");
  const Status unanswered = status_of_write(R"(
    expect a > p  write-only   psn=0
    expect a > p  write-only   psn=0 within=10ms   # its timer has run out
    expect a > p  write-only   psn=0 within=10ms)");
  for (const Status status : {refused, unanswered}) {
    const std::string_view text = to_string(status);
    std::printf("%.*s\n", static_cast<int>(text.size()), text.data());
  }
  return refused == Status::remote_access_error && unanswered == Status::retry_exceeded ? 0 : 1;
}
