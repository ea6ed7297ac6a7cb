#include "captures/render/words/notes.h"

#include <fmt/format.h>

#include "captures/render/words/finding_words.h"
#include "wire/printable.h"

namespace verbena::captures {

std::vector<Note> notes_of(const Packet& packet, const wire::PacketView& view, const Judged& judged) {
  std::vector<Note> notes;
  const auto problem = [&](std::string text) { notes.push_back({true, std::move(text)}); };
  if (judged.has_comment) {
    std::string_view comment = packet.captured.comment;
    if (comment.starts_with(wire::kNotePrefix)) comment.remove_prefix(wire::kNotePrefix.size());
    problem(wire::printable(comment));
  }
  if (judged.is_marked) problem("marked by ECN: congestion on the way");
  if (judged.is_cnp) problem("CNP: the sender is to slow down");
  if (judged.begins_anew)
    notes.push_back(
        {false, fmt::format("psn jumps to {}: a new connection of the same queue pairs", view.bth().psn.value())});
  for (const Finding& finding : judged.findings) notes.push_back({!finding.is_remark(), words(finding, judged.first)});
  return notes;
}

}  // namespace verbena::captures
