// Four NICs at two switches, 2 % loss between these: all READs complete, no rule of the transport is broken, the same
// seed gives the same packets and another seed others. Given a file name, the trunk's packets are written there.
#include <verbena/verbena.h>

#include <cstdint>
#include <cstdio>

using namespace libverbena;

namespace {

constexpr int kReads = 50;

/// The run's trace hash; 0: it went wrong.
std::uint64_t run(std::uint64_t seed, const char* capture) {
  const std::vector<CableOptions> cables{{.a = "a", .b = "s1"},
                                         {.a = "b", .b = "s1"},
                                         {.a = "c", .b = "s2"},
                                         {.a = "d", .b = "s2"},
                                         {.a = "s1", .b = "s2"}};
  World world =
      World::make({.seed = seed, .nics = {"a", "b", "c", "d"}, .switches = {"s1", "s2"}, .cables = cables}).value();
  world.add_fault({"s1", "s2"}, "drop 2%").value();
  world.add_fault({"s2", "s1"}, "drop 2%").value();
  if (capture != nullptr) world.capture({"s1", "s2"}, capture).value();
  for (const auto& [reader, server] : {std::pair("a", "c"), std::pair("b", "d")}) {
    const Nic nic = world.nic(reader).value();
    const Nic far = world.nic(server).value();
    const Qp qp = nic.create_qp().value();
    world.connect(qp, far.create_qp().value()).value();
    const Mr into = nic.register_memory(65536).value();
    const Remote from = far.register_memory(65536).value().remote();
    for (int i = 0; i < kReads; ++i)
      qp.post_send({.opcode = SendOpcode::rdma_read, .local = {into.slice()}, .remote = from}).value();
  }
  for (const char* name : {"a", "b"})
    for (int i = 0; i < kReads; ++i)
      if (world.nic(name).value().cq().next().value().status != Status::success) return 0;
  world.run_until_idle().value();
  for (const std::string& violation : world.check_report().violations) std::printf("%s\n", violation.c_str());
  return world.check_report().clean() ? world.trace_hash() : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t first = run(1, argc > 1 ? argv[1] : nullptr);
  std::printf("trace %016llx\n", static_cast<unsigned long long>(first));
  return first != 0 && first == run(1, nullptr) && first != run(2, nullptr) ? 0 : 1;
}
