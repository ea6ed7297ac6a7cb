#include "captures/story/pauses.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace verbena::captures {

namespace {

constexpr std::size_t kGoesOn = SIZE_MAX;
constexpr std::int64_t kSlowestRate = 10'000'000'000;  // bits per second, of ports that are stopped by classes
constexpr std::int64_t kGoesOnWithinNs = 20'000;

/// How long "stop" lasts at most.
Duration longest(std::uint16_t quanta) {
  return {static_cast<std::int64_t>(quanta * wire::kPauseQuantumBits) * 1'000'000'000 / kSlowestRate};
}

ClassMask mask_of(const PauseRow& row) {
  return row.is_by_class ? static_cast<ClassMask>(1u << row.traffic_class) : ClassMask{0xff};
}

}  // namespace

Pauses::Pauses(const Capture& capture) {
  for (const PausePacket& packet : capture.pauses()) {
    const wire::PauseFrame& frame = packet.frame;
    for (std::uint8_t i = 0; i < (frame.is_by_class ? wire::kPauseClasses : 1); ++i)
      if ((frame.classes >> i & 1) != 0) say(row_of(frame.source, frame.is_by_class, i), packet.time, frame.quanta[i]);
  }
  for (const Stop& stop : stops_) rows_[stop.row].stopped = rows_[stop.row].stopped + (stop.until - stop.from);
}

std::size_t Pauses::row_of(const wire::MacAddress& source, bool is_by_class, std::uint8_t traffic_class) {
  const auto found = std::ranges::find_if(rows_, [&](const PauseRow& row) {
    return row.source == source && row.is_by_class == is_by_class && row.traffic_class == traffic_class;
  });
  if (found != rows_.end()) return static_cast<std::size_t>(found - rows_.begin());
  rows_.push_back({source, is_by_class, traffic_class});
  open_.push_back(kGoesOn);
  return rows_.size() - 1;
}

void Pauses::say(std::size_t row, Time now, std::uint16_t quanta) {
  ++(quanta == 0 ? rows_[row].resumes : rows_[row].stops);
  if (open_[row] != kGoesOn) {
    Stop& stop = stops_[open_[row]];
    const bool is_over = (now - stop.until).ns > longest(UINT16_MAX).ns;
    if (!is_over) stop.until = now;
    if (is_over || quanta == 0) open_[row] = kGoesOn;
  }
  if (quanta == 0 || open_[row] != kGoesOn) return;
  open_[row] = stops_.size();
  stops_.push_back({row, now, now});
}

void HeldBackCount::add(const Packet& packet, const wire::PacketView& view, unsigned sender) {
  const std::span<const Pauses::Stop> stops = pauses_->stops();
  if (stops.empty()) return;
  const std::optional<Time> before = std::exchange(last_[sender], packet.time);
  if (!before) return;
  std::size_t& next = nexts_[sender];
  while (next < stops.size() && stops[next].until < *before) ++next;
  if (view.payload_bytes() == 0) return;  // it may as well have waited for what it answers
  const wire::MacAddress mac = view.ethernet().source;
  const ClassMask classes = classes_of(view);
  HeldBack of_this;
  for (std::size_t i = next; i < stops.size() && stops[i].from < packet.time; ++i) {
    const Pauses::Stop& stop = stops[i];
    const PauseRow& row = pauses_->rows()[stop.row];
    if ((mask_of(row) & classes) == 0 || row.source == mac) continue;
    const Time from = std::max(stop.from, *before);
    // It sends although it is told to stop: it is not the one that is told. A frame that was under way may pass.
    const Duration silent = std::min(stop.until, packet.time) - from;
    const bool is_silent = silent.ns > 0 && silent.ns * 2 >= (stop.until - stop.from).ns;
    const bool goes_on =
        stop.until <= packet.time && (packet.time - stop.until).ns <= std::max(kGoesOnWithinNs, silent.ns);
    if (is_silent && goes_on && silent.ns > of_this.time.ns) of_this = {1, silent};
  }
  held_[sender].times += of_this.times;
  held_[sender].time = held_[sender].time + of_this.time;
}

}  // namespace verbena::captures
