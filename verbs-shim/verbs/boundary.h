// The C boundary: every verb that an application calls comes in here and goes out here, exported (exports.cc) or
// through a slot of a structure (context.cc, cq_ex.cc, qp_ex.cc, ...).
//
// Solely responsible for what is true of all verbs: errno says what the verb answers, and is as it was when it
// succeeds; the thread counts as inside of a call (emulator/host/os/call_state.h); and nothing is done any more when
// exit() has interrupted another call for good. What a verb does it does not know.
// Tested by: tests/shim/verbs/errno_test.cc
#pragma once

#include <sys/types.h>

#include <cerrno>
#include <type_traits>

#include "emulator/host/os/call_state.h"

namespace verbena::shim {

/// What a function says whose context has no device behind it any more: closed, removed, or inherited through fork.
inline constexpr int kNoDevice = EIO;

/// How a verb tells of a failure.
enum class Answers : std::uint8_t {
  error,          // 0 or an errno value; or negative, and errno says what; or a null pointer, and errno says what
  count,          // a number; or negative, and errno says what
  negative_error  // a number, or an errno value with the sign turned
};

template <Answers kAnswers, class Result>
constexpr bool is_failure(Result result) {
  if constexpr (std::is_pointer_v<Result>)
    return result == nullptr;
  else
    return kAnswers == Answers::error ? result != 0 : result < 0;
}

/// What a call answers that fails with this errno before it is done.
template <Answers kAnswers, class Result>
Result refused(int error) {
  errno = error;
  if constexpr (std::is_pointer_v<Result>)
    return nullptr;
  else if constexpr (kAnswers == Answers::error)
    return static_cast<Result>(error);
  else
    return static_cast<Result>(kAnswers == Answers::count ? -1 : -error);
}

template <auto kVerb, Answers kAnswers, class Signature = decltype(kVerb)>
struct Boundary;

template <auto kVerb, Answers kAnswers, class Result, class... Arguments>
struct Boundary<kVerb, kAnswers, Result (*)(Arguments...)> {
  static Result call(Arguments... arguments) {
    const host::InsideCall inside;
    int& error = errno;
    const int before = error;
    if constexpr (std::is_void_v<Result>) {
      if (!host::is_state_lost()) kVerb(arguments...);
      error = before;
    } else {
      const Result result = host::is_state_lost() ? refused<kAnswers, Result>(kNoDevice) : kVerb(arguments...);
      if (!is_failure<kAnswers>(result)) {
        error = before;
      } else if constexpr (!std::is_pointer_v<Result>) {
        if (kAnswers == Answers::error && result > 0) error = static_cast<int>(result);
        if (kAnswers == Answers::negative_error) error = static_cast<int>(-result);
      }
      return result;
    }
  }
};

/// The function to give to C for a verb of ours.
template <auto kVerb, Answers kAnswers = Answers::error>
inline constexpr auto verb = Boundary<kVerb, kAnswers>::call;

}  // namespace verbena::shim
