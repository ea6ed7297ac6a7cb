#include "emulator/host/fabric_process/last_words_queue.h"

#include <utility>

#include "wire/infiniband.h"
#include "wire/packet_view.h"

namespace verbena::host {
namespace {
constexpr std::size_t kKeyReportsMax = 1024;  // where nobody takes them

struct Ends {
  wire::Gid source;
  wire::Gid destination;
};
/// As FabricNodes::host_of_packet() knows them: on InfiniBand a manager may have given ports any GIDs.
Ends ends_of(const wire::PacketView& packet, wire::Medium medium) {
  if (medium != wire::Medium::infiniband) return {packet.source(), packet.destination()};
  return {wire::gid_of(packet.network().last_hop().lid()), wire::gid_of(packet.network().local_destination())};
}
}  // namespace

void LastWordsQueue::crash(std::uint32_t host) {
  std::vector<PeerName> peers;
  shm_.list_peers(peers);
  for (const PeerName& peer : peers)
    if (peer.address == nodes_[host].address) crashed_[host][peer.slot] = shm_.presence(peer).arrivals;
}

void LastWordsQueue::pass_on(Time now) {
  while (auto carried = shm_.control().take_carried()) {
    if (!carried->report) {
      waiting_.push_back(std::move(*carried));
    } else if (const std::uint32_t host = nodes_.host_of(carried->teller.address);
               host != FabricNodes::kNoHost && key_reports_.size() < kKeyReportsMax) {
      key_reports_.push_back({host, *carried->report});
    }
  }
  if (!waiting_.empty()) std::erase_if(waiting_, [&](const auto& carried) { return pass_on(now, carried); });
}

/// From a process that has ended: not before all that it had sent. False: not yet.
bool LastWordsQueue::pass_on(Time now, const ShmControl::Carried& carried) {
  const auto packet = wire::parse_on(network_.topology().medium, carried.frame);
  if (!packet || packet->bth().dest_qp != wire::kGsiQpn) return true;
  const Ends ends = ends_of(*packet, network_.topology().medium);
  const std::uint32_t host = nodes_.host_of_packet(ends.source);
  const std::uint32_t told = nodes_.host_of_packet(ends.destination);
  if (host == FabricNodes::kNoHost || told == FabricNodes::kNoHost) return true;
  if (nodes_[told].address != carried.teller.address) return true;
  const ShmPorts::Presence presence = shm_.presence({nodes_[host].address, carried.slot});
  if (presence.is_draining) return false;
  const auto crashed = crashed_[host].find(carried.slot);
  // It is the last that was there, or the one before if another one has come since.
  const std::uint32_t latest = presence.arrivals;
  if (crashed != crashed_[host].end() &&
      (crashed->second == latest || (presence.is_there && crashed->second + 1 == latest)))
    return true;
  network_.submit(now, host, carried.frame);
  return true;
}

}  // namespace verbena::host
