#include "emulator/host/os/name_owner.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "emulator/host/os/same_user.h"

namespace verbena::host {
namespace {

// UNIX_DIAG_UID and what asks for it are younger than the headers of some distributions.
constexpr std::uint32_t kShowUser = 0x40;
constexpr std::uint16_t kUserAttribute = 7;
constexpr std::uint8_t kListens = 10;  // TCP_LISTEN

/// What one socket says of itself. `answer` begins behind the header of netlink.
std::optional<unsigned> user_if_named(const AbstractName& name, const char* answer, std::size_t bytes) {
  unix_diag_msg message;
  if (bytes < sizeof message) return std::nullopt;
  std::memcpy(&message, answer, sizeof message);
  // A connection that was accepted has its listener's name as well.
  if (message.udiag_type != SOCK_DGRAM && message.udiag_state != kListens) return std::nullopt;
  bool has_name = false;
  std::optional<unsigned> user;
  std::size_t at = NLMSG_ALIGN(sizeof message);
  for (rtattr attribute; at + sizeof attribute <= bytes; at += RTA_ALIGN(attribute.rta_len)) {
    std::memcpy(&attribute, answer + at, sizeof attribute);
    if (attribute.rta_len < sizeof attribute || at + attribute.rta_len > bytes) break;
    const char* const value = answer + at + RTA_LENGTH(0);
    const std::size_t length = attribute.rta_len - RTA_LENGTH(0);
    if (attribute.rta_type == UNIX_DIAG_NAME) {
      const std::string_view text = name.text();
      has_name = length == text.size() + 1 && value[0] == '\0' && std::memcmp(value + 1, text.data(), text.size()) == 0;
    } else if (attribute.rta_type == kUserAttribute && length == sizeof(unsigned)) {
      unsigned number = 0;
      std::memcpy(&number, value, sizeof number);
      user = number;
    }
  }
  return has_name ? user : std::nullopt;
}

bool ask_for_all(int asker) {
  struct Question {
    nlmsghdr header;
    unix_diag_req request;
  } question{};
  question.header.nlmsg_len = sizeof question;
  question.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  question.request.sdiag_family = AF_UNIX;
  question.request.udiag_states = UINT32_MAX;
  question.request.udiag_show = UDIAG_SHOW_NAME | kShowUser;
  return ::syscall(SYS_sendto, asker, &question, sizeof question, 0, nullptr, 0) == sizeof question;
}

std::optional<unsigned> find_owner(const AbstractName& name, int asker) {
  constexpr int kAnswersMax = 4096;  // of some forty sockets each
  if (!name.fits() || !ask_for_all(asker)) return std::nullopt;
  alignas(nlmsghdr) char answers[8192];
  for (int i = 0; i < kAnswersMax; ++i) {
    // The kernel makes the next part when it is asked for it: there is nothing to wait for.
    const long got = ::syscall(SYS_recvfrom, asker, answers, sizeof answers, MSG_DONTWAIT, nullptr, nullptr);
    if (got <= 0) return std::nullopt;
    std::size_t at = 0;
    for (nlmsghdr header; at + sizeof header <= static_cast<std::size_t>(got); at += NLMSG_ALIGN(header.nlmsg_len)) {
      std::memcpy(&header, answers + at, sizeof header);
      if (header.nlmsg_len < sizeof header || at + header.nlmsg_len > static_cast<std::size_t>(got))
        return std::nullopt;
      if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY) return std::nullopt;  // the end, or an error
      const std::size_t body = NLMSG_HDRLEN;
      if (const auto user = user_if_named(name, answers + at + body, header.nlmsg_len - body)) return user;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<unsigned> owner_of(const AbstractName& name) {
  const int kept = errno;
  const auto asker =
      static_cast<int>(::syscall(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG));
  std::optional<unsigned> owner;
  if (asker >= 0) {
    owner = find_owner(name, asker);
    ::syscall(SYS_close, asker);
  }
  errno = kept;
  return owner;
}

bool is_squatted(const AbstractName& name) {
  static std::atomic<bool> is_told{false};
  const auto owner = owner_of(name);
  if (!owner || *owner == own_user()) return false;
  if (!is_told.exchange(true)) {
    const std::string_view text = name.text();
    std::fprintf(stderr,
                 "verbena: user %u squats on the name '@%.*s', which is user %u's: it is ignored (docs/security.md)\n",
                 *owner, static_cast<int>(text.size()), text.data(), own_user());
  }
  return true;
}

bool is_held_by_us(const AbstractName& name) {
  return name.is_held() && !is_squatted(name);
}

}  // namespace verbena::host
