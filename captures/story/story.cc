#include "captures/story/story.h"

#include <algorithm>
#include <memory>
#include <optional>

namespace verbena::captures {

namespace {

/// The pause frames of the file, up to one packet after the other.
class PausesUntil {
 public:
  /// Of these classes; nothing: all.
  explicit PausesUntil(const Capture& capture, std::optional<ClassMask> classes = {})
      : pauses_(capture.pauses()), classes_(classes) {}
  void tell(std::uint32_t number, Renderer& renderer) {
    for (; next_ < pauses_.size() && pauses_[next_].number < number; ++next_)
      if (!classes_ || (pauses_[next_].frame.classes & *classes_) != 0) renderer.pause(pauses_[next_]);
  }

 private:
  const std::vector<PausePacket>& pauses_;
  std::optional<ClassMask> classes_;
  std::size_t next_ = 0;
};

}  // namespace

/// Of a packet in the story.
class Story::Place {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  std::uint32_t conversation = 0;
  std::uint32_t first_sighting = kNone;  // of those that come after it
};

/// One conversation while it is told.
class Story::Thread {
 public:
  Thread(const Story& story, std::size_t index)
      : capture_(story.capture_),
        conversation_(story.conversations_[index]),
        number_(index + 1),
        tracker_(story.capture_, conversation_),
        held_back_(story.pauses_) {}

  void begin(Renderer& renderer) const { renderer.begin(conversation_, number_); }
  /// The only place where a packet is judged.
  void tell(std::uint32_t index, Renderer& renderer) {
    const Packet& packet = capture_.packets()[index];
    const wire::PacketView view = packet.view();
    const Judged& judged = tracker_.step(packet, view);
    held_back_.add(packet, view, judged.sender);
    renderer.tell({packet, view, judged, number_, nullptr});
  }
  void tell_again(std::uint32_t index, std::uint32_t first, Renderer& renderer) const {
    const Packet& packet = capture_.packets()[index];
    const wire::PacketView view = packet.view();
    Judged judged;
    judged.sender = conversation_.sender_of(view);
    judged.integrity = view.integrity();
    renderer.tell({packet, view, judged, number_, &capture_.packets()[first]});
  }
  void end(Renderer& renderer) const {
    Sums sums = tracker_.sums();
    sums.held_back = held_back_.held_back();
    renderer.end(conversation_, number_, sums);
  }

 private:
  const Capture& capture_;
  const Conversation& conversation_;
  std::size_t number_;
  FlowTracker tracker_;
  HeldBackCount held_back_;
};

Story::Story(const Capture& capture)
    : capture_(capture),
      conversations_(find_conversations(capture)),
      is_chosen_(conversations_.size(), true),
      pauses_(capture) {}

bool Story::choose(wire::Qpn qpn) {
  for (std::size_t i = 0; i < conversations_.size(); ++i)
    is_chosen_[i] = std::ranges::any_of(conversations_[i].ends, [&](const End& end) { return end.qpn == qpn; });
  return std::ranges::find(is_chosen_, true) != is_chosen_.end();
}

void Story::tell_by_conversation(Renderer& renderer, const Reached& reached) const {
  std::uint64_t done = 0;
  for (std::size_t i = 0; i < conversations_.size(); ++i) {
    if (!is_chosen_[i]) continue;
    Thread thread(*this, i);
    PausesUntil pauses(capture_, conversations_[i].classes);
    thread.begin(renderer);
    for (const std::uint32_t index : conversations_[i].packets) {
      pauses.tell(capture_.packets()[index].number, renderer);
      thread.tell(index, renderer);
      if (reached) reached(++done, capture_.packets().size());
    }
    thread.end(renderer);
  }
}

std::vector<Story::Place> Story::places() const {
  std::vector<Place> places(capture_.packets().size());
  for (std::uint32_t i = 0; i < conversations_.size(); ++i) {
    for (const std::uint32_t packet : conversations_[i].packets) places[packet].conversation = i;
    for (const auto& again : conversations_[i].again) {
      places[again.packet].conversation = i;
      places[again.packet].first_sighting = again.sighting.first;
    }
  }
  return places;
}

void Story::tell_by_file(Renderer& renderer, const Reached& reached) const {
  std::vector<std::unique_ptr<Thread>> threads(conversations_.size());
  for (std::size_t i = 0; i < conversations_.size(); ++i)
    if (is_chosen_[i]) threads[i] = std::make_unique<Thread>(*this, i);
  for (const auto& thread : threads)
    if (thread) thread->begin(renderer);
  PausesUntil pauses(capture_);
  const std::vector<Place> all = places();
  for (std::uint32_t index = 0; index < all.size(); ++index) {
    pauses.tell(capture_.packets()[index].number, renderer);
    const Place& place = all[index];
    if (Thread* const thread = threads[place.conversation].get()) {
      if (place.first_sighting == Place::kNone)
        thread->tell(index, renderer);
      else
        thread->tell_again(index, place.first_sighting, renderer);
    }
    if (reached) reached(index + 1, all.size());
  }
  pauses.tell(UINT32_MAX, renderer);
  for (const auto& thread : threads)
    if (thread) thread->end(renderer);
}

}  // namespace verbena::captures
