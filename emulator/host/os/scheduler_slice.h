// Asks the scheduler to run the calling thread soon after it is woken.
#pragma once

namespace verbena::host {

/// Short turns on the core, and therefore soon ones: the scheduler lets a thread that is woken go before one of longer
/// turns that computes (EEVDF since Linux 6.12, Documentation/scheduler/sched-eevdf.rst). Older kernels, and a thread
/// that is not of the normal policy, stay as they are.
void ask_for_short_slice();

}  // namespace verbena::host
