#include "cli/explain/capture.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace verbena::explain {

class Capture::Mapping {
 public:
  Mapping(void* begin, std::size_t size) : begin_(begin), size_(size) {}
  ~Mapping() { munmap(begin_, size_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(begin_), size_}; }

  static Result<std::shared_ptr<const Mapping>, std::string> map(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return Failure{std::string(std::strerror(errno))};
    struct stat status{};
    std::string error;
    void* begin = MAP_FAILED;
    if (fstat(fd, &status) != 0)
      error = std::strerror(errno);
    else if (!S_ISREG(status.st_mode))
      error = "not a regular file";
    else if (status.st_size == 0)
      error = "the file is empty";
    else if (begin = mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
             begin == MAP_FAILED)
      error = std::strerror(errno);
    close(fd);
    if (begin == MAP_FAILED) return Failure{error};
    return std::shared_ptr<const Mapping>(std::make_shared<Mapping>(begin, static_cast<std::size_t>(status.st_size)));
  }

 private:
  void* begin_;
  std::size_t size_;
};

namespace {

/// Packets that have nothing to do with RoCE v2, as opposed to broken ones.
bool is_foreign(wire::ParseError error) {
  switch (error) {
    case wire::ParseError::not_ip:
    case wire::ParseError::not_udp:
    case wire::ParseError::not_roce_port:
    case wire::ParseError::ip_fragment:
      return true;
    case wire::ParseError::truncated:
    case wire::ParseError::bad_ip_header:
    case wire::ParseError::bad_length:
    case wire::ParseError::bad_transport_version:
    case wire::ParseError::unknown_opcode:
    case wire::ParseError::bad_padding:
      return false;
  }
  return false;
}

}  // namespace

Result<Capture, std::string> Capture::open(const std::string& path, const Reached& reached) {
  auto mapping = Mapping::map(path);
  if (!mapping) return Failure{mapping.error()};
  auto reader = wire::CaptureReader::open((*mapping)->bytes());
  if (!reader) return Failure{std::string(reader.error().what)};
  Capture capture;
  capture.mapping_ = *mapping;
  capture.read(*reader, reached);
  return capture;
}

void Capture::read(wire::CaptureReader& reader, const Reached& reached) {
  Time begin;
  for (;;) {
    const auto next = reader.next();
    if (!next) {
      damage_ = fmt::format("{} at octet {}", next.error().what, next.error().offset);
      return;
    }
    if (!next->has_value()) return;
    if (total_count_++ == 0) begin = (*next)->time;
    sort_in(**next, begin);
    if (reached) reached((*next)->file_offset, mapping_->bytes().size());
  }
}

void Capture::sort_in(const wire::CapturedPacket& captured, Time begin) {
  const auto number = static_cast<std::uint32_t>(total_count_);
  const Time time{(captured.time - begin).ns};
  const auto view = wire::parse_captured(captured);
  if (view) {
    packets_.push_back({number, time, captured});
  } else if (is_foreign(view.error())) {
    ++skipped_count_;
    ++others_[std::string(wire::to_string(view.error()))];
  } else if (view.error() == wire::ParseError::truncated && captured.bytes.size() < captured.original_bytes) {
    const bool has_bth = wire::parse_captured(captured, wire::HeadersNeeded::bth).ok();
    if (has_bth) packets_.push_back({number, time, captured, true});
    ++(has_bth ? lacking_headers_count_ : headless_count_);
  } else {
    const bool is_hit = captured.comment.starts_with(wire::kNotePrefix);
    ++malformed_count_;
    if (is_hit) ++hit_malformed_count_;
    if (malformed_.size() < kMalformedKept) malformed_.push_back({number, time, view.error(), is_hit});
  }
}

std::vector<OtherPackets> Capture::others() const {
  std::vector<OtherPackets> sorted;
  for (const auto& [name, count] : others_) sorted.push_back({name, count});
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.count > b.count; });
  return sorted;
}

std::string other_packets(const Capture& capture) {
  constexpr std::size_t kShown = 12;
  std::string text;
  const auto add = [&text](std::uint64_t count, std::string_view name) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name);
  };
  const std::vector<OtherPackets> others = capture.others();
  std::uint64_t unnamed = capture.skipped_count();
  for (std::size_t i = 0; i < others.size() && i < kShown; ++i) {
    add(others[i].count, others[i].name);
    unnamed -= others[i].count;
  }
  if (unnamed != 0) add(unnamed, "of other kinds");
  if (!text.empty()) text += ", not read";
  if (capture.headless_count() != 0) add(capture.headless_count(), "cut off within their headers");
  if (capture.malformed_count() != 0) add(capture.malformed_count(), "malformed");
  return text;
}

}  // namespace verbena::explain
