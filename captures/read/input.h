// The octets of a capture: of a file, of standard input or a pipe, compressed or not, as one piece in memory.
//
// Solely responsible for getting them there. A file is mapped; what cannot be mapped as it is goes to a file without a
// name in TMPDIR (in memory where there is no room for one), which ends with the Input.
// Tested by: tests/captures/read/capture_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "wire/result.h"

namespace verbena::captures {

/// How far something is that takes long with a large file: so many units of so many.
using Reached = std::function<void(std::uint64_t done, std::uint64_t total)>;

class Input {
 public:
  static constexpr std::uint64_t kSpooledBytesMax = std::uint64_t{64} << 30;

  /// "-": standard input. The error is one line, without the file's name.
  static Result<std::shared_ptr<const Input>, std::string> open(const std::string& path, const Reached& reached = {});

  ~Input();
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  /// What is wrong with a compressed file from some point on; empty: nothing.
  const std::string& damage() const { return damage_; }

 private:
  Input() = default;
  static Result<std::shared_ptr<Input>, std::string> map(int fd);
  static Result<std::shared_ptr<const Input>, std::string> decompressed(const std::shared_ptr<Input>& file,
                                                                        const Reached& reached);

  std::span<const std::byte> bytes_;
  std::string damage_;
};

}  // namespace verbena::captures
