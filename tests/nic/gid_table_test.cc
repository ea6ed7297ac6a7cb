// The GID table of a port on InfiniBand, which a subnet manager changes: what the NIC takes, and what it sends by.
#include <boost/test/unit_test.hpp>

#include "emulator/nic/port_management.h"
#include "tests/support/script.h"

using namespace verbena;
using namespace verbena::test;

namespace {

constexpr std::uint32_t kQkey = 0x1234;

wire::Gid with_guid(std::uint8_t prefix_end, std::uint8_t guid_end) {
  wire::Gid gid{{0xfe, 0xc0}};
  gid.octets[7] = prefix_end;
  gid.octets[15] = guid_end;
  return gid;
}
wire::Gid by_default(std::uint8_t guid_end) {
  wire::Gid gid{{0xfe, 0x80}};
  gid.octets[15] = guid_end;
  return gid;
}

WorldOptions options() {
  const wire::WireKind& wire = *wire::find_wire_kind("infiniband");
  return {.limits = {.max_qp = 8, .max_cq = 8, .max_mr = 8, .max_ah = 8, .max_srq = 4, .pkeys = 2},
          .wires = {wire, wire}};
}

/// Two ends that speak to each other in datagrams; the second has two GIDs, at entries 0 and 2.
struct Ends {
  Ends()
      : world(options()),
        a(world, 1, {.type = QpType::ud, .qkey = kQkey}),
        b(world, 2, {.type = QpType::ud, .qkey = kQkey}) {
    a.connect(2, {});
    b.connect(1, {});
    set(a, {with_guid(1, 1), {}, with_guid(1, 3)});
    set(b, {with_guid(1, 5), {}, with_guid(1, 6)});
  }
  static void set(Endpoint& at, std::array<wire::Gid, 3> gids) { PortManagement(at.nic()).set_gids(1, gids); }
  AddressVector path(const wire::Gid& to, std::uint8_t index = 0) const {
    AddressVector made = a.own_path_to(2);
    made.destination = to;
    made.source_gid_index = index;
    return made;
  }
  /// The datagram of that path, as it leaves.
  std::vector<std::byte> sent(const wire::Gid& to, std::uint8_t index = 0) {
    std::vector<std::byte> left;
    world.filter = [&](const Traced&, std::vector<std::byte>& frame) {
      left = frame;
      return false;
    };
    Buffer buffer(a.nic(), a.pd, 100);
    const AhHandle ah = Endpoint::take(a.nic().create_ah(a.pd, path(to, index)));
    const Sge sge = buffer.sge(0, 10);
    a.post({.wr_id = 4,
            .opcode = SendOpcode::send,
            .sges = {&sge, 1},
            .address_handle = ah,
            .remote_qpn = b.qpn(),
            .remote_qkey = kQkey});
    world.run_to_rest();
    return left;
  }
  /// Whether the NIC of the second end takes it for a QP of its own.
  bool arrives(const wire::Gid& to) {
    const auto count = [&](Counter counter) { return b.counters().get(counter); };
    const std::uint64_t taken = count(Counter::ud_dropped_no_receive);
    const std::uint64_t dropped = count(Counter::rx_dropped_wrong_destination);
    b.nic().receive(Time{}, sent(to), wire::IcrcState::verified);
    const bool is_taken = count(Counter::ud_dropped_no_receive) == taken + 1;
    BOOST_TEST(is_taken == (count(Counter::rx_dropped_wrong_destination) == dropped));
    return is_taken;
  }
  World world;
  Endpoint a, b;
};

}  // namespace

// IBA volume 1, 4.1.1: the default prefix goes on to be valid with each GUID of the port.
BOOST_AUTO_TEST_CASE(each_entry_is_taken_and_so_is_the_default_prefix) {
  Ends ends;
  BOOST_TEST(ends.arrives(with_guid(1, 5)));
  BOOST_TEST(ends.arrives(with_guid(1, 6)));
  BOOST_TEST(ends.arrives(by_default(5)));
  BOOST_TEST(ends.arrives(by_default(6)));
  BOOST_TEST(!ends.arrives(with_guid(2, 5)));
  BOOST_TEST(!ends.arrives(with_guid(1, 7)));
  BOOST_TEST(!ends.arrives(by_default(0)));  // the empty entry's
}

BOOST_AUTO_TEST_CASE(a_gid_that_is_taken_away_is_taken_no_longer) {
  Ends ends;
  Ends::set(ends.b, {with_guid(1, 5), {}, {}});
  BOOST_TEST(!ends.arrives(with_guid(1, 6)));
  BOOST_TEST(!ends.arrives(by_default(6)));
  BOOST_TEST(ends.arrives(with_guid(1, 5)));
}

BOOST_AUTO_TEST_CASE(packets_have_the_gid_of_their_entry) {
  Ends ends;
  const auto source = [&](std::uint8_t index) {
    return wire::parse_on(wire::Medium::infiniband, ends.sent(with_guid(1, 5), index))->source();
  };
  BOOST_TEST((source(2) == with_guid(1, 3)));
  BOOST_TEST((source(0) == with_guid(1, 1)));
}

BOOST_AUTO_TEST_CASE(an_empty_entry_is_no_source) {
  Ends ends;
  BOOST_TEST(!ends.a.nic().create_ah(ends.a.pd, ends.path(with_guid(1, 5), 1)).ok());
  BOOST_TEST(!ends.a.nic().create_ah(ends.a.pd, ends.path(with_guid(1, 5), 3)).ok());
  BOOST_TEST(ends.a.nic().create_ah(ends.a.pd, ends.path(with_guid(1, 5), 2)).ok());
}
