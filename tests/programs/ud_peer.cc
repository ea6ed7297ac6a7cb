// One end of datagrams over the distribution's libibverbs, for tests that need a Q_Key, a GID or a size that no program
// of the distribution has. It uses the first device.
//
//   ud_peer receive QKEY              says "at LID QPN", then "got OCTETS" for each datagram, until it is killed
//   ud_peer send LID QPN QKEY OCTETS [GID [PKEY]]    one datagram; GID: with a GRH to it, -: without; PKEY: an index
#include <arpa/inet.h>
#include <infiniband/verbs.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

namespace {

constexpr std::size_t kGrhBytes = 40;
constexpr std::size_t kBytesMax = kGrhBytes + 4096;
constexpr int kDepth = 16;

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(2);
}

struct End {
  explicit End(std::uint32_t qkey, std::uint16_t pkey_index = 0) {
    ibv_device** const devices = ibv_get_device_list(nullptr);
    if (devices == nullptr || devices[0] == nullptr) fail("ibv_get_device_list");
    context = ibv_open_device(devices[0]);
    ibv_free_device_list(devices);
    if (context == nullptr) fail("ibv_open_device");
    pd = ibv_alloc_pd(context);
    const int access = IBV_ACCESS_LOCAL_WRITE;
    region = (ibv_reg_mr)(pd, memory.data(), memory.size(), access);
    cq = ibv_create_cq(context, 2 * kDepth, nullptr, nullptr, 0);
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq;
    init.qp_type = IBV_QPT_UD;
    init.cap = {kDepth, kDepth, 1, 1, 0};
    if (pd == nullptr || region == nullptr || cq == nullptr) fail("ibv_create_cq");
    qp = ibv_create_qp(pd, &init);
    if (qp == nullptr || ibv_query_port(context, 1, &port) != 0) fail("ibv_create_qp");
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = 1;
    attributes.qkey = qkey;
    attributes.pkey_index = pkey_index;
    if (ibv_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY) != 0) fail("INIT");
    attributes.qp_state = IBV_QPS_RTR;
    if (ibv_modify_qp(qp, &attributes, IBV_QP_STATE) != 0) fail("RTR");
    attributes.qp_state = IBV_QPS_RTS;
    if (ibv_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_SQ_PSN) != 0) fail("RTS");
  }
  void post_receive() {
    ibv_sge sge{reinterpret_cast<std::uintptr_t>(memory.data()), kBytesMax, region->lkey};
    ibv_recv_wr request{};
    request.sg_list = &sge;
    request.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    if (ibv_post_recv(qp, &request, &bad) != 0) fail("ibv_post_recv");
  }
  ibv_wc await() {
    ibv_wc completion{};
    while (ibv_poll_cq(cq, 1, &completion) == 0) {
    }
    return completion;
  }

  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
  ibv_mr* region = nullptr;
  ibv_cq* cq = nullptr;
  ibv_qp* qp = nullptr;
  ibv_port_attr port{};
  std::vector<char> memory = std::vector<char>(kBytesMax);
};

int receive(std::uint32_t qkey) {
  End end(qkey);
  for (int i = 0; i < kDepth; ++i) end.post_receive();
  std::printf("at %u %u\n", end.port.lid, end.qp->qp_num);
  for (;;) {
    std::fflush(stdout);
    const ibv_wc completion = end.await();
    std::printf("got %u\n", completion.byte_len);
    end.post_receive();
  }
}

std::uint32_t number_of(const char* text) {
  return static_cast<std::uint32_t>(std::strtoul(text, nullptr, 0));
}

int send(int count, char** words) {
  End end(number_of(words[2]), count > 5 ? static_cast<std::uint16_t>(number_of(words[5])) : std::uint16_t{0});
  ibv_ah_attr path{};
  path.dlid = static_cast<std::uint16_t>(number_of(words[0]));
  path.port_num = 1;
  if (count > 4 && std::string_view(words[4]) != "-") {
    path.is_global = 1;
    path.grh.hop_limit = 1;
    if (inet_pton(AF_INET6, words[4], &path.grh.dgid) != 1) fail("the GID");
  }
  ibv_ah* const handle = ibv_create_ah(end.pd, &path);
  if (handle == nullptr) fail("ibv_create_ah");
  ibv_sge sge{reinterpret_cast<std::uintptr_t>(end.memory.data()), number_of(words[3]), end.region->lkey};
  ibv_send_wr request{};
  request.sg_list = &sge;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.ud.ah = handle;
  request.wr.ud.remote_qpn = number_of(words[1]);
  request.wr.ud.remote_qkey = number_of(words[2]);
  ibv_send_wr* bad = nullptr;
  if (const int error = ibv_post_send(end.qp, &request, &bad)) return errno = error, fail("ibv_post_send"), 2;
  const ibv_wc completion = end.await();
  std::printf("sent: %s\n", ibv_wc_status_str(completion.status));
  return completion.status == IBV_WC_SUCCESS ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  const std::string_view command = count > 1 ? words[1] : "";
  if (command == "receive" && count == 3) return receive(number_of(words[2]));
  if (command == "send" && count >= 6) return send(count - 2, words + 2);
  std::fprintf(stderr, "what?\n");
  return 2;
}
