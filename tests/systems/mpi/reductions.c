// Reductions: every built-in operation on every built-in datatype of C that has it, in every collective that reduces,
// and an operation of our own that does not commute.
//
// Each rank works out by itself what is right, in the order of the ranks. Values are small whole numbers, so that no
// order rounds.
#include <complex.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "checker.h"

enum { kMax, kMin, kSum, kProd, kLand, kLor, kLxor, kBand, kBor, kBxor, kMaxloc, kMinloc, kOperations };
static const char* const kNames[kOperations] = {"MAX",  "MIN",  "SUM", "PROD", "LAND",   "LOR",
                                                "LXOR", "BAND", "BOR", "BXOR", "MAXLOC", "MINLOC"};

static MPI_Op op_of(int operation) {
  const MPI_Op ops[kOperations] = {MPI_MAX,  MPI_MIN,  MPI_SUM, MPI_PROD, MPI_LAND,   MPI_LOR,
                                   MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_MAXLOC, MPI_MINLOC};
  return ops[operation];
}

/// One datatype: its values, its operations, and how two values are compared.
struct Kind {
  const char* name;
  MPI_Datatype type;
  size_t octets;
  unsigned operations;  // a bit each
  void (*set)(void* into, size_t at, int value);
  void (*fold)(int operation, void* into, const void* other, size_t at);
  int (*same)(const void* one, const void* other, size_t at);
};

#define BIT(operation) (1u << (operation))
#define ORDER_OPS (BIT(kMax) | BIT(kMin))
#define SUM_OPS (BIT(kSum) | BIT(kProd))
#define LOGICAL_OPS (BIT(kLand) | BIT(kLor) | BIT(kLxor))
#define BIT_OPS (BIT(kBand) | BIT(kBor) | BIT(kBxor))
#define LOCATION_OPS (BIT(kMaxloc) | BIT(kMinloc))
#define WHOLE_OPS (ORDER_OPS | SUM_OPS | LOGICAL_OPS | BIT_OPS)

#define VALUES(Name, Type)                                                \
  static void set_##Name(void* into, size_t at, int value) {              \
    ((Type*)into)[at] = (Type)value;                                      \
  }                                                                       \
  static int same_##Name(const void* one, const void* other, size_t at) { \
    return ((const Type*)one)[at] == ((const Type*)other)[at];            \
  }

#define WHOLE(Name, Type)                                                            \
  VALUES(Name, Type)                                                                 \
  static void fold_##Name(int operation, void* into, const void* other, size_t at) { \
    Type* const a = (Type*)into + at;                                                \
    const Type b = ((const Type*)other)[at];                                         \
    switch (operation) {                                                             \
      case kMax:                                                                     \
        *a = *a > b ? *a : b;                                                        \
        break;                                                                       \
      case kMin:                                                                     \
        *a = *a < b ? *a : b;                                                        \
        break;                                                                       \
      case kSum:                                                                     \
        *a = (Type)(*a + b);                                                         \
        break;                                                                       \
      case kProd:                                                                    \
        *a = (Type)((long long)*a * (long long)b);                                   \
        break;                                                                       \
      case kLand:                                                                    \
        *a = (Type)(*a && b);                                                        \
        break;                                                                       \
      case kLor:                                                                     \
        *a = (Type)(*a || b);                                                        \
        break;                                                                       \
      case kLxor:                                                                    \
        *a = (Type)(!*a != !b);                                                      \
        break;                                                                       \
      case kBand:                                                                    \
        *a = (Type)(*a & b);                                                         \
        break;                                                                       \
      case kBor:                                                                     \
        *a = (Type)(*a | b);                                                         \
        break;                                                                       \
      default:                                                                       \
        *a = (Type)(*a ^ b);                                                         \
        break;                                                                       \
    }                                                                                \
  }

#define REAL(Name, Type)                                                             \
  VALUES(Name, Type)                                                                 \
  static void fold_##Name(int operation, void* into, const void* other, size_t at) { \
    Type* const a = (Type*)into + at;                                                \
    const Type b = ((const Type*)other)[at];                                         \
    if (operation == kMax) *a = *a > b ? *a : b;                                     \
    if (operation == kMin) *a = *a < b ? *a : b;                                     \
    if (operation == kSum) *a += b;                                                  \
    if (operation == kProd) *a *= b;                                                 \
  }

#define COMPLEX(Name, Type)                                                          \
  static void set_##Name(void* into, size_t at, int value) {                         \
    ((Type*)into)[at] = (Type)(value + (value % 3 - 1) * I);                         \
  }                                                                                  \
  static int same_##Name(const void* one, const void* other, size_t at) {            \
    return ((const Type*)one)[at] == ((const Type*)other)[at];                       \
  }                                                                                  \
  static void fold_##Name(int operation, void* into, const void* other, size_t at) { \
    Type* const a = (Type*)into + at;                                                \
    const Type b = ((const Type*)other)[at];                                         \
    *a = operation == kSum ? *a + b : *a * b;                                        \
  }

/// A value and where it is; of equal values the lower place counts.
#define LOCATION(Name, Type)                                                           \
  struct Name {                                                                        \
    Type value;                                                                        \
    int place;                                                                         \
  };                                                                                   \
  static void set_##Name(void* into, size_t at, int value) {                           \
    struct Name* const one = (struct Name*)into + at;                                  \
    one->value = (Type)(value / 2);                                                    \
    one->place = value * 5 % 7;                                                        \
  }                                                                                    \
  static int same_##Name(const void* one, const void* other, size_t at) {              \
    const struct Name* const a = (const struct Name*)one + at;                         \
    const struct Name* const b = (const struct Name*)other + at;                       \
    return a->value == b->value && a->place == b->place;                               \
  }                                                                                    \
  static void fold_##Name(int operation, void* into, const void* other, size_t at) {   \
    struct Name* const a = (struct Name*)into + at;                                    \
    const struct Name* const b = (const struct Name*)other + at;                       \
    const int wins = operation == kMaxloc ? b->value > a->value : b->value < a->value; \
    if (wins || (a->value == b->value && b->place < a->place)) *a = *b;                \
  }

WHOLE(schar, signed char)
WHOLE(uchar, unsigned char)
WHOLE(s16, short)
WHOLE(u16, unsigned short)
WHOLE(s32, int)
WHOLE(u32, unsigned)
WHOLE(slong, long)
WHOLE(ulong, unsigned long)
WHOLE(s64, long long)
WHOLE(u64, unsigned long long)
WHOLE(boolean, bool)
REAL(real32, float)
REAL(real64, double)
REAL(real80, long double)
COMPLEX(complex32, float complex)
COMPLEX(complex64, double complex)
COMPLEX(complex80, long double complex)
LOCATION(at_float, float)
LOCATION(at_double, double)
LOCATION(at_long, long)
LOCATION(at_int, int)
LOCATION(at_short, short)
LOCATION(at_real80, long double)

#define KIND(mpi, Name, Type, ops) {#mpi, mpi, sizeof(Type), ops, set_##Name, fold_##Name, same_##Name}
static size_t list_kinds(struct Kind* into) {
  const struct Kind kinds[] = {
      KIND(MPI_SIGNED_CHAR, schar, signed char, WHOLE_OPS),
      KIND(MPI_UNSIGNED_CHAR, uchar, unsigned char, WHOLE_OPS),
      KIND(MPI_BYTE, uchar, unsigned char, BIT_OPS),
      KIND(MPI_SHORT, s16, short, WHOLE_OPS),
      KIND(MPI_UNSIGNED_SHORT, u16, unsigned short, WHOLE_OPS),
      KIND(MPI_INT, s32, int, WHOLE_OPS),
      KIND(MPI_UNSIGNED, u32, unsigned, WHOLE_OPS),
      KIND(MPI_LONG, slong, long, WHOLE_OPS),
      KIND(MPI_UNSIGNED_LONG, ulong, unsigned long, WHOLE_OPS),
      KIND(MPI_LONG_LONG, s64, long long, WHOLE_OPS),
      KIND(MPI_UNSIGNED_LONG_LONG, u64, unsigned long long, WHOLE_OPS),
      KIND(MPI_INT8_T, schar, int8_t, WHOLE_OPS),
      KIND(MPI_INT16_T, s16, int16_t, WHOLE_OPS),
      KIND(MPI_INT32_T, s32, int32_t, WHOLE_OPS),
      KIND(MPI_INT64_T, slong, int64_t, WHOLE_OPS),
      KIND(MPI_UINT8_T, uchar, uint8_t, WHOLE_OPS),
      KIND(MPI_UINT16_T, u16, uint16_t, WHOLE_OPS),
      KIND(MPI_UINT32_T, u32, uint32_t, WHOLE_OPS),
      KIND(MPI_UINT64_T, ulong, uint64_t, WHOLE_OPS),
      KIND(MPI_AINT, slong, MPI_Aint, WHOLE_OPS & ~LOGICAL_OPS),
      KIND(MPI_OFFSET, s64, MPI_Offset, WHOLE_OPS & ~LOGICAL_OPS),
      KIND(MPI_COUNT, s64, MPI_Count, WHOLE_OPS & ~LOGICAL_OPS),
      KIND(MPI_C_BOOL, boolean, bool, LOGICAL_OPS),
      KIND(MPI_FLOAT, real32, float, ORDER_OPS | SUM_OPS),
      KIND(MPI_DOUBLE, real64, double, ORDER_OPS | SUM_OPS),
      KIND(MPI_LONG_DOUBLE, real80, long double, ORDER_OPS | SUM_OPS),
      KIND(MPI_C_FLOAT_COMPLEX, complex32, float complex, SUM_OPS),
      KIND(MPI_C_DOUBLE_COMPLEX, complex64, double complex, SUM_OPS),
      KIND(MPI_C_LONG_DOUBLE_COMPLEX, complex80, long double complex, SUM_OPS),
      KIND(MPI_FLOAT_INT, at_float, struct at_float, LOCATION_OPS),
      KIND(MPI_DOUBLE_INT, at_double, struct at_double, LOCATION_OPS),
      KIND(MPI_LONG_INT, at_long, struct at_long, LOCATION_OPS),
      KIND(MPI_2INT, at_int, struct at_int, LOCATION_OPS),
      KIND(MPI_SHORT_INT, at_short, struct at_short, LOCATION_OPS),
      KIND(MPI_LONG_DOUBLE_INT, at_real80, struct at_real80, LOCATION_OPS),
  };
  if (into != NULL) memcpy(into, kinds, sizeof kinds);
  return sizeof kinds / sizeof *kinds;
}

static void set_all(const struct Kind* kind, void* into, size_t count, int rank) {
  for (size_t i = 0; i < count; ++i) kind->set(into, i, (int)((i * 7 + (size_t)(rank * 3 + round_number)) % 4));
}

/// What the values of ranks 0 to `last` come to.
static void fold_all(const struct Kind* kind, int operation, void* into, void* scratch, size_t count, int last) {
  set_all(kind, into, count, 0);
  for (int rank = 1; rank <= last; ++rank) {
    set_all(kind, scratch, count, rank);
    for (size_t i = 0; i < count; ++i) kind->fold(operation, into, scratch, i);
  }
}

static void expect_values(const struct Kind* kind, const char* what, const void* have, const void* right, size_t count,
                          size_t offset) {
  size_t at = 0;
  const void* const wanted = (const char*)right + offset * kind->octets;
  while (at < count && kind->same(have, wanted, at)) ++at;
  expect(at == count, count * kind->octets, what, at);
}

enum { kMany = 1500 };  // values a rank, so that messages of all lanes are met
enum { kAllreduce, kInPlace, kReduce, kScatterBlock, kScatter, kScan, kExscan, kCollectives };

/// One reduction of one datatype: `each` values a rank in the scattering ones, all of them together in the others.
struct Reduction {
  const struct Kind* kind;
  int operation;
  int each;
  size_t count;
  int root;
  int* counts;  // of Reduce_scatter
  size_t offset;
  char* in;
};

static struct Reduction reduction_of(const struct Kind* kind, int operation, int each) {
  struct Reduction it = {kind,
                         operation,
                         each,
                         (size_t)each * (size_t)ranks,
                         (operation + round_number) % ranks,
                         room((size_t)ranks * sizeof(int)),
                         0,
                         NULL};
  int total = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    it.counts[rank] = rank + 1 == ranks ? (int)it.count - total : (each + rank) / 2;
    if (rank < my_rank) it.offset += (size_t)it.counts[rank];
    total += it.counts[rank];
  }
  it.in = room(it.count * kind->octets);
  set_all(kind, it.in, it.count, my_rank);
  return it;
}

static void start(const struct Reduction* it, int which, char* out, int nonblocking, MPI_Request* request) {
  const MPI_Op op = op_of(it->operation);
  const MPI_Datatype type = it->kind->type;
  const MPI_Comm comm = MPI_COMM_WORLD;
  const int count = (int)it->count;
#define EITHER(Name, name, ...) (void)(nonblocking ? MPI_I##name(__VA_ARGS__, request) : MPI_##Name(__VA_ARGS__))
  if (which == kInPlace) memcpy(out, it->in, it->count * it->kind->octets);
  switch (which) {
    case kAllreduce:
      EITHER(Allreduce, allreduce, it->in, out, count, type, op, comm);
      break;
    case kInPlace:
      EITHER(Allreduce, allreduce, MPI_IN_PLACE, out, count, type, op, comm);
      break;
    case kReduce:
      EITHER(Reduce, reduce, it->in, out, count, type, op, it->root, comm);
      break;
    case kScatterBlock:
      EITHER(Reduce_scatter_block, reduce_scatter_block, it->in, out, it->each, type, op, comm);
      break;
    case kScatter:
      EITHER(Reduce_scatter, reduce_scatter, it->in, out, it->counts, type, op, comm);
      break;
    case kScan:
      EITHER(Scan, scan, it->in, out, count, type, op, comm);
      break;
    default:
      EITHER(Exscan, exscan, it->in, out, count, type, op, comm);
      break;
  }
#undef EITHER
}

static void judge(const struct Reduction* it, int which, const char* out, char* right, char* scratch) {
  char what[80];
  strcpy(what, it->kind->name);
  strcat(strcat(what, " "), kNames[it->operation]);
  const size_t each = (size_t)it->each;
  if (which == kReduce && my_rank != it->root) return expect_blank(what, out, it->count * it->kind->octets);
  if (which == kExscan && my_rank == 0) return;
  const int last = which == kScan ? my_rank : which == kExscan ? my_rank - 1 : ranks - 1;
  fold_all(it->kind, it->operation, right, scratch, it->count, last);
  if (which == kScatterBlock) return expect_values(it->kind, what, out, right, each, each * (size_t)my_rank);
  if (which == kScatter) return expect_values(it->kind, what, out, right, (size_t)it->counts[my_rank], it->offset);
  expect_values(it->kind, what, out, right, it->count, 0);
}

/// Non-blocking: every collective that reduces, all at once. Blocking: one of them, another in every round.
static void reduce(const struct Kind* kind, int operation, int nonblocking, int each) {
  struct Reduction it = reduction_of(kind, operation, each);
  const size_t octets = it.count * kind->octets;
  char* const out = room(kCollectives * octets);
  char* const right = room(octets);
  char* const scratch = room(octets);
  MPI_Request requests[kCollectives];
  int order[kCollectives];
  int used = 0;
  const int first = (int)(kind->octets + (size_t)(operation + each + round_number)) % kCollectives;
  for (int which = 0; which < kCollectives; ++which)
    if (nonblocking || which == first) order[used++] = which;
  blank(out, kCollectives * octets);
  for (int i = 0; i < used; ++i) start(&it, order[i], out + (size_t)order[i] * octets, nonblocking, &requests[i]);
  if (nonblocking) MPI_Waitall(used, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < used; ++i) judge(&it, order[i], out + (size_t)order[i] * octets, right, scratch);
  free(it.in);
  free(it.counts);
  free(out);
  free(right);
  free(scratch);
}

// -- An operation that does not commute -------------------------------------------------------------------------------

struct Matrix {
  unsigned at[4];
};

static struct Matrix product(struct Matrix a, struct Matrix b) {
  const struct Matrix both = {{a.at[0] * b.at[0] + a.at[1] * b.at[2], a.at[0] * b.at[1] + a.at[1] * b.at[3],
                               a.at[2] * b.at[0] + a.at[3] * b.at[2], a.at[2] * b.at[1] + a.at[3] * b.at[3]}};
  return both;
}

static void multiply(void* left, void* right_and_result, int* count, MPI_Datatype* type) {
  (void)type;
  const struct Matrix* const a = left;
  struct Matrix* const b = right_and_result;
  for (int i = 0; i < *count; ++i) b[i] = product(a[i], b[i]);
}

static struct Matrix matrix_of(int rank, int index) {
  const unsigned mixed = (unsigned)(rank * 31 + index * 17 + round_number);
  const struct Matrix matrix = {{mixed | 1, mixed * 3 + 2, mixed * 5 + 1, mixed * 7 + 3}};
  return matrix;
}

static void check_order(int nonblocking) {
  enum { kMatrices = 3000 };
  static struct Matrix in[kMatrices];
  static struct Matrix out[kMatrices];
  MPI_Datatype type;
  MPI_Op op;
  MPI_Type_contiguous(4, MPI_UNSIGNED, &type);
  MPI_Type_commit(&type);
  MPI_Op_create(multiply, 0, &op);
  for (int i = 0; i < kMatrices; ++i) in[i] = matrix_of(my_rank, i);
  for (int is_scan = 0; is_scan < 2; ++is_scan) {
    if (is_scan)
      RUN(nonblocking, Scan, scan, in, out, kMatrices, type, op, MPI_COMM_WORLD);
    else
      RUN(nonblocking, Allreduce, allreduce, in, out, kMatrices, type, op, MPI_COMM_WORLD);
    for (int i = 0; i < kMatrices; ++i) {
      struct Matrix right = matrix_of(0, i);
      for (int rank = 1; rank <= (is_scan ? my_rank : ranks - 1); ++rank) right = product(right, matrix_of(rank, i));
      expect(memcmp(&right, &out[i], sizeof right) == 0, sizeof right, "an operation that does not commute", (size_t)i);
    }
  }
  MPI_Op_free(&op);
  MPI_Type_free(&type);
}

void check_reductions(int nonblocking) {
  const size_t count = list_kinds(NULL);
  struct Kind* const kinds = room(count * sizeof *kinds);
  list_kinds(kinds);
  for (size_t i = 0; i < count; ++i)
    for (int operation = 0; operation < kOperations; ++operation) {
      if ((kinds[i].operations & BIT(operation)) == 0) continue;
      reduce(&kinds[i], operation, nonblocking, 3);
      if (operation == kSum || operation == kMaxloc) reduce(&kinds[i], operation, nonblocking, kMany);
    }
  free(kinds);
  check_order(nonblocking);
}
