// Copies in and out of application memory: contents, order, faults, and everybody else's faults.
#include "emulator/host/engine/app_memory.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <csetjmp>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "tests/support/unmapped.h"

namespace {
using namespace verbena;
using namespace verbena::host;

#if defined(VERBENA_THREAD_SANITIZER)
constexpr bool kThreadSanitizer = true;
#else
constexpr bool kThreadSanitizer = false;
#endif

struct Handler {
  Handler() {
    install_fault_handler();
  }  // before Boost.Test puts its own in place, which it does only if there is none
};

std::uint64_t address_of(const void* place) {
  return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(place));
}

/// Two pages, the second of which cannot be touched.
class HalfMapped {
 public:
  HalfMapped() { pages_.unmap_from(1); }
  std::byte* end() const { return pages_.page(1); }

 private:
  verbena::test::PagesThatGo pages_{2};
};

/// Runs `body` in a child; the signal that ended it, or -status.
template <class Body>
int how_it_ends(Body&& body) {
  const pid_t child = fork();
  BOOST_REQUIRE(child >= 0);
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);  // not Boost.Test's
    signal(SIGBUS, SIG_DFL);
    install_fault_handler();
    body();
    _exit(0);
  }
  int status = 0;
  BOOST_REQUIRE(waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

/// Short copies and long ones fault by different ways (faultable_copy.h), and within blocks, words and octets.
constexpr std::size_t kShortAndLong[] = {1, 8, 15, 64, 256, 257, 1000, 4000};

volatile sig_atomic_t seen_signal = 0;
void* volatile seen_address = nullptr;
std::jmp_buf way_out;
void jump_out(int signal, siginfo_t* info, void*) {
  seen_signal = signal;
  seen_address = info->si_addr;
  std::longjmp(way_out, 1);
}
void hand_on(int signal, siginfo_t* info, void* context) {
  // As an interposed sigaction would have it: ours first, then the application's.
  if (handle_fault(signal, info, context)) return;
  jump_out(signal, info, context);
}
void use_handler(void (*handler)(int, siginfo_t*, void*), int flags = SA_NODEFER) {
  struct sigaction action{};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | flags;
  sigaction(SIGSEGV, &action, nullptr);
}
}  // namespace

BOOST_FIXTURE_TEST_SUITE(app_memory, Handler)

BOOST_AUTO_TEST_CASE(copies_of_every_size_and_alignment_are_exact) {
  AppMemory memory;
  std::mt19937 random(3);
  std::vector<std::byte> source(9000);
  for (auto& octet : source) octet = static_cast<std::byte>(random());
  for (std::size_t bytes = 0; bytes <= 4200; bytes += bytes < 300 ? 1 : 97) {
    for (const std::size_t offset : {0u, 1u, 7u, 63u}) {
      std::vector<std::byte> target(bytes + 200, std::byte{0xee});
      BOOST_REQUIRE(memory.write(address_of(target.data() + 64), {source.data() + offset, bytes}));
      BOOST_REQUIRE(std::memcmp(target.data() + 64, source.data() + offset, bytes) == 0);
      BOOST_REQUIRE(target[63] == std::byte{0xee});
      BOOST_REQUIRE(target[64 + bytes] == std::byte{0xee});

      std::vector<std::byte> read(bytes);
      BOOST_REQUIRE(memory.read(address_of(source.data() + offset), read));
      BOOST_REQUIRE(std::equal(read.begin(), read.end(), source.data() + offset));
    }
  }
}

BOOST_AUTO_TEST_CASE(the_last_octet_appears_last) {
  // Another thread watches the last octet and then looks at all the others.
  AppMemory memory;
  for (const std::size_t bytes : {2u, 8u, 9u, 15u, 64u, 65u, 100u, 1024u, 4096u}) {
    std::vector<std::byte> target(bytes);
    std::vector<std::byte> source(bytes);
    std::atomic<bool> stop{false};
    std::atomic<int> looks{0};
    int torn = 0;
    std::thread watcher([&] {
      while (!stop.load()) {
        const std::byte last = std::atomic_ref(target[bytes - 1]).load(std::memory_order_acquire);
        for (std::size_t i = 0; i + 1 < bytes; ++i)
          torn += std::atomic_ref(target[i]).load(std::memory_order_relaxed) < last;
        ++looks;
      }
    });
    // Each round writes a larger number everywhere: an octet smaller than the last one seen is one that came after it.
    for (int round = 1; round < 256; round += 5) {
      std::memset(source.data(), round, bytes);
      BOOST_REQUIRE(memory.write(address_of(target.data()), source));
      for (const int before = looks.load(); looks.load() == before;) std::this_thread::yield();
    }
    stop = true;
    watcher.join();
    BOOST_TEST(torn == 0);
  }
}

BOOST_AUTO_TEST_CASE(a_copy_that_faults_fails_and_the_next_one_works) {
  AppMemory memory;
  const HalfMapped pages;
  for (const std::size_t size : kShortAndLong) {
    std::vector<std::byte> bytes(size);
    for (int round = 0; round < 100; ++round) {
      BOOST_REQUIRE(!memory.write(address_of(pages.end() - size / 2), bytes));
      BOOST_REQUIRE(!memory.read(address_of(pages.end() - size / 2), bytes));
      BOOST_REQUIRE(!memory.compare_swap(address_of(pages.end()), 0, 1));
      BOOST_REQUIRE(!memory.fetch_add(address_of(pages.end()), 1));
      BOOST_REQUIRE(!memory.write(16, bytes));
      BOOST_REQUIRE(!memory.write(std::uint64_t{1} << 62, bytes));  // not even an address
      BOOST_REQUIRE(!memory.write(~std::uint64_t{0} - size / 2, bytes));
      BOOST_REQUIRE(memory.write(address_of(pages.end() - size), bytes));
      BOOST_REQUIRE(memory.read(address_of(pages.end() - size), bytes));
    }
  }
}

BOOST_AUTO_TEST_CASE(what_lies_before_the_fault_has_been_copied) {
  AppMemory memory;
  const HalfMapped pages;
  for (const std::size_t size : kShortAndLong) {
    const std::size_t there = size / 2;
    const std::vector<std::byte> bytes(size, std::byte{7});
    std::memset(pages.end() - there, 0, there);
    BOOST_REQUIRE(!memory.write(address_of(pages.end() - there), bytes));
    // A word that crosses into what is not there may not have been stored in part.
    const std::size_t certain = there / sizeof(std::uint64_t) * sizeof(std::uint64_t);
    if (size <= 256)
      BOOST_TEST(std::count(pages.end() - there, pages.end() - there + certain, std::byte{7}) ==
                 static_cast<std::ptrdiff_t>(certain));
  }
}

BOOST_AUTO_TEST_CASE(a_file_that_was_cut_short_is_a_fault_like_any_other) {
  AppMemory memory;
  const int file = memfd_create("test", MFD_CLOEXEC);
  BOOST_REQUIRE(ftruncate(file, 4096) == 0);
  void* base = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  BOOST_REQUIRE(base != MAP_FAILED);
  BOOST_REQUIRE(ftruncate(file, 0) == 0);
  for (const std::size_t size : kShortAndLong)
    BOOST_TEST(!memory.write(address_of(base), std::vector<std::byte>(size)));  // SIGBUS
  munmap(base, 4096);
  close(file);
}

BOOST_AUTO_TEST_CASE(several_threads_may_fault_at_once) {
  const HalfMapped pages;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      AppMemory memory;
      for (const std::size_t size : kShortAndLong) {
        const std::vector<std::byte> bytes(size);
        for (int i = 0; i < 500; ++i) {
          wrong += memory.write(address_of(pages.end()), bytes);
          wrong += !memory.write(address_of(pages.end() - size), bytes);
        }
      }
    });
  for (auto& thread : threads) thread.join();
  BOOST_TEST(wrong.load() == 0);
}

BOOST_AUTO_TEST_CASE(atomics_return_what_was_there) {
  AppMemory memory;
  alignas(8) std::uint64_t cell = 5;
  BOOST_TEST((memory.fetch_add(address_of(&cell), 3) == 5U));
  BOOST_TEST(cell == 8U);
  BOOST_TEST((memory.compare_swap(address_of(&cell), 8, 100) == 8U));
  BOOST_TEST(cell == 100U);
  BOOST_TEST((memory.compare_swap(address_of(&cell), 8, 1) == 100U));
  BOOST_TEST(cell == 100U);
  BOOST_TEST(!memory.fetch_add(address_of(&cell) + 1, 1).has_value());
}

BOOST_AUTO_TEST_CASE(faults_of_others_end_as_they_would_without_us) {
  const HalfMapped pages;
  volatile auto* const bad = reinterpret_cast<volatile int*>(pages.end());
#if !defined(VERBENA_ADDRESS_SANITIZER) && !defined(VERBENA_THREAD_SANITIZER)  // which have handlers of their own
  BOOST_TEST(how_it_ends([&] { *bad = 1; }) == SIGSEGV);
  BOOST_TEST(how_it_ends([&] { raise(SIGSEGV); }) == SIGSEGV);
  BOOST_TEST(how_it_ends([&] { kill(getpid(), SIGBUS); }) == SIGBUS);
#endif
  if (kThreadSanitizer) return;  // its own handler keeps the signal blocked when one jumps out
  // A handler that was there before us gets the signal with its address; ours is above it again.
  BOOST_TEST(how_it_ends([&] {
               for (int round = 0; round < 3; ++round) {
                 use_handler(jump_out);
                 install_fault_handler();
                 if (setjmp(way_out) == 0) *bad = 1;
                 if (seen_signal != SIGSEGV || seen_address != const_cast<int*>(bad)) _exit(1);
                 seen_signal = 0;
                 AppMemory memory;
                 for (const std::size_t size : kShortAndLong)
                   if (memory.write(address_of(pages.end()), std::vector<std::byte>(size)) || seen_signal != 0)
                     _exit(2);
               }
             }) == 0);
  // One that was installed after us and asks us first.
  BOOST_TEST(how_it_ends([&] {
               use_handler(hand_on, 0);  // without SA_NODEFER, as most do
               AppMemory memory;
               for (int round = 0; round < 3; ++round)
                 for (const std::size_t size : kShortAndLong)
                   if (memory.write(address_of(pages.end()), std::vector<std::byte>(size)) || seen_signal != 0)
                     _exit(1);
               if (setjmp(way_out) == 0) *bad = 1;
               if (seen_signal != SIGSEGV) _exit(2);
             }) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
