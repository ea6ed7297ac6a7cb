// BufferedFile: a file that is written from front to end, opened only while it is written to, so that there may be
// thousands.
// Tested by: tests/scenarios/virtual/samples_test.cc
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "emulator/host/os/shortage.h"
#include "wire/result.h"

namespace verbena::scenarios {

class BufferedFile {
 public:
  explicit BufferedFile(std::string path) : path_(std::move(path)) {}
  /// An error is one line: the file and what is wrong with it.
  Result<void, host::FileError> append(std::span<const std::byte> octets);
  Result<void, host::FileError> flush();

 private:
  static constexpr std::size_t kBufferBytes = 64 << 10;

  std::string path_;
  std::string buffer_;
  bool made_ = false;
};

/// A directory is there, or was made, and files can be made and written in it. The error is one line.
Result<void, host::FileError> prepare_directory(const std::string& path);
/// Makes the file anew with this content.
Result<void, host::FileError> write_file(const std::string& path, std::string_view content);

}  // namespace verbena::scenarios
