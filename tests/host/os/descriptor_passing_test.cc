// A message with descriptors arrives whole or is known not to be, and no descriptor is left open that nobody wants.
#include "emulator/host/os/descriptor_passing.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include "emulator/host/os/abstract_name.h"
#include "tests/host/os/linger_trap.h"

using namespace verbena::host;

namespace {

struct Ends {
  Ends() {
    int pair[2];
    BOOST_REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    here = Descriptor(pair[0]);
    there = Descriptor(pair[1]);
  }
  bool send(std::string_view text, std::span<const int> descriptors) const {
    return send_with_descriptors(here.get(), std::as_bytes(std::span(text)), descriptors);
  }
  MessageWithDescriptors receive() {
    return receive_with_descriptors(there.get(), std::as_writable_bytes(std::span(octets)));
  }
  Descriptor here;
  Descriptor there;
  std::array<char, 4> octets{};
};

/// The lowest descriptor that is free.
int lowest_free() {
  const Descriptor probe(open("/dev/null", O_RDONLY | O_CLOEXEC));
  return probe.get();
}

}  // namespace

BOOST_AUTO_TEST_CASE(message_arrives_with_the_same_files_as_close_on_exec) {
  Ends ends;
  int pipe_ends[2];
  BOOST_REQUIRE(pipe(pipe_ends) == 0);
  const Descriptor read_end(pipe_ends[0]);
  const Descriptor write_end(pipe_ends[1]);
  BOOST_REQUIRE(ends.send("abcd", std::array{read_end.get(), write_end.get()}));
  const MessageWithDescriptors message = ends.receive();
  BOOST_TEST(message.bytes == 4);
  BOOST_TEST(message.is_whole);
  BOOST_TEST(std::string_view(ends.octets.data(), 4) == "abcd");
  BOOST_REQUIRE(message.descriptor_count == 2u);
  BOOST_TEST((fcntl(message.descriptors[0].get(), F_GETFD) & FD_CLOEXEC) != 0);
  BOOST_TEST(write(message.descriptors[1].get(), "x", 1) == 1);
  char octet = 0;
  BOOST_TEST(read(read_end.get(), &octet, 1) == 1);
}

BOOST_AUTO_TEST_CASE(message_too_long_is_not_whole_and_its_descriptors_close) {
  Ends ends;
  const int before = lowest_free();
  BOOST_REQUIRE(ends.send("abcde", std::array{ends.here.get()}));
  BOOST_TEST(!ends.receive().is_whole);
  BOOST_TEST(lowest_free() == before);
}

BOOST_AUTO_TEST_CASE(excess_descriptors_make_a_message_not_whole_and_are_closed) {
  Ends ends;
  const int before = lowest_free();
  char octet = 'a';
  iovec piece{&octet, 1};
  constexpr std::size_t kSent = kDescriptorsPassedMax + 2;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kSent * sizeof(int))> control{};
  msghdr header{};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  cmsghdr* const item = CMSG_FIRSTHDR(&header);
  item->cmsg_level = SOL_SOCKET;
  item->cmsg_type = SCM_RIGHTS;
  item->cmsg_len = CMSG_LEN(kSent * sizeof(int));
  const std::vector<int> descriptors(kSent, ends.here.get());
  std::memcpy(CMSG_DATA(item), descriptors.data(), kSent * sizeof(int));
  BOOST_REQUIRE(sendmsg(ends.here.get(), &header, 0) == 1);
  BOOST_TEST(!ends.receive().is_whole);
  BOOST_TEST(lowest_free() == before);
}

BOOST_AUTO_TEST_CASE(nothing_there_and_an_end_are_told_apart) {
  Ends ends;
  BOOST_TEST(ends.receive().bytes == -1);
  BOOST_TEST(errno == EAGAIN);
  ends.here.reset();
  BOOST_TEST(ends.receive().bytes == 0);
}

BOOST_AUTO_TEST_CASE(what_is_received_does_not_linger_when_it_is_closed) {
  const Descriptor victim(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const AbstractName name("verbena-test/passing/%d", static_cast<int>(::getpid()));
  BOOST_REQUIRE(name.bind(victim.get()));
  const test::LingerTrap trap([at = test::Address(victim.get())](int lingering) {
    return at.pass(SOCK_DGRAM, std::array{std::byte{1}}, lingering);
  });
  BOOST_REQUIRE(trap.is_passed);
  std::array<std::byte, 1> octet;
  BOOST_TEST(test::is_done_at_once([&] { BOOST_TEST(receive_with_descriptors(victim.get(), octet).bytes == 1); }));
}
