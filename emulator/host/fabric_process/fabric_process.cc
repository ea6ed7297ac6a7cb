#include "emulator/host/fabric_process/fabric_process.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "emulator/host/fabric_process/step_clock.h"
#include "emulator/host/os/clock.h"
#include "emulator/host/os/spin_lock.h"

namespace verbena::host {
namespace {
constexpr Duration kSpinToDeadline = microseconds(10);     // a sleep shorter than this ends too late
constexpr Duration kSpin = microseconds(8);                // after the last frame
constexpr Duration kSpinOnYielded = microseconds(20);      // for frames, on a core that is yielded
constexpr Duration kGiveBackInterval = microseconds(500);  // of a core that is yielded, whatever comes
constexpr Duration kServiceInterval = microseconds(500);
constexpr std::uint32_t kFramesMax = 64 * 1024;  // on all cables together
constexpr Duration kGrain = microseconds(1);     // finer than a process sees the clock

/// How long to look for frames in vain before it is better to sleep.
class Patience {
 public:
  void found(Time now) {
    busy_until_ = now + kSpin;
    begins(now);
  }
  /// Nothing was found. `due`: when the network has something to do.
  bool looks_on(Time now, Time due, FabricPorts& ports) {
    // No sched_yield(): on a busy machine it costs a time slice, while a sleeper is woken ahead of those that compute.
    if (due < now + kSpinToDeadline || (now < busy_until_ && !ports.blocks_peer_cpu())) return true;
    return now < yielded_until_ && ports.has_yielded_cores();
  }
  /// After a sleep.
  void begins(Time now) { yielded_until_ = now + kSpinOnYielded; }

 private:
  Time busy_until_{};
  Time yielded_until_{};  // if somebody has yielded the core
};

class TwoObservers final : public fabric::Observer {
 public:
  TwoObservers(fabric::Observer& first, fabric::Observer& second) : first_(first), second_(second) {}
  void observe(const fabric::ObservedFrame& frame) override {
    first_.observe(frame);
    second_.observe(frame);
  }

 private:
  fabric::Observer& first_;
  fabric::Observer& second_;
};
}  // namespace

Result<std::unique_ptr<FabricProcess>, std::string> FabricProcess::open(const FabricOptions& options) {
  std::unique_ptr<FabricProcess> process(new FabricProcess);
  auto control = FabricControl::open(options.fabric);
  if (!control) return Failure{control.error()};
  process->control_ = std::move(*control);
  auto ports = FabricPorts::open(options.fabric, options.topology,
                                 {.seed = options.seed,
                                  .payload = true,
                                  .detection = options.detection,
                                  .frames_max = kFramesMax,
                                  .grain = kGrain,
                                  .trace = false});
  if (!ports) return Failure{ports.error()};
  process->ports_ = std::move(*ports);
  auto sockets = FabricSockets::open(options.fabric, process->ports_->network(), options.sockets);
  if (!sockets) return Failure{sockets.error()};
  process->sockets_ = std::move(*sockets);
  if (!options.capture_directory.empty()) {
    auto capture = FabricCapture::open({.directory = options.capture_directory,
                                        .topology = options.topology,
                                        .octets_max = options.capture_octets_max,
                                        .snap_bytes = options.capture_snap_bytes});
    if (!capture) return Failure{capture.error()};
    process->capture_ = std::move(*capture);
  }
  process->attach_observers(options.observer);
  if (std::string error = process->open_counters(options.fabric); !error.empty()) return Failure{std::move(error)};
  if (std::string error = process->open_subnet(options); !error.empty()) return Failure{std::move(error)};
  process->commands_ = std::make_unique<FabricCommands>(
      *process->ports_,
      FabricCommands::Setup{.fabric = options.fabric,
                            .prepared = options.prepared,
                            .sockets = process->sockets_.get(),
                            .stats_path = process->stats_path_,
                            .wire = options.wire,
                            .counters = static_cast<const StatsFile*>(process->counters_),
                            .capture = process->capture_.get(),
                            .managed = process->subnet_.get()},
      clock_now());
  return process;
}

std::string FabricProcess::open_subnet(const FabricOptions& options) {
  HostFile::remove_left();
  if (!options.topology.is_managed) return {};
  auto subnet = SubnetService::open(options.fabric, *ports_, options.switches);
  if (!subnet) return subnet.error();
  subnet_ = std::move(*subnet);
  return {};
}

void FabricProcess::attach_observers(fabric::Observer* observer) {
  if (capture_ != nullptr && observer != nullptr) {
    both_ = std::make_unique<TwoObservers>(*capture_, *observer);
    observer = both_.get();
  } else if (observer == nullptr) {
    observer = capture_.get();
  }
  ports_->network().observe(observer);
}

std::string FabricProcess::open_counters(const std::string& fabric) {
  counters_file_ = Descriptor(make_stats_memory(fabric));
  if (!counters_file_) return std::string("cannot make a file of counters: ") + std::strerror(errno);
  void* mapping = mmap(nullptr, kStatsFileBytes, PROT_READ, MAP_SHARED, counters_file_.get(), 0);
  if (mapping == MAP_FAILED) return std::string("cannot map the file of counters: ") + std::strerror(errno);
  counters_ = mapping;
  stats_path_ = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(counters_file_.get());
  return {};
}

FabricProcess::~FabricProcess() {
  if (ports_ != nullptr) ports_->network().observe(nullptr);
  if (counters_ != nullptr) munmap(counters_, kStatsFileBytes);
}

void FabricProcess::service(Time now) {
  ports_->service(now);
  sockets_->service();
  bool is_changed = false;
  const auto answer = [&](const FabricRequest& request) {
    is_changed = true;
    return commands_->answer(now, request);
  };
  control_->service(answer, [&] { return sockets_->is_done(now) && commands_->node_faults().is_done(now); });
  if (subnet_ != nullptr) {
    const fabric::ElementFaults& elements = commands_->elements();
    if (is_changed) subnet_->mirror(now, elements.dead_links(), elements.dead_switches());
    subnet_->service(now);
  }
  if (capture_ != nullptr) capture_->write_out(now);
}

bool FabricProcess::stop_asked(int stop_descriptor) const {
  pollfd stop{stop_descriptor, POLLIN, 0};
  return poll(&stop, 1, 0) > 0;
}

void FabricProcess::run(int stop_descriptor) {
  prctl(PR_SET_TIMERSLACK, 1);  // a nanosecond; the default of 50 us would blur delays
  Patience patience;
  Time service_at{};
  Time give_back_at{};
  PassClock clock;
  StepClock steps;
  Time due = kNever;
  for (;;) {
    const Time now = steps.advance(clock.now(), due);
    if (ports_->pass(now)) {
      patience.found(now);
      core_lease_.moved(now);
    }
    if (now >= service_at) {
      if (stop_asked(stop_descriptor)) return;
      service(now);
      service_at = now + kServiceInterval;
    }
    if (core_lease_.is_on() && now >= give_back_at) {
      ports_->give_cores_back();
      give_back_at = now + kGiveBackInterval;
    }
    due = ports_->network_deadline().value_or(kNever);
    if (due <= now && !ports_->gathers()) continue;
    if (ports_->gathers() || patience.looks_on(now, due, *ports_)) {
      cpu_pause();
      continue;
    }
    ports_->ask_for_core(core_lease_.is_on());
    if (ports_->arm(now)) {
      if (core_lease_.clock() < 0) ports_->rests(due);  // else frames may come without a doorbell
      const Woken woken = sleep(now, stop_descriptor);
      const Time woken_at = clock.now();
      patience.begins(woken_at);
      if (woken == Woken::by_more) service_at = Time{};
      if (woken == Woken::by_frames) {
        core_lease_.woken_after(woken_at - now, ports_->was_polled_beside());
      }
    }
    ports_->disarm();
  }
}

/// Until the network's next deadline, or anything that wants to be looked at.
FabricProcess::Woken FabricProcess::sleep(Time now, int stop_descriptor) {
  const Link::WaitDescriptors link = ports_->wait_descriptors();
  std::array<pollfd, 7> descriptors{{{link.frames, POLLIN, 0},
                                     {link.control, POLLIN, 0},
                                     {control_->wait_descriptor(), POLLIN, 0},
                                     {stop_descriptor, POLLIN, 0},
                                     {core_lease_.clock(), POLLIN, 0},
                                     {sockets_->wait_descriptor(), POLLIN, 0},
                                     {subnet_ != nullptr ? subnet_->wait_descriptor() : -1, POLLIN, 0}}};
  Time until = ports_->next_deadline(core_lease_.clock() >= 0).value_or(kNever);
  if (capture_ != nullptr) until = std::min(until, capture_->next_deadline().value_or(kNever));
  if (const auto due = sockets_->next_deadline(); due && *due > now) until = std::min(until, *due);
  if (const Time due = commands_->node_faults().next_deadline(); due > now) until = std::min(until, due);
  if (subnet_ != nullptr) until = std::min(until, subnet_->next_deadline().value_or(kNever));
  timespec timeout{};
  if (until != kNever) {
    const std::int64_t left_ns = std::max<std::int64_t>((until - now).ns, 0);
    timeout.tv_sec = left_ns / 1'000'000'000;
    timeout.tv_nsec = left_ns % 1'000'000'000;
  }
  int count = ppoll(descriptors.data(), descriptors.size(), until == kNever ? nullptr : &timeout, nullptr);
  Woken woken = Woken::by_more;
  if (count > 0 && descriptors[4].revents != 0) {
    core_lease_.ticked(now);
    woken = Woken::by_clock;
    --count;
  }
  if (count > 0 && descriptors[0].revents != 0) {
    ports_->acknowledge_doorbell();
    woken = Woken::by_frames;
    --count;
  }
  return count == 0 ? woken : Woken::by_more;
}

}  // namespace verbena::host
