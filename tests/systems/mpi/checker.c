// mpi_checker: runs all that MPI has to move data, and compares every octet that arrives.
//
//   mpirun -n 4 mpi_checker [--seconds S] [--only PART,...]
//
// The parts: messages, collectives, neighbours, reductions, datatypes, windows, replacing.
//
// One round at least, more until S seconds have passed. Ends with one line of rank 0, "mpi_checker: 4 ranks, N rounds,
// M octets right", and status 0; status 1 if anything was wrong, each told on stderr.
#include "checker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int my_rank;
int ranks;
int round_number;

static unsigned long long compared;
static unsigned long long wrong;

enum { kToldMax = 20, kBlank = 0xa5 };

void* room(size_t octets) {
  void* const memory = calloc(octets + 1, 1);
  if (memory == NULL) {
    fprintf(stderr, "mpi_checker: no memory\n");
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  return memory;
}

unsigned char octet(int from, int to, size_t index) {
  const unsigned mixed = ((unsigned)index * 2654435761u) ^ ((unsigned)from * 40503u) ^ ((unsigned)to * 9973u) ^
                         (unsigned)round_number * 131u;
  return (unsigned char)(mixed >> 13 ^ mixed >> 3);
}

void fill(unsigned char* into, size_t octets, int from, int to) {
  for (size_t i = 0; i < octets; ++i) into[i] = octet(from, to, i);
}

void blank(void* into, size_t octets) {
  memset(into, kBlank, octets);
}

void expect(int right, size_t octets, const char* what, size_t index) {
  compared += octets;
  if (right) return;
  if (++wrong <= kToldMax)
    fprintf(stderr, "mpi_checker: rank %d, round %d: %s: wrong at %zu\n", my_rank, round_number, what, index);
}

void expect_octets(const char* what, const unsigned char* have, size_t octets, int from, int to) {
  size_t at = 0;
  while (at < octets && have[at] == octet(from, to, at)) ++at;
  expect(at == octets, octets, what, at);
}

void expect_blank(const char* what, const void* have, size_t octets) {
  const unsigned char* const octets_of = have;
  size_t at = 0;
  while (at < octets && octets_of[at] == kBlank) ++at;
  expect(at == octets, octets, what, at);
}

static void all_collectives(void) {
  static const size_t kSizes[] = {0, 1, 1000, 8192, 50000, 300001};
  for (size_t i = 0; i < sizeof kSizes / sizeof *kSizes; ++i)
    for (int nonblocking = 0; nonblocking < 2; ++nonblocking) check_collectives(kSizes[i], nonblocking);
}
static void all_neighbours(void) {
  for (int nonblocking = 0; nonblocking < 2; ++nonblocking) check_neighbours(nonblocking);
}
static void all_reductions(void) {
  for (int nonblocking = 0; nonblocking < 2; ++nonblocking) check_reductions(nonblocking);
}

static const struct {
  const char* name;
  void (*check)(void);
} kParts[] = {
    {"messages", check_messages},   {"collectives", all_collectives}, {"neighbours", all_neighbours},
    {"reductions", all_reductions}, {"datatypes", check_datatypes},   {"windows", check_windows},
    {"replacing", check_replacing},
};

static int is_wanted(const char* only, const char* part) {
  if (only == NULL) return 1;
  const char* const at = strstr(only, part);
  const size_t length = strlen(part);
  return at != NULL && (at == only || at[-1] == ',') && (at[length] == 0 || at[length] == ',');
}

int main(int count, char** words) {
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  double seconds = 0;
  const char* only = NULL;
  for (int i = 1; i + 1 < count; i += 2) {
    if (strcmp(words[i], "--seconds") == 0) seconds = atof(words[i + 1]);
    if (strcmp(words[i], "--only") == 0) only = words[i + 1];
  }
  const double begin = MPI_Wtime();
  int parts = 0;
  for (int more = 1; more != 0; ++round_number) {
    for (size_t i = 0; i < sizeof kParts / sizeof *kParts; ++i) {
      if (!is_wanted(only, kParts[i].name)) continue;
      ++parts;
      kParts[i].check();
      MPI_Barrier(MPI_COMM_WORLD);
      if (my_rank == 0 && round_number == 0) {
        printf("mpi_checker: %s after %.2f s\n", kParts[i].name, MPI_Wtime() - begin);
        fflush(stdout);
      }
    }
    more = parts != 0 && MPI_Wtime() - begin < seconds;
    MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  unsigned long long mine[2] = {compared, wrong};
  unsigned long long all[2] = {0, 0};
  MPI_Allreduce(mine, all, 2, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (my_rank == 0 && all[1] == 0 && all[0] != 0)
    printf("mpi_checker: %d ranks, %d rounds, %llu octets right\n", ranks, round_number, all[0]);
  else if (my_rank == 0)
    printf("mpi_checker: %llu comparisons wrong, %llu octets compared\n", all[1], all[0]);
  fflush(stdout);
  MPI_Finalize();
  return all[1] == 0 && all[0] != 0 ? 0 : 1;
}
