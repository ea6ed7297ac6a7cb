#include "emulator/host/management.h"

#include <algorithm>

namespace verbena::host {

void Management::management_datagram(Time now, const wire::PacketView& packet) {
  const auto addressee = cm::ConnectionManager::addressee(packet);
  if (!addressee) return;
  if (addressee->connection != 0) {
    if (cm::slot_of_id(addressee->connection) != cm_.config().slot) return;
  } else if (addressee->service_id != 0 && !cm_.listens(addressee->service_id)) {
    Stranger stranger;
    if (strangers_.size() == kStrangersMax || packet.frame().size() > stranger.frame.size()) return;
    stranger.service_id = addressee->service_id;
    stranger.refuse_at = now + kPatience;
    stranger.bytes = packet.frame().size();
    std::ranges::copy(packet.frame(), stranger.frame.begin());
    strangers_.push_back(stranger);
    return touch();
  }
  cm_.receive(now, packet);
  touch();
}

void Management::refuse(Time now, const Stranger& stranger) {
  if (const auto packet = wire::parse_frame({stranger.frame.data(), stranger.bytes})) cm_.receive(now, *packet);
  touch();
}

std::size_t Management::step(Time now, Link& link) {
  cm_.on_deadline(now);
  const std::size_t sent = cm_.transmit(now, link, kBudget);
  due_ = cm_.has_work() ? now + kBackPressureRetry : cm_.next_deadline();
  // Those that are due already are about to be settled.
  if (!strangers_.empty() && strangers_.front().refuse_at > now) due_ = std::min(due_, strangers_.front().refuse_at);
  return sent;
}

}  // namespace verbena::host
