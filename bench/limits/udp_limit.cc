// The limit of a UDP link on this machine: datagrams that cross the loopback interface with GSO and GRO and nothing
// else.
//
// Solely responsible for three figures: what a receiver gets of 4 KiB datagrams, of 64-octet ones, and half the round
// trip of 8 octets while both sides poll. No headers, no acknowledgements: a bound, not a model.
// Usage: udp_limit [bandwidth] [message_rate] [latency]
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <thread>
#include <vector>

#include "bench/limits/measure.h"

namespace verbena::bench {
namespace {

constexpr double kSeconds = 1.0;
constexpr std::size_t kBufferBytes = 65536;
constexpr std::size_t kBatchBytes = 61440;  // one GSO send: below the 64 KiB of a datagram
constexpr std::size_t kSegmentsMax = 64;    // UDP_MAX_SEGMENTS of the kernel

[[noreturn]] void die(const char* what) {
  std::perror(what);
  std::exit(1);
}

/// A socket bound to a free port of the loopback interface.
struct Socket {
  Socket() {
    if (fd < 0) die("socket");
    const int bytes = 4 << 20;
    ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0) die("bind");
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) die("getsockname");
  }
  ~Socket() { ::close(fd); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  void connect_to(const Socket& peer) const {
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&peer.address), sizeof peer.address) != 0) die("connect");
  }

  int fd = ::socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in address{};
};

double received_bytes_per_second(std::size_t datagram_bytes) {
  const Socket sender;
  const Socket receiver;
  sender.connect_to(receiver);
  const int segment = static_cast<int>(datagram_bytes);
  const int on = 1;
  if (::setsockopt(sender.fd, SOL_UDP, UDP_SEGMENT, &segment, sizeof segment) != 0) die("UDP_SEGMENT");
  if (::setsockopt(receiver.fd, SOL_UDP, UDP_GRO, &on, sizeof on) != 0) die("UDP_GRO");
  const std::size_t segments = std::min(kSegmentsMax, kBatchBytes / datagram_bytes);
  std::atomic<bool> stop{false};
  std::thread producer([&] {
    pin(kCoreA);
    const std::vector<char> batch(segments * datagram_bytes, 'v');
    while (!stop.load(std::memory_order_relaxed)) {
      if (::send(sender.fd, batch.data(), batch.size(), 0) < 0 && errno != ENOBUFS && errno != EAGAIN) die("send");
    }
  });
  pin(kCoreB);
  std::vector<char> buffer(kBufferBytes);
  std::size_t received = 0;
  const Stopwatch watch;
  double elapsed = 0;
  while ((elapsed = watch.seconds()) < kSeconds) {
    const ssize_t size = ::recv(receiver.fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (size > 0) received += static_cast<std::size_t>(size);
  }
  stop = true;
  producer.join();
  return static_cast<double>(received) / elapsed;
}

/// Polls for one datagram; false when `stop` was set meanwhile.
bool poll_datagram(int fd, const std::atomic<bool>& stop) {
  char buffer[64];
  while (!stop.load(std::memory_order_relaxed)) {
    if (::recv(fd, buffer, sizeof buffer, MSG_DONTWAIT) > 0) return true;
  }
  return false;
}

double one_way_microseconds(int rounds) {
  const Socket near;
  const Socket far;
  near.connect_to(far);
  far.connect_to(near);
  const char message[8] = {};
  std::atomic<bool> stop{false};
  std::thread other([&] {
    pin(kCoreB);
    while (poll_datagram(far.fd, stop)) {
      if (::send(far.fd, message, sizeof message, 0) < 0) die("send");
    }
  });
  pin(kCoreA);
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    const Stopwatch watch;
    if (::send(near.fd, message, sizeof message, 0) < 0) die("send");
    poll_datagram(near.fd, stop);
    times.push_back(watch.seconds());
  }
  stop = true;
  other.join();
  return median(times) / 2 * 1e6;
}

}  // namespace
}  // namespace verbena::bench

int main(int argc, char** argv) {
  using namespace verbena::bench;
  if (chosen(argc, argv, "bandwidth")) report("bandwidth_gbytes", received_bytes_per_second(4096) / 1e9);
  if (chosen(argc, argv, "message_rate")) report("message_rate_millions", received_bytes_per_second(64) / 64 / 1e6);
  if (chosen(argc, argv, "latency")) report("latency_microseconds", one_way_microseconds(50'000));
}
