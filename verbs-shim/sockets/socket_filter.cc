#include "verbs-shim/sockets/socket_filter.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "verbs-shim/sockets/node_names.h"

namespace verbena::path {
namespace {

constexpr std::uint32_t kMark = 0x56424e41;
constexpr std::uint32_t kNetwork = static_cast<std::uint32_t>(SKF_NET_OFF);  // where the IP header begins
constexpr std::uint32_t kSourceAt = kNetwork + 12;
constexpr std::uint32_t kSourceLastOctetAt = kNetwork + 15;
constexpr std::uint32_t kKeepAll = UINT32_MAX;
// By which the addresses of a device's ports differ (device_address).
constexpr std::uint32_t kPortBits = (host::kPortsMax - 1) << host::kPortShift;
static_assert((host::kPortsMax & (host::kPortsMax - 1)) == 0);

enum class Attached : std::uint8_t { none, ours, theirs };

// The steps, by their places; a jump says how many steps to leave out.
constexpr std::size_t kSelectAt = 13;                                    // a step for each word but the last
constexpr std::size_t kWordsAt = kSelectAt + host::NodeSet::kWords - 1;  // two steps for each word, the last word first
constexpr std::size_t kTestAt = kWordsAt + 2 * host::NodeSet::kWords;
constexpr std::size_t kLoseAt = kTestAt + 3;
constexpr std::size_t kKeepAt = kLoseAt + 1;
static_assert(kKeepAt + 1 == kFilterLength);

constexpr std::uint8_t jump(std::size_t from, std::size_t to) {
  return static_cast<std::uint8_t>(to - from - 1);
}

Attached attached(int fd, FilterProgram& program) {
  socklen_t steps = kFilterLength;  // in steps, not octets
  std::memset(&program, 0, sizeof program);
  if (syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_GET_FILTER, &program, &steps) != 0) return Attached::theirs;
  if (steps == 0) return Attached::none;
  return steps == kFilterLength && program.steps[0].code == (BPF_LD | BPF_IMM) && program.steps[0].k == kMark
             ? Attached::ours
             : Attached::theirs;
}

}  // namespace

FilterProgram filter_program(const host::NodeSet& deaf_to) {
  FilterProgram program{};
  sock_filter* const steps = program.steps;
  std::size_t at = 0;
  const auto step = [&](unsigned code, std::uint32_t k, std::uint8_t if_true = 0, std::uint8_t if_false = 0) {
    steps[at++] = {static_cast<std::uint16_t>(code), if_true, if_false, k};
  };
  step(BPF_LD | BPF_IMM, kMark);
  step(BPF_LD | BPF_B | BPF_ABS, kNetwork);
  step(BPF_ALU | BPF_RSH | BPF_K, 4);
  step(BPF_JMP | BPF_JEQ | BPF_K, 4, 0, jump(at, kKeepAt));  // IPv4
  step(BPF_LD | BPF_W | BPF_ABS, kSourceAt);
  step(BPF_ALU | BPF_SUB | BPF_K, host::kNodeNetwork);
  step(BPF_ALU | BPF_AND | BPF_K, ~kPortBits);
  step(BPF_JMP | BPF_JGE | BPF_K, host::kDevicesMax << host::kDeviceShift, jump(at, kKeepAt), 0);
  step(BPF_LD | BPF_B | BPF_ABS, kSourceLastOctetAt);
  step(BPF_ALU | BPF_AND | BPF_K, 31);
  step(BPF_MISC | BPF_TAX, 0);  // the bit in its word
  step(BPF_LD | BPF_B | BPF_ABS, kSourceLastOctetAt);
  step(BPF_ALU | BPF_RSH | BPF_K, 5);
  constexpr std::size_t kLast = host::NodeSet::kWords - 1;
  for (std::size_t word = 0; word < kLast; ++word)
    step(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(word), jump(at, kWordsAt + 2 * (word + 1)), 0);
  step(BPF_LD | BPF_IMM, deaf_to.words[kLast]);
  step(BPF_JMP | BPF_JA, jump(at, kTestAt));
  for (std::size_t word = 0; word < kLast; ++word) {
    step(BPF_LD | BPF_IMM, deaf_to.words[word]);
    step(BPF_JMP | BPF_JA, jump(at, kTestAt));
  }
  step(BPF_ALU | BPF_RSH | BPF_X, 0);
  step(BPF_ALU | BPF_AND | BPF_K, 1);
  step(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, jump(at, kKeepAt));
  step(BPF_RET | BPF_K, 0);
  step(BPF_RET | BPF_K, kKeepAll);
  return program;
}

bool make_deaf(int fd, const host::NodeSet& to) {
  FilterProgram present;
  const Attached had = attached(fd, present);
  if (had == Attached::theirs) {
    errno = EEXIST;
    return false;
  }
  if (to.empty()) {
    const int nothing = 0;
    return had == Attached::none ||
           syscall(SYS_setsockopt, fd, SOL_SOCKET, SO_DETACH_FILTER, &nothing, sizeof nothing) == 0;
  }
  FilterProgram wanted = filter_program(to);
  if (had == Attached::ours && std::memcmp(&present, &wanted, sizeof wanted) == 0) return true;
  const sock_fprog program{.len = kFilterLength, .filter = wanted.steps};
  return syscall(SYS_setsockopt, fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
}

}  // namespace verbena::path
