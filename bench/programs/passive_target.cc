// How long an 8-octet RDMA WRITE takes to a target whose application sleeps in the kernel and makes no verbs call.
//
// Solely responsible for `median_microseconds` and for the proof that the target really slept, `sleeps_per_write`.
// Two processes, each with its own device. What they share besides RDMA is one mapped file: through it they tell each
// other their addresses, and a word of it is the target's registered memory, where the initiator sees its own write
// land without anybody on the target's core having to look. limits/futex_limit.cc times the same with a futex.
// Usage: passive_target FILE target|initiator
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "bench/limits/measure.h"
#include "bench/limits/wake.h"
#include "bench/programs/verbs.h"

namespace verbena::bench {
namespace {

constexpr double kPatienceSeconds = 20;
constexpr int kLocalAccess = IBV_ACCESS_LOCAL_WRITE;
constexpr int kTargetAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

/// The file, zero to begin with.
struct Shared {
  std::atomic<bool> target_published;
  std::atomic<bool> initiator_published;
  std::atomic<bool> target_connected;
  pid_t target_pid;
  Endpoint target;
  Endpoint initiator;
  alignas(4096) std::atomic<std::uint64_t> landed;
};

Shared& map(const char* path) {
  const int file = ::open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || ::ftruncate(file, sizeof(Shared)) != 0) die(path);
  void* const mapped = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED) die("mmap");
  ::close(file);
  return *static_cast<Shared*>(mapped);
}

void wait_for(const std::atomic<bool>& flag) {
  for (const Stopwatch watch; !flag.load(std::memory_order_acquire); ::usleep(1000)) {
    if (watch.seconds() > kPatienceSeconds) {
      errno = ETIMEDOUT;
      die("the other side");
    }
  }
}

void be_target(Shared& shared) {
  sigset_t end;
  sigemptyset(&end);
  sigaddset(&end, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &end, nullptr);
  const Device device(16);
  ibv_mr* const mr = ibv_reg_mr(device.pd, &shared.landed, sizeof shared.landed, kTargetAccess);
  if (mr == nullptr) die("ibv_reg_mr");
  ibv_qp* const qp = device.create_qp(1, 1);
  shared.target = {.gid = device.gid,
                   .qpn = qp->qp_num,
                   .rkey = mr->rkey,
                   .address = reinterpret_cast<std::uintptr_t>(&shared.landed)};
  shared.target_pid = ::getpid();
  shared.target_published.store(true, std::memory_order_release);
  wait_for(shared.initiator_published);
  connect(qp, shared.initiator);
  shared.target_connected.store(true, std::memory_order_release);
  const timespec patience{.tv_sec = static_cast<time_t>(kPatienceSeconds), .tv_nsec = 0};
  if (::sigtimedwait(&end, nullptr, &patience) < 0) die("no end");
}

/// How often all threads of a process together have gone to sleep.
inline long voluntary_switches(pid_t pid) {
  long total = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
    std::ifstream file(task.path() / "status");
    for (std::string line; std::getline(file, line);) {
      long count = 0;
      if (std::sscanf(line.c_str(), "voluntary_ctxt_switches: %ld", &count) == 1) total += count;
    }
  }
  return total;
}

class Writer {
 public:
  explicit Writer(Shared& shared) : shared_(shared) {
    mr_ = ibv_reg_mr(device_.pd, &value_, sizeof value_, kLocalAccess);
    if (mr_ == nullptr) die("ibv_reg_mr");
    qp_ = device_.create_qp(16, 1);
    wait_for(shared.target_published);
    shared.initiator = {.gid = device_.gid, .qpn = qp_->qp_num, .rkey = 0, .address = 0};
    shared.initiator_published.store(true, std::memory_order_release);
    connect(qp_, shared.target);
    wait_for(shared.target_connected);
  }

  /// Seconds from the work request to the value's arrival.
  double write(std::uint64_t value) {
    value_ = value;
    ibv_sge sge{.addr = reinterpret_cast<std::uintptr_t>(&value_), .length = sizeof value_, .lkey = mr_->lkey};
    ibv_send_wr request{};
    request.sg_list = &sge;
    request.num_sge = 1;
    request.opcode = IBV_WR_RDMA_WRITE;
    request.send_flags = IBV_SEND_SIGNALED;
    request.wr.rdma.remote_addr = shared_.target.address;
    request.wr.rdma.rkey = shared_.target.rkey;
    ibv_send_wr* bad = nullptr;
    const Stopwatch watch;
    if (ibv_post_send(qp_, &request, &bad) != 0) die("ibv_post_send");
    while (shared_.landed.load(std::memory_order_acquire) != value) {
      if (watch.seconds() > kPatienceSeconds) die("the write does not land");
    }
    const double elapsed = watch.seconds();
    complete();
    return elapsed;
  }

 private:
  void complete() {
    const Stopwatch watch;
    ibv_wc completion{};
    int found = 0;
    while ((found = ibv_poll_cq(device_.cq, 1, &completion)) == 0 && watch.seconds() < kPatienceSeconds) {
    }
    if (found != 1 || completion.status != IBV_WC_SUCCESS) die("the write does not complete");
  }

  Shared& shared_;
  const Device device_{16};
  ibv_mr* mr_ = nullptr;
  ibv_qp* qp_ = nullptr;
  std::uint64_t value_ = 0;
};

void be_initiator(Shared& shared) {
  Writer writer(shared);
  std::vector<double> times;
  long sleeps_before = 0;
  for (std::uint64_t turn = 1; turn <= kWarmUpWakes + kWakes; ++turn) {
    if (turn == kWarmUpWakes + 1) sleeps_before = voluntary_switches(shared.target_pid);
    spin_for(kGapSeconds);
    const double seconds = writer.write(turn);
    if (turn > kWarmUpWakes) times.push_back(seconds);
  }
  const long sleeps = voluntary_switches(shared.target_pid) - sleeps_before;
  ::kill(shared.target_pid, SIGTERM);
  report("median_microseconds", median(times) * 1e6);
  report("sleeps_per_write", static_cast<double>(sleeps) / static_cast<double>(kWakes));
}

}  // namespace
}  // namespace verbena::bench

int main(int argc, char** argv) {
  using namespace verbena::bench;
  const std::string_view role = argc == 3 ? argv[2] : "";
  if (role != "target" && role != "initiator") {
    std::fprintf(stderr, "usage: passive_target FILE target|initiator\n");
    return 2;
  }
  Shared& shared = map(argv[1]);
  if (role == "target") {
    be_target(shared);
  } else {
    be_initiator(shared);
  }
}
