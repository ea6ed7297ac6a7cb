// What the tests of the shim share: an endpoint with everything a QP needs, connecting two of them, waiting for
// completions.
//
// Only the verbs API is used here, as an application would: no header of Verbena is included.
#pragma once

#include <infiniband/verbs.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

namespace verbs_test {

inline constexpr int kAllAccess =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
inline constexpr std::uint32_t kQkey = 0x11223344;

/// A value that the enumeration does not have, as a faulty program in C passes it.
template <class Enumeration>
Enumeration out_of_range(int value) {
  Enumeration result;
  static_assert(sizeof result == sizeof value);
  std::memcpy(&result, &value, sizeof result);
  return result;
}

/// The first device, opened; closed at the end unless taken.
struct OpenDevice {
  OpenDevice();
  ~OpenDevice();
  OpenDevice(const OpenDevice&) = delete;
  OpenDevice& operator=(const OpenDevice&) = delete;
  ibv_context* context = nullptr;
};

struct EndpointOptions {
  ibv_qp_type type = IBV_QPT_RC;
  bool with_channel = false;
  bool with_srq = false;
  int cq_entries = 64;
  ibv_qp_cap capabilities = {
      .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 4, .max_recv_sge = 4, .max_inline_data = 64};
  std::uint64_t send_operations = 0;  // makes an extended QP
  std::uint8_t port = 1;              // that the QP is on
};

/// A context of its own with PD, buffer, MR, CQ and QP.
struct Endpoint {
  explicit Endpoint(EndpointOptions options = {});
  ~Endpoint();

  ibv_sge sge(std::size_t offset, std::size_t length) const;
  std::uint64_t address(std::size_t offset) const { return reinterpret_cast<std::uint64_t>(buffer.data() + offset); }
  int post_receive(std::uint64_t wr_id, std::size_t offset, std::size_t length);
  /// A signaled request of the opcode; the caller sets what else it needs.
  ibv_send_wr request(ibv_wr_opcode opcode, ibv_sge* sge) const;
  int post(ibv_send_wr& request);

  EndpointOptions options;
  OpenDevice device;
  ibv_context* context = device.context;
  std::vector<char> buffer = std::vector<char>(1 << 16);
  ibv_pd* pd = nullptr;
  ibv_mr* mr = nullptr;
  ibv_comp_channel* channel = nullptr;
  ibv_cq* cq = nullptr;
  ibv_srq* srq = nullptr;
  ibv_qp* qp = nullptr;
};

/// Brings both QPs to RTS, each the other's peer (UD: ready to send to anybody).
void connect(Endpoint& a, Endpoint& b, int gid_index = 0);
int to_init(Endpoint& endpoint);
int to_rtr(Endpoint& endpoint, const Endpoint& peer, int gid_index = 0);
/// The peer is a QP of this number at this address, in whatever process.
int to_rtr(Endpoint& endpoint, std::uint32_t peer_qpn, const ibv_ah_attr& peer);
int to_rts(Endpoint& endpoint);

/// The address vector of the port that the endpoint is on: an entry of its GID table.
ibv_ah_attr address_of(const Endpoint& endpoint, int gid_index = 0);

/// Polls until the condition holds, at most for a minute: longer than a busy machine under a sanitizer needs. Returns
/// whether it came to hold.
bool wait_for(const std::function<bool()>& condition);

/// The next completion of a CQ, polling `others` meanwhile. Fails the test when none comes.
ibv_wc next_completion(ibv_cq* cq);

}  // namespace verbs_test
