// One-sided communication: put, get, accumulate, get-accumulate, fetch-and-op and compare-and-swap, under each kind of
// synchronisation, in each kind of window.
#include <stdlib.h>
#include <string.h>

#include "checker.h"

enum { kOctets = 70000 };  // a rank's block in everybody's window

/// Everybody puts a block of its own into every window, and reads every block of every window.
static void put_and_get(MPI_Win window, const unsigned char* base, const MPI_Aint* bases, void (*open)(MPI_Win),
                        void (*close)(MPI_Win)) {
  unsigned char* const out = room((size_t)ranks * kOctets);
  unsigned char* const in = room((size_t)ranks * kOctets);
  open(window);
  for (int peer = 0; peer < ranks; ++peer) {
    unsigned char* const mine = out + (size_t)peer * kOctets;
    fill(mine, kOctets, my_rank, peer);
    MPI_Put(mine, kOctets, MPI_BYTE, peer, bases[peer] + (MPI_Aint)my_rank * kOctets, kOctets, MPI_BYTE, window);
  }
  close(window);
  MPI_Barrier(MPI_COMM_WORLD);
  open(window);
  for (int peer = 0; peer < ranks; ++peer)
    MPI_Get(in + (size_t)peer * kOctets, kOctets, MPI_BYTE, peer,
            bases[peer] + (MPI_Aint)((my_rank + 1) % ranks) * kOctets, kOctets, MPI_BYTE, window);
  close(window);
  for (int peer = 0; peer < ranks; ++peer)
    expect_octets("Get", in + (size_t)peer * kOctets, kOctets, (my_rank + 1) % ranks, peer);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, my_rank, 0, window);  // the window's own copy is the public one
  for (int peer = 0; peer < ranks; ++peer) expect_octets("Put", base + (size_t)peer * kOctets, kOctets, peer, my_rank);
  MPI_Win_unlock(my_rank, window);
  MPI_Barrier(MPI_COMM_WORLD);
  free(out);
  free(in);
}

static void open_fence(MPI_Win window) {
  MPI_Win_fence(0, window);
}
static void close_fence(MPI_Win window) {
  MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
}
static void open_all(MPI_Win window) {
  MPI_Win_lock_all(0, window);
}
static void close_all(MPI_Win window) {
  MPI_Win_flush_all(window);
  MPI_Win_unlock_all(window);
}
static void open_groups(MPI_Win window) {
  MPI_Group group;
  MPI_Win_get_group(window, &group);
  MPI_Win_post(group, 0, window);
  MPI_Win_start(group, 0, window);
  MPI_Group_free(&group);
}
static void close_groups(MPI_Win window) {
  MPI_Win_complete(window);
  MPI_Win_wait(window);
}

/// Everybody adds to the same values of everybody; a lock each, so that they come in any order.
static void accumulate(MPI_Win window, long long* base, const MPI_Aint* bases) {
  enum { kValues = 3000, kTimes = 2 };
  long long* const mine = room(kValues * sizeof *mine);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, my_rank, 0, window);
  for (int i = 0; i < kValues; ++i) base[i] = i;
  MPI_Win_unlock(my_rank, window);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < kValues; ++i) mine[i] = (my_rank + 1) * 1000 + i;
  for (int time = 0; time < kTimes; ++time)
    for (int peer = 0; peer < ranks; ++peer) {
      MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, window);
      MPI_Accumulate(mine, kValues, MPI_LONG_LONG, peer, bases[peer], kValues, MPI_LONG_LONG, MPI_SUM, window);
      MPI_Win_unlock(peer, window);
    }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, my_rank, 0, window);
  size_t at = 0;
  for (; at < kValues; ++at) {
    const long long each = (long long)ranks * (ranks + 1) / 2 * 1000 + (long long)ranks * (long long)at;
    if (base[at] != (long long)at + kTimes * each) break;
  }
  MPI_Win_unlock(my_rank, window);
  expect(at == kValues, kValues * sizeof *mine, "Accumulate", at);
  MPI_Barrier(MPI_COMM_WORLD);
  free(mine);
}

/// Tickets of one counter: nobody gets one twice. And a lock made of compare-and-swap, under which a plain counter
/// holds.
static void atomics(MPI_Win window, long long* base, const MPI_Aint* bases) {
  enum { kTickets = 40, kTurns = 5 };
  const MPI_Aint slot = sizeof(long long);
  const long long one = 1;
  const long long zero = 0;
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, my_rank, 0, window);
  memset(base, 0, 4 * sizeof *base);
  MPI_Win_unlock(my_rank, window);
  MPI_Barrier(MPI_COMM_WORLD);
  long long sum = 0;
  long long last = -1;
  MPI_Win_lock_all(0, window);
  for (int i = 0; i < kTickets; ++i) {
    long long ticket = -1;
    MPI_Fetch_and_op(&one, &ticket, MPI_LONG_LONG, 0, bases[0], MPI_SUM, window);
    MPI_Win_flush(0, window);
    expect(ticket > last, sizeof ticket, "Fetch_and_op", (size_t)i);
    last = ticket;
    sum += ticket;
  }
  for (int i = 0; i < kTurns; ++i) {
    long long was = 1;
    for (;;) {
      MPI_Compare_and_swap(&one, &zero, &was, MPI_LONG_LONG, 0, bases[0] + slot, window);
      MPI_Win_flush(0, window);
      if (was == 0) break;
      expect(was == 1, sizeof was, "Compare_and_swap", (size_t)was);
    }
    long long value = 0;
    MPI_Get(&value, 1, MPI_LONG_LONG, 0, bases[0] + 2 * slot, 1, MPI_LONG_LONG, window);
    MPI_Win_flush(0, window);
    ++value;
    MPI_Put(&value, 1, MPI_LONG_LONG, 0, bases[0] + 2 * slot, 1, MPI_LONG_LONG, window);
    MPI_Win_flush(0, window);
    MPI_Compare_and_swap(&zero, &one, &was, MPI_LONG_LONG, 0, bases[0] + slot, window);
    MPI_Win_flush(0, window);
    expect(was == 1, sizeof was, "Compare_and_swap", (size_t)was);
  }
  long long before = 0;
  MPI_Get_accumulate(&one, 1, MPI_LONG_LONG, &before, 1, MPI_LONG_LONG, (my_rank + 1) % ranks,
                     bases[(my_rank + 1) % ranks] + 3 * slot, 1, MPI_LONG_LONG, MPI_SUM, window);
  MPI_Win_unlock_all(window);
  expect(before == 0, sizeof before, "Get_accumulate", 0);
  long long total = 0;
  MPI_Allreduce(&sum, &total, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  const long long all = (long long)ranks * kTickets;
  expect(total == all * (all - 1) / 2, sizeof total, "tickets", (size_t)total);
  MPI_Win_lock(MPI_LOCK_SHARED, my_rank, 0, window);
  expect(base[3] == 1, sizeof *base, "Get_accumulate", 3);
  if (my_rank == 0) expect(base[0] == all && base[1] == 0, 2 * sizeof *base, "counter", 0);
  if (my_rank == 0) expect(base[2] == (long long)ranks * kTurns, sizeof *base, "under a lock", (size_t)base[2]);
  MPI_Win_unlock(my_rank, window);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void requests(MPI_Win window, const MPI_Aint* bases) {
  unsigned char* const out = room(kOctets);
  unsigned char* const in = room(kOctets);
  const int peer = (my_rank + 1) % ranks;
  MPI_Request request;
  fill(out, kOctets, my_rank, peer);
  MPI_Win_lock_all(0, window);
  MPI_Rput(out, kOctets, MPI_BYTE, peer, bases[peer] + (MPI_Aint)my_rank * kOctets, kOctets, MPI_BYTE, window,
           &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Win_flush(peer, window);
  MPI_Rget(in, kOctets, MPI_BYTE, peer, bases[peer] + (MPI_Aint)my_rank * kOctets, kOctets, MPI_BYTE, window, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Win_unlock_all(window);
  expect_octets("Rput and Rget", in, kOctets, my_rank, peer);
  MPI_Barrier(MPI_COMM_WORLD);
  free(out);
  free(in);
}

/// A get and a put of the same place in one call: what is read is what was there before.
void check_replacing(void) {
  enum { kTimes = 50, kValues = 100 };
  long long* base = NULL;
  long long out[kValues];
  long long in[kValues];
  const int peer = (my_rank + 1) % ranks;
  MPI_Win window;
  MPI_Win_allocate(sizeof out, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
  MPI_Win_lock_all(0, window);
  memset(base, 0, sizeof out);
  MPI_Win_sync(window);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int time = 0; time < kTimes; ++time) {
    for (int i = 0; i < kValues; ++i) out[i] = (long long)(time + 1) * 1000 + my_rank;
    MPI_Get_accumulate(out, kValues, MPI_LONG_LONG, in, kValues, MPI_LONG_LONG, peer, 0, kValues, MPI_LONG_LONG,
                       MPI_REPLACE, window);
    MPI_Win_flush(peer, window);
    size_t at = 0;
    while (at < kValues && in[at] == (time == 0 ? 0 : (long long)time * 1000 + my_rank)) ++at;
    expect(at == kValues, sizeof in, "Get_accumulate with MPI_REPLACE", at);
  }
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
}

static void use(MPI_Win window, void* base, MPI_Aint my_base) {
  MPI_Aint* const bases = room((size_t)ranks * sizeof *bases);
  MPI_Allgather(&my_base, 1, MPI_AINT, bases, 1, MPI_AINT, MPI_COMM_WORLD);
  put_and_get(window, base, bases, open_fence, close_fence);
  put_and_get(window, base, bases, open_all, close_all);
  put_and_get(window, base, bases, open_groups, close_groups);
  accumulate(window, base, bases);
  atomics(window, base, bases);
  requests(window, bases);
  free(bases);
}

void check_windows(void) {
  const MPI_Aint octets = (MPI_Aint)ranks * kOctets;
  MPI_Win window;
  void* base = NULL;
  MPI_Win_allocate(octets, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
  use(window, base, 0);
  MPI_Win_free(&window);

  base = room((size_t)octets);
  MPI_Win_create(base, octets, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  use(window, base, 0);
  MPI_Win_free(&window);

  MPI_Aint place = 0;
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_attach(window, base, octets);
  MPI_Get_address(base, &place);
  use(window, base, place);
  MPI_Win_detach(window, base);
  MPI_Win_free(&window);
  free(base);
}
