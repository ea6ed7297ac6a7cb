// A conversation made packet by packet, written to a capture in memory and told by explain.
//
// Solely makes the packets and collects what is said of them; what is to be said is the tests'.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <optional>
#include <string>
#include <vector>

#include "captures/render/text/ladder.h"
#include "captures/render/text/summary.h"
#include "captures/render/words/finding_words.h"
#include "captures/render/words/notes.h"
#include "captures/story/story.h"
#include "tests/support/frames.h"

namespace verbena::test {

using namespace verbena::captures;
using wire::OperationCode;

inline constexpr wire::Qpn kClientQp{0x21};
inline constexpr wire::Qpn kServerQp{0x22};

/// Packets between node 1 (qp 0x21) and node 2 (qp 0x22), written to a capture in memory and told.
class Script {
 public:
  // Of the frames that follow.
  wire::Direction direction = wire::Direction::unknown;
  std::uint32_t interface = 0;  // 0 to 2
  // Of all.
  std::size_t snap_bytes = 0;

  void frame(std::int64_t at_us, std::span<const std::byte> bytes, std::string_view comment = {}) {
    frames_.push_back({at_us, {bytes.begin(), bytes.end()}, std::string(comment), direction, interface});
  }
  void send(std::int64_t at_us, unsigned from, test::PacketSpec spec, std::string_view comment = {}) {
    spec.dest_qp = from == 1 ? kServerQp : kClientQp;
    if (wire::opcode_info(spec.opcode).has_payload && spec.payload.empty()) spec.payload.resize(256);
    frame(at_us, test::make_frame(test::flow_between(from, 3 - from), spec), comment);
  }
  void write(std::int64_t at_us, std::uint32_t psn, std::string_view comment = {}) {
    send(at_us, 1, {.opcode = rc(OperationCode::write_only), .psn = psn}, comment);
  }
  void answer(std::int64_t at_us, std::uint32_t psn, std::uint8_t syndrome) {
    send(at_us, 2, {.opcode = rc(OperationCode::acknowledge), .psn = psn, .aeth = {syndrome, 1}});
  }
  void ack(std::int64_t at_us, std::uint32_t psn) { answer(at_us, psn, wire::ack_syndrome(5)); }

  /// Tells all conversations; notes are joined.
  void tell() {
    encode();
    const int fd = memfd_create("capture", MFD_CLOEXEC);
    BOOST_REQUIRE(::write(fd, file_.data(), file_.size()) == static_cast<ssize_t>(file_.size()));
    const auto capture = Capture::open("/proc/self/fd/" + std::to_string(fd));
    close(fd);
    BOOST_REQUIRE(capture.ok());
    malformed = capture->malformed_count();
    skipped = capture->skipped_count();
    const Story story(*capture);
    conversations = story.conversations();
    BOOST_REQUIRE(!conversations.empty());
    pauses.assign(story.pauses().rows().begin(), story.pauses().rows().end());
    Collector collector(*this);
    story.tell_by_conversation(collector);
  }
  bool says(std::string_view text) const { return notes.find(text) != notes.npos; }

  std::vector<Conversation> conversations;
  Totals client;
  Totals server;
  std::string notes;
  std::string ladder;
  std::string summaries;
  std::vector<PauseRow> pauses;
  std::array<HeldBack, 2> held_back;        // of the first conversation
  std::vector<std::uint32_t> acknowledged;  // by each answer that acknowledges anything
  std::uint64_t malformed = 0;
  std::uint64_t skipped = 0;

 private:
  /// What is said of each packet, and a ladder without pause frames.
  class Collector : public Renderer {
   public:
    explicit Collector(Script& script) : script_(script) {}
    void begin(const Conversation& /*conversation*/, std::size_t number) override {
      number_ = number;
      drawn_.emplace(LadderOptions{}, script_.ladder);
    }
    void tell(const ToldPacket& told) override {
      for (const Note& note : notes_of(told.packet, told.view, told.judged)) script_.notes += note.text + "\n";
      if (told.judged.acknowledged != 0) script_.acknowledged.push_back(told.judged.acknowledged);
      drawn_->add(told.packet, told.view, told.judged);
    }
    void pause(const PausePacket& /*packet*/) override {}
    void end(const Conversation& conversation, std::size_t /*number*/, const Sums& sums) override {
      drawn_->finish();
      script_.summaries += summary(conversation, 1, without_held_back(sums));
      if (number_ == 1) script_.held_back = sums.held_back;
      script_.client = sums.totals[0];
      script_.server = sums.totals[1];
    }

   private:
    static Sums without_held_back(Sums sums) {
      sums.held_back = {};
      return sums;
    }
    Script& script_;
    std::size_t number_ = 0;
    std::optional<Ladder> drawn_;
  };

  template <class Encode>
  void add_encoded(std::size_t room, Encode encode) {
    const std::size_t begin = file_.size();
    file_.resize(begin + room);
    file_.resize(begin + encode(std::span(file_).subspan(begin)));
  }
  void encode() {
    file_.clear();
    add_encoded(1024, [](std::span<std::byte> into) { return wire::encode_pcapng_section(into, "test"); });
    for (const char* name : {"test", "other", "third"})
      add_encoded(1024, [&](std::span<std::byte> into) { return wire::encode_pcapng_interface(into, {.name = name}); });
    for (const Frame& frame : frames_)
      add_encoded(wire::encoded_packet_bytes_max(frame.bytes.size(), frame.comment.size()),
                  [&](std::span<std::byte> into) {
                    return wire::encode_pcapng_packet(into, {.time = Time{} + microseconds(frame.at_us),
                                                             .bytes = frame.bytes,
                                                             .snap_bytes = snap_bytes,
                                                             .interface = frame.interface,
                                                             .direction = frame.direction,
                                                             .comment = frame.comment});
                  });
  }

  struct Frame {
    std::int64_t at_us = 0;
    std::vector<std::byte> bytes;
    std::string comment;
    wire::Direction direction{};
    std::uint32_t interface = 0;
  };
  std::vector<Frame> frames_;
  std::vector<std::byte> file_;
};

inline void writes(Script& script, std::int64_t at_us, std::initializer_list<std::uint32_t> psns) {
  for (const std::uint32_t psn : psns) script.write(at_us++, psn);
}

inline void nak(Script& script, std::int64_t at_us, std::uint32_t psn) {
  script.answer(at_us, psn, wire::nak_syndrome(wire::NakCode::psn_sequence_error));
}

inline void read(Script& script, std::int64_t at_us, std::uint32_t psn, std::uint32_t packets) {
  script.send(at_us, 1, {.opcode = rc(OperationCode::read_request), .psn = psn, .reth = {0x1000, {5}, packets * 256}});
}

inline void response(Script& script, std::int64_t at_us, OperationCode code, std::uint32_t psn) {
  script.send(at_us, 2, {.opcode = rc(code), .psn = psn, .aeth = {wire::ack_syndrome(31), 1}});
}

/// From `psn` on, one after the other.
inline void responses(Script& script, std::int64_t at_us, std::uint32_t psn, std::uint32_t end) {
  response(script, at_us, OperationCode::read_response_first, psn);
  while (++psn < end - 1) response(script, ++at_us, OperationCode::read_response_middle, psn);
  if (psn < end) response(script, ++at_us, OperationCode::read_response_last, psn);
}

}  // namespace verbena::test
