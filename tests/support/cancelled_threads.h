// For tests that cancel threads (pthread_cancel): to be included by one source of a test program.
//
// AddressSanitizer does not see that cancellation leaves the frames of a thread. When it then takes down the thread's
// signal stack it stumbles over what it believes of those frames itself: it must not have set one up.
#pragma once

#if defined(VERBENA_ADDRESS_SANITIZER)
// Visible: the sanitizer is a shared library.
extern "C" [[gnu::visibility("default")]] const char* __asan_default_options();  // NOLINT(bugprone-reserved-identifier)
extern "C" const char* __asan_default_options() {                                // NOLINT(bugprone-reserved-identifier)
  return "use_sigaltstack=0";
}
#endif
