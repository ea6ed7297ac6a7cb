// System calls on sockets that neither libc nor the path shim knows of.
#include "emulator/host/os/kernel_call.h"

#include <pthread.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <cerrno>

#include "emulator/host/os/descriptor.h"
#include "tests/support/cancelled_threads.h"

using namespace verbena::host;

namespace {

struct Pair {
  std::array<Descriptor, 2> ends;
  Pair() {
    int made[2];
    BOOST_REQUIRE(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, made) == 0);
    ends = {Descriptor(made[0]), Descriptor(made[1])};
  }
};

/// Two messages of one octet each.
struct Messages {
  std::array<char, 2> octets{};
  std::array<iovec, 2> pieces{iovec{&octets[0], 1}, iovec{&octets[1], 1}};
  std::array<mmsghdr, 2> headers{};
  Messages() {
    for (std::size_t i = 0; i < headers.size(); ++i) {
      headers[i].msg_hdr.msg_iov = &pieces[i];
      headers[i].msg_hdr.msg_iovlen = 1;
    }
  }
};

/// Returns what it was given, once it has sent and received with its cancellation asked for.
void* send_and_receive(void* argument) {
  const Pair& pair = *static_cast<const Pair*>(argument);
  Messages messages;
  pthread_cancel(pthread_self());
  const bool sent = send_messages(pair.ends[0].get(), messages.headers, MSG_DONTWAIT) == 2;
  return sent && receive_messages(pair.ends[1].get(), messages.headers, MSG_DONTWAIT) == 2 ? argument : nullptr;
}

}  // namespace

BOOST_AUTO_TEST_CASE(messages_arrive_and_nothing_there_is_an_error_as_libc_has_it) {
  const Pair pair;
  Messages sent;
  sent.octets = {'a', 'b'};
  BOOST_TEST(send_messages(pair.ends[0].get(), sent.headers, MSG_DONTWAIT) == 2);
  Messages received;
  BOOST_TEST(receive_messages(pair.ends[1].get(), received.headers, MSG_DONTWAIT) == 2);
  BOOST_TEST(received.octets[0] == 'a');
  BOOST_TEST(received.octets[1] == 'b');
  BOOST_TEST(received.headers[0].msg_len == 1u);
  errno = 0;
  BOOST_TEST(receive_messages(pair.ends[1].get(), received.headers, MSG_DONTWAIT) == -1);
  BOOST_TEST(errno == EAGAIN);
}

BOOST_AUTO_TEST_CASE(no_thread_is_cancelled_in_them) {
  Pair pair;
  pthread_t thread{};
  BOOST_REQUIRE(pthread_create(&thread, nullptr, send_and_receive, &pair) == 0);
  void* result = nullptr;
  BOOST_REQUIRE(pthread_join(thread, &result) == 0);
  BOOST_TEST(result == &pair);
}
