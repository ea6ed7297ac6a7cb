// One process's end of the shared-memory link, driven as the engine would, and child processes that end with the test.
#pragma once

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "emulator/host/link/shm/shm_cable.h"
#include "emulator/host/os/clock.h"

namespace verbena::host::test {

inline constexpr Duration kPatience = seconds(20);  // for a busy machine; never waited out when all is well

inline std::string fabric_name() {
  return "shmtest." + std::to_string(getpid());
}
inline wire::Gid node(std::uint8_t number) {
  return wire::Gid::from_ipv4(0x7f2f5b00u | number);
}

/// One process's end: a link and what came out of it. Passes are those of the engine.
struct End final : FrameSink {
  explicit End(std::uint8_t number, const std::string& fabric = fabric_name()) {
    EngineConfig config;
    config.fabric = fabric;
    config.address = node(number);
    address = config.address;
    auto opened = ShmCable::open(config);
    BOOST_REQUIRE(opened.ok());
    link = std::move(*opened);
  }
  wire::Qpn qpn() const { return wire::Qpn(qpn_base_of(link->slot()).value() | 17); }

  void frame(std::span<const std::byte> bytes, wire::IcrcState) override {
    received.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  /// Reserves, commits, publishes. False: back pressure.
  bool try_send(const wire::Gid& to, wire::Qpn to_qpn, const std::string& text) {
    const std::span<std::byte> room = link->reserve({to, to_qpn, hint}, text.size());
    if (!room.empty()) {
      std::memcpy(room.data(), text.data(), text.size());
      link->commit(text.size(), wire::IcrcState::present);
    }
    link->publish();
    link->flush();
    return !room.empty();
  }
  void send(const wire::Gid& to, wire::Qpn to_qpn, const std::string& text) {
    BOOST_REQUIRE(wait([&] { return try_send(to, to_qpn, text); }));
  }
  bool send(const End& to, const std::string& text) {
    send(to.address, to.qpn(), text);
    return true;
  }
  void pass() {
    link->service();
    link->receive(clock_now(), *this, 1000);
    link->publish();
    link->flush();
  }
  bool wait(const std::function<bool()>& done) {
    const Time end = clock_now() + kPatience;
    while (clock_now() < end) {
      pass();
      if (done()) return true;
      std::this_thread::yield();
    }
    return false;
  }
  bool wait_for(std::size_t count) {
    return wait([&] { return received.size() >= count; });
  }

  std::unique_ptr<ShmCable> link;
  wire::Gid address;
  std::uint32_t hint = 0;
  std::vector<std::string> received;
};

/// Two ends that have exchanged a frame, and have nothing left to look after.
struct Met {
  End a{1};
  End b{2};

  Met() {
    a.send(b, "meet");
    BOOST_REQUIRE(b.wait_for(1));
    BOOST_REQUIRE(a.wait([&] { return !a.link->next_deadline().has_value(); }));
    b.link->service();
  }
  bool b_is_rung() const {
    pollfd bell{b.link->wait_descriptors().frames, POLLIN, 0};
    return poll(&bell, 1, 0) == 1;
  }
};

/// A child process that runs `body` and ends with its result; killed and reaped at the end, whatever happens.
class Child {
 public:
  explicit Child(const std::function<int()>& body) {
    BOOST_REQUIRE(pipe(ready_) == 0);
    process_ = fork();
    BOOST_REQUIRE(process_ >= 0);
    if (process_ == 0) {
      close(ready_[0]);
      ready_descriptor = ready_[1];
      _exit(body());
    }
    close(ready_[1]);
  }
  ~Child() {
    if (process_ > 0) {
      kill(process_, SIGKILL);
      waitpid(process_, nullptr, 0);
    }
    close(ready_[0]);
  }
  /// The child has called tell().
  bool wait_told(char& into) {
    pollfd descriptor{ready_[0], POLLIN, 0};
    return poll(&descriptor, 1, static_cast<int>(kPatience.ns / 1'000'000)) == 1 && read(ready_[0], &into, 1) == 1;
  }
  static void tell(char what = 'r') { [[maybe_unused]] const ssize_t written = write(ready_descriptor, &what, 1); }
  void kill_now() {
    kill(process_, SIGKILL);
    BOOST_REQUIRE(waitpid(process_, nullptr, 0) == process_);
    process_ = -1;
  }
  void stop() const { kill(process_, SIGSTOP); }
  int join() {
    int status = 0;
    BOOST_REQUIRE(waitpid(process_, &status, 0) == process_);
    process_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  static inline int ready_descriptor = -1;
  int ready_[2] = {-1, -1};
  pid_t process_ = -1;
};

}  // namespace verbena::host::test
