// Messages between all pairs, and the collectives that move octets: with one length, with lengths and places of their
// own (v), with types of their own (w), in place, among neighbours.
#include <stdlib.h>
#include <string.h>

#include "checker.h"

static const int kTag = 7;

// -- Messages ---------------------------------------------------------------------------------------------------------

/// Everybody to everybody at once, itself included.
static void exchange(size_t octets, int synchronous) {
  const size_t n = (size_t)ranks;
  unsigned char* const out = room(n * octets);
  unsigned char* const in = room(n * octets);
  MPI_Request* const requests = room(2 * n * sizeof *requests);
  blank(in, n * octets);
  for (int peer = 0; peer < ranks; ++peer) {
    unsigned char* const mine = out + (size_t)peer * octets;
    fill(mine, octets, my_rank, peer);
    MPI_Irecv(in + (size_t)peer * octets, (int)octets, MPI_BYTE, peer, kTag, MPI_COMM_WORLD, &requests[peer]);
  }
  for (int peer = 0; peer < ranks; ++peer) {
    MPI_Request* const request = &requests[ranks + peer];
    const unsigned char* const mine = out + (size_t)peer * octets;
    if (synchronous)
      MPI_Issend(mine, (int)octets, MPI_BYTE, peer, kTag, MPI_COMM_WORLD, request);
    else
      MPI_Isend(mine, (int)octets, MPI_BYTE, peer, kTag, MPI_COMM_WORLD, request);
  }
  MPI_Waitall(2 * ranks, requests, MPI_STATUSES_IGNORE);
  for (int peer = 0; peer < ranks; ++peer) expect_octets("message", in + (size_t)peer * octets, octets, peer, my_rank);
  free(out);
  free(in);
  free(requests);
}

/// Messages of growing length that are looked at before they are received; their order must stay.
static void in_order(void) {
  enum { kMessages = 40 };
  const int to = (my_rank + 1) % ranks;
  const int from = (my_rank + ranks - 1) % ranks;
  static unsigned char out[kMessages][kMessages * 37];
  static unsigned char in[kMessages * 37];
  MPI_Request requests[kMessages];
  for (int i = 0; i < kMessages; ++i) {
    fill(out[i], (size_t)i * 37, my_rank, to + i);
    MPI_Isend(out[i], i * 37, MPI_BYTE, to, kTag, MPI_COMM_WORLD, &requests[i]);
  }
  for (int i = 0; i < kMessages; ++i) {
    MPI_Status status;
    int length = 0;
    MPI_Probe(ranks > 2 ? MPI_ANY_SOURCE : from, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_BYTE, &length);
    expect(length == i * 37 && status.MPI_SOURCE == from && status.MPI_TAG == kTag, sizeof length, "order", (size_t)i);
    MPI_Recv(in, length, MPI_BYTE, status.MPI_SOURCE, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect_octets("message in order", in, (size_t)length, from, my_rank + i);
  }
  MPI_Waitall(kMessages, requests, MPI_STATUSES_IGNORE);
}

static void persistent(void) {
  enum { kOctets = 20000 };
  static unsigned char out[kOctets];
  static unsigned char in[kOctets];
  const int to = (my_rank + 1) % ranks;
  const int from = (my_rank + ranks - 1) % ranks;
  MPI_Request requests[2];
  MPI_Recv_init(in, kOctets, MPI_BYTE, from, kTag, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init(out, kOctets, MPI_BYTE, to, kTag, MPI_COMM_WORLD, &requests[1]);
  for (int i = 0; i < 5; ++i) {
    fill(out, kOctets, my_rank, to + i);
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    expect_octets("persistent", in, kOctets, from, my_rank + i);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

void check_messages(void) {
  static const size_t kSizes[] = {0, 1, 8, 255, 1024, 4097, 8256, 8257, 16384, 65536, 262147, 1048579};
  for (size_t i = 0; i < sizeof kSizes / sizeof *kSizes; ++i) {
    exchange(kSizes[i], 0);
    exchange(kSizes[i], 1);
  }
  in_order();
  persistent();
}

// -- Collectives ------------------------------------------------------------------------------------------------------

/// Lengths and places for the v variants: each peer's block is shorter than `octets` by its number, with gaps between.
struct Blocks {
  int* counts;
  int* places;
  size_t room;
};

static size_t length_of(size_t octets, int peer) {
  return octets > (size_t)peer * 3 ? octets - (size_t)peer * 3 : 0;
}

/// `by_peer`: the length is the peer's, else this rank's (what it sends to all).
static struct Blocks blocks_of(size_t octets, int by_peer) {
  struct Blocks blocks = {room((size_t)ranks * sizeof(int)), room((size_t)ranks * sizeof(int)), 0};
  for (int peer = 0; peer < ranks; ++peer) {
    blocks.counts[peer] = (int)length_of(octets, by_peer ? peer : my_rank);
    blocks.places[peer] = (int)(blocks.room + 5);
    blocks.room += octets + 5;
  }
  blocks.room += 5;
  return blocks;
}

static void free_blocks(struct Blocks blocks) {
  free(blocks.counts);
  free(blocks.places);
}

/// Each block, and that nothing between the blocks was touched. `from_self`: whose pattern: (peer, me) or (peer, peer).
static void expect_blocks(const char* what, const unsigned char* in, struct Blocks blocks, int to_all) {
  size_t end = 0;
  for (int peer = 0; peer < ranks; ++peer) {
    const size_t place = (size_t)blocks.places[peer];
    const size_t length = (size_t)blocks.counts[peer];
    expect_blank(what, in + end, place - end);
    expect_octets(what, in + place, length, peer, to_all ? -1 : my_rank);
    end = place + length;
  }
  expect_blank(what, in + end, blocks.room - end);
}

static void from_root(size_t octets, int nonblocking, int root) {
  const struct Blocks blocks = blocks_of(octets, 1);
  const size_t own = length_of(octets, my_rank);
  unsigned char* const all = room(blocks.room);
  unsigned char* const one = room(octets);
  const int count = (int)octets;
  blank(one, octets);
  if (my_rank == root) fill(one, octets, root, -1);
  RUN(nonblocking, Bcast, bcast, one, count, MPI_BYTE, root, MPI_COMM_WORLD);
  expect_octets("Bcast", one, octets, root, -1);

  for (int peer = 0; peer < ranks; ++peer) fill(all + blocks.places[peer], octets, root, peer);
  blank(one, octets);
  RUN(nonblocking, Scatterv, scatterv, all, blocks.counts, blocks.places, MPI_BYTE, one, (int)own, MPI_BYTE, root,
      MPI_COMM_WORLD);
  expect_octets("Scatterv", one, own, root, my_rank);
  expect_blank("Scatterv", one + own, octets - own);

  for (int peer = 0; peer < ranks; ++peer) fill(all + (size_t)peer * octets, octets, root, peer);
  blank(one, octets);
  void* const mine = my_rank == root ? MPI_IN_PLACE : (void*)one;
  RUN(nonblocking, Scatter, scatter, all, count, MPI_BYTE, mine, count, MPI_BYTE, root, MPI_COMM_WORLD);
  if (my_rank != root) expect_octets("Scatter", one, octets, root, my_rank);
  free(all);
  free(one);
  free_blocks(blocks);
}

static void to_root(size_t octets, int nonblocking, int root) {
  const struct Blocks blocks = blocks_of(octets, 1);
  const size_t own = length_of(octets, my_rank);
  unsigned char* const all = room(blocks.room);
  unsigned char* const one = room(octets);
  const int count = (int)octets;
  fill(one, octets, my_rank, root);
  blank(all, blocks.room);
  RUN(nonblocking, Gather, gather, one, count, MPI_BYTE, all, count, MPI_BYTE, root, MPI_COMM_WORLD);
  for (int peer = 0; my_rank == root && peer < ranks; ++peer)
    expect_octets("Gather", all + (size_t)peer * octets, octets, peer, root);
  blank(all, blocks.room);
  RUN(nonblocking, Gatherv, gatherv, one, (int)own, MPI_BYTE, all, blocks.counts, blocks.places, MPI_BYTE, root,
      MPI_COMM_WORLD);
  if (my_rank == root) expect_blocks("Gatherv", all, blocks, 0);
  free(all);
  free(one);
  free_blocks(blocks);
}

static void among_all(size_t octets, int nonblocking) {
  const size_t n = (size_t)ranks;
  const struct Blocks in_blocks = blocks_of(octets, 1);
  unsigned char* const in = room(in_blocks.room);
  unsigned char* const one = room(octets);
  const int count = (int)octets;
  fill(one, octets, my_rank, -1);
  blank(in, n * octets);
  RUN(nonblocking, Allgather, allgather, one, count, MPI_BYTE, in, count, MPI_BYTE, MPI_COMM_WORLD);
  for (int peer = 0; peer < ranks; ++peer) expect_octets("Allgather", in + (size_t)peer * octets, octets, peer, -1);
  blank(in, in_blocks.room);
  fill(in + in_blocks.places[my_rank], length_of(octets, my_rank), my_rank, -1);
  RUN(nonblocking, Allgatherv, allgatherv, MPI_IN_PLACE, 0, MPI_BYTE, in, in_blocks.counts, in_blocks.places, MPI_BYTE,
      MPI_COMM_WORLD);
  expect_blocks("Allgatherv", in, in_blocks, 1);
  free(in);
  free(one);
  free_blocks(in_blocks);
}

static void all_to_all(size_t octets, int nonblocking) {
  const size_t n = (size_t)ranks;
  const int count = (int)octets;
  // A block's length is the receiver's own number on both sides: all that a rank receives is equally long.
  const struct Blocks out_blocks = blocks_of(octets, 1);
  const struct Blocks in_blocks = blocks_of(octets, 0);
  unsigned char* const out = room(out_blocks.room);
  unsigned char* const in = room(in_blocks.room);
  for (int peer = 0; peer < ranks; ++peer) fill(out + (size_t)peer * octets, octets, my_rank, peer);
  blank(in, n * octets);
  RUN(nonblocking, Alltoall, alltoall, out, count, MPI_BYTE, in, count, MPI_BYTE, MPI_COMM_WORLD);
  for (int peer = 0; peer < ranks; ++peer) expect_octets("Alltoall", in + (size_t)peer * octets, octets, peer, my_rank);

  for (int peer = 0; peer < ranks; ++peer) fill(out + out_blocks.places[peer], octets, my_rank, peer);
  blank(in, in_blocks.room);
  RUN(nonblocking, Alltoallv, alltoallv, out, out_blocks.counts, out_blocks.places, MPI_BYTE, in, in_blocks.counts,
      in_blocks.places, MPI_BYTE, MPI_COMM_WORLD);
  expect_blocks("Alltoallv", in, in_blocks, 0);

  // Receivers name three octets at a time where senders name single ones, if that is possible.
  MPI_Datatype triple;
  MPI_Type_contiguous(3, MPI_BYTE, &triple);
  MPI_Type_commit(&triple);
  MPI_Datatype* const out_types = room(n * sizeof *out_types);
  MPI_Datatype* const in_types = room(n * sizeof *in_types);
  int* const in_counts = room(n * sizeof *in_counts);
  for (int peer = 0; peer < ranks; ++peer) {
    const int whole = in_blocks.counts[peer] % 3 == 0;
    out_types[peer] = MPI_BYTE;
    in_types[peer] = whole ? triple : MPI_BYTE;
    in_counts[peer] = whole ? in_blocks.counts[peer] / 3 : in_blocks.counts[peer];
  }
  blank(in, in_blocks.room);
  RUN(nonblocking, Alltoallw, alltoallw, out, out_blocks.counts, out_blocks.places, out_types, in, in_counts,
      in_blocks.places, in_types, MPI_COMM_WORLD);
  expect_blocks("Alltoallw", in, in_blocks, 0);
  MPI_Type_free(&triple);
  free(out_types);
  free(in_types);
  free(in_counts);
  free(out);
  free(in);
  free_blocks(out_blocks);
  free_blocks(in_blocks);
}

void check_collectives(size_t octets, int nonblocking) {
  for (int root = 0; root < ranks; ++root) {
    from_root(octets, nonblocking, root);
    to_root(octets, nonblocking, root);
  }
  among_all(octets, nonblocking);
  all_to_all(octets, nonblocking);
  RUN(nonblocking, Barrier, barrier, MPI_COMM_WORLD);
}

// -- Neighbours -------------------------------------------------------------------------------------------------------

/// A ring: two neighbours, which are one and the same if there are two ranks.
void check_neighbours(int nonblocking) {
  enum { kOctets = 5000 };
  static unsigned char out[2 * kOctets];
  static unsigned char in[2 * kOctets];
  MPI_Comm ring;
  const int periodic = 1;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, &ring);
  int peers[2];
  MPI_Cart_shift(ring, 0, 1, &peers[0], &peers[1]);
  fill(out, kOctets, my_rank, -1);
  blank(in, sizeof in);
  RUN(nonblocking, Neighbor_allgather, neighbor_allgather, out, kOctets, MPI_BYTE, in, kOctets, MPI_BYTE, ring);
  for (int i = 0; i < 2; ++i) expect_octets("Neighbor_allgather", in + i * kOctets, kOctets, peers[i], -1);

  const int counts[2] = {kOctets, kOctets};
  const int places[2] = {kOctets, 0};
  blank(in, sizeof in);
  RUN(nonblocking, Neighbor_allgatherv, neighbor_allgatherv, out, kOctets, MPI_BYTE, in, counts, places, MPI_BYTE,
      ring);
  for (int i = 0; i < 2; ++i) expect_octets("Neighbor_allgatherv", in + places[i], kOctets, peers[i], -1);

  if (ranks > 2) {  // with two, both blocks are for the same peer, and the pattern does not tell them apart
    for (int i = 0; i < 2; ++i) fill(out + i * kOctets, kOctets, my_rank, peers[i]);
    blank(in, sizeof in);
    RUN(nonblocking, Neighbor_alltoall, neighbor_alltoall, out, kOctets, MPI_BYTE, in, kOctets, MPI_BYTE, ring);
    for (int i = 0; i < 2; ++i) expect_octets("Neighbor_alltoall", in + i * kOctets, kOctets, peers[i], my_rank);
    const int straight[2] = {0, kOctets};
    blank(in, sizeof in);
    RUN(nonblocking, Neighbor_alltoallv, neighbor_alltoallv, out, counts, straight, MPI_BYTE, in, counts, places,
        MPI_BYTE, ring);
    for (int i = 0; i < 2; ++i) expect_octets("Neighbor_alltoallv", in + places[i], kOctets, peers[i], my_rank);
    const MPI_Aint out_places[2] = {0, kOctets};
    const MPI_Aint in_places[2] = {kOctets, 0};
    const MPI_Datatype types[2] = {MPI_BYTE, MPI_BYTE};
    blank(in, sizeof in);
    RUN(nonblocking, Neighbor_alltoallw, neighbor_alltoallw, out, counts, out_places, types, in, counts, in_places,
        types, ring);
    for (int i = 0; i < 2; ++i) expect_octets("Neighbor_alltoallw", in + in_places[i], kOctets, peers[i], my_rank);
  }
  MPI_Comm_free(&ring);
}
