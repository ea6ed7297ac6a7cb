/* What the compiler's own archives expect of libc and an older libc does not have. Only the tarball's binaries have it.
 * Hidden: each binary has its own, and no newer libc's is touched. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

#define OWN __attribute__((visibility("hidden")))

/* glibc 2.32: tells libstdc++ that it may count references without atomic instructions, when it is not zero. Zero is
 * always true enough. */
OWN char __libc_single_threaded = 0;

/* glibc 2.36: what std::random_device draws from. We do not use that, but libstdc++'s strings bring it along. */
OWN uint32_t arc4random(void) {
  uint32_t number;
  const int kept = errno;
  ssize_t drawn;
  do {
    drawn = getrandom(&number, sizeof number, 0);
  } while (drawn < 0 && errno == EINTR);
  if (drawn != sizeof number) abort();
  errno = kept;
  return number;
}
