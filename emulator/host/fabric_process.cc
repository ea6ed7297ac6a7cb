#include "emulator/host/fabric_process.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "emulator/host/clock.h"
#include "emulator/host/spin_lock.h"
#include "emulator/host/spin_time.h"

namespace verbena::host {
namespace {
constexpr Duration kSpinToDeadline = microseconds(10);  // a sleep shorter than this ends too late
constexpr Duration kServiceInterval = microseconds(500);
constexpr Duration kCoreInterval = milliseconds(10);
constexpr std::uint32_t kFramesMax = 64 * 1024;  // on all cables together
constexpr Duration kGrain = microseconds(1);     // finer than a process sees the clock

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
  auto hub = FabricHub::open(options.fabric, options.topology,
                             {.seed = options.seed,
                              .payload = true,
                              .detection = options.detection,
                              .frames_max = kFramesMax,
                              .grain = kGrain,
                              .trace = false});
  if (!hub) return Failure{hub.error()};
  process->hub_ = std::move(*hub);
  if (!options.capture_directory.empty()) {
    auto capture = FabricCapture::open({.directory = options.capture_directory,
                                        .topology = options.topology,
                                        .octets_max = options.capture_octets_max});
    if (!capture) return Failure{capture.error()};
    process->capture_ = std::move(*capture);
  }
  process->attach_observers(options.observer);
  if (std::string error = process->open_counters(options.fabric); !error.empty()) return Failure{std::move(error)};
  process->commands_ = std::make_unique<FabricCommands>(
      *process->hub_,
      FabricCommands::Setup{.fabric = options.fabric,
                            .prepared = options.prepared,
                            .stats_path = process->stats_path_,
                            .counters = static_cast<const StatsFile*>(process->counters_)},
      clock_now());
  return process;
}

void FabricProcess::attach_observers(fabric::Observer* observer) {
  if (capture_ != nullptr && observer != nullptr) {
    both_ = std::make_unique<TwoObservers>(*capture_, *observer);
    observer = both_.get();
  } else if (observer == nullptr) {
    observer = capture_.get();
  }
  hub_->network().observe(observer);
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
  if (hub_ != nullptr) hub_->network().observe(nullptr);
  if (counters_ != nullptr) munmap(counters_, kStatsFileBytes);
}

void FabricProcess::service(Time now) {
  hub_->service();
  control_->service([&](const FabricWords& words) { return commands_->answer(now, words); });
  if (capture_ != nullptr) capture_->write_out(now);
}

bool FabricProcess::stop_asked(int stop_descriptor) const {
  pollfd stop{stop_descriptor, POLLIN, 0};
  return poll(&stop, 1, 0) > 0;
}

void FabricProcess::run(int stop_descriptor) {
  prctl(PR_SET_TIMERSLACK, 1);  // a nanosecond; the default of 50 us would blur delays
  Time busy_until{};
  SpinTime spin;          // after the last frame
  bool spinning = false;  // has looked in vain since the last frame
  Time service_at{};
  Time core_at{};
  sched_getaffinity(0, sizeof cores_allowed_, &cores_allowed_);
  cores_chosen_ = cores_allowed_;
  PassClock clock;
  for (;;) {
    const Time now = clock.now();
    if (hub_->pass(now)) {
      if (spinning) spin.found();
      busy_until = now + spin.get();
      spinning = false;
    }
    if (now >= service_at) {
      if (stop_asked(stop_descriptor)) return;
      service(now);
      service_at = now + kServiceInterval;
      if (now >= core_at) {
        choose_core(now);
        core_at = now + kCoreInterval;
      }
    }
    if (hub_->gathers()) {
      cpu_pause();
      continue;
    }
    const Time due = hub_->network_deadline().value_or(kNever);
    if (due <= now) continue;
    // No sched_yield(): on a busy machine it costs a time slice, while a sleeper is woken ahead of those that compute.
    if (due < now + kSpinToDeadline || (now < busy_until && !hub_->stands_in_the_way())) {
      spinning = spinning || due == kNever;
      cpu_pause();
      continue;
    }
    if (spinning) spin.missed();
    spinning = false;
    if (hub_->arm(now)) {
      if (sleep(now, stop_descriptor))
        service_at = Time{};
      else if (const Duration slept = clock.now() - now;
               slept < SpinTime::kMax && !hub_->keeps_a_process_from_its_core())
        spin.woken_after(slept);
    }
    hub_->disarm();
  }
}

/// Away from the cores of those who poll without end, if others are left: the kernel does not know that they never let
/// go of theirs, and whoever is put beside one takes it away each time that it is woken.
void FabricProcess::choose_core(Time now) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  hub_->find_busy_cores(now, cores);
  CPU_AND(&cores, &cores, &cores_allowed_);
  CPU_XOR(&cores, &cores, &cores_allowed_);
  if (CPU_COUNT(&cores) == 0) cores = cores_allowed_;
  if (CPU_EQUAL(&cores, &cores_chosen_)) return;
  if (sched_setaffinity(0, sizeof cores, &cores) == 0) cores_chosen_ = cores;
}

/// Until the network's next deadline, or anything that wants to be looked at. Returns whether that is more than frames.
bool FabricProcess::sleep(Time now, int stop_descriptor) {
  const Link::WaitDescriptors link = hub_->wait_descriptors();
  std::array<pollfd, 4> descriptors{{{link.frames, POLLIN, 0},
                                     {link.control, POLLIN, 0},
                                     {control_->wait_descriptor(), POLLIN, 0},
                                     {stop_descriptor, POLLIN, 0}}};
  Time until = hub_->next_deadline().value_or(kNever);
  if (capture_ != nullptr) until = std::min(until, capture_->next_deadline().value_or(kNever));
  timespec timeout{};
  if (until != kNever) {
    const std::int64_t left_ns = std::max<std::int64_t>((until - now).ns, 0);
    timeout.tv_sec = left_ns / 1'000'000'000;
    timeout.tv_nsec = left_ns % 1'000'000'000;
  }
  const int count = ppoll(descriptors.data(), descriptors.size(), until == kNever ? nullptr : &timeout, nullptr);
  if (count == 1 && descriptors[0].revents != 0) {
    hub_->answer_bell();
    return false;
  }
  return true;
}

}  // namespace verbena::host
