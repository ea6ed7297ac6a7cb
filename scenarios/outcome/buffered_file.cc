#include "scenarios/outcome/buffered_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace verbena::scenarios {
namespace {
Failure<host::FileError> failure(const std::string& path) {
  return Failure{host::file_error(path, errno)};
}
}  // namespace

Result<void, host::FileError> BufferedFile::append(std::span<const std::byte> octets) {
  buffer_.append(reinterpret_cast<const char*>(octets.data()), octets.size());
  return buffer_.size() < kBufferBytes ? Result<void, host::FileError>{} : flush();
}

Result<void, host::FileError> BufferedFile::flush() {
  if (made_ && buffer_.empty()) return {};
  const int how = made_ ? O_APPEND : O_CREAT | O_TRUNC;
  const int file = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC | how, 0666);
  if (file < 0) return failure(path_);
  made_ = true;
  std::string_view left = buffer_;
  while (!left.empty()) {
    const ssize_t written = ::write(file, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      const auto error = failure(path_);
      ::close(file);
      return error;
    }
    left.remove_prefix(static_cast<std::size_t>(written));
  }
  buffer_.clear();
  return ::close(file) == 0 ? Result<void, host::FileError>{} : failure(path_);
}

Result<void, host::FileError> prepare_directory(const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (::mkdir(part.c_str(), 0777) != 0 && errno != EEXIST) return failure(part);
    if (end == std::string::npos) break;
  }
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return failure(path);
  if (!S_ISDIR(status.st_mode)) return Failure{host::FileError{path + ": is not a directory"}};
  const std::string probe = path + "/.verbena-probe";
  const int file = ::open(probe.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) return failure(path);
  // A full disk lets an empty file be made.
  const bool written = ::write(file, "\n", 1) == 1;
  const auto error = failure(path);
  ::close(file);
  ::unlink(probe.c_str());
  return written ? Result<void, host::FileError>{} : error;
}

Result<void, host::FileError> write_file(const std::string& path, std::string_view content) {
  BufferedFile file(path);
  if (auto appended = file.append(std::as_bytes(std::span(content))); !appended) return appended;
  return file.flush();
}

}  // namespace verbena::scenarios
