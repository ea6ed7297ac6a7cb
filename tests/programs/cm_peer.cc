// One end of connections over the distribution's librdmacm, for tests that need an end that refuses, stays silent,
// stays for ever or comes back ten thousand times. It says what it is told by: one line per event, NAME STATUS [DATA].
//
//   cm_peer serve PORT accept|quietly|reject|ignore [NAME]     until it is killed
//   cm_peer ask ADDRESS PORT [RESOLVE_MS]       until the connection has ended or did not come about
//   cm_peer cycle ADDRESS PORT COUNT            connects and disconnects, one at a time
//
// A NAME is one of the family AF_IB, GID/P_KEY; ask takes it for an address. With one it says which P_Key a QP gets.
#include <arpa/inet.h>
#include <dirent.h>
#include <endian.h>
#include <infiniband/ib.h>
#include <malloc.h>
#include <rdma/rdma_cma.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace {

constexpr int kResolveMs = 2000;
constexpr int kCyclesPerReport = 1000;
constexpr char kRefusal[] = "no entry";

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(2);
}

void say(const rdma_cm_event& event) {
  std::printf("%s %d", rdma_event_str(event.event), event.status);
  if (event.event == RDMA_CM_EVENT_REJECTED && event.param.conn.private_data_len >= sizeof kRefusal)
    std::printf(" %.*s", static_cast<int>(sizeof kRefusal), static_cast<const char*>(event.param.conn.private_data));
  std::printf("\n");
  std::fflush(stdout);
}

/// What is allocated of the heap, resident shared memory and open descriptors, for whoever looks for leaks.
void report(int cycles) {
  long shared_pages = 0;
  if (std::FILE* const file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%*d %*d %ld", &shared_pages) != 1) shared_pages = 0;
    std::fclose(file);
  }
  int descriptors = 0;
  if (DIR* const folder = opendir("/proc/self/fd")) {
    while (readdir(folder) != nullptr) ++descriptors;
    closedir(folder);
  }
  std::printf("after %d: %zu KiB of heap, %ld KiB shared, %d descriptors\n", cycles, mallinfo2().uordblks / 1024,
              shared_pages * (sysconf(_SC_PAGESIZE) / 1024), descriptors);
  std::fflush(stdout);
}

void make_qp(rdma_cm_id* id) {
  ibv_qp_init_attr attributes{};
  attributes.qp_type = IBV_QPT_RC;
  attributes.cap = {1, 1, 1, 1, 0};
  if (rdma_create_qp(id, nullptr, &attributes) != 0) fail("rdma_create_qp");
  if (rdma_get_local_addr(id)->sa_family != AF_IB) return;
  ibv_qp_attr made{};
  __be16 pkey = 0;
  if (ibv_query_qp(id->qp, &made, IBV_QP_PKEY_INDEX, &attributes) != 0) fail("ibv_query_qp");
  if (ibv_query_pkey(id->verbs, id->port_num, made.pkey_index, &pkey) != 0) fail("ibv_query_pkey");
  std::printf("P_Key 0x%04x\n", be16toh(pkey));
}

void destroy(rdma_cm_id* id) {
  if (id->qp != nullptr) rdma_destroy_qp(id);
  rdma_destroy_id(id);
}

rdma_conn_param parameters() {
  rdma_conn_param wish{};
  wish.responder_resources = wish.initiator_depth = 1;
  wish.retry_count = wish.rnr_retry_count = 7;
  return wish;
}

struct Address {
  sockaddr_storage storage{};
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

/// `host`: an IPv4 address or a NAME; null: any address.
Address address_of(const char* host, const char* port) {
  const auto number = static_cast<std::uint16_t>(std::atoi(port));
  Address made;
  const std::string text = host != nullptr ? host : "";
  if (const std::size_t slash = text.find('/'); slash != text.npos) {
    sockaddr_ib name{};
    name.sib_family = AF_IB;
    name.sib_pkey = htons(static_cast<std::uint16_t>(std::stoul(text.substr(slash + 1), nullptr, 0)));
    name.sib_sid = htobe64(std::uint64_t{RDMA_PS_TCP} << 16 | number);
    name.sib_sid_mask = ~std::uint64_t{0};
    if (inet_pton(AF_INET6, text.substr(0, slash).c_str(), name.sib_addr.sib_raw) != 1) fail("inet_pton");
    std::memcpy(&made.storage, &name, sizeof name);
    return made;
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(number);
  if (host != nullptr && inet_pton(AF_INET, host, &address.sin_addr) != 1) fail("inet_pton");
  std::memcpy(&made.storage, &address, sizeof address);
  return made;
}

int serve(const char* port, std::string_view how, const char* name) {
  rdma_event_channel* const channel = rdma_create_event_channel();
  rdma_cm_id* listener = nullptr;
  Address address = address_of(name, port);
  if (channel == nullptr || rdma_create_id(channel, &listener, nullptr, RDMA_PS_TCP) != 0) fail("rdma_create_id");
  if (rdma_bind_addr(listener, address.get()) != 0) fail("rdma_bind_addr");
  if (rdma_listen(listener, 64) != 0) fail("rdma_listen");
  std::printf("listening\n");
  std::fflush(stdout);
  int cycles = 0;
  rdma_cm_event* event = nullptr;
  while (rdma_get_cm_event(channel, &event) == 0) {
    rdma_cm_id* const id = event->id;
    const rdma_cm_event_type type = event->event;
    if (how != "quietly") say(*event);
    rdma_ack_cm_event(event);
    if (type == RDMA_CM_EVENT_CONNECT_REQUEST && how == "reject") {
      rdma_reject(id, kRefusal, sizeof kRefusal);
      rdma_destroy_id(id);
    } else if (type == RDMA_CM_EVENT_CONNECT_REQUEST && how != "ignore") {
      rdma_conn_param wish = parameters();
      make_qp(id);
      if (rdma_accept(id, &wish) != 0) destroy(id);
    } else if (type == RDMA_CM_EVENT_DISCONNECTED) {
      rdma_disconnect(id);
      destroy(id);
      if (++cycles % kCyclesPerReport == 0) report(cycles);
    } else if (type == RDMA_CM_EVENT_REJECTED || type == RDMA_CM_EVENT_UNREACHABLE) {
      destroy(id);
    }
  }
  fail("rdma_get_cm_event");
}

/// The next event's type, which must be `wanted` unless that is negative.
rdma_cm_event_type next(rdma_event_channel* channel, int wanted, bool quiet) {
  rdma_cm_event* event = nullptr;
  if (rdma_get_cm_event(channel, &event) != 0) fail("rdma_get_cm_event");
  const rdma_cm_event_type type = event->event;
  if (!quiet) say(*event);
  rdma_ack_cm_event(event);
  if (wanted >= 0 && type != static_cast<rdma_cm_event_type>(wanted)) {
    std::fprintf(stderr, "%s instead of %s\n", rdma_event_str(type),
                 rdma_event_str(static_cast<rdma_cm_event_type>(wanted)));
    std::exit(1);
  }
  return type;
}

bool goes_on(rdma_cm_event_type type) {
  return type == RDMA_CM_EVENT_ADDR_RESOLVED || type == RDMA_CM_EVENT_ROUTE_RESOLVED ||
         type == RDMA_CM_EVENT_ESTABLISHED;
}

int ask(const char* host, const char* port, int resolve_ms) {
  rdma_event_channel* const channel = rdma_create_event_channel();
  rdma_cm_id* id = nullptr;
  Address address = address_of(host, port);
  if (channel == nullptr || rdma_create_id(channel, &id, nullptr, RDMA_PS_TCP) != 0) fail("rdma_create_id");
  if (rdma_resolve_addr(id, nullptr, address.get(), resolve_ms) != 0) fail("rdma_resolve_addr");
  for (;;) {
    const rdma_cm_event_type type = next(channel, -1, false);
    rdma_conn_param wish = parameters();
    if (type == RDMA_CM_EVENT_ADDR_RESOLVED && rdma_resolve_route(id, resolve_ms) != 0) fail("rdma_resolve_route");
    if (type == RDMA_CM_EVENT_ROUTE_RESOLVED) make_qp(id);
    if (type == RDMA_CM_EVENT_ROUTE_RESOLVED && rdma_connect(id, &wish) != 0) fail("rdma_connect");
    if (!goes_on(type)) break;
  }
  destroy(id);
  rdma_destroy_event_channel(channel);
  return 0;
}

int cycle(const char* host, const char* port, int count) {
  rdma_event_channel* const channel = rdma_create_event_channel();
  if (channel == nullptr) fail("rdma_create_event_channel");
  Address address = address_of(host, port);
  for (int done = 1; done <= count; ++done) {
    rdma_cm_id* id = nullptr;
    rdma_conn_param wish = parameters();
    if (rdma_create_id(channel, &id, nullptr, RDMA_PS_TCP) != 0) fail("rdma_create_id");
    if (rdma_resolve_addr(id, nullptr, address.get(), kResolveMs) != 0) fail("rdma_resolve_addr");
    next(channel, RDMA_CM_EVENT_ADDR_RESOLVED, true);
    if (rdma_resolve_route(id, kResolveMs) != 0) fail("rdma_resolve_route");
    next(channel, RDMA_CM_EVENT_ROUTE_RESOLVED, true);
    make_qp(id);
    if (rdma_connect(id, &wish) != 0) fail("rdma_connect");
    next(channel, RDMA_CM_EVENT_ESTABLISHED, true);
    if (rdma_disconnect(id) != 0) fail("rdma_disconnect");
    next(channel, RDMA_CM_EVENT_DISCONNECTED, true);
    destroy(id);
    if (done % kCyclesPerReport == 0) report(done);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view command = argc > 1 ? argv[1] : "";
  if (command == "serve" && argc >= 4) return serve(argv[2], argv[3], argc > 4 ? argv[4] : nullptr);
  if (command == "ask" && argc >= 4) return ask(argv[2], argv[3], argc > 4 ? std::atoi(argv[4]) : kResolveMs);
  if (command == "cycle" && argc == 5) return cycle(argv[2], argv[3], std::atoi(argv[4]));
  std::fprintf(stderr, "usage: see the head of cm_peer.cc\n");
  return 2;
}
