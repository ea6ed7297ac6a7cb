// Served: a fabric process as a thread of the test, and what it answers.
#pragma once

#include <pthread.h>
#include <semaphore.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>

#include "emulator/host/fabric_client/fabric_client.h"
#include "emulator/host/fabric_client/render/fabric_json.h"
#include "emulator/host/fabric_client/render/fabric_text.h"
#include "emulator/host/fabric_process/fabric_process.h"
#include "tests/support/waiting.h"

namespace verbena::host::test {

using Json = nlohmann::json;

inline std::string unique_name() {
  static int count = 0;
  return "fabtest." + std::to_string(getpid()) + "." + std::to_string(count++);
}

inline constexpr fabric::ShapeParameters kFast = {{.rate_bits_per_second = 0, .propagation = Duration{0}},
                                                  {.rate_bits_per_second = 0, .propagation = Duration{0}}};

/// A fabric process as a thread of the test.
class Served {
 public:
  explicit Served(const fabric::Topology& topology, Duration detection = milliseconds(1),
                  std::string called = unique_name(), std::vector<fabric::FaultRule> prepared = {})
      : name(std::move(called)), detection_(detection) {
    FabricOptions options;
    options.fabric = name;
    options.topology = topology;
    options.detection = detection;
    options.prepared = std::move(prepared);
    auto opened = FabricProcess::open(options);
    BOOST_REQUIRE(opened.ok());
    process_ = std::move(*opened);
    thread_ = std::thread([this] { process_->run(stop_.get()); });
  }
  ~Served() { end(); }
  void end() {
    if (!thread_.joinable()) return;
    const std::uint64_t one = 1;
    BOOST_CHECK(write(stop_.get(), &one, sizeof one) == sizeof one);
    thread_.join();
    process_.reset();
  }
  /// The machine does not run it any more.
  void preempt() {
    struct sigaction action{};
    action.sa_handler = [](int) {
      sem_post(&stands_);
      while (sem_wait(&goes_on_) != 0) {
      }
    };
    BOOST_REQUIRE(sigaction(SIGUSR1, &action, nullptr) == 0);
    BOOST_REQUIRE(pthread_kill(thread_.native_handle(), SIGUSR1) == 0);
    while (sem_wait(&stands_) != 0) {
    }
  }
  void resume() { sem_post(&goes_on_); }
  /// As `verbena fault` shows it, but for numbers, which stand alone.
  std::string ask(const FabricRequest& request) const {
    const auto reply = ask_fabric(name, request);
    if (!reply) return "refused: " + reply.error().text;
    if (const auto* added = std::get_if<FaultAdded>(&*reply)) return std::to_string(added->number);
    if (const auto* removed = std::get_if<FaultRemoved>(&*reply)) return std::to_string(removed->hits);
    if (const auto* seen = std::get_if<FabricSnapshot>(&*reply)) return faults_text(*seen);
    return "";
  }
  std::string ask(const FabricWords& words) const { return ask(SayWords{words}); }
  FabricSnapshot look() const {
    auto seen = look_at_fabric(name);
    BOOST_REQUIRE_MESSAGE(seen.ok(), (seen.ok() ? "" : seen.error().text));
    return std::move(*seen);
  }
  Json stat() const { return Json(json_of(look())); }
  /// The fabric process changes routes in a pass that begins when the detection is over. It answers a question after a
  /// pass, which may have begun long before the question; the pass before the next answer has not.
  void let_routes_follow() const {
    verbena::waiting::let_time_pass(detection_);
    for (int answers = 0; answers < 2; ++answers) look();
  }
  Duration cpu_time() const {
    clockid_t clock{};
    timespec time{};
    BOOST_REQUIRE(pthread_getcpuclockid(const_cast<Served*>(this)->thread_.native_handle(), &clock) == 0);
    BOOST_REQUIRE(clock_gettime(clock, &time) == 0);
    return {std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec};
  }
  std::uint64_t frames_on(const std::string& link) const {
    const Json all = stat();
    for (const Json& seen : all.at("links"))
      if (seen.at("name") == link) return seen.at("frames");
    BOOST_FAIL("no link " + link);
    return 0;
  }

  const std::string name;

 private:
  // One at a time is preempted.
  static inline sem_t stands_{};
  static inline sem_t goes_on_{};

  const Duration detection_;
  Descriptor stop_{eventfd(0, EFD_CLOEXEC)};
  std::unique_ptr<FabricProcess> process_;
  std::thread thread_;
};

}  // namespace verbena::host::test
