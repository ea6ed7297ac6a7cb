// NETLINK_RDMA by every call that sends and receives: a question is one in however many pieces it comes, and its answer
// is a datagram of the kernel's. The test itself runs under the path shim (path.cmake).
#include <linux/netlink.h>
#include <poll.h>
#include <rdma/rdma_netlink.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace {

constexpr std::uint16_t kGetDevice = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET);

struct Question {
  nlmsghdr header{sizeof(Question), kGetDevice, NLM_F_REQUEST, 77, 0};
  nlattr attribute{8, RDMA_NLDEV_ATTR_DEV_INDEX};
  std::uint32_t index = 0;
};
static_assert(sizeof(Question) == 24);

struct Socket {
  explicit Socket(int flags = 0) : fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | flags, NETLINK_RDMA)) {
    BOOST_REQUIRE(fd >= 0);
  }
  ~Socket() { close(fd); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  bool is_readable() const {
    pollfd entry{fd, POLLIN, 0};
    return poll(&entry, 1, 0) == 1 && entry.revents == POLLIN;
  }
  std::vector<char> receive() const {
    std::vector<char> octets(16384);
    const ssize_t got = recv(fd, octets.data(), octets.size(), MSG_DONTWAIT);
    octets.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return octets;
  }
  int fd;
};

nlmsghdr header_of(const std::vector<char>& octets) {
  nlmsghdr header{};
  BOOST_REQUIRE_GE(octets.size(), sizeof header);
  std::memcpy(&header, octets.data(), sizeof header);
  return header;
}

bool tells_of_device(const std::vector<char>& octets) {
  const nlmsghdr header = header_of(octets);
  return header.nlmsg_type == kGetDevice && header.nlmsg_seq == 77 && header.nlmsg_len == octets.size() &&
         std::string(octets.begin(), octets.end()).find("mlx5_7") != std::string::npos;
}

/// The errno value, negative, that a message of this type carries.
int error_in(const std::vector<char>& octets, std::uint16_t type = NLMSG_ERROR) {
  BOOST_TEST(header_of(octets).nlmsg_type == type);
  std::int32_t error = 0;
  BOOST_REQUIRE_GE(octets.size(), NLMSG_HDRLEN + sizeof error);
  std::memcpy(&error, octets.data() + NLMSG_HDRLEN, sizeof error);
  return error;
}

using Ask = std::function<ssize_t(int fd, Question& question)>;

ssize_t by_message(int fd, std::vector<iovec> pieces, sockaddr_nl* to = nullptr) {
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = pieces.size();
  message.msg_name = to;
  message.msg_namelen = to != nullptr ? sizeof *to : 0;
  return sendmsg(fd, &message, MSG_NOSIGNAL);
}

sockaddr_nl kernel() {
  sockaddr_nl name{};
  name.nl_family = AF_NETLINK;
  return name;
}

const std::pair<const char*, Ask> kWays[] = {
    {"write", [](int fd, Question& it) { return write(fd, &it, sizeof it); }},
    {"writev",
     [](int fd, Question& it) {
       const iovec pieces[] = {{&it, 5}, {reinterpret_cast<char*>(&it) + 5, sizeof it - 5}};
       return writev(fd, pieces, 2);
     }},
    {"send", [](int fd, Question& it) { return send(fd, &it, sizeof it, 0); }},
    {"sendto",
     [](int fd, Question& it) {
       const sockaddr_nl to = kernel();
       return sendto(fd, &it, sizeof it, 0, reinterpret_cast<const sockaddr*>(&to), sizeof to);
     }},
    {"sendmsg, one piece", [](int fd, Question& it) { return by_message(fd, {{&it, sizeof it}}); }},
    {"sendmsg, two pieces and an address",
     [](int fd, Question& it) {
       sockaddr_nl to = kernel();
       return by_message(fd, {{&it.header, sizeof it.header}, {&it.attribute, 8}}, &to);
     }},
    {"sendmmsg",
     [](int fd, Question& it) -> ssize_t {
       iovec piece{&it, sizeof it};
       mmsghdr message{};
       message.msg_hdr.msg_iov = &piece;
       message.msg_hdr.msg_iovlen = 1;
       return sendmmsg(fd, &message, 1, 0) == 1 ? static_cast<ssize_t>(message.msg_len) : -1;
     }},
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_question_is_answered_whichever_call_has_sent_it) {
  for (const auto& [name, ask] : kWays) {
    const Socket socket;
    Question question;
    BOOST_CHECK(!socket.is_readable());
    BOOST_CHECK_MESSAGE(ask(socket.fd, question) == sizeof question, name << ": " << std::strerror(errno));
    BOOST_CHECK_MESSAGE(socket.is_readable(), name);
    BOOST_CHECK_MESSAGE(tells_of_device(socket.receive()), name);
    BOOST_CHECK_MESSAGE(!socket.is_readable(), name);
  }
}

BOOST_AUTO_TEST_CASE(an_answer_can_be_looked_at_and_is_cut_to_the_room_there_is) {
  const Socket socket;
  Question question;
  char octets[4096];
  BOOST_REQUIRE_EQUAL(send(socket.fd, &question, sizeof question, 0), ssize_t{sizeof question});
  const ssize_t whole = recv(socket.fd, octets, 0, MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT);
  BOOST_CHECK_GT(whole, 16);
  BOOST_CHECK_EQUAL(recv(socket.fd, octets, sizeof octets, MSG_PEEK), whole);
  iovec pieces[] = {{octets, 16}, {octets + 1000, 4}};
  sockaddr_nl from{};
  msghdr message{};
  message.msg_name = &from;
  message.msg_namelen = sizeof from;
  message.msg_iov = pieces;
  message.msg_iovlen = 2;
  BOOST_CHECK_EQUAL(recvmsg(socket.fd, &message, 0), 20);
  BOOST_CHECK_EQUAL(message.msg_flags & MSG_TRUNC, MSG_TRUNC);
  BOOST_CHECK_EQUAL(from.nl_family, AF_NETLINK);
  BOOST_CHECK_EQUAL(from.nl_pid, 0u);  // as the kernel sends; iproute2 takes nothing else
  BOOST_CHECK_EQUAL(recv(socket.fd, octets, sizeof octets, MSG_DONTWAIT), -1);  // the rest is lost
  BOOST_CHECK_EQUAL(errno, EAGAIN);
}

BOOST_AUTO_TEST_CASE(read_recvfrom_and_recvmmsg_hear_it_too) {
  const Socket socket(SOCK_NONBLOCK);
  Question question;
  std::vector<char> octets(4096);
  BOOST_CHECK_EQUAL(read(socket.fd, octets.data(), octets.size()), -1);
  BOOST_CHECK_EQUAL(errno, EAGAIN);
  for (int i = 0; i < 3; ++i) BOOST_REQUIRE_GT(write(socket.fd, &question, sizeof question), 0);
  BOOST_CHECK_GT(read(socket.fd, octets.data(), octets.size()), 16);
  sockaddr_nl from{};
  socklen_t bytes = sizeof from;
  BOOST_CHECK_GT(recvfrom(socket.fd, octets.data(), octets.size(), 0, reinterpret_cast<sockaddr*>(&from), &bytes), 16);
  BOOST_CHECK_EQUAL(from.nl_pid, 0u);
  iovec piece{octets.data(), octets.size()};
  mmsghdr message{};
  message.msg_hdr.msg_name = &from;
  message.msg_hdr.msg_namelen = sizeof from;
  message.msg_hdr.msg_iov = &piece;
  message.msg_hdr.msg_iovlen = 1;
  from.nl_pid = 1;
  BOOST_CHECK_EQUAL(recvmmsg(socket.fd, &message, 1, 0, nullptr), 1);
  BOOST_CHECK_EQUAL(from.nl_pid, 0u);
}

BOOST_AUTO_TEST_CASE(epoll_and_a_duplicate_of_the_descriptor_know_it) {
  const Socket socket;
  const int copy = dup(socket.fd);
  const int poller = epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{};
  event.events = EPOLLIN;
  BOOST_REQUIRE_EQUAL(epoll_ctl(poller, EPOLL_CTL_ADD, socket.fd, &event), 0);
  BOOST_CHECK_EQUAL(epoll_wait(poller, &event, 1, 0), 0);
  Question question;
  BOOST_REQUIRE_EQUAL(write(copy, &question, sizeof question), ssize_t{sizeof question});
  BOOST_CHECK_EQUAL(epoll_wait(poller, &event, 1, 0), 1);
  BOOST_CHECK(tells_of_device(socket.receive()));
  close(poller);
  close(copy);
}

BOOST_AUTO_TEST_CASE(lists_acknowledgements_and_errors_are_the_kernels) {
  const Socket socket;
  Question question;
  question.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  BOOST_REQUIRE_GT(send(socket.fd, &question, sizeof question, 0), 0);
  const std::vector<char> list = socket.receive();
  const nlmsghdr first = header_of(list);
  BOOST_CHECK_EQUAL(first.nlmsg_flags & NLM_F_MULTI, NLM_F_MULTI);
  const nlmsghdr last = header_of({list.begin() + NLMSG_ALIGN(first.nlmsg_len), list.end()});
  BOOST_CHECK_EQUAL(last.nlmsg_type, NLMSG_DONE);

  question.header.nlmsg_flags = NLM_F_REQUEST;
  question.header.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_NEWLINK);
  BOOST_REQUIRE_GT(send(socket.fd, &question, sizeof question, 0), 0);
  BOOST_CHECK_EQUAL(error_in(socket.receive()), -EOPNOTSUPP);

  // Two questions in one datagram have two answers.
  Question both[2];
  BOOST_REQUIRE_EQUAL(send(socket.fd, both, sizeof both, 0), ssize_t{sizeof both});
  BOOST_CHECK(tells_of_device(socket.receive()));
  BOOST_CHECK(tells_of_device(socket.receive()));

  sockaddr_nl somebody = kernel();
  somebody.nl_pid = 4711;
  BOOST_CHECK_EQUAL(sendto(socket.fd, both, 24, 0, reinterpret_cast<sockaddr*>(&somebody), sizeof somebody), -1);
  BOOST_CHECK_EQUAL(errno, EPERM);
}

BOOST_AUTO_TEST_CASE(what_a_kernel_does_not_know_is_refused_with_its_error) {
  const auto command = [](unsigned number) {
    return static_cast<std::uint16_t>(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, number));
  };
  struct Case {
    const char* name;
    std::uint16_t type;
    std::uint16_t attribute;
    std::uint32_t value;
    int error;
  };
  const Case kCases[] = {
      {"another device", kGetDevice, RDMA_NLDEV_ATTR_DEV_INDEX, 77, -EINVAL},
      {"no device", kGetDevice, RDMA_NLDEV_ATTR_PORT_INDEX, 0, -EINVAL},
      {"no port", command(RDMA_NLDEV_CMD_PORT_GET), RDMA_NLDEV_ATTR_DEV_INDEX, 0, -EINVAL},
      {"resources of another device", command(RDMA_NLDEV_CMD_RES_GET), RDMA_NLDEV_ATTR_DEV_INDEX, 1, -EINVAL},
      {"a QP without its number", command(RDMA_NLDEV_CMD_RES_QP_GET), RDMA_NLDEV_ATTR_DEV_INDEX, 0, -EINVAL},
      {"a command beyond the last", command(200), RDMA_NLDEV_ATTR_DEV_INDEX, 0, -EINVAL},
      {"a command that was never given", command(8), RDMA_NLDEV_ATTR_DEV_INDEX, 0, -EINVAL},
      {"another client", RDMA_NL_GET_TYPE(RDMA_NL_IWCM, 1), RDMA_NLDEV_ATTR_DEV_INDEX, 0, -EINVAL},
      {"what Verbena does not do", command(RDMA_NLDEV_CMD_SET), RDMA_NLDEV_ATTR_DEV_INDEX, 0, -EOPNOTSUPP},
  };
  for (const Case& one : kCases) BOOST_TEST_CONTEXT(one.name) {
      const Socket socket;
      Question question;
      question.header.nlmsg_type = one.type;
      question.attribute.nla_type = one.attribute;
      question.index = one.value;
      BOOST_REQUIRE_GT(send(socket.fd, &question, sizeof question, 0), 0);
      BOOST_TEST(error_in(socket.receive()) == one.error);
      BOOST_TEST(!socket.is_readable());
    }
  const Socket socket;
  Question list;
  list.header.nlmsg_flags |= NLM_F_DUMP;
  list.header.nlmsg_type = command(200);
  BOOST_REQUIRE_GT(send(socket.fd, &list, sizeof list, 0), 0);
  BOOST_TEST(error_in(socket.receive()) == -EINVAL);
  list.header.nlmsg_type = command(RDMA_NLDEV_CMD_PORT_GET);
  list.index = 77;
  BOOST_REQUIRE_GT(send(socket.fd, &list, sizeof list, 0), 0);
  BOOST_TEST(error_in(socket.receive(), NLMSG_DONE) == -EINVAL);
}

BOOST_AUTO_TEST_CASE(an_acknowledgement_is_a_datagram_behind_the_answer) {
  const Socket socket;
  Question question;
  question.header.nlmsg_flags |= NLM_F_ACK;
  BOOST_REQUIRE_GT(send(socket.fd, &question, sizeof question, 0), 0);
  BOOST_TEST(tells_of_device(socket.receive()));
  BOOST_TEST(error_in(socket.receive()) == 0);
}

BOOST_AUTO_TEST_CASE(what_is_no_message_is_taken_and_not_answered) {
  Question question;
  for (const std::size_t bytes : {std::size_t{1}, sizeof(nlmsghdr) - 1, sizeof question - 1}) {
    const Socket socket;
    BOOST_TEST(send(socket.fd, &question, bytes, 0) == static_cast<ssize_t>(bytes));
    BOOST_TEST(write(socket.fd, &question, bytes) == static_cast<ssize_t>(bytes));
    sockaddr_nl to = kernel();
    BOOST_TEST(by_message(socket.fd, {{&question, bytes}}, &to) == static_cast<ssize_t>(bytes));
    BOOST_TEST(!socket.is_readable());
  }
  const Socket socket;
  question.header.nlmsg_len = sizeof(nlmsghdr) - 1;
  BOOST_TEST(send(socket.fd, &question, sizeof question, 0) == ssize_t{sizeof question});
  BOOST_TEST(!socket.is_readable());
}

/// As programs do that ask the kernel which memory they may read.
BOOST_AUTO_TEST_CASE(unreadable_memory_fails_the_call_not_the_program) {
  const Socket socket;
  void* const nothing = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  BOOST_REQUIRE(nothing != MAP_FAILED);
  int ends[2];
  BOOST_REQUIRE(pipe(ends) == 0);
  errno = 0;
  BOOST_TEST(write(ends[1], nothing, 24) == -1);
  BOOST_TEST(errno == EFAULT);
  const iovec piece{nothing, 24};
  errno = 0;
  BOOST_TEST(writev(ends[1], &piece, 1) == -1);
  BOOST_TEST(errno == EFAULT);
  close(ends[0]);
  close(ends[1]);
  munmap(nothing, 4096);
}
