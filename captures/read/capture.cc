#include "captures/read/capture.h"

#include <fmt/format.h>

#include <algorithm>

#include "wire/counted.h"

namespace verbena::captures {

namespace {

std::vector<Kind> sorted(const std::map<std::string, std::uint64_t, std::less<>>& counts) {
  std::vector<Kind> kinds;
  for (const auto& [name, count] : counts)
    if (count != 0) kinds.push_back({name, count});
  std::ranges::sort(
      kinds, [](const Kind& a, const Kind& b) { return a.count != b.count ? a.count > b.count : a.name < b.name; });
  return kinds;
}

std::string_view carrier_of(const wire::CapturedPacket& packet) {
  return packet.link_type == wire::LinkType::infiniband ? wire::kInfiniBand.name : wire::kRoceV2.name;
}

/// Opcodes that are nobody's mistake, and that nobody here can read (IBTA 9.2, table 38: by the upper three bits).
/// Empty: others.
std::string foreign_opcode(std::uint8_t opcode, std::string_view carrier) {
  constexpr unsigned kReliableDatagram = 2;
  constexpr unsigned kManufacturers = 6;
  if (opcode >> 5 == kReliableDatagram) return fmt::format("{} reliable datagrams", carrier);
  return opcode >> 5 >= kManufacturers ? fmt::format("{} with a manufacturer's opcode {:#04x}", carrier, opcode) : "";
}

}  // namespace

Result<Capture, std::string> Capture::open(const std::string& path, const Reached& reached) {
  auto input = Input::open(path, reached);
  if (!input) return Failure{input.error()};
  auto reader = wire::CaptureReader::open((*input)->bytes());
  if (!reader) {
    const std::string& damage = (*input)->damage();
    return Failure{damage.empty() ? std::string(reader.error().what)
                                  : fmt::format("{}, and {}", reader.error().what, damage)};
  }
  Capture capture;
  capture.input_ = *input;
  capture.read(*reader, reached);
  return capture;
}

void Capture::read(wire::CaptureReader& reader, const Reached& reached) {
  const std::uint64_t total = input_->bytes().size();
  for (;;) {
    const auto next = reader.next();
    if (!next) damage_ = fmt::format("{} at octet {}", next.error().what, next.error().offset);
    if (!next || !next->has_value()) break;
    ++total_count_;
    note_time(**next);
    sort_in(**next);
    if (reached) reached((*next)->file_offset, total);
  }
  if (!input_->damage().empty()) damage_ = input_->damage() + (damage_.empty() ? "" : ": " + damage_);
  const std::uint64_t joined = peeler_->joined_count();
  if (joined != 0) skip("joined with a later IP fragment", joined);
  if (piece_count_ != joined) skip("of incomplete IP datagrams", piece_count_ - joined);
}

void Capture::note_time(const wire::CapturedPacket& captured) {
  if (!captured.has_time) {
    ++timeless_count_;  // it has that of the one before it
    return;
  }
  if (!begin_) begin_ = captured.time;
  time_ = Time{(captured.time - *begin_).ns};
}

void Capture::sort_in(const wire::CapturedPacket& captured) {
  if (const auto view = wire::parse_captured(captured)) {
    add(captured, *view, {});
    return;
  }
  if (captured.link_type == wire::LinkType::ethernet) {
    if (const auto pause = wire::parse_pause_frame(captured.bytes)) {
      pauses_.push_back({number(), time_, *pause});
      return;
    }
  }
  const Peeled peeled = peeler_->peel(captured);
  switch (peeled.kind) {
    case Peeled::Kind::roce:
      sort_in_roce(peeled);
      break;
    case Peeled::Kind::other:
      skip(peeled.name);
      break;
    case Peeled::Kind::headless:
      ++headless_count_;
      break;
    case Peeled::Kind::fragment:
      ++piece_count_;
      break;
  }
}

void Capture::sort_in_roce(const Peeled& peeled) {
  const auto view = wire::parse_captured(peeled.packet);
  const bool is_cut = peeled.packet.bytes.size() < peeled.packet.original_bytes;
  if (view) {
    add(peeled.packet, *view, peeled.layers);
  } else if (view.error() == wire::ParseError::truncated && is_cut) {
    const auto up_to_bth = wire::parse_captured(peeled.packet, wire::HeadersNeeded::bth);
    if (up_to_bth) add(peeled.packet, *up_to_bth, peeled.layers, true);
    ++(up_to_bth ? lacking_headers_count_ : headless_count_);
  } else if (const std::string foreign = foreign_opcode(peeled.opcode, carrier_of(peeled.packet));
             view.error() == wire::ParseError::unknown_opcode && !foreign.empty()) {
    skip(foreign);
  } else {
    const bool is_hit = peeled.packet.comment.starts_with(wire::kNotePrefix);
    ++malformed_count_;
    if (is_hit) ++hit_malformed_count_;
    if (malformed_.size() < kMalformedKept) malformed_.push_back({number(), time_, view.error(), is_hit});
  }
}

void Capture::add(const wire::CapturedPacket& captured, const wire::PacketView& view, const std::string& layers,
                  bool lacks_headers) {
  const std::string_view carrier = view.network().encapsulation().name;
  const auto known = carried_.find(carrier);
  ++(known != carried_.end() ? known->second : carried_[std::string(carrier)]);
  std::string_view kept;
  if (!layers.empty()) {
    const auto at = layers_->try_emplace(layers).first;
    ++at->second;
    kept = at->first;
  }
  packets_.push_back({.number = number(),
                      .time = time_,
                      .captured = {.bytes = captured.bytes,
                                   .interface_name = captured.interface_name,
                                   .comment = captured.comment,
                                   .original_bytes = static_cast<std::uint32_t>(captured.original_bytes),
                                   .interface = captured.interface,
                                   .direction = captured.direction},
                      .form = wire::PacketForm(view, captured.bytes),
                      .layers = kept,
                      .lacks_headers = lacks_headers});
}

void Capture::skip(const std::string& name, std::uint64_t count) {
  skipped_count_ += count;
  const bool is_named = others_.size() < kNamesMax || others_.contains(name);
  others_[is_named ? name : "of other kinds"] += count;
}

std::vector<Kind> Capture::others() const {
  return sorted(others_);
}

std::vector<Kind> Capture::carried() const {
  return sorted(carried_);
}

std::vector<Kind> Capture::layers() const {
  return sorted(*layers_);
}

std::string other_packets(const Capture& capture) {
  constexpr std::size_t kShown = 12;
  std::string text;
  const auto add = [&text](std::uint64_t count, std::string_view name) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name);
  };
  const std::vector<Kind> others = capture.others();
  std::uint64_t unnamed = capture.skipped_count();
  for (std::size_t i = 0; i < others.size() && i < kShown; ++i) {
    add(others[i].count, others[i].name);
    unnamed -= others[i].count;
  }
  if (unnamed != 0) add(unnamed, "of other kinds");
  if (!text.empty()) text += ", not read";
  if (capture.headless_count() != 0) add(capture.headless_count(), "cut off within the headers");
  if (capture.malformed_count() != 0) add(capture.malformed_count(), "malformed");
  if (const std::size_t pauses = capture.pauses().size(); pauses != 0)
    add(pauses, pauses == 1 ? "pause frame" : "pause frames");
  return text;
}

std::string packet_noun(const Capture& capture) {
  const std::vector<Kind> carried = capture.carried();
  return carried.size() == 1 ? carried.front().name + " packet" : "packet";
}

std::string why_no_packets(const Capture& capture) {
  if (capture.total_count() == 0) return "the file has no packets";
  const std::string which = capture.total_count() == 1
                                ? "the only packet cannot"
                                : fmt::format("none of the {} packets can", capture.total_count());
  return fmt::format("{} be read as RoCE or InfiniBand: {}", which, other_packets(capture));
}

}  // namespace verbena::captures
