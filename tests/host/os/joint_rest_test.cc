// One sleep over several words or descriptors: any of them ends it, and none is missed.
#include "emulator/host/os/joint_rest.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <thread>

#include "emulator/host/os/clock.h"
#include "emulator/host/os/descriptor.h"
#include "emulator/host/os/rest_word.h"

using namespace verbena;
using namespace verbena::host;

namespace {
constexpr Duration kLong = seconds(30);  // never waited out when all is well
constexpr std::size_t kSeveral = 3;

struct Words {
  std::array<std::uint32_t, kSeveral> resting{};
  std::array<std::uint32_t, kSeveral> ended{7, 8, 9};

  GuardedRest of(std::size_t i) { return {resting[i], ended[i]}; }
  RestSet begin(std::size_t count = kSeveral) {
    RestSet by;
    for (std::size_t i = 0; i < count; ++i) of(i).begin(by);
    return by;
  }
};

struct Descriptors {
  std::array<Descriptor, kSeveral> each{Descriptor(eventfd(0, EFD_NONBLOCK)), Descriptor(eventfd(0, EFD_NONBLOCK)),
                                        Descriptor(eventfd(0, EFD_NONBLOCK))};
  /// Also from threads, which may not ask Boost.Test.
  bool arrive(std::size_t at) const {
    const std::uint64_t one = 1;
    return write(each[at].get(), &one, sizeof one) == sizeof one;
  }
  RestSet begin() const {
    RestSet by;
    for (const Descriptor& descriptor : each) by.add_descriptor(descriptor.get());
    return by;
  }
};
}  // namespace

BOOST_AUTO_TEST_CASE(each_of_several_words_ends_a_sleep) {
  for (std::size_t i = 0; i < kSeveral; ++i) {
    Words words;
    const RestSet by = words.begin();
    std::thread ends([&] { words.of(i).end(); });
    BOOST_TEST(JointRest().rest(by, kLong));
    ends.join();
  }
}

BOOST_AUTO_TEST_CASE(a_word_that_has_changed_before_the_sleep_is_not_slept_over) {
  for (std::size_t i = 0; i < kSeveral; ++i) {
    Words words;
    const RestSet by = words.begin();
    BOOST_TEST(words.of(i).end());
    BOOST_TEST(JointRest().rest(by, kLong));
  }
}

BOOST_AUTO_TEST_CASE(each_of_several_descriptors_ends_a_sleep) {
  for (std::size_t i = 0; i < kSeveral; ++i) {
    const Descriptors descriptors;
    const RestSet by = descriptors.begin();
    bool has_arrived = false;
    std::thread ends([&] { has_arrived = descriptors.arrive(i); });
    BOOST_TEST(JointRest().rest(by, kLong));
    ends.join();
    BOOST_TEST(has_arrived);
    BOOST_TEST(JointRest().rest(by, kLong));  // they wait still
  }
}

BOOST_AUTO_TEST_CASE(a_sleep_that_nothing_ends_lasts_as_long_as_it_may) {
  Words words;
  const Descriptors descriptors;
  for (const RestSet& by : {words.begin(1), words.begin(), descriptors.begin()}) {
    const Time began = clock_now();
    errno = 7;
    BOOST_TEST(!JointRest().rest(by, milliseconds(2)));
    BOOST_TEST(errno == 7);
    BOOST_TEST((clock_now() - began >= milliseconds(2)));
  }
}

BOOST_AUTO_TEST_CASE(no_end_is_lost_among_many) {
  Words words;
  constexpr std::uint32_t kTurns = 2000;
  std::atomic<std::uint32_t> turn{0};
  std::thread ends([&] {
    for (std::uint32_t i = 0; i < kTurns; ++i) {
      while (turn.load() != i + 1) std::this_thread::yield();
      words.of(i % kSeveral).end();
    }
  });
  std::uint32_t lost = 0;
  for (std::uint32_t i = 0; i < kTurns; ++i) {
    const RestSet by = words.begin();
    turn.store(i + 1);
    lost += JointRest().rest(by, kLong) ? 0 : 1;
    for (std::size_t k = 0; k < kSeveral; ++k) words.of(k).finish();
  }
  ends.join();
  BOOST_TEST(lost == 0u);
}

BOOST_AUTO_TEST_CASE(what_no_call_of_the_kernel_waits_for_makes_it_a_nap) {
  Words words;
  const Descriptors descriptors;
  RestSet blind = words.begin(1);
  blind.add_blind();
  RestSet mixed = words.begin(1);
  mixed.add_descriptor(descriptors.each[0].get());
  const Time began = clock_now();
  BOOST_TEST(JointRest().rest(blind, kLong));
  BOOST_TEST(JointRest().rest(mixed, kLong));
  BOOST_TEST(JointRest().rest(RestSet(), kLong));
  BOOST_TEST(JointRest(JointRest::Kernel::old).rest(words.begin(), kLong));
  BOOST_TEST((clock_now() - began < kLong));
  // One word, or descriptors, are nothing new to an old kernel.
  BOOST_TEST(!JointRest(JointRest::Kernel::old).rest(words.begin(1), milliseconds(1)));
  BOOST_TEST(!JointRest(JointRest::Kernel::old).rest(descriptors.begin(), milliseconds(1)));
}

BOOST_AUTO_TEST_CASE(a_set_that_is_full_makes_it_a_nap) {
  Words words;
  RestSet by;
  for (std::size_t i = 0; i < RestSet::kWordsMax; ++i) words.of(0).begin(by);
  BOOST_TEST(!by.is_blind());
  BOOST_TEST(!JointRest().rest(by, milliseconds(1)));
  words.of(0).begin(by);
  BOOST_TEST(by.is_blind());
}
