// Packets with a wrong P_Key or Q_Key: what the NIC tells of them, from which a trap is made.
#include <boost/test/unit_test.hpp>
#include <vector>

#include "emulator/nic/objects/management_sink.h"
#include "emulator/nic/port_management.h"
#include "tests/support/script.h"
#include "wire/infiniband.h"
#include "wire/management.h"

using namespace verbena;
using namespace verbena::test;

namespace {

constexpr std::uint32_t kQkey = 0x1234;

struct Listening final : ManagementSink {
  void management_datagram(Time, std::uint32_t, const wire::PacketView&) override { ++datagrams; }
  void key_refused(std::uint32_t port, const wire::PacketView& packet, bool is_qkey) override {
    BOOST_TEST(port == 1u);
    (is_qkey ? qkeys : pkeys).push_back(wire::bad_key_details(packet, is_qkey));
  }
  std::vector<wire::BadKeyDetails> pkeys, qkeys;
  int datagrams = 0;
};

WorldOptions options_on(const char* wire_name) {
  const wire::WireKind& wire = *wire::find_wire_kind(wire_name);
  return {.limits = {.max_qp = 8, .max_cq = 8, .max_mr = 8, .max_ah = 8, .max_srq = 4, .pkeys = 2},
          .wires = {wire, wire}};
}

/// Two ends that speak to each other in datagrams.
struct Ends {
  explicit Ends(const char* wire)
      : world(options_on(wire)),
        a(world, 1, {.type = QpType::ud, .qkey = kQkey}),
        b(world, 2, {.type = QpType::ud, .qkey = kQkey}),
        buffer(a.nic(), a.pd, 100),
        ah(Endpoint::take(a.nic().create_ah(a.pd, a.own_path_to(2)))) {
    a.connect(2, {});
    b.connect(1, {});
    b.nic().set_management(&told);
  }
  void send(std::uint32_t qkey) { send(b.qpn(), qkey); }
  void send(wire::Qpn to, std::uint32_t qkey) {
    const Sge sge = buffer.sge(0, 10);
    a.post({.wr_id = 4,
            .opcode = SendOpcode::send,
            .sges = {&sge, 1},
            .address_handle = ah,
            .remote_qpn = to,
            .remote_qkey = qkey});
    world.run_to_rest();
  }
  Listening told;
  World world;
  Endpoint a, b;
  Buffer buffer;
  AhHandle ah;
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_wrong_qkey_is_told_with_its_packet) {
  Ends ends("infiniband");
  ends.send(kQkey);
  BOOST_TEST((ends.told.pkeys.empty() && ends.told.qkeys.empty()));
  ends.send(kQkey + 1);
  BOOST_TEST(ends.told.pkeys.empty());
  BOOST_REQUIRE(ends.told.qkeys.size() == 1u);
  const wire::BadKeyDetails& told = ends.told.qkeys[0];
  BOOST_TEST((told.source == wire::Lid(1) && told.destination == wire::Lid(2)));
  BOOST_TEST(told.key == kQkey + 1);
  BOOST_TEST((told.source_qp == ends.a.qpn() && told.destination_qp == ends.b.qpn()));
  BOOST_TEST((told.source_gid == node_gid(1) && told.destination_gid == node_gid(2)));
}

// IBA volume 1, 10.9.3: QP1 has no P_Key of its own, and takes those of its port.
BOOST_AUTO_TEST_CASE(QP1_takes_each_pkey_of_its_port_and_no_other) {
  Ends ends("infiniband");
  PortManagement(ends.b.nic()).set_pkeys(1, std::array<std::uint16_t, 2>{0xffff, 0x0005});
  for (const std::uint16_t good : std::array<std::uint16_t, 3>{0xffff, 0x7fff, 0x8005}) {
    PortManagement(ends.a.nic()).set_pkeys(1, std::array<std::uint16_t, 1>{good});
    ends.send(wire::kGsiQpn, wire::kGsiQkey);
  }
  BOOST_TEST((ends.told.datagrams == 3 && ends.told.pkeys.empty()));
  for (const std::uint16_t wrong : std::array<std::uint16_t, 2>{0x0005, 0x8006}) {
    PortManagement(ends.a.nic()).set_pkeys(1, std::array<std::uint16_t, 1>{wrong});
    ends.send(wire::kGsiQpn, wire::kGsiQkey);
  }
  BOOST_TEST((ends.told.datagrams == 3 && ends.told.pkeys.size() == 2u));
  BOOST_TEST(ends.b.counters().get(Counter::rx_dropped_pkey) == 2u);
}

BOOST_AUTO_TEST_CASE(a_wrong_pkey_is_told_with_its_packet) {
  Ends ends("infiniband");
  PortManagement(ends.a.nic()).set_pkeys(1, std::array<std::uint16_t, 1>{0x8005});
  ends.send(kQkey);
  BOOST_TEST(ends.told.qkeys.empty());
  BOOST_REQUIRE(ends.told.pkeys.size() == 1u);
  BOOST_TEST((ends.told.pkeys[0].key == 0x8005u && ends.told.pkeys[0].source_qp == ends.a.qpn()));
  BOOST_TEST(ends.b.counters().get(Counter::rx_dropped_pkey) == 1u);
}

BOOST_AUTO_TEST_CASE(on_ethernet_nobody_is_told) {
  Ends ends("roce-v2");
  ends.send(kQkey + 1);
  BOOST_TEST(ends.told.qkeys.empty());
  BOOST_TEST(ends.b.counters().get(Counter::rx_dropped_qkey) == 1u);
}
