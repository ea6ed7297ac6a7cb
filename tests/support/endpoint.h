// Endpoint: what one side of a test connection owns (PD, CQs, QP), the way to bring it to life, and its buffers.
#pragma once

#include <string>
#include <vector>

#include "tests/support/world.h"

namespace verbena::test {

struct QpOptions {
  QpType type = QpType::rc;
  std::uint32_t mtu = 1024;
  std::uint8_t timeout = 10;  // about 4 ms
  std::uint8_t retry_count = 7;
  std::uint8_t rnr_retry = 7;
  std::uint8_t min_rnr_timer = 1;  // 10 us
  std::uint8_t max_read_atomic = 16;
  std::uint8_t max_dest_read_atomic = 16;
  std::uint32_t first_psn = 100;  // of both directions
  std::uint32_t access = kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic;
  std::uint8_t source_gid_index = 0;
  std::uint16_t pkey_index = 0;
  std::uint8_t static_rate = 0;
  std::uint32_t qkey = 0x11111111;
  std::uint32_t cq_entries = 256;
  QpCapabilities capabilities = {
      .max_send_wr = 64, .max_recv_wr = 64, .max_send_sge = 4, .max_recv_sge = 4, .max_inline_data = 128};
  bool signal_all = true;
  SrqHandle srq{};
};

inline std::string_view name_of(CompletionStatus status) {
  switch (status) {
    case CompletionStatus::success:
      return "success";
    case CompletionStatus::local_length_error:
      return "local_length_error";
    case CompletionStatus::local_qp_operation_error:
      return "local_qp_operation_error";
    case CompletionStatus::local_eec_operation_error:
      return "local_eec_operation_error";
    case CompletionStatus::local_protection_error:
      return "local_protection_error";
    case CompletionStatus::flushed:
      return "flushed";
    case CompletionStatus::memory_window_bind_error:
      return "memory_window_bind_error";
    case CompletionStatus::bad_response:
      return "bad_response";
    case CompletionStatus::local_access_error:
      return "local_access_error";
    case CompletionStatus::remote_invalid_request:
      return "remote_invalid_request";
    case CompletionStatus::remote_access_error:
      return "remote_access_error";
    case CompletionStatus::remote_operation_error:
      return "remote_operation_error";
    case CompletionStatus::retry_exceeded:
      return "retry_exceeded";
    case CompletionStatus::rnr_retry_exceeded:
      return "rnr_retry_exceeded";
    case CompletionStatus::remote_aborted:
      return "remote_aborted";
    case CompletionStatus::fatal_error:
      return "fatal_error";
    case CompletionStatus::response_timeout:
      return "response_timeout";
    case CompletionStatus::general_error:
      return "general_error";
    case CompletionStatus::local_rdd_violation:
    case CompletionStatus::remote_invalid_rd_request:
    case CompletionStatus::invalid_eecn:
    case CompletionStatus::invalid_eec_state:
    case CompletionStatus::tag_matching_error:
    case CompletionStatus::tag_matching_rendezvous_incomplete:
      return "planned only";
  }
  return "?";
}

/// Registered memory. It lives as long as the test; the NIC is not asked to deregister it. Work requests and peers name
/// it by an address that is the same in every run, so that runs can be compared; only inline data needs the true one.
class Buffer {
 public:
  Buffer(Nic& nic, PdHandle pd, std::size_t bytes,
         std::uint32_t access = kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic)
      : words_((bytes + 15) / 8), bytes_(bytes) {
    const auto place = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(words_.data()));
    const auto mr = nic.register_memory({.pd = pd, .address = place, .length = bytes, .iova = kIova, .access = access});
    BOOST_REQUIRE(mr.ok());
    mr_ = *mr;
  }
  static constexpr std::uint64_t kIova = 0x700000001000;
  static std::uint64_t address(std::size_t offset = 0) { return kIova + offset; }
  std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(words_)).first(bytes_); }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(words_)).first(bytes_); }
  std::uint64_t& word(std::size_t index) { return words_[index]; }
  std::uint32_t lkey() const { return mr_.lkey; }
  std::uint32_t rkey() const { return mr_.rkey; }
  MrHandle mr() const { return mr_.handle; }
  Sge sge(std::size_t offset = 0, std::size_t length = SIZE_MAX) const {
    return {address(offset), static_cast<std::uint32_t>(std::min(length, bytes_ - offset)), mr_.lkey};
  }
  void fill(std::uint64_t seed) {
    fabric::Dice dice(seed);
    for (auto& word : words_) word = dice.next();
  }
  void clear() { std::fill(words_.begin(), words_.end(), 0); }

 private:
  std::vector<std::uint64_t> words_;  // for alignment
  std::size_t bytes_;
  MemoryRegion mr_;
};

inline bool same_bytes(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

class Endpoint {
 public:
  /// In the reset state.
  Endpoint(World& world, unsigned node, const QpOptions& options = {}) : world_(world), node_(node), options_(options) {
    pd = take(nic().allocate_pd());
    send_cq = take(nic().create_cq(options.cq_entries, 0x5e00 + node, false, 20 + node));
    recv_cq = take(nic().create_cq(options.cq_entries, 0x4e00 + node, false, 30 + node));
    create_qp();
  }
  /// A further QP of the same PD and CQs.
  Endpoint(const Endpoint& sibling, const QpOptions& options)
      : pd(sibling.pd),
        send_cq(sibling.send_cq),
        recv_cq(sibling.recv_cq),
        world_(sibling.world_),
        node_(sibling.node_),
        options_(options) {
    create_qp();
  }

  Nic& nic() const { return world_.nic(node_); }
  Counters& counters() const { return world_.counters(node_); }
  unsigned node() const { return node_; }
  wire::Qpn qpn() const { return nic().qpn(qp); }
  const QpOptions& options() const { return options_; }
  QpState state() const { return take(nic().query_qp(qp)).state; }

  VerbsResult<void> modify(const QpAttributes& attributes, std::uint32_t mask) {
    return nic().modify_qp(qp, attributes, mask, world_.now());
  }
  void to_state(QpState state) {
    QpAttributes attributes;
    attributes.state = state;
    BOOST_REQUIRE(modify(attributes, kQpState).ok());
  }

  static AddressVector path_to(unsigned node) {
    AddressVector path;
    path.destination = node_gid(node);
    path.next_hop = node_mac(node);
    return path;
  }
  /// The same on the medium of the world, and with the QP's static rate.
  AddressVector own_path_to(unsigned node) const {
    AddressVector path = path_to(node);
    if (world_.medium_of(node) == wire::Medium::infiniband) path.next_hop = {wire::Lid(node), 0};
    path.static_rate = options_.static_rate;
    return path;
  }
  QpAttributes init_attributes() const {
    QpAttributes attributes;
    attributes.state = QpState::init;
    attributes.access = options_.access;
    attributes.qkey = options_.qkey;
    attributes.pkey_index = options_.pkey_index;
    return attributes;
  }
  std::uint32_t init_mask() const {
    if (options_.type == QpType::raw_packet) return kQpState | kQpPort;
    return kQpState | kQpPkeyIndex | kQpPort | (options_.type == QpType::ud ? kQpQkey : kQpAccessFlags);
  }
  QpAttributes rtr_attributes(unsigned peer_node, wire::Qpn peer_qpn) const {
    QpAttributes attributes;
    attributes.state = QpState::rtr;
    attributes.address_vector = own_path_to(peer_node);
    attributes.address_vector.source_gid_index = options_.source_gid_index;
    attributes.path_mtu_bytes = options_.mtu;
    attributes.dest_qpn = peer_qpn;
    attributes.rq_psn = wire::Psn(options_.first_psn);
    attributes.max_dest_read_atomic = options_.max_dest_read_atomic;
    attributes.min_rnr_timer = options_.min_rnr_timer;
    return attributes;
  }
  std::uint32_t rtr_mask() const {
    if (options_.type == QpType::ud || options_.type == QpType::raw_packet) return kQpState;
    const std::uint32_t connected = kQpState | kQpAv | kQpPathMtu | kQpDestQpn | kQpRqPsn;
    const bool responds = options_.type == QpType::rc || options_.type == QpType::xrc_receive;
    return responds ? connected | kQpMaxDestReadAtomic | kQpMinRnrTimer : connected;
  }
  QpAttributes rts_attributes() const {
    QpAttributes attributes;
    attributes.state = QpState::rts;
    attributes.sq_psn = wire::Psn(options_.first_psn);
    attributes.timeout = options_.timeout;
    attributes.retry_count = options_.retry_count;
    attributes.rnr_retry = options_.rnr_retry;
    attributes.max_read_atomic = options_.max_read_atomic;
    return attributes;
  }
  std::uint32_t rts_mask() const {
    if (options_.type == QpType::raw_packet) return kQpState;
    const std::uint32_t all = kQpState | kQpSqPsn;
    if (options_.type == QpType::xrc_receive) return all | kQpTimeout;
    const bool requests = options_.type == QpType::rc || options_.type == QpType::xrc_send;
    return requests ? all | kQpTimeout | kQpRetryCount | kQpRnrRetry | kQpMaxReadAtomic : all;
  }
  void to_init() { BOOST_REQUIRE(modify(init_attributes(), init_mask()).ok()); }
  void to_rtr(unsigned peer_node, wire::Qpn peer_qpn) {
    BOOST_REQUIRE(modify(rtr_attributes(peer_node, peer_qpn), rtr_mask()).ok());
  }
  void to_rts() { BOOST_REQUIRE(modify(rts_attributes(), rts_mask()).ok()); }
  void connect(unsigned peer_node, wire::Qpn peer_qpn) {
    to_init();
    to_rtr(peer_node, peer_qpn);
    to_rts();
  }

  VerbsResult<void> try_post(const SendRequest& request) { return nic().post_send(qp, request, world_.now()); }
  void post(const SendRequest& request) { BOOST_REQUIRE(try_post(request).ok()); }
  VerbsResult<void> try_receive(std::uint64_t wr_id, std::span<const Sge> sges) {
    return nic().post_receive(qp, {wr_id, sges});
  }
  void receive(std::uint64_t wr_id, std::initializer_list<Sge> sges) {
    BOOST_REQUIRE(try_receive(wr_id, std::span(sges.begin(), sges.size())).ok());
  }

  std::vector<Completion> poll(CqHandle cq) {
    std::vector<Completion> all;
    std::array<Completion, 16> some;
    while (const std::size_t count = nic().poll_cq(cq, some)) all.insert(all.end(), some.begin(), some.begin() + count);
    return all;
  }
  std::vector<Completion> poll_sent() { return poll(send_cq); }
  std::vector<Completion> poll_received() { return poll(recv_cq); }
  std::vector<AsyncEventType> poll_events() {
    std::vector<AsyncEventType> types;
    while (const auto event = nic().poll_event()) types.push_back(event->type);
    return types;
  }

  template <class T>
  static T take(VerbsResult<T> result) {
    BOOST_REQUIRE(result.ok());
    return *result;
  }

  PdHandle pd;
  CqHandle send_cq;
  CqHandle recv_cq;
  QpHandle qp;
  QpCapabilities granted;

 private:
  void create_qp() {
    QpInit init{.pd = pd,
                .type = options_.type,
                .send_cq = send_cq,
                .recv_cq = recv_cq,
                .srq = options_.srq,
                .capabilities = options_.capabilities,
                .signal_all = options_.signal_all,
                .context = 0x9000 + node_,
                .number = 10 + node_};
    if (options_.type == QpType::xrc_receive)
      init = {.type = options_.type, .xrc_domain = take(nic().create_xrc_domain()), .context = init.context};
    if (options_.type == QpType::xrc_send) init.recv_cq = {};
    qp = take(nic().create_qp(init));
    granted = init.capabilities;
  }

  World& world_;
  unsigned node_;
  QpOptions options_;
};

/// Two nodes, two QPs that are ready to send, and a buffer on each side.
struct Pair {
  explicit Pair(const QpOptions& options = {}, std::size_t buffer_bytes = 1 << 16, WorldOptions world_options = {})
      : world(std::move(world_options)),
        a(world, 1, options),
        b(world, 2, options),
        a_buffer(a.nic(), a.pd, buffer_bytes),
        b_buffer(b.nic(), b.pd, buffer_bytes) {
    a.connect(2, b.qpn());
    b.connect(1, a.qpn());
    a_buffer.fill(1);
    b_buffer.fill(2);
  }

  World world;
  Endpoint a;
  Endpoint b;
  Buffer a_buffer;
  Buffer b_buffer;
};

inline void check_statuses(const std::vector<Completion>& completions,
                           std::initializer_list<CompletionStatus> expected) {
  std::string got, wanted;
  for (const Completion& completion : completions) got += std::string(name_of(completion.status)) + " ";
  for (const CompletionStatus status : expected) wanted += std::string(name_of(status)) + " ";
  BOOST_TEST(got == wanted);
}

}  // namespace verbena::test
