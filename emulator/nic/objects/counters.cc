#include "emulator/nic/objects/counters.h"

namespace verbena::nic {

std::string_view to_string(Counter counter) {
  switch (counter) {
#define VERBENA_NIC_COUNTER(name) \
  case Counter::name:             \
    return #name;
    VERBENA_NIC_COUNTERS(VERBENA_NIC_COUNTER)
#undef VERBENA_NIC_COUNTER
    case Counter::count_:
      break;
  }
  return "unknown";
}

}  // namespace verbena::nic
