#include "scenarios/virtual/out_directory.h"

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/outcome/failure_details.h"
#include "scenarios/outcome/report_words.h"
#include "wire/infiniband.h"
#include "wire/packet_text.h"
#include "wire/packet_view.h"
#include "wire/pcap_file.h"
#include "wire/printable.h"

namespace verbena::scenarios {
namespace {

constexpr std::size_t kCommentBytesMax = 512;
constexpr std::size_t kNameBytesMax = 200;
constexpr Duration kSampleMin = microseconds(10);
constexpr std::int64_t kSampleShare = 64;  // a sample each 64th of the time that has passed

std::string_view text_of(sim::FrameEvent event) {
  switch (event) {
    case sim::FrameEvent::entered:
      return "entered";
    case sim::FrameEvent::sent:
      return "sent";
    case sim::FrameEvent::lost:
      return "lost";
    case sim::FrameEvent::overflowed:
      return "overflowed";
    case sim::FrameEvent::vanished:
      return "vanished";
    case sim::FrameEvent::delivered:
      return "delivered";
  }
  return "";
}

std::string link_packet_text(const wire::FlowControlPacket& packet) {
  return fmt::format("flow control, lane {}: {} blocks sent, up to {} may come", packet.virtual_lane,
                     packet.total_blocks_sent, packet.credit_limit);
}

std::string frame_text(std::span<const std::byte> frame, wire::Medium medium) {
  const auto packet = wire::parse_cut_on(medium, frame);
  if (packet) return wire::to_text(*packet);
  if (medium == wire::Medium::infiniband) {
    if (const auto link = wire::read_link_packet(frame)) return link_packet_text(link->packet);
  } else if (const auto pause = wire::parse_pause_frame(frame)) {
    return wire::to_text(*pause);
  }
  return std::string(wire::to_string(packet.error()));
}

/// A frame in a world without payload: only its headers are true.
std::size_t header_bytes(std::span<const std::byte> frame, wire::Medium medium) {
  const auto packet = wire::parse_cut_on(medium, frame);
  if (!packet || packet->payload().empty()) return frame.size();
  return static_cast<std::size_t>(packet->payload().data() - packet->frame().data());
}

}  // namespace

OutDirectory::OutDirectory(const Scenario& scenario, const std::string& path, std::uint64_t capture_octets_max)
    : scenario_(scenario),
      path_(path),
      limit_(scenario.capture.octets_max.value_or(capture_octets_max)),
      captures_left_(limit_),
      trace_left_(limit_),
      scratch_(wire::encoded_packet_bytes_max(wire::kFrameBytesMax, kCommentBytesMax)) {
  if (!open()) return;
  captures_.resize(scenario.topology.cables.size());
  counted_.resize(std::size_t{scenario.topology.hosts} * nic::kCounters, 0);
  events_ = std::make_unique<BufferedFile>(path + "/events.txt");
  counters_ = std::make_unique<BufferedFile>(path + "/counters.csv");
  if (scenario.sample.ns != 0) links_ = std::make_unique<BufferedFile>(path + "/links.csv");
}

Result<void, std::string> OutDirectory::begin() {
  if (!open()) return {};
  if (const auto made = events_->flush(); !made) return Failure{made.error().text};
  append(*counters_, "time_ns,host,counter,value\n");
  if (links_) append(*links_, "time_ns,link,octets,queue_octets,paused_ns\n");
  const auto made = counters_->flush();
  return made ? Result<void, std::string>{} : Failure{made.error().text};
}

void OutDirectory::append(BufferedFile& file, std::span<const std::byte> octets) {
  if (!error_.empty()) return;
  if (const auto appended = file.append(octets); !appended) error_ = appended.error().text;
}
void OutDirectory::append(BufferedFile& file, std::string_view octets) {
  append(file, std::as_bytes(std::span(octets)));
}

void OutDirectory::line(Time time, std::string_view text) {
  if (!open() || trace_full_) return;
  const std::string line =
      fmt::format("{:>14.3f} us  {}\n", static_cast<double>(time.ns) / 1000, wire::printable(text));
  if (line.size() > trace_left_) {
    trace_full_ = true;
    notes_.push_back(fmt::format("events.txt ends at {}: it has reached {} (capture: limit: has more)",
                                 time_text(time - Time{0}), octets_text(limit_)));
    return;
  }
  trace_left_ -= line.size();
  lines_.push_back({time, line_count_++, line});
  std::push_heap(lines_.begin(), lines_.end());
}

void OutDirectory::write_lines(Time until) {
  while (!lines_.empty() && lines_.front().time <= until) {
    std::pop_heap(lines_.begin(), lines_.end());
    append(*events_, lines_.back().text);
    lines_.pop_back();
  }
}

OutDirectory::Capture& OutDirectory::capture_of(std::uint32_t cable) {
  Capture& capture = captures_[cable];
  if (capture.file) return capture;
  const std::string link = scenario_.topology.cable_name(cable).substr(0, kNameBytesMax);
  std::string name = capture_name(link);
  if (const std::uint32_t uses = names_used_[name]++; uses != 0) name += fmt::format("_{}", uses + 1);
  capture.file = std::make_unique<BufferedFile>(fmt::format("{}/{}.pcapng", path_, name));
  std::size_t bytes = wire::encode_pcapng_section(scratch_, "verbena");
  append(*capture.file, std::span(scratch_).first(bytes));
  bytes = wire::encode_pcapng_interface(
      scratch_, wire::interface_on(scenario_.topology.medium, link, scenario_.capture.snap_bytes.value_or(0)));
  append(*capture.file, std::span(scratch_).first(bytes));
  return capture;
}

void OutDirectory::capture(const sim::ObservedFrame& frame) {
  if (frame.event == sim::FrameEvent::entered || frame.event == sim::FrameEvent::delivered ||
      frame.event == sim::FrameEvent::vanished)
    return;
  if (captures_full_) return end_capture(frame);
  std::string comment(frame.comment.substr(0, kCommentBytesMax));
  if (frame.event == sim::FrameEvent::overflowed)
    comment = std::string(wire::kDroppedPrefix) + ", the egress queue was full";
  BufferedFile& file = *capture_of(frame.link.cable).file;
  const std::size_t bytes = encode(frame, snap_bytes(frame.frame), comment);
  if (bytes > captures_left_) {
    captures_full_ = true;
    notes_.push_back(fmt::format("the captures end at {}: together they have reached {} (capture: limit: has more)",
                                 time_text(frame.time - Time{0}), octets_text(limit_)));
    return end_capture(frame);
  }
  captures_left_ -= bytes;
  append(file, std::span(scratch_).first(bytes));
}

/// What the file of this cable says last.
void OutDirectory::end_capture(const sim::ObservedFrame& frame) {
  Capture& capture = captures_[frame.link.cable];
  if (!capture.file || capture.ended) return;
  capture.ended = true;
  append(*capture.file, std::span(scratch_).first(encode(frame, header_bytes(frame.frame, scenario_.topology.medium),
                                                         wire::kCaptureEndsNote)));
}

/// Into `scratch_`.
std::size_t OutDirectory::encode(const sim::ObservedFrame& frame, std::size_t snap_bytes, std::string_view comment) {
  return wire::encode_pcapng_packet_on(
      scenario_.topology.medium, scratch_,
      {.time = frame.time, .bytes = frame.frame, .snap_bytes = snap_bytes, .comment = comment});
}

std::size_t OutDirectory::snap_bytes(std::span<const std::byte> frame) const {
  return scenario_.payload ? scenario_.capture.snap_bytes.value_or(0) : header_bytes(frame, scenario_.topology.medium);
}

void OutDirectory::trace(const sim::ObservedFrame& frame) {
  if (trace_full_ || frame.event == sim::FrameEvent::entered) return;
  const auto& cable = scenario_.topology.cables[frame.link.cable];
  const auto& vertices = scenario_.topology.vertices;
  const std::string& from = vertices[frame.link.backward ? cable.b : cable.a].name;
  const std::string& to = vertices[frame.link.backward ? cable.a : cable.b].name;
  line(frame.time, fmt::format("{}->{} {} {}{}{}", from, to, text_of(frame.event),
                               frame_text(frame.frame, scenario_.topology.medium), frame.comment.empty() ? "" : "  # ",
                               frame.comment));
}

void OutDirectory::observe(const sim::ObservedFrame& frame) {
  if (!open() || !error_.empty()) return;
  capture(frame);
  trace(frame);
}

void OutDirectory::sample(Time now, const sim::World& world) {
  if (!open()) return;
  write_lines(now);
  if (now < next_sample_) return;
  next_sample_ = now + std::max(kSampleMin, Duration{now.ns / kSampleShare});
  fmt::memory_buffer rows;
  for (sim::HostId host = 0; host < scenario_.topology.hosts; ++host)
    for (std::size_t i = 0; i < nic::kCounters; ++i) {
      const auto counter = static_cast<nic::Counter>(i);
      const std::uint64_t value = world.counters(host).get(counter);
      std::uint64_t& written = counted_[host * nic::kCounters + i];
      if (value == written) continue;
      written = value;
      fmt::format_to(fmt::appender(rows), "{},{},{},{}\n", now.ns, scenario_.topology.vertices[host].name,
                     nic::to_string(counter), value);
    }
  append(*counters_, std::string_view(rows.data(), rows.size()));
}

void OutDirectory::link_sample(const LinkSample& sample) {
  if (!links_) return;
  append(*links_, fmt::format("{},{},{},{},{}\n", sample.time.ns, sample.link, sample.octets, sample.queue_octets,
                              sample.paused.ns));
}

Result<void, std::string> OutDirectory::finish(Time now, const sim::World& world) {
  if (!open()) return {};
  next_sample_ = now;
  sample(now, world);
  write_lines(kNever);
  if (error_.empty())
    for (BufferedFile* file : {events_.get(), counters_.get(), links_.get()}) {
      if (file == nullptr) continue;
      if (const auto flushed = file->flush(); !flushed && error_.empty()) error_ = flushed.error().text;
    }
  for (const Capture& capture : captures_)
    if (capture.file && error_.empty())
      if (const auto flushed = capture.file->flush(); !flushed) error_ = flushed.error().text;
  return error_.empty() ? Result<void, std::string>{} : Failure{error_};
}

}  // namespace verbena::scenarios
