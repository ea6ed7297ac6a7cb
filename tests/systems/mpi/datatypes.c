// Derived datatypes: each is sent as itself and received as itself, and as octets either way; the octets are those that
// MPI_Pack makes, and no octet between them is touched.
#include <stdlib.h>
#include <string.h>

#include "checker.h"

enum { kRoom = 400000, kTypes = 12, kTag = 9 };

/// Of every constructor one. Each repeated gives more than an eager message may hold.
static void make_types(MPI_Datatype* into) {
  int n = 0;
  MPI_Type_contiguous(70000, MPI_SHORT, &into[n++]);
  MPI_Type_vector(900, 10, 25, MPI_INT, &into[n++]);
  MPI_Type_create_hvector(3000, 3, 41, MPI_CHAR, &into[n++]);
  int lengths[500];
  int places[500];
  MPI_Aint octet_places[500];
  MPI_Datatype members[500];
  for (int i = 0; i < 500; ++i) {
    lengths[i] = i % 7;
    places[i] = i * 9;
    octet_places[i] = i * 100 + i % 3;
    members[i] = i % 3 == 0 ? MPI_DOUBLE : i % 3 == 1 ? MPI_CHAR : MPI_SHORT;
  }
  MPI_Type_indexed(500, lengths, places, MPI_DOUBLE, &into[n++]);
  MPI_Type_create_hindexed(500, lengths, octet_places, MPI_FLOAT, &into[n++]);
  MPI_Type_create_indexed_block(500, 4, places, MPI_INT, &into[n++]);
  MPI_Type_create_hindexed_block(500, 5, octet_places, MPI_SHORT, &into[n++]);
  MPI_Type_create_struct(500, lengths, octet_places, members, &into[n++]);
  const int sizes[3] = {20, 30, 40};
  const int part[3] = {11, 17, 23};
  const int start[3] = {5, 6, 7};
  MPI_Type_create_subarray(3, sizes, part, start, MPI_ORDER_C, MPI_INT, &into[n++]);
  const int whole[2] = {120, 90};
  const int distribution[2] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK};
  const int arguments[2] = {3, MPI_DISTRIBUTE_DFLT_DARG};
  const int grid[2] = {2, 2};
  MPI_Type_create_darray(4, 1, 2, whole, distribution, arguments, grid, MPI_ORDER_C, MPI_INT, &into[n++]);
  MPI_Type_create_resized(MPI_SHORT, 0, 8, &into[n++]);
  MPI_Type_dup(into[1], &into[n++]);
  for (int i = 0; i < n; ++i) MPI_Type_commit(&into[i]);
}

/// Round a ring, so that everybody sends and receives; `counted`: octets in place of the type, if it is not a type.
static void pass(const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count, MPI_Datatype in_type) {
  const int to = (my_rank + 1) % ranks;
  const int from = (my_rank + ranks - 1) % ranks;
  MPI_Sendrecv(out, out_count, out_type, to, kTag, in, in_count, in_type, from, kTag, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

static void check_type(MPI_Datatype type, int count) {
  const int from = (my_rank + ranks - 1) % ranks;
  int octets = 0;
  MPI_Type_size(type, &octets);
  octets *= count;
  unsigned char* const out = room(kRoom);
  unsigned char* const in = room(kRoom);
  unsigned char* const right = room(kRoom);
  unsigned char* const packed = room((size_t)octets);
  unsigned char* const received = room((size_t)octets);
  int position = 0;
  // What the sender has is known: its pattern, packed by MPI without any network.
  fill(right, kRoom, from, -1);
  MPI_Pack(right, count, type, packed, octets, &position, MPI_COMM_SELF);
  blank(right, kRoom);
  int at = 0;
  MPI_Unpack(packed, octets, &at, right, count, type, MPI_COMM_SELF);

  fill(out, kRoom, my_rank, -1);
  blank(in, kRoom);
  pass(out, count, type, in, count, type);
  expect(memcmp(in, right, kRoom) == 0, kRoom, "type to type", 0);
  blank(received, (size_t)octets);
  pass(out, count, type, received, octets, MPI_PACKED);
  expect(memcmp(received, packed, (size_t)octets) == 0, (size_t)octets, "type to packed", 0);

  unsigned char* const mine = room((size_t)octets);
  position = 0;
  MPI_Pack(out, count, type, mine, octets, &position, MPI_COMM_WORLD);
  expect(position == octets, sizeof position, "length packed", (size_t)position);
  blank(in, kRoom);
  pass(mine, octets, MPI_PACKED, in, count, type);
  expect(memcmp(in, right, kRoom) == 0, kRoom, "packed to type", 0);

  // In a collective, from every root.
  for (int root = 0; root < ranks; ++root) {
    if (my_rank == root) fill(in, kRoom, from, -1);
    if (my_rank != root) blank(in, kRoom);
    MPI_Bcast(in, count, type, root, MPI_COMM_WORLD);
    fill(out, kRoom, (root + ranks - 1) % ranks, -1);
    position = 0;
    MPI_Pack(out, count, type, mine, octets, &position, MPI_COMM_SELF);
    position = 0;
    MPI_Pack(in, count, type, received, octets, &position, MPI_COMM_SELF);
    expect(memcmp(received, mine, (size_t)octets) == 0, (size_t)octets, "type in a broadcast", (size_t)root);
  }
  free(mine);
  free(out);
  free(in);
  free(right);
  free(packed);
  free(received);
}

void check_datatypes(void) {
  MPI_Datatype types[kTypes];
  make_types(types);
  for (int i = 0; i < kTypes; ++i) {
    MPI_Aint least = 0;
    MPI_Aint extent = 0;
    MPI_Type_get_extent(types[i], &least, &extent);
    const int most = (int)(kRoom / (extent > 0 ? extent : 1)) - 1;
    check_type(types[i], 1);
    check_type(types[i], most > 1 ? most : 1);
    MPI_Type_free(&types[i]);
  }
}
