// EngineNode: an engine on a node, one RC queue pair and one buffer, for tests and hand-made measurements.
#pragma once

#include <unistd.h>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "emulator/host/engine/engine.h"
#include "emulator/host/node/node_directory.h"
#include "emulator/host/os/clock.h"

namespace verbena::host::test {

inline EngineConfig engine_config(std::uint8_t node, const std::string& fabric, bool thread = true) {
  EngineConfig config;
  config.fabric = fabric;
  config.address = wire::Gid::from_ipv4(0x7f2f5b00u | node);
  config.progress_thread = thread;
  return config;
}

/// What the other side must know to connect; plain, so that it crosses a pipe.
struct Contact {
  std::uint32_t qpn = 0;
  std::uint32_t rkey = 0;
  std::uint64_t address = 0;
  std::uint8_t node = 0;
};

struct EngineNode : EventSink {
  static constexpr std::size_t kBytes = 1 << 20;

  EngineNode(std::uint8_t number, const std::string& fabric, bool thread = true)
      : EngineNode(number, engine_config(number, fabric, thread)) {}
  EngineNode(std::uint8_t number, const EngineConfig& config) : node(number), buffer(kBytes / 8) {
    auto opened = Engine::open(config, *this);
    BOOST_REQUIRE_MESSAGE(opened.ok(), (opened.ok() ? "" : opened.error()));
    engine = std::move(*opened);
    build();
  }
  EngineNode(std::uint8_t number, OpenedLink opened_link, const EngineConfig& config)
      : node(number), buffer(kBytes / 8) {
    auto opened = Engine::open_on(std::move(opened_link), config, *this);
    BOOST_REQUIRE_MESSAGE(opened.ok(), (opened.ok() ? "" : opened.error()));
    engine = std::move(*opened);
    build();
  }
  template <class Call>
  auto make(Call&& call) {
    auto result = engine->run([&](nic::Nic& nic, Time) { return call(nic); });
    BOOST_REQUIRE(result.ok());
    return *result;
  }
  void build() {
    pd = make([&](nic::Nic& nic) { return nic.allocate_pd(); });
    cq = make([&](nic::Nic& nic) { return nic.create_cq(1024, 0xc0); });
    const auto place = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(buffer.data()));
    const std::uint32_t access = nic::kLocalWrite | nic::kRemoteWrite | nic::kRemoteRead | nic::kRemoteAtomic;
    mr = make([&](nic::Nic& nic) {
      return nic.register_memory({.pd = pd, .address = place, .length = kBytes, .iova = place, .access = access});
    });
    qp = make([&](nic::Nic& nic) {
      nic::QpInit init;
      init.pd = pd;
      init.send_cq = init.recv_cq = cq;
      init.capabilities = {.max_send_wr = 512, .max_recv_wr = 512, .max_send_sge = 1, .max_recv_sge = 1};
      init.signal_all = true;
      return nic.create_qp(init);
    });
    address = place;
  }
  /// ibv_req_notify_cq.
  void ask_for_event() {
    BOOST_REQUIRE(engine->run([&](nic::Nic& nic, Time) { return nic.request_notification(cq, false).ok(); }));
  }
  Contact contact() {
    return {engine->run([&](nic::Nic& nic, Time) { return nic.qpn(qp); }).value(), mr.rkey, address, node};
  }
  void connect(const Contact& peer, std::uint8_t timeout = 14) {
    remote = peer;
    const wire::Gid gid = wire::Gid::from_ipv4(0x7f2f5b00u | peer.node);
    const auto next_hop = engine->resolve(gid);
    BOOST_REQUIRE(next_hop.has_value());
    const bool connected = engine->run([&](nic::Nic& nic, Time now) {
      nic::QpAttributes init;
      init.state = nic::QpState::init;
      init.access = nic::kLocalWrite | nic::kRemoteWrite | nic::kRemoteRead | nic::kRemoteAtomic;
      nic::QpAttributes rtr;
      rtr.state = nic::QpState::rtr;
      rtr.address_vector.destination = gid;
      rtr.address_vector.next_hop = *next_hop;
      rtr.path_mtu_bytes = 4096;
      rtr.dest_qpn = wire::Qpn(peer.qpn);
      rtr.max_dest_read_atomic = 16;
      rtr.min_rnr_timer = 12;
      nic::QpAttributes rts;
      rts.state = nic::QpState::rts;
      rts.timeout = timeout;
      rts.retry_count = 7;
      rts.rnr_retry = 7;
      rts.max_read_atomic = 16;
      using namespace nic;
      return nic.modify_qp(qp, init, kQpState | kQpPkeyIndex | kQpPort | kQpAccessFlags, now).ok() &&
             nic.modify_qp(
                    qp, rtr,
                    kQpState | kQpAv | kQpPathMtu | kQpDestQpn | kQpRqPsn | kQpMaxDestReadAtomic | kQpMinRnrTimer, now)
                 .ok() &&
             nic.modify_qp(qp, rts, kQpState | kQpSqPsn | kQpTimeout | kQpRetryCount | kQpRnrRetry | kQpMaxReadAtomic,
                           now)
                 .ok();
    });
    BOOST_REQUIRE(connected);
  }
  bool post(nic::SendOpcode opcode, std::uint32_t bytes, std::uint64_t offset = 0, std::uint64_t wr_id = 1) {
    const nic::Sge sge{address + offset, bytes, mr.lkey};
    nic::SendRequest request;
    request.wr_id = wr_id;
    request.opcode = opcode;
    request.sges = {&sge, 1};
    request.operand.remote.address = remote.address + offset;
    request.operand.remote.rkey = remote.rkey;
    request.operand.remote.compare_or_add = 1;
    return engine->post([&](nic::Nic& nic, Time now) { return nic.post_send(qp, request, now).ok(); });
  }
  bool post_receive(std::uint32_t bytes, std::uint64_t wr_id = 2) {
    const nic::Sge sge{address, bytes, mr.lkey};
    nic::ReceiveRequest request;
    request.wr_id = wr_id;
    request.sges = {&sge, 1};
    return engine->run([&](nic::Nic& nic, Time) { return nic.post_receive(qp, request).ok(); });
  }
  /// Polls until `count` completions have come; bounded.
  std::vector<nic::Completion> poll(std::size_t count, Duration patience = seconds(20)) {
    std::vector<nic::Completion> got;
    const Time end = clock_now() + patience;
    while (got.size() < count && clock_now() < end) {
      nic::Completion one;
      if (engine->poll_cq(cq, {&one, 1}) == 1)
        got.push_back(one);
      else
        std::this_thread::yield();
    }
    return got;
  }
  void async_event(const nic::AsyncEvent& event) override {
    ++async_events;
    const std::scoped_lock guard(heard_mutex);
    heard.push_back(event.type);
  }
  std::vector<nic::AsyncEventType> events() {
    const std::scoped_lock guard(heard_mutex);
    return heard;
  }
  void completion_event(const nic::CompletionEvent& event) override {
    last_context = event.context;
    ++completion_events;
  }
  std::byte* bytes() { return reinterpret_cast<std::byte*>(buffer.data()); }

  std::uint8_t node;
  std::vector<std::uint64_t> buffer;
  std::atomic<int> async_events{0};
  std::mutex heard_mutex;
  std::vector<nic::AsyncEventType> heard;  // guarded by it
  std::atomic<int> completion_events{0};
  std::atomic<std::uint64_t> last_context{0};
  nic::PdHandle pd;
  nic::CqHandle cq;
  nic::QpHandle qp;
  nic::MemoryRegion mr;
  std::uint64_t address = 0;
  Contact remote;
  std::unique_ptr<Engine> engine;  // last: its end still tells events
};

inline void connect(EngineNode& a, EngineNode& b, std::uint8_t timeout = 14) {
  a.connect(b.contact(), timeout);
  b.connect(a.contact(), timeout);
}

}  // namespace verbena::host::test
