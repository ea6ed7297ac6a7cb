// LIBVERBENA_PUBLIC: what the shared library lets others see. Everything else in it is hidden.
//
// The public namespace is `libverbena`, named as the folder and the library are. All that is inside lies in `verbena`,
// so that neither can take a name of the other, and the library's version script lets only `libverbena::*` out.
// Tested by: tests/libverbena/surface_test.py
#pragma once

#define LIBVERBENA_PUBLIC [[gnu::visibility("default")]]
