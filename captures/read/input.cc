#include "captures/read/input.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <vector>

#include "captures/read/decompress.h"

namespace verbena::captures {

namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

std::string error_text() {
  return std::strerror(errno);
}

/// A file without a name.
class Spool {
 public:
  Spool() : folder_(folder()), fd_(make(folder_)) {}
  int fd() const { return fd_.get(); }

  std::optional<std::string> add(std::span<const std::byte> bytes) {
    if (fd_.get() < 0) return fmt::format("no temporary file in {}: {}", folder_, error_text());
    if (bytes.size() > Input::kSpooledBytesMax - written_)
      return fmt::format("it is longer than {} GiB when it is read from a pipe or decompressed",
                         Input::kSpooledBytesMax >> 30);
    while (!bytes.empty()) {
      const ssize_t count = write(fd_.get(), bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0)
        return fmt::format("no room for its octets in {} (TMPDIR): {}, after {}", folder_, error_text(), written_);
      bytes = bytes.subspan(static_cast<std::size_t>(count));
      written_ += static_cast<std::uint64_t>(count);
    }
    return std::nullopt;
  }

 private:
  static std::string folder() {
    const char* said = std::getenv("TMPDIR");
    return said != nullptr && *said != '\0' ? said : "/tmp";
  }
  static int make(const std::string& folder) {
    const int fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    return fd >= 0 ? fd : memfd_create("verbena-capture", MFD_CLOEXEC);
  }

  std::string folder_;
  Descriptor fd_;
  std::uint64_t written_ = 0;
};

/// All that a pipe has to give.
std::optional<std::string> read_all(int from, Spool& spool) {
  std::vector<std::byte> room(1 << 18);
  for (;;) {
    const ssize_t count = read(from, room.data(), room.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return error_text();
    if (count == 0) return std::nullopt;
    if (auto error = spool.add({room.data(), static_cast<std::size_t>(count)})) return error;
  }
}

}  // namespace

Input::~Input() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

Result<std::shared_ptr<Input>, std::string> Input::map(int fd) {
  struct stat status{};
  if (fstat(fd, &status) != 0) return Failure{error_text()};
  const std::shared_ptr<Input> input(new Input);
  if (status.st_size == 0) return input;
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const begin = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (begin == MAP_FAILED) return Failure{error_text()};
  input->bytes_ = {static_cast<const std::byte*>(begin), size};
  return input;
}

Result<std::shared_ptr<const Input>, std::string> Input::open(const std::string& path, const Reached& reached) {
  const Descriptor file(path == "-" ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                    : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (file.get() < 0) return Failure{error_text()};
  struct stat status{};
  if (fstat(file.get(), &status) != 0) return Failure{error_text()};
  if (S_ISDIR(status.st_mode)) return Failure{std::string("is a folder")};
  if (isatty(file.get()) == 1) return Failure{std::string("is a terminal")};
  std::shared_ptr<Input> input;
  if (S_ISREG(status.st_mode)) {
    auto mapped = map(file.get());
    if (!mapped) return Failure{mapped.error()};
    input = *mapped;
  } else {
    Spool spool;
    if (auto error = read_all(file.get(), spool)) return Failure{*error};
    if (spool.fd() < 0) return Failure{*spool.add({})};
    auto mapped = map(spool.fd());
    if (!mapped) return Failure{mapped.error()};
    input = *mapped;
  }
  if (input->bytes_.empty()) return Failure{std::string("the file is empty")};
  return decompressed(input, reached);
}

Result<std::shared_ptr<const Input>, std::string> Input::decompressed(const std::shared_ptr<Input>& file,
                                                                      const Reached& reached) {
  const Compression compression = compression_of(file->bytes_);
  if (compression == Compression::none) return std::shared_ptr<const Input>(file);
  if (compression == Compression::bzip2 || compression == Compression::lz4)
    return Failure{fmt::format("compressed with {}, which is not read: decompress it first",
                               compression == Compression::lz4 ? "lz4" : "bzip2")};
  Spool spool;
  const std::size_t total = file->bytes_.size();
  const auto sink = [&spool](std::span<const std::byte> bytes) { return spool.add(bytes); };
  const auto told = [&](std::size_t done) {
    if (reached) reached(done, total);
  };
  Decompressed done = decompress(file->bytes_, compression, sink, told);
  if (done.error) return Failure{*done.error};
  if (spool.fd() < 0) return Failure{*spool.add({})};
  auto mapped = map(spool.fd());
  if (!mapped) return Failure{mapped.error()};
  if ((*mapped)->bytes_.empty())
    return Failure{done.damage.empty() ? std::string("the file is empty, decompressed") : done.damage};
  (*mapped)->damage_ = std::move(done.damage);
  return std::shared_ptr<const Input>(*mapped);
}

}  // namespace verbena::captures
