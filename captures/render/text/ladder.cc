#include "captures/render/text/ladder.h"

#include <fmt/format.h>

#include <algorithm>

#include "captures/render/words/finding_words.h"
#include "captures/render/words/notes.h"
#include "captures/render/words/packet_words.h"
#include "wire/counted.h"
#include "wire/packet_text.h"

namespace verbena::captures {

namespace {

constexpr std::size_t kMarginColumns = 22;  // time and packet number

}  // namespace

void Ladder::header(const Conversation& conversation, std::size_t number) {
  out_ += fmt::format("Conversation {}: {}, {}", number, transport_name(conversation.transport),
                      wire::counted(conversation.packets.size(), "packet"));
  if (conversation.encapsulation != &wire::kRoceV2) out_ += fmt::format(", {}", conversation.encapsulation->name);
  if (conversation.path_mtu_bytes != 0) out_ += fmt::format(", path MTU {}", conversation.path_mtu_bytes);
  const std::string left = to_text(conversation.ends[0]);
  const std::string right = to_text(conversation.ends[1]);
  const std::size_t used = kMarginColumns + left.size() + right.size();
  const std::size_t space = options_.width > used ? options_.width - used : 4;
  out_ += fmt::format("\n{:>12} {:>8} {}{:{}}{}\n", "seconds", "packet", left, "", space, right);
}

std::string Ladder::draw(const Packet& packet, unsigned sender, const std::string& text) const {
  const std::size_t box = options_.width > kMarginColumns + 20 ? options_.width - kMarginColumns : 20;
  const std::size_t used = text.size() + 9;
  const std::string line(box > used ? box - used : 0, '-');
  std::string rung =
      fmt::format("{:12.6f} {:>8} ", static_cast<double>(packet.time.ns) / 1e9, fmt::format("#{}", packet.number));
  if (sender == 0)
    rung += fmt::format("|-- {} {}--{}|\n", text, line, packet.was_dropped() ? 'X' : '>');
  else
    rung += fmt::format("|{}-- {} {}--|\n", packet.was_dropped() ? 'X' : '<', text, line);
  return rung;
}

/// A rung for many packets would hide that they came in two parts. Clocks of captures often count in microseconds.
bool Ladder::has_paused(const Run& run, Time now) {
  constexpr std::int64_t kClockNs = 1000;
  if (run.packets < 2) return false;
  const std::int64_t spaces = static_cast<std::int64_t>(run.packets) - 1;
  const std::int64_t usual = std::max((run.last_time - run.first->time).ns / spaces, kClockNs);
  return (now - run.last_time).ns > kPause * usual;
}

/// Whether the packet is part of a run and has been kept in it.
bool Ladder::join_run(const Packet& packet, const wire::PacketView& view, const Judged& judged) {
  const bool may = options_.fold && judged.is_uneventful() && !packet.was_dropped() &&
                   view.opcode().position == wire::Position::middle;
  const std::string_view name = operation_name(view);
  const wire::Psn psn = view.bth().psn;
  if (run_ && (!may || run_->sender != judged.sender || run_->is_again != judged.is_again || run_->name != name ||
               !(psn == run_->last_psn + 1) || has_paused(*run_, packet.time)))
    end_run();
  if (!may) return false;
  if (!run_) {
    draw_pauses();
    run_.emplace();
    run_->name = name;
    run_->sender = judged.sender;
    run_->is_again = judged.is_again;
    run_->first = &packet;
    run_->first_psn = psn;
    run_->first_relative = judged.relative;
  }
  run_->last_psn = psn;
  run_->last_time = packet.time;
  run_->payload_bytes += view.payload_bytes();
  if (++run_->packets < kFoldMin) run_->rungs += draw(packet, judged.sender, words(view, judged));
  return true;
}

void Ladder::end_run() {
  if (!run_) return;
  const Run run = std::move(*run_);
  run_.reset();
  if (run.packets < kFoldMin) {
    emit(run.rungs, false, {.packets = run.packets});
    return;
  }
  std::string text =
      fmt::format("{} x {}  psn {}..{}", run.name, run.packets, run.first_psn.value(), run.last_psn.value());
  if (run.first_relative)
    text += fmt::format(" ({:+}..{:+})", *run.first_relative,
                        *run.first_relative + static_cast<std::int32_t>(run.packets) - 1);
  text += fmt::format("  {} B in {}{}", run.payload_bytes, to_text(run.last_time - run.first->time),
                      run.is_again ? "  again" : "");
  emit(draw(*run.first, run.sender, text), false, {.packets = run.packets});
  draw_pauses();
}

void Ladder::add(const Packet& packet, const wire::PacketView& view, const Judged& judged) {
  if (join_run(packet, view, judged)) return;
  draw_pauses();
  std::string rung = draw(packet, judged.sender, words(view, judged));
  for (const Note& note : notes_of(packet, view, judged))
    rung += fmt::format("{:{}} {} {}\n", "", kMarginColumns, note.is_problem ? '!' : '.', note.text);
  emit(std::move(rung), judged.has_problem(), {.packets = 1});
}

void Ladder::pause(const PausePacket& packet) {
  if (run_ && run_->packets >= kFoldMin) {  // what has stopped this run stands behind it
    pauses_.push_back(packet);
    return;
  }
  end_run();
  pauses_.push_back(packet);
}

void Ladder::draw_pauses() {
  if (pauses_.empty()) return;
  const PausePacket& first = pauses_.front();
  std::size_t stops = 0;
  ClassMask classes = 0;
  std::vector<wire::MacAddress> sources;
  for (const PausePacket& pause : pauses_) {
    const auto& quanta = pause.frame.quanta;
    for (std::size_t i = 0; i < quanta.size(); ++i)
      if ((pause.frame.classes >> i & 1) != 0 && quanta[i] != 0) {
        ++stops;
        break;
      }
    classes = static_cast<ClassMask>(classes | pause.frame.classes);
    if (std::find(sources.begin(), sources.end(), pause.frame.source) == sources.end())
      sources.push_back(pause.frame.source);
  }
  std::string text = first.frame.is_by_class ? "PFC" : "PAUSE";
  if (pauses_.size() == 1) {
    text = wire::to_text(first.frame);
  } else {
    std::string list;
    for (std::size_t i = 0; first.frame.is_by_class && i < wire::kPauseClasses; ++i)
      if ((classes >> i & 1) != 0) list += fmt::format("{}{}", list.empty() ? " class " : ", ", i);
    text += fmt::format("{}: {} x stop, {} x go on in {}", list, stops, pauses_.size() - stops,
                        to_text(pauses_.back().time - first.time));
  }
  text += sources.size() == 1 ? fmt::format(", from {}", wire::to_text(sources[0]))
                              : fmt::format(", from {} ports", sources.size());
  const std::size_t box = options_.width > kMarginColumns + 20 ? options_.width - kMarginColumns : 20;
  const std::string line(box > text.size() + 6 ? box - text.size() - 6 : 0, '~');
  const std::string rung = fmt::format("{:12.6f} {:>8} |~~ {} {}|\n", static_cast<double>(first.time.ns) / 1e9,
                                       fmt::format("#{}", first.number), text, line);
  const std::size_t count = pauses_.size();
  pauses_.clear();
  emit(rung, false, {.pauses = count});
}

void Ladder::leave_out(const Counts& counts) {
  left_out_.packets += counts.packets;
  left_out_.pauses += counts.pauses;
}

void Ladder::draw_left_out() {
  const auto& [packets, pauses] = left_out_;
  if (packets == 0 && pauses == 0) return;
  std::string text;
  if (packets != 0) text = wire::counted(packets, "packet") + " without trouble";
  if (pauses != 0) text += (text.empty() ? "" : ", ") + wire::counted(pauses, "pause frame");
  out_ += fmt::format("{:{}} ... {}\n", "", kMarginColumns, text);
  left_out_ = {};
}

void Ladder::emit(std::string rung, bool has_problem, const Counts& counts) {
  if (!options_.only_problems) {
    out_ += rung;
    return;
  }
  if (has_problem) {
    draw_left_out();
    for (const auto& [text, count] : context_) out_ += text;
    context_.clear();
    out_ += rung;
    context_left_ = kContextRungs;
  } else if (context_left_ != 0) {
    --context_left_;
    out_ += rung;
  } else {
    context_.emplace_back(std::move(rung), counts);
    if (context_.size() <= kContextRungs) return;
    leave_out(context_.front().second);
    context_.pop_front();
  }
}

void Ladder::finish() {
  end_run();
  draw_pauses();
  for (const auto& [text, counts] : context_) leave_out(counts);
  context_.clear();
  draw_left_out();
}

}  // namespace verbena::captures
