#include "emulator/host/engine/faultable_copy.h"

namespace verbena::host {

#if defined(__x86_64__)
namespace {
/// One for each place in the code where a short copy stands. Distances from the fields themselves.
struct CopyPlace {
  std::int32_t begin;
  std::int32_t end;
  std::int32_t way_out;
};
std::uintptr_t address_of(const std::int32_t& distance) {
  return reinterpret_cast<std::uintptr_t>(&distance) + static_cast<std::uintptr_t>(std::intptr_t{distance});
}
}  // namespace

// Made by the linker, as for every section whose name is an identifier.
extern "C" {
[[gnu::visibility("hidden")]] extern const CopyPlace first_copy_place[] __asm__("__start_verbena_copies");
[[gnu::visibility("hidden")]] extern const CopyPlace end_of_copy_places[] __asm__("__stop_verbena_copies");
}

bool leave_faultable_copy(ucontext_t& interrupted) {
  greg_t& instruction = interrupted.uc_mcontext.gregs[REG_RIP];
  const auto at = static_cast<std::uintptr_t>(instruction);
  for (const CopyPlace* place = first_copy_place; place != end_of_copy_places; ++place) {
    if (at < address_of(place->begin) || at >= address_of(place->end)) continue;
    instruction = static_cast<greg_t>(address_of(place->way_out));
    return true;
  }
  return false;
}
#else
bool leave_faultable_copy(ucontext_t&) {
  return false;
}
#endif

}  // namespace verbena::host
