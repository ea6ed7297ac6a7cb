#include "wire/crc32.h"

#if defined(VERBENA_HAS_ISAL)
#include <isa-l/crc.h>
#endif

#include <atomic>

#include "wire/crc32_kernels.h"

namespace verbena::wire {

#if defined(VERBENA_HAS_ISAL)
namespace crc32_detail {

std::uint32_t update_isal(std::uint32_t crc, const std::byte* from, std::size_t size) {
  return crc32_gzip_refl(crc, reinterpret_cast<const unsigned char*>(from), size);
}

}  // namespace crc32_detail
#endif

namespace {

using namespace crc32_detail;
using Update = decltype(Crc32Kernel::update);

// The best first. A processor that can run one can run those behind it.
constexpr Crc32Kernel kKernels[] = {
#if defined(__x86_64__) && defined(VERBENA_HAS_ISAL)
    {"vpclmulqdq+isa-l", update_vpclmulqdq_isal},
    {"vpclmulqdq", update_vpclmulqdq},
    {"pclmulqdq+isa-l", update_pclmulqdq},
#elif defined(__x86_64__)
    {"vpclmulqdq", update_vpclmulqdq},
    {"pclmulqdq", update_pclmulqdq},
#endif
#if defined(VERBENA_HAS_ISAL)
    {"isa-l", update_isal},
#endif
    {"table", update_table},
};

/// How many of them this processor cannot run, or should not.
std::size_t kernels_left_out() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("pclmul") || !__builtin_cpu_supports("avx")) return kHasIsal ? 3 : 2;
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("vpclmulqdq")) return kHasIsal ? 2 : 1;
  if (!kHasIsal) return 0;
  // What ISA-L asks for before it takes its kernel for AVX-512. Without it the first one would be slow.
  const bool isal_takes_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                                 __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512bw") &&
                                 __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi2") &&
                                 __builtin_cpu_supports("gfni") && __builtin_cpu_supports("vaes") &&
                                 __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bitalg") &&
                                 __builtin_cpu_supports("avx512vpopcntdq");
  return isal_takes_avx512 ? 0 : 1;
#else
  return 0;
#endif
}

std::uint32_t choose_and_update(std::uint32_t crc, const std::byte* from, std::size_t size);

// Not chosen by a constructor: those of the libraries that a program is given run before anything of its own, and none
// of ours does anything. Threads that meet here choose the same.
constinit std::atomic<Update> chosen{&choose_and_update};

std::uint32_t choose_and_update(std::uint32_t crc, const std::byte* from, std::size_t size) {
  const Update update = crc32_kernels().front().update;
  chosen.store(update, std::memory_order_relaxed);
  return update(crc, from, size);
}

}  // namespace

std::uint32_t crc32(std::uint32_t crc, const std::byte* from, std::size_t size) {
  return chosen.load(std::memory_order_relaxed)(crc, from, size);
}

std::span<const Crc32Kernel> crc32_kernels() {
  return std::span(kKernels).subspan(kernels_left_out());
}

std::string_view crc32_kernel_name() {
  return crc32_kernels().front().name;
}

}  // namespace verbena::wire
