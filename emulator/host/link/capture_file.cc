#include "emulator/host/link/capture_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <utility>
#include <vector>

#include "emulator/host/os/clock.h"
#include "wire/assert.h"
#include "wire/pcap_file.h"
#include "wire/types.h"

namespace verbena::host {
namespace {

constexpr Duration kWriteDelay = milliseconds(100);
constexpr auto kFinishTimeLimit = std::chrono::seconds(2);
constexpr std::string_view kApplication = "verbena";
constexpr std::size_t kHeaderBytesMax = 512;

/// Captures that are still open when the process ends without closing its engine.
class OpenCaptures {
 public:
  static OpenCaptures& instance() {
    // Never destroyed: threads may still record while static objects go.
    static auto* const captures = new OpenCaptures;
    return *captures;
  }
  void add(CaptureFile* file) {
    const std::lock_guard guard(mutex_);
    if (!registered_) registered_ = std::atexit([] { instance().finish_all(); }) == 0;
    files_.push_back(file);
  }
  void remove(CaptureFile* file) {
    const std::lock_guard guard(mutex_);
    std::erase(files_, file);
  }

 private:
  void finish_all() {
    const std::unique_lock guard(mutex_, std::try_to_lock);
    if (!guard.owns_lock()) return;
    for (CaptureFile* file : files_) file->finish();
  }
  std::mutex mutex_;
  std::vector<CaptureFile*> files_;
  bool registered_ = false;
};

Duration wall_clock_offset() {
  timespec wall{};
  ::clock_gettime(CLOCK_REALTIME, &wall);
  return Time{std::int64_t{wall.tv_sec} * 1'000'000'000 + wall.tv_nsec} - clock_now();
}

FileError capture_error(const std::string& path, const char* what) {
  return file_error(std::string("cannot ") + what + " capture file " + path, errno);
}

bool write_header(int file, std::uint32_t snap_bytes, wire::Medium medium) {
  std::array<std::byte, kHeaderBytesMax> octets;
  const std::size_t section = wire::encode_pcapng_section(octets, kApplication);
  const std::size_t interface = wire::encode_pcapng_interface(std::span(octets).subspan(section),
                                                              wire::interface_on(medium, "verbena", snap_bytes));
  VERBENA_ASSERT(section != 0 && interface != 0);
  return ::write(file, octets.data(), section + interface) == static_cast<ssize_t>(section + interface);
}

}  // namespace

Result<void, FileError> create_capture_file(const std::string& path, std::uint32_t snap_bytes, wire::Medium medium) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return Failure{capture_error(path, "create")};
  const bool written = write_header(file, snap_bytes, medium);
  FileError error = written ? FileError{} : capture_error(path, "write");
  ::close(file);
  if (!written) return Failure{std::move(error)};
  return {};
}

Result<std::unique_ptr<CaptureFile>, std::string> CaptureFile::open(const Options& options) {
  VERBENA_ASSERT((options.buffer_bytes & (options.buffer_bytes - 1)) == 0);
  const int file = ::open(options.path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return Failure{capture_error(options.path, "open").text};
  // The lock goes with the process that holds it. Files that cannot be locked (a pipe) are not shared either.
  ::flock(file, LOCK_EX);
  struct stat status{};
  const bool ready =
      ::fstat(file, &status) == 0 && (status.st_size != 0 || write_header(file, options.snap_bytes, options.medium));
  if (!ready) {
    std::string error = capture_error(options.path, "write").text;
    ::close(file);
    return Failure{std::move(error)};
  }
  ::flock(file, LOCK_UN);
  std::unique_ptr<CaptureFile> capture(new CaptureFile(options, file));
  OpenCaptures::instance().add(capture.get());
  return capture;
}

CaptureFile::CaptureFile(const Options& options, int file)
    : options_(options),
      file_(file),
      process_(::getpid()),
      wall_clock_offset_(wall_clock_offset()),
      buffer_(std::make_unique_for_overwrite<std::byte[]>(options.buffer_bytes)),
      scratch_(std::make_unique_for_overwrite<std::byte[]>(
          wire::encoded_packet_bytes_max(wire::kFrameBytesMax, kCommentBytesMax))) {}

CaptureFile::~CaptureFile() {
  OpenCaptures::instance().remove(this);
  finish();
  ::close(file_);
}

void CaptureFile::annotate(std::string_view comment) {
  constexpr std::string_view kSeparator = "; ";
  const auto append_text = [&](std::string_view text) {
    text = text.substr(0, annotation_.size() - annotation_bytes_);
    std::copy(text.begin(), text.end(), annotation_.begin() + static_cast<std::ptrdiff_t>(annotation_bytes_));
    annotation_bytes_ += text.size();
  };
  if (annotation_bytes_ != 0) append_text(kSeparator);
  append_text(comment);
}

std::string_view CaptureFile::take_annotation() {
  return {annotation_.data(), std::exchange(annotation_bytes_, 0)};
}

void CaptureFile::record(Time now, std::span<const std::byte> frame, wire::Direction direction,
                         std::string_view comment) {
  if (now == kNever) now = clock_now();
  const std::size_t kept =
      options_.snap_bytes == 0 ? frame.size() : std::min<std::size_t>(frame.size(), options_.snap_bytes);
  // What is longer than any frame did not come from our links; it is cut rather than refused.
  const std::size_t snap_bytes = std::min(kept, wire::kFrameBytesMax);
  const wire::PacketRecord record{.time = now + wall_clock_offset_,
                                  .bytes = frame,
                                  .snap_bytes = snap_bytes,
                                  .direction = direction,
                                  .comment = comment.substr(0, kCommentBytesMax)};
  const std::size_t room = wire::encoded_packet_bytes_max(wire::kFrameBytesMax, kCommentBytesMax);
  const std::size_t bytes = wire::encode_pcapng_packet_on(options_.medium, {scratch_.get(), room}, record);
  const bool was_empty = bytes_waiting() == 0;
  if (bytes == 0 || failed_.load(std::memory_order_relaxed) || !append({scratch_.get(), bytes})) {
    frames_lost_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (was_empty) due_ns_.store((now + kWriteDelay).ns, std::memory_order_relaxed);
}

bool CaptureFile::append(std::span<const std::byte> block) {
  const std::uint64_t produced = produced_.load(std::memory_order_relaxed);
  if (block.size() > options_.buffer_bytes - bytes_waiting()) return false;
  const std::size_t place = produced & (options_.buffer_bytes - 1);
  const std::size_t until_end = std::min(block.size(), options_.buffer_bytes - place);
  std::memcpy(buffer_.get() + place, block.data(), until_end);
  std::memcpy(buffer_.get(), block.data() + until_end, block.size() - until_end);
  produced_.store(produced + block.size(), std::memory_order_release);
  frames_recorded_.fetch_add(1, std::memory_order_release);
  return true;
}

std::size_t CaptureFile::bytes_waiting() const {
  const std::uint64_t written = written_.load(std::memory_order_acquire);
  return produced_.load(std::memory_order_acquire) - written;
}

std::size_t CaptureFile::frames_free() const {
  if (failed_.load(std::memory_order_relaxed)) return SIZE_MAX;
  return (options_.buffer_bytes - bytes_waiting()) /
         wire::encoded_packet_bytes_max(wire::kFrameBytesMax, kCommentBytesMax);
}

std::optional<Time> CaptureFile::next_deadline() const {
  if (bytes_waiting() == 0) return std::nullopt;
  return Time{due_ns_.load(std::memory_order_relaxed)};
}

bool CaptureFile::wants_writing(Time now) const {
  const std::size_t waiting = bytes_waiting();
  return waiting != 0 && (waiting >= options_.buffer_bytes / 4 || now.ns >= due_ns_.load(std::memory_order_relaxed));
}

void CaptureFile::write_out() {
  if (::getpid() != process_ || !gate_.try_enter()) return;
  const std::uint64_t frames = frames_recorded_.load(std::memory_order_acquire);
  const std::uint64_t from = written_.load(std::memory_order_relaxed);
  const std::uint64_t to = produced_.load(std::memory_order_acquire);
  if (failed_.load(std::memory_order_relaxed) || !write_blocks(from, to)) {
    failed_.store(true, std::memory_order_relaxed);
    frames_lost_.fetch_add(frames - frames_settled_, std::memory_order_relaxed);
  }
  frames_settled_ = frames;
  written_.store(to, std::memory_order_release);
  gate_.leave();
}

/// Whole blocks in one call, so that those of several processes do not mix.
bool CaptureFile::write_blocks(std::uint64_t from, std::uint64_t to) {
  while (from != to) {
    const std::size_t place = from & (options_.buffer_bytes - 1);
    const auto bytes = static_cast<std::size_t>(to - from);
    const std::size_t until_end = std::min(bytes, options_.buffer_bytes - place);
    const iovec pieces[2] = {{buffer_.get() + place, until_end}, {buffer_.get(), bytes - until_end}};
    const ssize_t written = ::writev(file_, pieces, bytes > until_end ? 2 : 1);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    from += static_cast<std::uint64_t>(written);
  }
  return true;
}

void CaptureFile::finish() {
  if (::getpid() != process_) return;
  const auto end = std::chrono::steady_clock::now() + kFinishTimeLimit;
  // Another thread may be in write_out() and leave; what it left behind is written here.
  do {
    write_out();
  } while (bytes_waiting() != 0 && std::chrono::steady_clock::now() < end);
  const std::uint64_t lost = frames_lost_.exchange(0);
  if (lost != 0)
    std::fprintf(stderr, "verbena: capture %s lacks %llu frames: %s\n", options_.path.c_str(),
                 static_cast<unsigned long long>(lost),
                 failed_.load() ? "the file could not be written" : "they came faster than they could be written");
}

}  // namespace verbena::host
