#include "emulator/host/os/drawn_numbers.h"

#include <sys/random.h>

#include <cerrno>

#include "emulator/fabric/chance.h"
#include "wire/assert.h"

namespace verbena::host {

std::uint64_t DrawnNumbers::operator()() {
  if (seed_) return fabric::mix_all({*seed_, drawn_++});
  std::uint64_t number = 0;
  const int kept = errno;
  ssize_t drawn = 0;
  // So few octets come whole; only a machine that has just started makes them wait, and a signal may end that.
  do {
    drawn = ::getrandom(&number, sizeof number, 0);
  } while (drawn < 0 && errno == EINTR);
  VERBENA_ASSERT(drawn == sizeof number);
  errno = kept;
  return number;
}

}  // namespace verbena::host
