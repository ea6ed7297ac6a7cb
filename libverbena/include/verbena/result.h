// Result<T>: a value or an Error, for all that a caller's arguments, a network or a packet can make go wrong.
//
// Nothing in libverbena throws, and it works with -fno-exceptions. A test that wants no more than to end writes
// `.value()`: on an error it prints the error's text and aborts.
// Tested by: tests/libverbena/world_test.cc
#pragma once

#include <verbena/export.h>

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace libverbena {

enum class ErrorKind : std::uint8_t {
  invalid_argument,  // what the verbs call EINVAL; also a text that cannot be read
  no_memory,         // ENOMEM: a limit is reached or a queue is full
  busy,              // EBUSY: still in use
  not_supported,     // EOPNOTSUPP
  not_permitted,     // EPERM
  other,             // any other errno of the verbs
  io,                // a file
  timed_out,         // it has not happened within the time that was given
  mismatch,          // a packet script saw another packet than it expects
};

struct Error {
  ErrorKind kind = ErrorKind::invalid_argument;
  std::string text;  // one line or more, without a newline at its end
};

/// Prints the text on standard error and aborts.
[[noreturn]] LIBVERBENA_PUBLIC void end_with(const Error& error) noexcept;

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }
  /// Of a failed Result: ends the process with its text.
  T& value() & { return ok() ? *std::get_if<0>(&state_) : (end_with(error()), *std::get_if<0>(&state_)); }
  const T& value() const& { return const_cast<Result*>(this)->value(); }
  T value() && { return std::move(value()); }
  /// Only of a failed one.
  const Error& error() const noexcept { return *std::get_if<1>(&state_); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : failed_(true), error_(std::move(error)) {}

  bool ok() const noexcept { return !failed_; }
  explicit operator bool() const noexcept { return ok(); }
  void value() const {
    if (failed_) end_with(error_);
  }
  const Error& error() const noexcept { return error_; }

 private:
  bool failed_ = false;
  Error error_;
};

}  // namespace libverbena
