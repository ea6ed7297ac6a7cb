#include "captures/read/decompress.h"

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <vector>

namespace verbena::captures {

namespace {

constexpr std::size_t kRoomBytes = 1 << 18;
constexpr std::size_t kAtOnce = 1 << 20;  // of the file, so that zlib's counters suffice and progress can be told

/// What a decoder did with a decoded.
struct Decoded {
  enum class State : unsigned char { goes_on, ended, corrupt };
  std::size_t taken = 0;
  std::size_t made = 0;
  State state = State::goes_on;
};

class Decoder {
 public:
  virtual ~Decoder() = default;
  virtual Decoded decode(std::span<const std::byte> from, std::span<std::byte> into) = 0;
  /// Ready for another member.
  virtual bool begin() = 0;
};

class GzipDecoder final : public Decoder {
 public:
  ~GzipDecoder() override { inflateEnd(&stream_); }
  bool begin() override {
    constexpr int kGzip = 16;
    if (is_open_) return inflateReset(&stream_) == Z_OK;
    is_open_ = inflateInit2(&stream_, kGzip + MAX_WBITS) == Z_OK;
    return is_open_;
  }
  Decoded decode(std::span<const std::byte> from, std::span<std::byte> into) override {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(from.data()));
    stream_.avail_in = static_cast<uInt>(from.size());
    stream_.next_out = reinterpret_cast<Bytef*>(into.data());
    stream_.avail_out = static_cast<uInt>(into.size());
    const int status = inflate(&stream_, Z_NO_FLUSH);
    Decoded decoded{from.size() - stream_.avail_in, into.size() - stream_.avail_out, Decoded::State::goes_on};
    if (status == Z_STREAM_END)
      decoded.state = Decoded::State::ended;
    else if (status != Z_OK && status != Z_BUF_ERROR)
      decoded.state = Decoded::State::corrupt;
    return decoded;
  }

 private:
  z_stream stream_{};
  bool is_open_ = false;
};

class XzDecoder final : public Decoder {
 public:
  ~XzDecoder() override { lzma_end(&stream_); }
  bool begin() override {
    constexpr std::uint64_t kMemoryMax = std::uint64_t{1} << 30;
    return lzma_stream_decoder(&stream_, kMemoryMax, 0) == LZMA_OK;
  }
  Decoded decode(std::span<const std::byte> from, std::span<std::byte> into) override {
    stream_.next_in = reinterpret_cast<const std::uint8_t*>(from.data());
    stream_.avail_in = from.size();
    stream_.next_out = reinterpret_cast<std::uint8_t*>(into.data());
    stream_.avail_out = into.size();
    const lzma_ret status = lzma_code(&stream_, LZMA_RUN);
    Decoded decoded{from.size() - stream_.avail_in, into.size() - stream_.avail_out, Decoded::State::goes_on};
    if (status == LZMA_STREAM_END)
      decoded.state = Decoded::State::ended;
    else if (status != LZMA_OK && status != LZMA_BUF_ERROR)
      decoded.state = Decoded::State::corrupt;
    return decoded;
  }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
};

class ZstdDecoder final : public Decoder {
 public:
  bool begin() override {
    if (!stream_) stream_.reset(ZSTD_createDStream());
    constexpr int kWindowLogMax = 31;  // what --ultra --long=31 makes
    return stream_ && ZSTD_isError(ZSTD_initDStream(stream_.get())) == 0 &&
           ZSTD_isError(ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax, kWindowLogMax)) == 0;
  }
  Decoded decode(std::span<const std::byte> from, std::span<std::byte> into) override {
    ZSTD_inBuffer in{from.data(), from.size(), 0};
    ZSTD_outBuffer out{into.data(), into.size(), 0};
    const std::size_t status = ZSTD_decompressStream(stream_.get(), &out, &in);
    Decoded decoded{in.pos, out.pos, Decoded::State::goes_on};
    if (ZSTD_isError(status) != 0)
      decoded.state = Decoded::State::corrupt;
    else if (status == 0)
      decoded.state = Decoded::State::ended;
    return decoded;
  }

 private:
  struct Free {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };
  std::unique_ptr<ZSTD_DStream, Free> stream_;
};

std::unique_ptr<Decoder> decoder_of(Compression compression) {
  switch (compression) {
    case Compression::gzip:
      return std::make_unique<GzipDecoder>();
    case Compression::xz:
      return std::make_unique<XzDecoder>();
    case Compression::zstd:
      return std::make_unique<ZstdDecoder>();
    case Compression::none:
    case Compression::bzip2:
    case Compression::lz4:
      break;
  }
  return nullptr;
}

bool begins_with(std::span<const std::byte> file, std::string_view magic) {
  return file.size() >= magic.size() && std::equal(magic.begin(), magic.end(), file.begin(), [](char a, std::byte b) {
           return static_cast<std::byte>(static_cast<unsigned char>(a)) == b;
         });
}

}  // namespace

Compression compression_of(std::span<const std::byte> file) {
  using namespace std::string_view_literals;
  if (begins_with(file, "\x1f\x8b"sv)) return Compression::gzip;
  if (begins_with(file, "\xfd\x37\x7a\x58\x5a\x00"sv)) return Compression::xz;
  if (begins_with(file, "\x28\xb5\x2f\xfd"sv)) return Compression::zstd;
  const bool is_skippable = file.size() >= 4 && std::to_integer<unsigned>(file[0]) >> 4 == 5;  // RFC 8878 3.1.2
  if (is_skippable && begins_with(file.subspan(1), "\x2a\x4d\x18"sv)) return Compression::zstd;
  if (begins_with(file, "BZh"sv)) return Compression::bzip2;
  if (begins_with(file, "\x04\x22\x4d\x18"sv)) return Compression::lz4;
  return Compression::none;
}

Decompressed decompress(std::span<const std::byte> file, Compression compression, const Sink& sink,
                        const std::function<void(std::size_t)>& reached) {
  const std::unique_ptr<Decoder> decoder = decoder_of(compression);
  if (!decoder || !decoder->begin()) return {{}, "no memory to decompress it"};
  std::vector<std::byte> room(kRoomBytes);
  std::size_t at = 0;
  bool is_within = true;  // a member has begun, and not ended
  for (;;) {
    const Decoded decoded = decoder->decode(file.subspan(at, std::min(kAtOnce, file.size() - at)), room);
    at += decoded.taken;
    if (reached) reached(at);
    if (decoded.made != 0)
      if (auto error = sink({room.data(), decoded.made})) return {{}, std::move(error)};
    if (decoded.state == Decoded::State::corrupt) return {"the compressed file is corrupt", {}};
    if (decoded.state == Decoded::State::ended) {
      // Another member, or the padding of a tape.
      is_within = compression_of(file.subspan(at)) == compression;
      if (!is_within) return {};
      if (!decoder->begin()) return {{}, "no memory to decompress it"};
      continue;
    }
    if (decoded.made == 0 && at == file.size()) return {"the compressed file is cut off", {}};
    if (decoded.made == 0 && decoded.taken == 0) return {"the compressed file is corrupt", {}};
  }
}

}  // namespace verbena::captures
