// A ring allreduce, as frameworks for training do it: the vector is cut into a part for each rank, the parts are summed
// up on their way around, and the sums go around once more. Every element of every round is compared.
//
//   ring_allreduce [ELEMENTS [ROUNDS]]
//
// Prints what was compared and how fast it went; exit status 1: an element is wrong. Nothing here knows Verbena.
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, ranks;

// Small whole numbers: sums of doubles are exact.
static double term(int of_rank, size_t element, int round) {
  return (double)((element * 7 + (size_t)of_rank * 13 + (size_t)round) % 1024);
}

static size_t begin_of(size_t elements, int part) {
  return elements * (size_t)part / (size_t)ranks;
}
static int size_of(size_t elements, int part) {
  return (int)(begin_of(elements, part + 1) - begin_of(elements, part));
}
static int before(int part, int steps) {
  return ((part - steps) % ranks + ranks) % ranks;
}

static void shift(double* sent, int sent_count, double* got, int got_count) {
  MPI_Sendrecv(sent, sent_count, MPI_DOUBLE, (rank + 1) % ranks, 0, got, got_count, MPI_DOUBLE, before(rank, 1), 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void allreduce(double* vector, double* part, size_t elements) {
  for (int step = 0; step < ranks - 1; ++step) {
    const int sent = before(rank, step), got = before(rank, step + 1);
    shift(vector + begin_of(elements, sent), size_of(elements, sent), part, size_of(elements, got));
    for (int i = 0; i < size_of(elements, got); ++i) vector[begin_of(elements, got) + (size_t)i] += part[i];
  }
  for (int step = 0; step < ranks - 1; ++step) {
    const int sent = before(rank, step - 1), got = before(rank, step);
    shift(vector + begin_of(elements, sent), size_of(elements, sent), vector + begin_of(elements, got),
          size_of(elements, got));
  }
}

static long count_wrong(const double* vector, size_t elements, int round) {
  long wrong = 0;
  for (size_t i = 0; i < elements; ++i) {
    double sum = 0;
    for (int of = 0; of < ranks; ++of) sum += term(of, i, round);
    wrong += vector[i] != sum;
  }
  return wrong;
}

int main(int argc, char** argv) {
  const size_t elements = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000003;
  const int rounds = argc > 2 ? atoi(argv[2]) : 5;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  double* const vector = malloc(elements * sizeof *vector);
  double* const part = malloc((elements / (size_t)ranks + 1) * sizeof *part);
  if (vector == NULL || part == NULL) MPI_Abort(MPI_COMM_WORLD, 2);
  long wrong = 0, all_wrong = 0;
  double seconds = 0;
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < elements; ++i) vector[i] = term(rank, i, round);
    MPI_Barrier(MPI_COMM_WORLD);
    const double began = MPI_Wtime();
    allreduce(vector, part, elements);
    seconds += MPI_Wtime() - began;
    wrong += count_wrong(vector, elements, round);
  }
  MPI_Allreduce(&wrong, &all_wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0)
    printf("ring allreduce: %d ranks, %d rounds of %zu elements, %.0f MB/s at each rank, %ld wrong\n", ranks, rounds,
           elements, (double)elements * sizeof *vector * 2 * (ranks - 1) / ranks * rounds / seconds / 1e6, all_wrong);
  free(vector);
  free(part);
  MPI_Finalize();
  return all_wrong != 0;
}
