// Collectives of Gloo over its ibverbs transport, each result compared by each rank.
//   gloo_check RANK SIZE FOLDER ROUNDS     the ranks find each other through files in FOLDER
// Gloo's newer functions (gloo::allreduce(), gloo::alltoall()) need unbound buffers, which its ibverbs transport does
// not have: the algorithm classes are used, and the exchange of all with all is made of the same pairs and buffers.
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/barrier_all_to_all.h>
#include <gloo/broadcast_one_to_all.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/ibverbs/device.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/waiting.h"

namespace {

using Word = std::int64_t;
using ContextPointer = std::shared_ptr<gloo::rendezvous::Context>;

/// What a rank contributes in a round as an element: such that what is misplaced does not sum up all the same.
Word value(int rank, int round, std::size_t index) {
  return (static_cast<Word>(rank) + 1) * 1000003 + static_cast<Word>(round) * 7919 +
         static_cast<Word>(index) * 31 * (rank + 2);
}

/// A collective on `count` elements, made once and run in each round: Gloo's buffers must not go while something is
/// still being sent from them, and its algorithms do not wait for that.
struct Collective {
  const char* name;
  std::size_t count;
  std::vector<Word> data;
  std::function<void(int round)> run;  // on `data`, which it leaves checked
};

void check(const Collective& collective, int rank, int round, const std::function<Word(std::size_t)>& expected) {
  for (std::size_t index = 0; index < collective.count; ++index) {
    if (collective.data[index] == expected(index)) continue;
    std::printf("WRONG %s: rank %d, round %d, element %zu of %zu\n", collective.name, rank, round, index,
                collective.count);
    std::fflush(stdout);
    std::_Exit(1);
  }
}

/// Rank r sends to rank p what only the two of them have: value(r * size + p). Blocks for oneself are not sent.
class AllToAll {
 public:
  AllToAll(const ContextPointer& context, std::size_t count)
      : context_(context), count_(count), out_(words(), 0), in_(words(), 0) {
    const int slot = context->nextSlot();
    for (int peer = 0; peer < context->size; ++peer) {
      if (peer == context->rank) continue;
      Word* const out = out_.data() + static_cast<std::size_t>(peer) * count;
      Word* const in = in_.data() + static_cast<std::size_t>(peer) * count;
      sends_.push_back(context->getPair(peer)->createSendBuffer(slot, out, count * sizeof(Word)));
      receives_.push_back(context->getPair(peer)->createRecvBuffer(slot, in, count * sizeof(Word)));
    }
  }
  /// What this rank now has of all ranks, in their order; its own block as if it had been sent.
  const std::vector<Word>& run(int round) {
    for (std::size_t index = 0; index < words(); ++index) {
      const int peer = static_cast<int>(index / count_);
      out_[index] = value(context_->rank * context_->size + peer, round, index % count_);
      if (peer == context_->rank) in_[index] = out_[index];
    }
    for (const auto& buffer : sends_) buffer->send();
    for (const auto& buffer : receives_) buffer->waitRecv();
    for (const auto& buffer : sends_) buffer->waitSend();
    return in_;
  }

 private:
  std::size_t words() const { return count_ * static_cast<std::size_t>(context_->size); }

  ContextPointer context_;
  std::size_t count_;
  std::vector<Word> out_, in_;
  std::vector<std::unique_ptr<gloo::transport::Buffer>> sends_, receives_;
};

template <typename Algorithm>
std::unique_ptr<Collective> allreduce(const ContextPointer& context, const char* name, std::size_t count) {
  auto made = std::make_unique<Collective>(Collective{name, count, std::vector<Word>(count), {}});
  Collective* self = made.get();
  const auto algorithm =
      std::make_shared<Algorithm>(context, std::vector<Word*>{made->data.data()}, static_cast<int>(count));
  made->run = [self, algorithm, context](int round) {
    for (std::size_t index = 0; index < self->count; ++index) self->data[index] = value(context->rank, round, index);
    algorithm->run();
    check(*self, context->rank, round, [&](std::size_t index) {
      Word sum = 0;
      for (int rank = 0; rank < context->size; ++rank) sum += value(rank, round, index);
      return sum;
    });
  };
  return made;
}

/// Each rank is the root of one, in turn.
std::unique_ptr<Collective> broadcast(const ContextPointer& context, AllToAll& settled, std::size_t count) {
  auto made = std::make_unique<Collective>(Collective{"broadcast", count, std::vector<Word>(count), {}});
  Collective* self = made.get();
  std::vector<std::shared_ptr<gloo::BroadcastOneToAll<Word>>> by_root;
  for (int root = 0; root < context->size; ++root) {
    by_root.push_back(
        std::make_shared<gloo::BroadcastOneToAll<Word>>(context, std::vector<Word*>{made->data.data()}, count, root));
    settled.run(root);
  }
  made->run = [self, by_root, context](int round) {
    const int root = round % context->size;
    for (std::size_t index = 0; index < self->count; ++index) self->data[index] = value(context->rank, round, index);
    by_root[static_cast<std::size_t>(root)]->run();
    check(*self, context->rank, round, [&](std::size_t index) { return value(root, round, index); });
  };
  return made;
}

std::unique_ptr<Collective> alltoall(const ContextPointer& context, std::size_t count) {
  auto made =
      std::make_unique<Collective>(Collective{"alltoall", count * static_cast<std::size_t>(context->size), {}, {}});
  Collective* self = made.get();
  const auto exchange = std::make_shared<AllToAll>(context, count);
  const auto barrier = std::make_shared<gloo::BarrierAllToAll>(context);
  made->run = [self, exchange, barrier, context, count](int round) {
    self->data = exchange->run(round);
    check(*self, context->rank, round, [&](std::size_t index) {
      const int peer = static_cast<int>(index / count);
      return value(peer * context->size + context->rank, round, index % count);
    });
    barrier->run();  // before the next round's blocks arrive in the same memory
  };
  return made;
}

/// `settled` runs between one algorithm's making and the next: Gloo tells its peers of each buffer by a send, has room
/// for 8 of them, and where one finds no room it waits for a lock that it holds (Pair::sendMemoryRegion() to
/// signalIoFailure()).
int run(int rank, int size, const std::string& folder, int rounds) {
  std::shared_ptr<gloo::transport::Device> device =
      gloo::transport::ibverbs::CreateDevice({.name = "verbena0", .port = 1, .index = 0});
  const auto context = std::make_shared<gloo::rendezvous::Context>(rank, size);
  context->setTimeout(std::chrono::seconds(10));  // for whoever waits for a rank that has died; Gloo's default is 30 s
  gloo::rendezvous::FileStore store(folder);
  context->connectFullMesh(store, device);
  AllToAll settled(context, 1);
  std::vector<std::unique_ptr<Collective>> collectives;
  const auto add = [&](std::unique_ptr<Collective> collective) {
    collectives.push_back(std::move(collective));
    settled.run(0);
  };
  for (const std::size_t count : {std::size_t{1}, std::size_t{1000}, std::size_t{65536}}) {
    add(allreduce<gloo::AllreduceRing<Word>>(context, "allreduce (ring)", count));
    add(allreduce<gloo::AllreduceRingChunked<Word>>(context, "allreduce (ring, in chunks)", count));
    add(allreduce<gloo::AllreduceHalvingDoubling<Word>>(context, "allreduce (halving and doubling)", count));
    add(broadcast(context, settled, count));
    add(alltoall(context, count));
  }
  std::printf("connected\n");
  std::fflush(stdout);
  for (int round = 0; round < rounds; ++round)
    for (const auto& collective : collectives) collective->run(round);
  settled.run(0);
  std::printf("rank %d of %d: %d rounds of %zu collectives are right\n", rank, size, rounds, collectives.size());
  std::fflush(stdout);
  // Where the last acknowledgement to a peer was lost, the peer asks again; a QP that had gone would be its error.
  verbena::waiting::let_time_pass(verbena::seconds(1));
  std::_Exit(0);
}

[[noreturn]] void fail() {
  try {
    throw;
  } catch (const std::exception& error) {
    std::printf("gloo says: %s\n", error.what());
  }
  std::fflush(stdout);
  std::_Exit(1);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 5) {
    std::fprintf(stderr, "usage: gloo_check RANK SIZE FOLDER ROUNDS\n");
    return 2;
  }
  std::set_terminate(fail);  // what fails on Gloo's own thread is thrown there, and nobody catches it
  try {
    return run(std::atoi(arguments[1]), std::atoi(arguments[2]), arguments[3], std::atoi(arguments[4]));
  } catch (...) {
    fail();
  }
}
