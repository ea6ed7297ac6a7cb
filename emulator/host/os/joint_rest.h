// RestSet, JointRest: a sleep of a thread that any of several things ends: words that change, descriptors that become
// readable.
//
// Whoever lets go of its core says what ends its rest (RestSet), and one system call sleeps over all of it: futex(2)
// over one word, futex_waitv(2) over several, ppoll(2) over descriptors. Solely that; what the words mean is their
// owners' affair (rest_word.h, link/core_rest.h). Words may lie in memory that processes share. By system calls past
// libc's names, so that no thread can be cancelled here.
// Tested by: tests/host/os/joint_rest_test.cc
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/time.h"

namespace verbena::host {

class RestSet {
 public:
  static constexpr std::size_t kWordsMax = 32;
  static constexpr std::size_t kDescriptorsMax = 64;
  struct Word {
    std::uint32_t* at = nullptr;
    std::uint32_t value = 0;
  };

  RestSet() {}  // the arrays stay as they are: a set is made in each poll that finds nothing

  /// A change of that word ends the rest; it has changed already if it has another value.
  void add_word(std::uint32_t& word, std::uint32_t value) {
    if (word_count_ == kWordsMax) return add_blind();
    words_[word_count_++] = {&word, value};
  }
  /// As soon as it is readable; at once, if it is.
  void add_descriptor(int descriptor) {
    if (descriptor_count_ == kDescriptorsMax) return add_blind();
    descriptors_[descriptor_count_++] = descriptor;
  }
  /// Something that can end no rest: a rest is a nap.
  void add_blind() { is_blind_ = true; }

  std::span<const Word> words() const { return {words_.data(), word_count_}; }
  std::span<const int> descriptors() const { return {descriptors_.data(), descriptor_count_}; }
  bool is_blind() const { return is_blind_; }

 private:
  std::uint8_t word_count_ = 0;
  std::uint8_t descriptor_count_ = 0;
  bool is_blind_ = false;
  std::array<Word, kWordsMax> words_;
  std::array<int, kDescriptorsMax> descriptors_;
};

class JointRest {
 public:
  /// What the kernel can do: a kernel before Linux 5.16 knows no futex_waitv(2).
  enum class Kernel : std::uint8_t { present, old };
  explicit JointRest(Kernel kernel = Kernel::present) : kernel_(kernel) {}

  /// Sleeps until something in the set ends it, at most for `longest`. False: nothing has by then. A set that no one
  /// call of the kernel can wait for makes it a nap of kNap, after which the caller looks for itself: true.
  bool rest(const RestSet& by, Duration longest) const;

  static constexpr Duration kNap = microseconds(2);

 private:
  bool rest_on_words(std::span<const RestSet::Word> words, Duration longest) const;

  Kernel kernel_;
};

/// Sleeps as long as the word has that value, at most for `longest`. False: it has all the time.
bool wait_for_change(std::uint32_t& word, std::uint32_t value, Duration longest);

}  // namespace verbena::host
