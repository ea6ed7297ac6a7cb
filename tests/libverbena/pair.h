// Pair: two NICs of a world with a connection and memory each, or one NIC and a peer that the test plays.
#pragma once

#include <verbena/verbena.h>

#include <boost/test/unit_test.hpp>
#include <optional>

namespace verbena::test {

using namespace libverbena;
using namespace std::chrono_literals;

struct Pair {
  explicit Pair(const ConnectOptions& options = {.psn = 100}, QpType type = QpType::rc, std::uint64_t seed = 1)
      : world(World::make({.seed = seed, .nics = {"a", "b"}}).value()),
        a(world.nic("a").value()),
        b(world.nic("b").value()),
        from(a.create_qp({.type = type}).value()),
        to(b.create_qp({.type = type}).value()),
        source(a.register_memory(4096).value()),
        target(b.register_memory(4096 + 40).value()) {
    world.connect(from, to, options).value();
    for (std::size_t i = 0; i < source.bytes().size(); ++i) source.bytes()[i] = static_cast<std::byte>(i * 7);
  }
  void send(std::uint32_t octets = 64) {
    to.post_receive(1, target.slice()).value();
    from.post_send({.wr_id = 2, .local = {source.slice(0, octets)}}).value();
  }

  World world;
  Nic a;
  Nic b;
  Qp from;
  Qp to;
  Mr source;
  Mr target;
};

struct Lone {
  explicit Lone(const ConnectOptions& options = {.psn = 100})
      : world(World::make({.nics = {"a"}, .peers = {"p"}}).value()),
        a(world.nic("a").value()),
        qp(a.create_qp().value()),
        peer(world.connect(qp, "p", options).value()),
        memory(a.register_memory(4096).value()) {}

  World world;
  Nic a;
  Qp qp;
  PeerQp peer;
  Mr memory;
};

}  // namespace verbena::test
