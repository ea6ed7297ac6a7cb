// What the parts of the checker of MPI share: octets that say whence and whither they go, and the counting of what is
// right and wrong.
//
// Every value that arrives is compared, and what lies around it that must not change. Nothing here knows Verbena.
#ifndef VERBENA_TESTS_MPI_CHECKER_H
#define VERBENA_TESTS_MPI_CHECKER_H

#include <mpi.h>
#include <stddef.h>

extern int my_rank;
extern int ranks;
extern int round_number;  // part of every pattern, so that what an earlier round left behind is not taken for right

/// Non-blocking calls go through the same checks: `nonblocking` says which of both a RUN is.
#define RUN(nonblocking, Name, name, ...)     \
  do {                                        \
    if (nonblocking) {                        \
      MPI_Request request_;                   \
      MPI_I##name(__VA_ARGS__, &request_);    \
      MPI_Wait(&request_, MPI_STATUS_IGNORE); \
    } else {                                  \
      MPI_##Name(__VA_ARGS__);                \
    }                                         \
  } while (0)

/// Zeroed, or the program ends.
void* room(size_t octets);

/// The octet at `index` of what `from` has for `to`.
unsigned char octet(int from, int to, size_t index);
void fill(unsigned char* into, size_t octets, int from, int to);
/// Fills with what no pattern leaves there by chance.
void blank(void* into, size_t octets);

/// Compares; tells the first difference of each call.
void expect_octets(const char* what, const unsigned char* have, size_t octets, int from, int to);
void expect_blank(const char* what, const void* have, size_t octets);
/// Counts `octets` compared, and a wrong value if `right` is not.
void expect(int right, size_t octets, const char* what, size_t index);

void check_messages(void);
void check_collectives(size_t octets, int nonblocking);
void check_neighbours(int nonblocking);
void check_reductions(int nonblocking);
void check_datatypes(void);
void check_windows(void);
void check_replacing(void);

#endif
