// The notification point of RoCE v2 congestion management: a packet that a switch has marked is answered with a CNP.
//
// IBTA annex A17.9: the packet may be a request, a response or an acknowledgement of any transport; one CNP may stand
// for several marks on a QP. The CNP goes to the QP that sent the packet: BECN set, PSN 0, 16 octets of zeros, no ECN
// of its own. What the reaction point does with it is congestion_control.h's.
//
// Where the policy hears of each mark, the acknowledgement of the marked request has BECN (annex A10.4 has it so for
// InfiniBand: a responder of a connection may tell of FECN by a CNP or by BECN in its acknowledgement).
#include "emulator/nic/transport_ib/notification_point.h"

#include <algorithm>
#include <array>

#include "emulator/nic/state/nic_state.h"
#include "emulator/nic/transport_ib/responder.h"

namespace verbena::nic {
namespace {

constexpr std::size_t kReservedBytes = 16;  // A17.9.3

/// The way back to the packet's sender.
AddressVector way_back(const NicState& nic, const Qp& qp, const wire::PacketView& packet) {
  if (qp.service->is_connected) return qp.attributes.address_vector;
  AddressVector path;
  path.destination = packet.source();
  path.next_hop = packet.network().last_hop();
  path.traffic_class = packet.network().traffic_class();
  path.port = qp.attributes.port;
  const auto gids = nic.config.gids_of(path.port);
  const wire::Encapsulation& by = packet.network().encapsulation();
  for (std::uint8_t i = 0; i < gids.size(); ++i)
    if (gids[i].encapsulation == &by && gids[i].gid.is_ipv4() == path.destination.is_ipv4()) path.source_gid_index = i;
  for (std::uint8_t i = 0; i < gids.size(); ++i)
    if (gids[i].encapsulation == &by && packet.network().is_to(gids[i].gid)) path.source_gid_index = i;
  return path;
}

/// From when on the next CNP may go to where the packet came from. Null: too many others were told of late, or it would
/// be for the QP to know, which is gone.
Time* next_notice(NicState& nic, Qp* qp, const wire::Gid& to) {
  switch (nic.config.congestion.cnp_scope) {
    case CnpScope::qp:
      return qp != nullptr ? &qp->next_notice : nullptr;
    case CnpScope::port:
      return &nic.next_notice_of_port;
    case CnpScope::destination:
      break;
  }
  auto& told = nic.told;
  const auto found = std::find_if(told.begin(), told.end(), [&](const ToldPeer& peer) { return peer.address == to; });
  if (found != told.end()) return &found->next_notice;
  std::erase_if(told, [&](const ToldPeer& peer) { return peer.next_notice <= nic.now; });
  if (told.size() == kNoticesMax) return nullptr;
  told.push_back({.address = to});
  return &told.back().next_notice;
}

/// A CNP that is due already stands for this mark as well.
bool is_due(const NicState& nic, const Qp& qp, const wire::Gid& to) {
  const CnpScope scope = nic.config.congestion.cnp_scope;
  return std::any_of(nic.notices.begin(), nic.notices.end(), [&](const CongestionNotice& notice) {
    return scope == CnpScope::port || (scope == CnpScope::qp ? notice.from == qp.qpn : notice.address == to);
  });
}

std::uint16_t notice_port(const Qp& qp) {
  return static_cast<std::uint16_t>(0xc000 | (qp.qpn.value() & 0x3fff));
}

/// A CNP to where the packet came from, unless one is not yet due, or due already.
void owe_notice(NicState& nic, Qp& qp, const wire::PacketView& packet) {
  if (nic.config.cnp_interval.ns == 0 || nic.notices.size() == kNoticesMax) return;
  if (!qp.service->is_connected && !packet.opcode().has_deth) return;
  if (packet.network().encapsulation().is_hidden) return;  // CNPs are annex A17's, RoCE v2 alone has them
  const Time* const next = next_notice(nic, &qp, packet.source());
  if (next == nullptr || nic.now < *next || is_due(nic, qp, packet.source())) return;
  AddressVector path = way_back(nic, qp, packet);
  path.traffic_class &= static_cast<std::uint8_t>(~wire::kEcnMask);
  if (nic.config.cnp_dscp != 0) path.traffic_class = static_cast<std::uint8_t>(nic.config.cnp_dscp << 2);
  nic.notices.push_back({.from = qp.qpn,
                         .to = qp.service->is_connected ? qp.attributes.dest_qpn : packet.deth().source_qp,
                         .address = path.destination,
                         .frame_template = wire::FrameTemplate(nic.frame_path(path, notice_port(qp)))});
}

}  // namespace

void notice_congestion(NicState& nic, Qp& qp, const wire::PacketView& packet) {
  nic.arrival_counters->add(Counter::np_ecn_marked_roce_packets);
  owe_notice(nic, qp, packet);
}

void notice_gap(NicState& nic, Qp& qp, const wire::PacketView& packet) {
  if (nic.config.congestion.cnp_on_nak) owe_notice(nic, qp, packet);
}

void receive_marked_request(NicState& nic, Qp& qp, const wire::PacketView& packet) {
  Responder& responder = qp.responder;
  const MarkEcho::Marked before{
      .psn = responder.expected_psn, .msn_before = responder.msn, .packets_before = responder.unacknowledged_packets};
  // What is left of jobs that are done would be taken for answers to come (send_acknowledge).
  if (!responder.owes_jobs()) responder.forget_jobs();
  take_request(nic, qp, packet);
  const bool is_executed = responder.expected_psn != before.psn && qp.state != QpState::error;
  if (!is_executed || packet.opcode().takes_resource) return;
  MarkEcho::Marked marked = before;
  marked.last_psn = responder.expected_psn - 1;
  marked.msn_after = responder.msn;
  marked.packets_after = responder.unacknowledged_packets;
  if (!responder.echo->note(marked)) return;
  // RFC 8257, section 3.2: what was received before it is acknowledged at once.
  if (responder.acknowledge == Responder::Acknowledge::none) responder.acknowledge = Responder::Acknowledge::ack;
  nic.ready.push_back(qp);
}

void note_telemetry(Qp& qp, const wire::PacketView& packet) {
  if ((packet.bth().reserved7 & wire::kTakesTelemetry) != 0) qp.telemetry |= wire::kHasTelemetry;
  if (!wire::has_telemetry(packet) || !packet.opcode().is_request) return;
  *qp.responder.telemetry = wire::telemetry_of(packet);
  qp.responder.has_new_telemetry = true;
}

std::size_t send_notices(NicState& nic, TransmitPort& port, std::size_t budget) {
  std::size_t sent = 0;
  for (; sent < budget && sent < nic.notices.size(); ++sent) {
    CongestionNotice& notice = nic.notices[sent];
    const std::span<std::byte> room =
        port.reserve({notice.address, notice.to, notice.route_hint, &notice.frame_template},
                     wire::frame_bytes(notice.frame_template, wire::Opcode::cnp, kReservedBytes));
    if (room.empty()) break;
    wire::Bth bth;
    bth.opcode = wire::Opcode::cnp;
    bth.becn = true;
    bth.dest_qp = notice.to;
    wire::PacketBuilder builder(room, notice.frame_template, bth, kReservedBytes, port.icrc_wanted());
    builder.append_payload(std::array<std::byte, kReservedBytes>{});
    const std::size_t bytes = builder.finish();
    port.commit(bytes, port.icrc_wanted());
    Counters& counters = nic.counters.of(notice.frame_template.port());
    counters.add(Counter::tx_packets);
    counters.add(Counter::tx_bytes, bytes);
    counters.add(Counter::np_cnp_sent);
    if (Time* const next = next_notice(nic, nic.qpns.find(notice.from), notice.address))
      *next = nic.now + nic.config.cnp_interval;
  }
  nic.notices.erase(nic.notices.begin(), nic.notices.begin() + static_cast<std::ptrdiff_t>(sent));
  return sent;
}

}  // namespace verbena::nic
