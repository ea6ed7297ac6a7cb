// One end of connections over the distribution's librdmacm, for tests that need an end that refuses, stays silent,
// stays for ever or comes back ten thousand times. It says what it is told by: one line per event, NAME STATUS [DATA].
//
//   cm_peer serve PORT accept|quietly|reject|ignore     until it is killed
//   cm_peer ask ADDRESS PORT [RESOLVE_MS]       until the connection has ended or did not come about
//   cm_peer cycle ADDRESS PORT COUNT            connects and disconnects, one at a time
#include <arpa/inet.h>
#include <dirent.h>
#include <malloc.h>
#include <rdma/rdma_cma.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
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

sockaddr_in address_of(const char* host, const char* port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(port)));
  if (host != nullptr && inet_pton(AF_INET, host, &address.sin_addr) != 1) fail("inet_pton");
  return address;
}

int serve(const char* port, std::string_view how) {
  rdma_event_channel* const channel = rdma_create_event_channel();
  rdma_cm_id* listener = nullptr;
  sockaddr_in address = address_of(nullptr, port);
  if (channel == nullptr || rdma_create_id(channel, &listener, nullptr, RDMA_PS_TCP) != 0) fail("rdma_create_id");
  if (rdma_bind_addr(listener, reinterpret_cast<sockaddr*>(&address)) != 0) fail("rdma_bind_addr");
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
  sockaddr_in address = address_of(host, port);
  if (channel == nullptr || rdma_create_id(channel, &id, nullptr, RDMA_PS_TCP) != 0) fail("rdma_create_id");
  if (rdma_resolve_addr(id, nullptr, reinterpret_cast<sockaddr*>(&address), resolve_ms) != 0) fail("rdma_resolve_addr");
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
  sockaddr_in address = address_of(host, port);
  for (int done = 1; done <= count; ++done) {
    rdma_cm_id* id = nullptr;
    rdma_conn_param wish = parameters();
    if (rdma_create_id(channel, &id, nullptr, RDMA_PS_TCP) != 0) fail("rdma_create_id");
    if (rdma_resolve_addr(id, nullptr, reinterpret_cast<sockaddr*>(&address), kResolveMs) != 0)
      fail("rdma_resolve_addr");
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
  if (command == "serve" && argc == 4) return serve(argv[2], argv[3]);
  if (command == "ask" && argc >= 4) return ask(argv[2], argv[3], argc > 4 ? std::atoi(argv[4]) : kResolveMs);
  if (command == "cycle" && argc == 5) return cycle(argv[2], argv[3], std::atoi(argv[4]));
  std::fprintf(stderr, "usage: see the head of cm_peer.cc\n");
  return 2;
}
