#include "libverbena/capture.h"

namespace libverbena {

namespace wire = verbena::wire;

Capture::Capture(const std::string& path, const std::string& from_a, const std::string& from_b)
    : path_(path), file_(path, std::ios::binary | std::ios::trunc) {
  room_.resize(wire::encoded_header_bytes_max(64));
  put(wire::encode_pcapng_section(room_, "libverbena"));
  for (const std::string& name : {from_a, from_b}) {
    room_.resize(wire::encoded_header_bytes_max(name.size()));
    put(wire::encode_pcapng_interface(room_, {.name = name}));
  }
}

void Capture::put(std::size_t bytes) {
  file_.write(reinterpret_cast<const char*>(room_.data()), static_cast<std::streamsize>(bytes));
}

void Capture::write(verbena::Time time, bool backward, std::span<const std::byte> frame, std::string_view comment) {
  const std::string note = comment.empty() ? std::string() : std::string(wire::kNotePrefix) + std::string(comment);
  room_.resize(wire::encoded_packet_bytes_max(frame.size(), note.size()));
  put(wire::encode_pcapng_packet(room_, {.time = time,
                                         .bytes = frame,
                                         .interface = backward ? 1u : 0u,
                                         .direction = wire::Direction::outbound,
                                         .comment = note}));
}

bool Capture::finish() {
  file_.flush();
  return file_.good();
}

}  // namespace libverbena
