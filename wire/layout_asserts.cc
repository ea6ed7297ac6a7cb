// That each header's layout is sound: every bit of its octets survives parse and emit. Evaluated here once, and not in
// every file that includes a header, where it took three quarters of the time of compiling.
// Tested by: tests/wire/packet_test.cc
#include "wire/grh.h"
#include "wire/headers.h"
#include "wire/infiniband.h"
#include "wire/management.h"
#include "wire/telemetry.h"

namespace verbena::wire {

template <class... Layouts>
constexpr bool all_round_trip() {
  return (Layouts::round_trips() && ...);
}

static_assert(
    all_round_trip<EthernetLayout, VlanLayout, Ipv4Layout, Ipv6Layout, UdpLayout, BthLayout, RethLayout, AethLayout,
                   AtomicEthLayout, AtomicAckEthLayout, DethLayout, ImmDtLayout, IethLayout, XrcethLayout>());
static_assert(all_round_trip<MadHeaderLayout, CmRequestLayout, CmReplyLayout, CmPairLayout, CmRejectLayout,
                             CmReceiptLayout, CmDisconnectLayout, CmServiceRequestLayout, CmServiceReplyLayout,
                             CmPathResponseLayout, IpAddressingHeaderLayout>());
static_assert(all_round_trip<LocalRouteHeaderLayout, FlowControlPacketLayout, GrhLayout>());
static_assert(all_round_trip<TelemetryHeadLayout, TelemetryHopLayout>());

}  // namespace verbena::wire
