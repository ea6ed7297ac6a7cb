#include "emulator/host/os/descriptor.h"

#include <unistd.h>

namespace verbena::host {

void Descriptor::reset() {
  if (fd_ >= 0) close(std::exchange(fd_, -1));
}

}  // namespace verbena::host
