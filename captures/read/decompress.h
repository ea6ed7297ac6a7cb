// Compressed captures: gzip, xz and zstd, each with any number of members or frames behind one another.
//
// Solely responsible for the formats; where the octets go is the caller's. Whatever is wrong with the file, what came
// out before that has gone to the sink.
// Tested by: tests/captures/read/capture_test.cc
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>

namespace verbena::captures {

enum class Compression : unsigned char { none, gzip, xz, zstd, bzip2, lz4 };

/// By the first octets.
Compression compression_of(std::span<const std::byte> file);

/// Takes octets in order; an error ends it: a full disk, a bound.
using Sink = std::function<std::optional<std::string>(std::span<const std::byte>)>;

struct Decompressed {
  std::string damage;                // of the compressed file, from some point on; empty: it is whole
  std::optional<std::string> error;  // the sink's
};
/// `compression`: gzip, xz or zstd. `reached`: octets of the file, now and then.
Decompressed decompress(std::span<const std::byte> file, Compression compression, const Sink& sink,
                        const std::function<void(std::size_t)>& reached);

}  // namespace verbena::captures
