// Result<T, E>: a value or an error, for every failure that is not a programmer's error.
//
// Does not throw and does not allocate. Asking a failed Result for its value is a programmer's error and asserts.
// Tested by: tests/wire/pcap_file_test.cc
#pragma once

#include <utility>
#include <variant>

#include "wire/assert.h"

namespace verbena {

/// Wraps an error so that it converts to any Result with that error type: `return Failure{VerbsError::no_memory};`
template <class E>
struct Failure {
  E error;
};
template <class E>
Failure(E) -> Failure<E>;

template <class T, class E>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Failure<E> failure) : state_(std::in_place_index<1>, std::move(failure.error)) {}
  /// Builds the value where it stays: for values that are dear to move.
  template <class... Arguments>
  explicit Result(std::in_place_t, Arguments&&... arguments)
      : state_(std::in_place_index<0>, std::forward<Arguments>(arguments)...) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() {
    VERBENA_ASSERT(ok());
    return *std::get_if<0>(&state_);
  }
  const T& value() const {
    VERBENA_ASSERT(ok());
    return *std::get_if<0>(&state_);
  }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const E& error() const {
    VERBENA_ASSERT(!ok());
    return *std::get_if<1>(&state_);
  }

 private:
  std::variant<T, E> state_;
};

template <class E>
class [[nodiscard]] Result<void, E> {
 public:
  Result() = default;
  Result(Failure<E> failure) : failed_(true), error_(std::move(failure.error)) {}

  bool ok() const { return !failed_; }
  explicit operator bool() const { return ok(); }
  const E& error() const {
    VERBENA_ASSERT(failed_);
    return error_;
  }

 private:
  bool failed_ = false;
  E error_{};
};

}  // namespace verbena
