// A nap: the calling thread lets go of its core for a few microseconds, for whoever else needs it.
//
// sched_yield() lets those run alone that the scheduler counts to the caller's own group; a process of another control
// group, or of another session (sched_autogroup, sched(7)), may get nothing by it. A thread that sleeps makes room for
// all.
#pragma once

#include "wire/time.h"

namespace verbena::host {

/// Sleeps that long, and some microseconds: the timer slack that the kernel adds to a sleep (50 us) is put aside
/// meanwhile. A signal ends it.
void nap(Duration length);

}  // namespace verbena::host
