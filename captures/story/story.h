// Story: a capture from its first packet to its last, for a renderer: who talks with whom, what each packet means, and
// the sums.
//
// Solely the one loop: each packet is judged here, once, and told with its judgement as values. The judgement is
// flow_tracker.h's, the form of what is told is the renderer's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "captures/conversations/conversations.h"
#include "captures/read/capture.h"
#include "captures/story/flow_tracker.h"
#include "captures/story/pauses.h"

namespace verbena::captures {

struct ToldPacket {
  const Packet& packet;
  const wire::PacketView& view;
  const Judged& judged;
  std::size_t conversation = 0;            // its number, from 1
  const Packet* first_sighting = nullptr;  // of a frame that the capture has seen before: it is told, and not judged
};

/// Takes a story in its order. What it is given is valid until it returns.
class Renderer {
 public:
  virtual ~Renderer() = default;
  /// `number`: from 1, in the order of the first packets.
  virtual void begin(const Conversation& conversation, std::size_t number) = 0;
  virtual void tell(const ToldPacket& told) = 0;
  virtual void pause(const PausePacket& packet) = 0;
  virtual void end(const Conversation& conversation, std::size_t number, const Sums& sums) = 0;
};

class Story {
 public:
  /// The capture outlives the story.
  explicit Story(const Capture& capture);

  const Capture& capture() const { return capture_; }
  const Pauses& pauses() const { return pauses_; }
  const std::vector<Conversation>& conversations() const { return conversations_; }
  /// From now on only conversations of this queue pair are told. False: there is none.
  bool choose(wire::Qpn qpn);

  /// One conversation after the other, each from begin() to end(): the first sighting of each frame, and the pause
  /// frames of classes that the conversation has, up to its last packet. `reached`: packets, after each.
  void tell_by_conversation(Renderer& renderer, const Reached& reached = {}) const;
  /// The packets and pause frames of the whole file in its order, then the end() of each conversation.
  void tell_by_file(Renderer& renderer, const Reached& reached = {}) const;

 private:
  class Place;
  class Thread;

  std::vector<Place> places() const;

  const Capture& capture_;
  std::vector<Conversation> conversations_;
  std::vector<bool> is_chosen_;  // by conversation
  Pauses pauses_;
};

}  // namespace verbena::captures
